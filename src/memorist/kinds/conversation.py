"""The messages of one session, in the order they were appended."""

import json
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, overload

from memorist.errors import InvalidInputError, shown
from memorist.kinds.common import delete, find
from memorist.kinds.message import Message, to_message
from memorist.operations.arguments import whole
from memorist.operations.requests import MOST_WAITED_FOR, Remember
from memorist.records.content import whole_text
from memorist.records.fingerprints import SAID, digest_of_said
from memorist.records.origins import author_of_role, parse_authors
from memorist.records.record import Draft, Kind, Record, make_id
from memorist.records.times import TimeLike, told
from memorist.records.zones import offset_of, with_offset
from memorist.secrets import masked, without_private
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

    An id given by the caller is unique among what a role says in the session: a message whose id is there already is
    not appended again; where it says something else, it is revised, and its history keeps what it said before. If a
    message happened before the last one, its record gets a time just after the last record's, so that records keep
    this order; the message itself keeps the time it was given.

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

        Of more than 32 messages at once recall finds the words at first, and the meaning a little later.

        Returns:
            For each message given, the one stored: where the id was there before, that one, as it is now.

        Raises:
            InvalidInputError: a field is missing, unknown or wrong.
        """
        named = {"role": role, "name": name, "id": id, "happened_at": happened_at, "metadata": metadata, "data": data}
        fields = {label: value for label, value in named.items() if value is not None}
        zone = self._memory.zone
        if isinstance(message, str):
            return (await self._append([to_message({"content": message, **fields}, zone)], allow_duplicates))[0]
        if fields:
            raise InvalidInputError(f"{min(fields)} goes with a string; a Message already has its own fields")
        if isinstance(message, Message | Mapping):
            return (await self._append([to_message(message, zone)], allow_duplicates))[0]
        if not isinstance(message, Iterable):
            raise InvalidInputError(f"a message must be a string, a Message or a mapping, not {type(message).__name__}")
        return await self._append([to_message(each, zone) for each in message], allow_duplicates)

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
        for each in (message_id(self._memory.scope.agent, self._memory.scope.session, id), id):
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
        drafts = self._drafts(messages, _each_once(self._ids(messages, {}), {}), None)
        await self._remember(drafts, forgetting=tuple(old))

    # --- order and identity ------------------------------------------------------------------------

    async def _append(self, messages: list[Message], allow_duplicates: bool) -> list[Message]:
        stored = await self._stored(messages)
        ids = self._ids(messages, stored)
        newest = await self._memory.recent(1, kind=Kind.MESSAGE)
        last = newest[0].at if newest else None
        if allow_duplicates:
            drafts = self._drafts(messages, _each_once(ids, stored), last)
            return [Message.of(record) for record in await self._remember(drafts)]
        latest = dict(zip(ids, messages, strict=True))  # of several with one id, the last is what it says
        new = {id: message for id, message in latest.items() if id not in stored}
        drafts = self._drafts([*new.values()], [*new], last)
        added = await self._remember(drafts, if_exists="ignore")
        written = stored | dict(zip(new, added, strict=True))
        for id in stored.keys() & latest.keys():
            [draft] = self._drafts([latest[id]], [id], None)
            written[id] = await restated(self._memory, stored[id], draft)
        return [Message.of(written[id]) for id in ids]

    async def _remember(self, drafts: Sequence[Draft], **options: Any) -> list[Record]:
        """Store messages; many at once get their vectors later: the caller would wait for minutes."""
        if len(drafts) <= MOST_WAITED_FOR:
            return await self._memory.remember(drafts, **options)
        return await self._memory.ask(Remember(records=tuple(drafts), embed="behind", **options))

    async def _stored(self, messages: Iterable[Message]) -> dict[str, Record]:
        """Return the records that messages with these ids have already, by their own ids."""
        ids = {id for message in messages if message.id is not None for id in self._record_ids(message.id, message)}
        found = await self._memory.find(list(ids)) if ids else []
        return {each.id: each for each in found if each.kind == Kind.MESSAGE}

    def _ids(self, messages: Iterable[Message], stored: Mapping[str, Record]) -> list[str]:
        """Return the id of each message's record.

        Some programs give one id to what several roles say in a turn, which names a message of each then.
        """
        roles = {id: str(record.payload.get("role")) for id, record in stored.items()}
        ids = []
        for message in messages:
            if message.id is None:
                ids.append(make_id())
                continue
            first, of_role = self._record_ids(message.id, message)
            is_first = of_role not in roles and roles.setdefault(first, message.role) == message.role
            ids.append(first if is_first else of_role)
        return ids

    def _record_ids(self, id: str, message: Message) -> tuple[str, str]:
        """Return the id of the record of a message with this id, and the one where another role has the first."""
        scope = self._memory.scope
        of_role = json.dumps([id, message.role])
        return message_id(scope.agent, scope.session, id), message_id(scope.agent, scope.session, of_role)

    def _drafts(self, messages: Sequence[Message], ids: Sequence[str], last: datetime | None) -> list[Draft]:
        """Return a draft for each message, each with a later time than the one before, which orders them."""
        drafts = []
        for message, id in zip(messages, ids, strict=True):
            payload = message.payload()
            at = given = message.happened_at or self._memory.clock()
            if last is not None and at <= last:
                at = with_offset(last + _TICK if last < _END_OF_TIME else last, offset_of(given))
                payload["happened_at"] = told(given)
            last = at
            author = None if message.author is None else parse_authors(message.author)
            drafts.append(
                Draft(
                    content=message.content,
                    kind=Kind.MESSAGE,
                    id=id,
                    metadata=message.metadata,
                    payload=payload,
                    happened_at=at,
                    author=None if author == author_of_role(message.role) else author,
                )
            )
        return drafts


def _each_once(ids: Iterable[str], taken: Collection[str]) -> list[str]:
    """Return the ids, with a new one in the place of each that is taken or comes again."""
    seen = {*taken}
    once = []
    for id in ids:
        once.append(make_id() if id in seen else id)
        seen.add(id)
    return once


async def restated(memory: Verbs, record: Record, draft: Draft) -> Record:
    """Return the record of a draft with its id, revised where what the draft says is not what it said before.

    A message is edited, or comes bit by bit. What somebody else has changed meanwhile is left alone until it says
    something new, and a secret that was masked stays masked.

    Raises:
        InvalidInputError: a field is wrong.
    """
    said = without_private(whole_text(draft.content))  # as it is stored: a digest of the rest would let it be guessed
    if memory.secrets == "mask":
        said = masked(said)
    if record.content in (said, masked(said)) or not record.current:  # masked: by the server or a redaction
        return record
    before = record.payload.get(SAID)
    if before is None:
        first = record if record.version == 1 else (await memory.history(record.id))[0].record
        before = None if first is None else digest_of_said(first.content)
    if before in (digest_of_said(said), digest_of_said(masked(said))):
        return record
    return await memory.revise(
        record.id,
        content=said,
        metadata={**record.metadata, **(draft.metadata or {})},
        payload={**record.payload, **(draft.payload or {}), SAID: digest_of_said(said)},
        author=draft.author,
    )


def message_id(agent: str | None, session: str | None, id: str) -> str:
    """Return the id of the record of a message that has an id of its caller's."""
    return uuid.uuid5(_NAMESPACE, json.dumps([agent, session, id])).hex
