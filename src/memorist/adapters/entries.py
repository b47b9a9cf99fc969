"""What a framework keeps for itself in a memory: entries of a session in order, and values under exact keys.

Neither is embedded and `recall` never finds them, except for entries that are given a text.
"""

import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, unquote

from memorist.errors import ConflictError, InvalidInputError
from memorist.memory import Memory
from memorist.operations.arguments import MAX_LIMIT
from memorist.operations.requests import MOST_WAITED_FOR, Remember, Values
from memorist.records.content import is_whole
from memorist.records.record import Draft, Hit, Kind, Record
from memorist.records.scope import Scope
from memorist.records.times import TimeLike
from memorist.stores.base import Order
from memorist.system.offload import offload

_T = TypeVar("_T")
_KINDS = (Kind.MESSAGE, Kind.STATE)
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One entry of a session.

    Args:
        data: the entry in the framework's own form, JSON.
        text: what was said, where recall is to find it: the entry becomes a message.
        role: who speaks: "user", "assistant" or another name.
    """

    data: Mapping[str, Any]
    text: str | None = None
    role: str = "user"


class SessionEntries:
    """The entries of one session, in the order in which they were added.

    Args:
        memory: a memory whose scope has a session.
        form: the framework's name; entries of another form in the same session are not seen.
    """

    def __init__(self, memory: Memory, form: str) -> None:
        self._memory = memory
        self._own = {"form": form}

    async def append(self, entries: Iterable[SessionEntry]) -> None:
        """Add entries in order: all of them or none. They stay together if others are added at the same time.

        Of many at once recall finds the words at first, and the meaning a little later.
        """
        given = list(entries)
        if not given:
            return
        newest = await self._newest()
        at = self._memory.clock() if newest is None else max(self._memory.clock(), newest.at + _TICK)
        drafts = tuple(self._draft(entry, at) for entry in given)
        await self._memory.ask(Remember(records=drafts, embed="behind" if len(drafts) > MOST_WAITED_FOR else "now"))

    async def newest(self, count: int | None = None) -> list[dict[str, Any]]:
        """Return the newest entries, oldest first; by default all of them."""
        asked = Values(fields=("content", "payload"), kind=_KINDS, payload=self._own, order="newest", limit=count)
        rows = await self._memory.ask(asked)
        found = [payload["data"] if kind is Kind.MESSAGE else content for kind, content, payload in reversed(rows)]
        places = [place for place, each in enumerate(found) if isinstance(each, str)]
        for place, data in zip(places, await read_all([found[place] for place in places]), strict=True):
            found[place] = data
        return found

    async def pop(self) -> dict[str, Any] | None:
        """Remove the newest entry and return it; None where there is none. No two callers get the same."""
        while (newest := await self._newest()) is not None:
            if await self._memory.forget(newest.id):
                return _data_of(newest)
        return None

    async def clear(self) -> int:
        """Remove every entry, and return how many there were."""
        return await self._memory.forget(kind=_KINDS, payload=self._own)

    async def _newest(self) -> Record | None:
        page = await self._memory.browse(kind=_KINDS, payload=self._own, order="newest", limit=1)
        return page.records[0] if page.records else None

    def _draft(self, entry: SessionEntry, at: datetime) -> Draft:
        if entry.text is None or not entry.text.strip():
            return Draft(content=_as_json(entry.data), kind=Kind.STATE, payload=self._own, happened_at=at)
        # Half of a character, which no store keeps, comes back to the framework as it was: JSON writes it in ASCII.
        data = dict(entry.data) if is_whole(_dumped(entry.data)) else json.dumps(entry.data)
        payload = {"role": entry.role, **self._own, "data": data}
        return Draft(content=entry.text, kind=Kind.MESSAGE, payload=payload, happened_at=at)


async def first(items: AsyncIterator[_T], count: int | None) -> list[_T]:
    """Return the first `count` items, all of them for None; no more are read than are returned."""
    found: list[_T] = []
    if count is None or count > 0:
        async for each in items:
            found.append(each)
            if len(found) == count:
                break
    return found


async def enough(
    recall: Callable[[int], Awaitable[list[Hit]]], count: int, passes: Callable[[Record], bool]
) -> list[Hit]:
    """Return the best `count` hits whose records pass, recalling more while too few do.

    Args:
        recall: returns up to that many hits, best first.
        count: how many are wanted, 0 or more.
        passes: the test that a record must pass.
    """
    wanted = min(count, MAX_LIMIT)
    while True:
        hits = await recall(wanted)
        found = [hit for hit in hits if passes(hit.record)]
        if len(found) >= count or len(hits) < wanted or wanted >= MAX_LIMIT:
            return found[:count]
        wanted = min(4 * wanted, MAX_LIMIT)


def id_in(scope: Scope, id: str) -> str:
    """Return the id of a record for something whose own id is unique only among those of the same labels."""
    if scope.agent is None and scope.session is None:
        return id
    return str(uuid.uuid5(uuid.NAMESPACE_OID, json.dumps([scope.agent, scope.session, id])))


class KeyValueItem(NamedTuple):
    """A value on a shelf: the rest of its key, the value, and whose it is."""

    name: str
    value: Any
    user: str | None


class KeyValue:
    """JSON values under exact keys, each made of parts that may hold any characters.

    Args:
        memory: whose records they are.
        form: the framework's name, with which every key begins.
    """

    def __init__(self, memory: Memory, form: str) -> None:
        self._memory = memory
        self._form = form

    def draft(self, *parts: str, value: Any, **fields: Any) -> Draft:
        """Return the record that keeps a value under a key, for `Memory.remember`, with further fields of a draft."""
        own = {"form": self._form}
        return Draft(content=_as_json(value), kind=Kind.STATE, key=self._key(parts), payload=own, **fields)

    async def put(self, *parts: str, value: Any, **fields: Any) -> None:
        """Store a value under a key; it replaces the older one, which leaves no trace."""
        while True:
            old = await self.record(*parts)
            try:
                draft = self.draft(*parts, value=value, **fields)
                await self._memory.remember(draft, forgetting=[old.id] if old else [])
            except ConflictError:  # another value came between
                continue
            return

    async def add(self, *parts: str, value: Any) -> None:
        """Keep a value under a new key.

        Raises:
            ConflictError: the key is taken.
        """
        await self._memory.remember(self.draft(*parts, value=value))

    async def record(self, *parts: str) -> Record | None:
        """Return the record under a key, or None."""
        return await self._memory.lookup(self._key(parts), kind=Kind.STATE)

    async def get(self, *parts: str) -> Any:
        """Return the value under a key, or None."""
        record = await self.record(*parts)
        return None if record is None else json.loads(record.content)

    async def under(self, *parts: str, order: Order = "key", **narrowing: Any) -> AsyncIterator[KeyValueItem]:
        """Yield every value whose key is below these parts.

        Args:
            *parts: how the keys begin.
            order: as in `Memory.browse`.
            **narrowing: more of what `Memory.browse` takes, such as `since` or `everyone`.
        """
        prefix = self._key(parts) + "/"
        async for record in self._memory.iterate(order=order, kind=Kind.STATE, key_prefix=prefix, **narrowing):
            rest = (record.key or "").removeprefix(prefix)
            yield KeyValueItem(unquote(rest, errors="surrogatepass"), json.loads(record.content), record.scope.user)

    async def values_under(
        self, *parts: str, order: Order = "key", limit: int | None = None, since: TimeLike | None = None
    ) -> list[Any]:
        """Return the values whose keys are below these parts, in order; by default all of them.

        In a fraction of the time of `under`, which reads whole records.
        """
        most = None if limit is None else max(limit, 0)
        prefix = self._key(parts) + "/"
        asked = Values(fields=("content",), kind=Kind.STATE, key_prefix=prefix, order=order, limit=most, since=since)
        return await read_all([content for _, content in await self._memory.ask(asked)])

    async def delete(self, *parts: str) -> int:
        """Remove the value under a key and all values below it, and return how many there were."""
        key = self._key(parts)
        gone = await self._memory.forget(kind=Kind.STATE, key=key)
        return gone + await self._memory.forget(kind=Kind.STATE, key_prefix=key + "/")

    def _key(self, parts: Iterable[str]) -> str:
        return key_of(self._form, *parts)


def key_of(form: str, *parts: str) -> str:
    """Return the key of a value on the shelf of a framework."""
    return "/".join([form, *(quote(part, safe=" :@.,+-_", errors="surrogatepass") for part in parts)])


def _as_json(value: Any) -> str:
    """Return JSON; with escapes where a text holds half of a character, as the cut output of a tool may."""
    text = _dumped(value)
    return text if is_whole(text) else json.dumps(value)


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"this is not JSON: {error}") from error


async def read_all(texts: Sequence[str]) -> list[Any]:
    """Return what each of some texts of JSON holds; all are read at once, beside the event loop if they are large."""
    return await offload(lambda: list(json.loads(f"[{','.join(texts)}]")), texts) if texts else []


def _data_of(record: Record) -> dict[str, Any]:
    data = record.payload["data"] if record.kind == Kind.MESSAGE else record.content
    return dict(json.loads(data) if isinstance(data, str) else data)
