"""Pydantic AI's conversations: each message stored once, in one memory."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import quote, unquote

from pydantic import TypeAdapter
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)

from memorist.adapters.opening import AnyMemory, behind
from memorist.errors import ConflictError, InvalidInputError, NotFoundError
from memorist.memory import Memory
from memorist.operations.requests import Values
from memorist.records.record import Draft, Kind, Record

FIELD = "pydantic_ai"
"""Where the parts are in a record's payload."""
_CONVERSATION, _ENTRY = "pydantic_ai.conversation:", "pydantic_ai.entry:"
_RECORD: TypeAdapter[ConversationRecord] = TypeAdapter(ConversationRecord)
_ENTRIES: TypeAdapter[ConversationEntry] = TypeAdapter(ConversationEntry)
_HISTORY: TypeAdapter[list[ConversationEntry]] = TypeAdapter(list[ConversationEntry])


class MemoristConversationStore(ConversationStore):
    """Keeps conversations and their messages as state in one memory.

    ```python
    store = MemoristConversationStore(memory.scoped(user="alice"))
    conversation = await store.load("monday") or Conversation(conversation_id="monday")
    result = await agent.run("Go on", conversation=conversation)
    await store.save(result)
    ```

    A conversation is the label `session` of its records; all are behind the wall of the memory's scope, and
    Pydantic AI's own `scope` narrows within it. Recall never finds them: for that there is
    `MemoristCapability`. A record and its new entries are stored together or not at all. Deleting a
    conversation deletes the entries that no other one reaches.

    Args:
        memory: an open memory, asynchronous or blocking, or a path or URL.
    """

    def __init__(self, memory: AnyMemory) -> None:
        self._memory: Memory = behind(memory, "pydantic_ai").unlabelled()

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return a conversation's record, or None."""
        held = await self._held(conversation_id)
        return None if held is None else _record_of(held)

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """Return the records, or those of a scope, the last saved first."""
        chosen = {} if scope is None else {f"{FIELD}.record.scope": scope}
        records = [_record_of(each) async for each in self._records(_CONVERSATION, chosen)]
        return sorted(records, key=lambda record: record.updated_at, reverse=True)[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store a record and its new entries if the stored record has the expected revision.

        Raises:
            ConversationConflict: there is another revision, or its last entry is gone.
        """
        held = await self._held(record.conversation_id)
        if (None if held is None else _record_of(held).revision) != expected_revision:
            raise ConversationConflict(record.conversation_id)
        entries = [_entry_draft(each, record.conversation_id) for each in new_entries]
        head = record.head_id
        if head not in {None, *(each.id for each in new_entries)} and await self._memory.get(f"{_ENTRY}{head}") is None:
            raise ConversationConflict(record.conversation_id)
        try:
            await self._memory.remember([*entries, _record_draft(record, held)])
        except (ConflictError, NotFoundError, InvalidInputError) as error:
            now = await self._held(record.conversation_id)
            if (None if now is None else now.id) != (None if held is None else held.id):
                raise ConversationConflict(record.conversation_id) from error
            raise
        if held is not None:
            await self._memory.forget(held.id)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Delete a conversation, and the entries that no other one reaches.

        Raises:
            ConversationConflict: the stored revision is another one, or nothing is stored.
        """
        held = await self._held(conversation_id)
        if held is None or _record_of(held).revision != expected_revision:
            raise ConversationConflict(conversation_id)
        if not await self._memory.forget(held.id):
            raise ConversationConflict(conversation_id)
        # Entries before records: an entry that is seen here was stored together with its record.
        parents = {each.id: each.payload[FIELD]["parent"] async for each in self._records(_ENTRY, {})}
        reached: set[str] = set()
        async for each in self._records(_CONVERSATION, {}):
            record = _record_of(each)
            for entry in (record.head_id, *record.branches):
                at = entry and _ENTRY + entry
                while at is not None and at in parents and at not in reached:
                    reached.add(at)
                    at = parents[at]
        if gone := parents.keys() - reached:
            await self._memory.forget(*gone)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Return the entry with this id.

        Raises: KeyError: there is no such entry.
        """
        record = await self._memory.get(_ENTRY + entry_id)
        if record is None:
            raise KeyError(entry_id)
        return _entry_of(record)

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """Return an entry and those before it, oldest first; with `limit`, the last ones."""
        near: dict[str, Mapping[str, Any]] = {}
        found: list[Any] = []
        at = head_id and _ENTRY + head_id
        while at is not None and (limit is None or len(found) < limit):
            if at not in near:
                near |= await self._near(at, limit)
            found.append(near[at]["entry"])
            at = near[at]["parent"]
        return _HISTORY.validate_python(found[::-1])

    async def _near(self, id: str, limit: int | None) -> dict[str, Mapping[str, Any]]:
        """Return the parts of an entry, and of those stored before it in the same conversation."""
        record = await self._memory.get(id)
        if record is None:
            raise KeyError(id.removeprefix(_ENTRY))
        just_after = record.at + timedelta(microseconds=1)  # entries of one batch may have the same time
        asked = Values(
            fields=("id", "payload"), kind=Kind.STATE, session=record.scope.session, key_prefix=_ENTRY,
            until=just_after, order="newest", limit=limit,
        )  # fmt: skip
        rows = await self._memory.ask(asked)
        return {each: payload[FIELD] for _, each, payload in rows} | {id: record.payload[FIELD]}

    async def _held(self, conversation_id: str) -> Record | None:
        return await self._memory.lookup(
            _CONVERSATION + quote(conversation_id, safe="", errors="surrogatepass"), kind=Kind.STATE
        )

    def _records(self, prefix: str, chosen: dict[str, Any]) -> AsyncIterator[Record]:
        return self._memory.iterate(kind=Kind.STATE, key_prefix=prefix, payload=chosen or None, order="key")


def _record_draft(record: ConversationRecord, held: Record | None) -> Draft:
    return Draft(
        content=f"conversation {record.conversation_id}",
        kind=Kind.STATE,
        key=_CONVERSATION + quote(record.conversation_id, safe="", errors="surrogatepass"),
        session=record.conversation_id,
        payload={FIELD: {"record": _RECORD.dump_python(record, mode="json")}},
        supersedes=None if held is None else held.id,  # fails where it was replaced or deleted meanwhile
    )


def _record_of(held: Record) -> ConversationRecord:
    record = _RECORD.validate_python(held.payload[FIELD]["record"])
    # The key has the whole name: JSON has a mark where it holds half of a character.
    return replace(record, conversation_id=unquote(str(held.key).removeprefix(_CONVERSATION), errors="surrogatepass"))


def _entry_draft(entry: ConversationEntry, conversation_id: str) -> Draft:
    id = _ENTRY + entry.id
    parts = {
        "parent": None if entry.parent_id is None else _ENTRY + entry.parent_id,
        "entry": _ENTRIES.dump_python(entry, mode="json"),
    }
    return Draft(content=id, kind=Kind.STATE, id=id, key=id, session=conversation_id, payload={FIELD: parts})


def _entry_of(record: Record) -> ConversationEntry:
    return _ENTRIES.validate_python(record.payload[FIELD]["entry"])
