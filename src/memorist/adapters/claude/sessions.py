"""The session store of the Claude Agent SDK: transcripts, so that any machine can resume a session."""

import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
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

from memorist.adapters.entries import KeyValue
from memorist.adapters.opening import AnyMemory, behind
from memorist.agents import read_messages, without_recalled
from memorist.errors import ConflictError
from memorist.memory import Memory
from memorist.records.record import Draft, Kind, Record, make_id

_FORM = "claude_session"


class MemoristSessionStore(SessionStore):
    """Keeps the transcripts of Claude Agent SDK sessions as topics of one memory.

    ```python
    store = MemoristSessionStore(memory.scoped(user="alice"))
    async for message in query(prompt="Go on", options=ClaudeAgentOptions(session_store=store, resume=session_id)):
        ...
    ```

    A session is the label `session` of its records; all are behind the wall of the memory's scope. Recall never finds
    the transcripts. An append takes effect whole or not at all, and an entry with a uuid is stored once.

    Args:
        memory: an open memory, asynchronous or blocking, or a path or URL.
        keep: whether what user and model say to each other becomes messages too, which recall finds; they go with the
            session.
    """

    def __init__(self, memory: AnyMemory, *, keep: bool = False) -> None:
        self._memory: Memory = behind(memory, "claude").unlabelled()
        self._keep = keep
        self._values = KeyValue(self._memory, _FORM)
        self._last = 0

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Store entries at the end of a transcript, and keep its summary up to date."""
        given = self._drafts(key, entries)  # the keys of one process are in the order of its calls
        while given:
            head = await self._values.record("heads", *_parts(key))
            new = [each for each in given if each.id is None or await self._memory.get(each.id) is None]
            if not new:
                return
            values = [json.loads(each.content) for each in new]
            drafts = [*new, self._head_draft(key, head, values)]
            if self._keep and not key.get("subpath"):
                drafts += [message for value in values for message in _said(key["session_id"], value)]
            try:
                await self._memory.remember(drafts, forgetting=[head.id] if head else [])
            except ConflictError:  # another call wrote to the same transcript
                continue
            return

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return all entries of a transcript in order, or None where there are none."""
        return await self._values.values_under("entries", *_parts(key)) or None

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
        parts = _parts(key) if key.get("subpath") else _parts(key)[:2]
        for form in ("heads", "entries"):
            await self._values.delete(form, *parts)
        if not key.get("subpath"):
            await self._memory.forget(kind=Kind.MESSAGE, session=key["session_id"], payload={"form": _FORM})

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the subpaths of a session's further transcripts."""
        heads = self._values.under("heads", key["project_key"], key["session_id"])
        return [each.name async for each in heads if each.name]

    # --- records ---------------------------------------------------------------------------------------

    def _drafts(self, key: SessionKey, entries: list[SessionStoreEntry]) -> list[Draft]:
        """Return the drafts of the entries, with keys in their order; of entries with the same uuid, only the first."""
        drafts: dict[str, Draft] = {}
        for entry in entries:
            self._last = max(self._last + 1, time.time_ns() // 1000)
            at, uuid = f"{self._last:018d}-{make_id()[:8]}", entry.get("uuid")
            draft = self._values.draft("entries", *_parts(key), at, value=dict(entry))
            id = (
                None if uuid is None else str(draft.key).removesuffix(at) + quote(uuid, safe="", errors="surrogatepass")
            )
            drafts.setdefault(id or at, replace(draft, id=id, session=key["session_id"]))
        return list(drafts.values())

    def _head_draft(self, key: SessionKey, old: Record | None, entries: list[SessionStoreEntry]) -> Draft:
        """Return the draft of a transcript's head: the time of the last write, and its summary."""
        before = None if old is None else json.loads(old.content)
        _, id, subpath = _parts(key)
        data = {} if subpath else fold_session_summary(before, key, entries)["data"]
        value = {"session_id": id, "subpath": subpath, "mtime": time.time_ns() // 1_000_000, "data": data}
        return replace(self._values.draft("heads", *_parts(key), value=value), session=id)

    async def _heads(self, project_key: str) -> AsyncIterator[dict[str, Any]]:
        async for each in self._values.under("heads", project_key):
            if not each.value["subpath"]:
                yield each.value


def _parts(key: SessionKey) -> tuple[str, str, str]:
    return key["project_key"], key["session_id"], key.get("subpath") or ""


def _said(session: str, entry: dict[str, Any]) -> list[Draft]:
    """Return what an entry of a transcript says, as messages; [] for a tool's result, and what the program added."""
    if entry.get("type") not in ("user", "assistant") or entry.get("isMeta") or entry.get("isSidechain"):
        return []
    return [
        Draft(
            content=text,
            kind=Kind.MESSAGE,
            session=session,
            payload={"role": each.role, "form": _FORM},
            happened_at=entry.get("timestamp"),
        )
        for each in read_messages(entry.get("message") or ())
        if each.role in ("user", "assistant") and (text := without_recalled(each.content)).strip()
    ]
