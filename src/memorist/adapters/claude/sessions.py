"""The session store of the Claude Agent SDK: transcripts, so that any machine can resume a session."""

import time
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

from claude_agent_sdk import fold_session_summary
from claude_agent_sdk.types import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
)

from memorist.errors import ConflictError
from memorist.memory import Memory
from memorist.records import Draft, Kind, Record, make_id
from memorist.twin import Twin, asynchronous

__all__ = ["MemoristSessionStore"]

FIELD = "claude_session"
"""Where the parts are in a record's payload."""
_HEADS, _ENTRIES = "claude.session", "claude.session_entry"


class MemoristSessionStore(SessionStore):
    """Keeps the transcripts of Claude Agent SDK sessions as topics of one memory.

    ```python
    store = MemoristSessionStore(memory.scoped(user="alice"))
    async for message in query(prompt="Go on", options=ClaudeAgentOptions(session_store=store, resume=session_id)):
        ...
    ```

    A session is the label `session` of its records; all are behind the wall of the memory's scope. Recall
    never finds them. An append takes effect whole or not at all, and an entry with a uuid is stored once.

    Args:
        memory: an open memory, asynchronous or blocking.
    """

    def __init__(self, memory: Memory | Twin) -> None:
        self._memory: Memory = asynchronous(memory).unlabelled().through("claude")
        self._last = 0

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Store entries at the end of a transcript, and keep its summary up to date."""
        given = self._drafts(key, entries)  # the keys of one process are in the order of its calls
        while given:
            head = await self._memory.lookup(_head(key))
            new = [each for each in given if each.id is None or await self._memory.get(each.id) is None]
            if not new:
                return
            drafts = [*new, _head_draft(key, head, [each.payload[FIELD]["entry"] for each in new if each.payload])]
            try:
                await self._memory.remember(drafts, forgetting=[head.id] if head else [])
            except ConflictError:  # another call wrote to the same transcript
                continue
            return

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return all entries of a transcript in order, or None where there are none."""
        records = self._records(_entries(key))
        return [record.payload[FIELD]["entry"] async for record in records] or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project, each with when it was last written to, in milliseconds since 1970."""
        return [{"session_id": each["session_id"], "mtime": each["mtime"]} async for each in self._heads(project_key)]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return the summaries of a project's sessions."""
        return [
            {"session_id": each["session_id"], "mtime": each["mtime"], "data": each["data"]}
            async for each in self._heads(project_key)
        ]

    async def delete(self, key: SessionKey) -> None:
        """Delete a session with all its subagents' transcripts, or the one that `subpath` names."""
        if key.get("subpath"):
            await self._memory.forget(key=_head(key), kind=Kind.TOPIC)
            await self._memory.forget(key_prefix=_entries(key), kind=Kind.TOPIC)
            return
        for form in (_HEADS, _ENTRIES):
            await self._memory.forget(key_prefix=_session(form, key), kind=Kind.TOPIC)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the subpaths of a session's further transcripts."""
        paths = [record.payload[FIELD]["subpath"] async for record in self._records(_session(_HEADS, key))]
        return [path for path in paths if path]

    # --- records ---------------------------------------------------------------------------------------

    def _drafts(self, key: SessionKey, entries: list[SessionStoreEntry]) -> list[Draft]:
        """Return the records to be, with keys in the order of the entries; of the same uuid the first alone."""
        drafts: dict[str, Draft] = {}
        for entry in entries:
            self._last = max(self._last + 1, time.time_ns() // 1000)
            at, uuid = f"{_entries(key)}{self._last:018d}-{make_id()[:8]}", entry.get("uuid")
            id = None if uuid is None else f"{_entries(key)}{quote(uuid, safe='')}"
            drafts.setdefault(id or at, _draft(key, at, {"entry": dict(entry)}, id))
        return list(drafts.values())

    async def _heads(self, project_key: str) -> AsyncIterator[dict[str, Any]]:
        async for record in self._records(f"{_HEADS}/{quote(project_key, safe='')}/"):
            if not record.payload[FIELD]["subpath"]:
                yield dict(record.payload[FIELD])

    def _records(self, prefix: str) -> AsyncIterator[Record]:
        return self._memory.iterate(kind=Kind.TOPIC, key_prefix=prefix, order="key")


def _session(form: str, key: SessionKey | SessionListSubkeysKey) -> str:
    """Return how the keys of a session's records of a form begin."""
    return "".join(f"{part}/" for part in (form, quote(key["project_key"], safe=""), quote(key["session_id"], safe="")))


def _head(key: SessionKey) -> str:
    return _session(_HEADS, key) + quote(key.get("subpath") or "", safe="")


def _entries(key: SessionKey) -> str:
    return _session(_ENTRIES, key) + quote(key.get("subpath") or "", safe="") + "/"


def _draft(key: SessionKey, at: str, parts: dict[str, Any], id: str | None = None) -> Draft:
    names = {"project_key": key["project_key"], "session_id": key["session_id"], "subpath": key.get("subpath") or ""}
    return Draft(
        content=at, kind=Kind.TOPIC, id=id, key=at, session=key["session_id"], payload={FIELD: {**names, **parts}}
    )


def _head_draft(key: SessionKey, old: Record | None, entries: list[SessionStoreEntry]) -> Draft:
    """Return the record to be that says when a transcript was last written to, and what it is about."""
    before = None if old is None else old.payload[FIELD]
    data = {} if key.get("subpath") else fold_session_summary(before, key, entries)["data"]
    mtime = time.time_ns() // 1_000_000
    return _draft(key, _head(key), {"mtime": mtime, "data": data})
