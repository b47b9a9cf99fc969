"""The messages of one session, in the order they were appended."""

import json
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, overload

from memorist.errors import InvalidInputError, shown
from memorist.kinds.common import delete, find
from memorist.kinds.message import Message, to_message
from memorist.operations.arguments import whole
from memorist.records.origins import author_of_role, parse_authors
from memorist.records.record import Draft, Kind, Record, make_id
from memorist.records.times import TimeLike, iso
from memorist.verbs import Verbs

_NAMESPACE = uuid.UUID("6d656d6f-7269-5374-8000-636f6e766572")
_STATE_VERSION = 1
_TICK = timedelta(microseconds=1)
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)
_PAGE = 500
_IDS = 200
"""Most ids in one filter."""


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a text has: a quarter of its characters, rounded up."""
    return -(-len(text) // 4)


class Conversation:
    """The messages of one session, in exactly the order in which they were appended.

    An id given by the caller is unique in the session: a message whose id is there already is not
    appended again. If a message happened before the last one, its record gets a time just after the last record's,
    so that records keep this order; the message itself keeps the time it was given.

    ```python
    talk = memory.conversation("monday")
    await talk.append("Where was I last week?")
    await talk.append("In Oslo.", role="assistant")
    for message in await talk.window(tokens=2000):
        print(f"{message.role}: {message.content}")
    ```

    Raises:
        InvalidInputError: the memory's scope has no session.
    """

    def __init__(self, memory: Verbs) -> None:
        if memory.scope.session is None:
            raise InvalidInputError("a conversation needs a session; use memory.conversation('name')")
        self._memory = memory

    @overload
    async def append(  # type: ignore[overload-overlap]  # a text is one text, not an iterable of letters
        self,
        message: str | Message | Mapping[str, Any],
        *,
        role: str | None = ...,
        name: str | None = ...,
        id: str | None = ...,
        happened_at: TimeLike | None = ...,
        metadata: Mapping[str, Any] | None = ...,
        data: Mapping[str, Any] | None = ...,
        allow_duplicates: bool = ...,
    ) -> Message: ...

    @overload
    async def append(
        self, message: Iterable[str | Message | Mapping[str, Any]], *, allow_duplicates: bool = ...
    ) -> list[Message]: ...

    async def append(
        self,
        message: str | Message | Mapping[str, Any] | Iterable[str | Message | Mapping[str, Any]],
        *,
        role: str | None = None,
        name: str | None = None,
        id: str | None = None,
        happened_at: TimeLike | None = None,
        metadata: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] | None = None,
        allow_duplicates: bool = False,
    ) -> Message | list[Message]:
        """Add one message, or several in order: all of them or none. On disk when it returns.

        Args:
            message: a text, a `Message`, a mapping of its fields such as ``{"role": "user", "content": …}``,
                or several of these.
            role: who speaks, for a text: "user" if left out.
            name: the speaker's name, for a text.
            id: the caller's own id, for a text.
            happened_at: when it was said, for a text; by default now.
            metadata: the caller's own fields, for a text.
            data: what else belongs to the message, JSON, for a text.
            allow_duplicates: add a message again whose id the conversation has already.

        Returns:
            For each message given, the one stored: where the id was there before, the old one.

        Raises:
            InvalidInputError: a field is missing, unknown or wrong.
        """
        named = {"role": role, "name": name, "id": id, "happened_at": happened_at, "metadata": metadata, "data": data}
        fields = {label: value for label, value in named.items() if value is not None}
        if isinstance(message, str):
            return (await self._append([to_message({"content": message, **fields})], allow_duplicates))[0]
        if fields:
            raise InvalidInputError(f"{min(fields)} goes with a text; a message has its own fields")
        if isinstance(message, Message | Mapping):
            return (await self._append([to_message(message)], allow_duplicates))[0]
        if not isinstance(message, Iterable):
            raise InvalidInputError(f"a message is a text, a Message or a mapping, not {type(message).__name__}")
        return await self._append([to_message(each) for each in message], allow_duplicates)

    async def window(
        self,
        count: int | None = None,
        tokens: int | None = None,
        *,
        count_tokens: Callable[[str], int] = estimate_tokens,
    ) -> list[Message]:
        """Return the newest messages that fit, oldest first: an unbroken run up to the last one.

        Args:
            count: how many at most.
            tokens: how many tokens at most, all contents together.
            count_tokens: returns how many tokens a text has; by default a quarter of its characters, rounded up.

        Raises:
            InvalidInputError: a number is not whole or is negative.
        """
        for label, number in (("count", count), ("tokens", tokens)):
            if number is not None:
                whole(label, number)
        fitting: list[Message] = []
        left = tokens
        if count == 0:
            return fitting
        page = _PAGE if count is None else min(count, _PAGE)
        async for record in self._memory.iterate(kind=Kind.MESSAGE, order="newest", page=page):
            message = Message.of(record)
            if left is not None and (left := left - count_tokens(message.content)) < 0:
                break
            fitting.append(message)
            if len(fitting) == count:
                break
        return fitting[::-1]

    async def all(self) -> list[Message]:
        """Return every message in order."""
        return [message async for message in self]

    async def __aiter__(self) -> AsyncIterator[Message]:
        """Yield every message in order, read page by page."""
        async for record in self._memory.iterate(kind=Kind.MESSAGE):
            yield Message.of(record)

    async def size(self) -> int:
        """Return how many messages there are."""
        return await self._memory.count(kind=Kind.MESSAGE)

    async def get(self, id: str) -> Message | None:
        """Return the message with this id (the caller's id or the record's), or None."""
        for each in (self._record_id(id), id):
            record = await find(self._memory, Kind.MESSAGE, each)
            if record is not None:
                return Message.of(record)
        return None

    async def delete(self, *ids: str) -> int:
        """Delete the messages with these ids, and return how many existed. Unknown ids are ignored.

        A caller's id deletes every message that has it; a record's id deletes that record.
        """
        gone = 0
        for start in range(0, len(ids), _IDS):
            some = ids[start : start + _IDS]
            gone += await delete(self._memory, Kind.MESSAGE, some)
            gone += await self._memory.forget(kind=Kind.MESSAGE, payload={"id": {"$in": some}})
        return gone

    async def clear(self) -> int:
        """Delete every message, and return how many there were."""
        return await self._memory.forget(kind=Kind.MESSAGE)

    async def state(self) -> dict[str, Any]:
        """Return the whole conversation as plain JSON values, for `restore`."""
        return {"version": _STATE_VERSION, "messages": [message.to_dict() async for message in self]}

    async def restore(self, state: Mapping[str, Any]) -> None:
        """Replace all messages with those of a `state`, in one step: all or nothing.

        Raises:
            InvalidInputError: it is not what `state` returns; nothing was changed.
        """
        if not isinstance(state, Mapping) or not isinstance(state.get("messages"), list):
            raise InvalidInputError("a conversation's state is a mapping with a list of messages")
        if state.get("version") != _STATE_VERSION:
            raise InvalidInputError(f"the state is of version {shown(state.get('version'))}, not {_STATE_VERSION}")
        messages = [to_message(each) for each in state["messages"]]
        old = [record.id async for record in self._memory.iterate(kind=Kind.MESSAGE)]
        drafts = self._drafts(messages, None, set())
        await self._memory.remember(drafts, forgetting=old)

    # --- order and identity ------------------------------------------------------------------------

    async def _append(self, messages: list[Message], allow_duplicates: bool) -> list[Message]:
        ids = {self._record_id(message.id): message.id for message in messages if message.id is not None}
        found = await self._memory.find(list(ids)) if ids else []
        stored = {ids[each.id]: each for each in found if each.kind == Kind.MESSAGE}
        seen, new = set(stored), list[Message]()
        for message in messages:
            if allow_duplicates or message.id not in seen:
                new.append(message)
            if message.id is not None:
                seen.add(message.id)
        newest = await self._memory.recent(1, kind=Kind.MESSAGE)
        drafts = self._drafts(new, newest[0].at if newest else None, set(stored))
        records = await self._memory.remember(drafts, if_exists="error" if allow_duplicates else "ignore")
        if allow_duplicates:
            return [Message.of(record) for record in records]
        added = iter(records)
        written: list[Record] = []
        for message in messages:
            if message.id is None:
                written.append(next(added))
            else:
                if message.id not in stored:
                    stored[message.id] = next(added)
                written.append(stored[message.id])
        return [Message.of(record) for record in written]

    def _drafts(self, messages: Sequence[Message], last: datetime | None, taken: set[str]) -> list[Draft]:
        """Return a draft for each message, each with a later time than the one before, which orders them."""
        drafts = []
        for message in messages:
            payload = message.payload()
            at = given = message.happened_at or self._memory.clock()
            if last is not None and at <= last:
                at = last + _TICK if last < _END_OF_TIME else last
                payload["happened_at"] = iso(given)
            last = at
            author = None if message.author is None else parse_authors(message.author)
            own = message.id is not None and message.id not in taken
            drafts.append(
                Draft(
                    content=message.content,
                    kind=Kind.MESSAGE,
                    id=self._record_id(message.id) if own and message.id else make_id(),
                    metadata=message.metadata,
                    payload=payload,
                    happened_at=at,
                    author=None if author == author_of_role(message.role) else author,
                )
            )
            if message.id is not None:
                taken.add(message.id)
        return drafts

    def _record_id(self, id: str) -> str:
        """Return the record id of a message id, which differs between sessions."""
        scope = self._memory.scope
        return message_id(scope.agent, scope.session, id)


def message_id(agent: str | None, session: str | None, id: str) -> str:
    """Return the id of the record of a message that has an id of its caller's."""
    return uuid.uuid5(_NAMESPACE, json.dumps([agent, session, id])).hex
