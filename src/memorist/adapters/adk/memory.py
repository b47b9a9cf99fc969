"""ADK's memory service."""

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai.types import Content, Part

from memorist.adapters.opening import AnyMemory, behind
from memorist.agents.thread_state import ThreadState, note, taken
from memorist.kinds.conversation import restated
from memorist.memory import Memory
from memorist.operations import arguments
from memorist.records.attribution import note_on
from memorist.records.record import Action, Draft, Kind, Record

_NAMESPACE = uuid.UUID("6d656d6f-7269-5374-8000-00000061646b")


class MemoristMemoryService(BaseMemoryService):
    """Keeps what was said in sessions, and finds it by meaning and by words.

    ```python
    runner = Runner(app_name="travel", agent=agent, session_service=…, memory_service=MemoristMemoryService(memory))
    ```

    A user of ADK is a user of the memory, an application is the label `agent`, a session the label `session`.

    Args:
        memory: an open memory, asynchronous or blocking, which is not closed here, or a path or URL; without a user.
        max_results: the most entries that a search returns.
        min_score: the least score of an entry, 0 to 1.
        apps_apart: whether a search sees only the application's own entries; otherwise all of the user's.
    """

    def __init__(
        self, memory: AnyMemory, *, max_results: int = 10, min_score: float = 0.0, apps_apart: bool = True
    ) -> None:
        self._memory = behind(memory, "adk")
        self._max_results = max_results
        self._min_score = min_score
        self._apps_apart = apps_apart

    async def add_session_to_memory(self, session: Session) -> None:
        """Store the texts of a session's events; events stored before are ignored."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep the texts of events: all of them or none. An event that was deleted is not stored again.

        One that is stored already and has another text now was edited: its record is revised.

        Args:
            app_name: the application.
            user_id: the user.
            events: the events; those without a text are left out.
            session_id: the events' session.
            custom_metadata: the caller's own fields, JSON, for each of them.
        """
        memory = self._of(user_id, app_name, session_id)
        drafts: dict[str, Draft] = {}
        place = memory.scope, "adk"
        handles = [(event.id or event.timestamp, _text_of(event.content)) for event in events]
        state = taken(memory, place, handles)
        if state.last is None or not await memory.history(state.last):  # purged meanwhile
            state = ThreadState()
        for event in events[state.length :]:
            text = _text_of(event.content)
            if not text.strip() or event.partial:
                continue
            id = _id(app_name, session_id, event.id or [event.author, event.timestamp, text])
            payload = {
                "role": "user" if event.author == "user" else "assistant",
                "speaker": event.author,
                "id": event.id or id,
                "form": "adk",
                "content": _plain(event.content),
            }
            drafts[id] = Draft(
                content=text,
                kind=Kind.MESSAGE,
                id=id,
                payload=payload,
                metadata=dict(custom_metadata or {}),
                happened_at=event.timestamp,
            )
        known = {record.id: record for record in await memory.find(list(drafts))} if drafts else {}
        new = [draft for id, draft in drafts.items() if id not in known and await _is_new(memory, id)]
        if new:
            await memory.remember(new, if_exists="ignore")
        for id, record in known.items():
            await restated(memory, record, drafts[id])
        if last := next(reversed(drafts), state.last):
            note(memory, place, state.after(handles, last))

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store entries as notes: all of them or none. An entry replaces a stored one with the same id.

        Raises:
            InvalidInputError: an entry has no text.
        """
        drafts = []
        for entry in memories:
            payload = {"speaker": entry.author, "id": entry.id, "form": "adk", "content": _plain(entry.content)}
            draft = Draft(
                content=_text_of(entry.content),
                kind=Kind.NOTE,
                id=None if entry.id is None else _id(app_name, None, entry.id),
                payload={name: value for name, value in payload.items() if value is not None},
                metadata={**entry.custom_metadata, **(custom_metadata or {})},
                happened_at=entry.timestamp,
            )
            drafts.append(draft)
        await self._of(user_id, app_name).remember(drafts, if_exists="replace")

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the entries relevant to a query, best first."""
        memory = self._of(user_id, app_name if self._apps_apart else None)
        hits = await memory.recall(query, limit=self._max_results, min_score=self._min_score)
        return SearchMemoryResponse(memories=[_entry(hit.record) for hit in hits])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete the entry with this id, as a search gives it; an unknown one is ignored.

        Raises:
            InvalidInputError: no entry is named.
        """
        id = arguments.text("memory_id", memory_id)
        memory = self._of(user_id, app_name)
        await memory.forget(id)
        await memory.forget(payload={"form": "adk", "id": id}, kind=(Kind.MESSAGE, Kind.NOTE))

    def _of(self, user_id: str, app_name: str | None, session_id: str | None = None) -> Memory:
        """Return the memory of a user, who must be named: without a user it would be the shared memory."""
        return self._memory.scoped(user=arguments.text("user_id", user_id), agent=app_name, session=session_id)


async def _is_new(memory: Memory, id: str) -> bool:
    """Return whether there was never a record with this id, or it has expired; False for a forgotten one."""
    changes = await memory.history(id)
    return not changes or changes[-1].action == Action.EXPIRED


def _entry(record: Record) -> MemoryEntry:
    content, author = record.payload.get("content"), record.payload.get("speaker")
    note = note_on(record)
    return MemoryEntry(
        id=record.payload.get("id", record.id),
        content=Content.model_validate(content) if content else Content(parts=[Part(text=record.content)]),
        author=f"{author or ''} {note}".strip() or None,
        timestamp=record.at.isoformat(),
        custom_metadata=dict(record.metadata),
    )


def _text_of(content: Content | None) -> str:
    parts = (content and content.parts) or []
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def _plain(content: Content | None) -> dict[str, Any]:
    return {} if content is None else content.model_dump(mode="json", exclude_none=True)


def _id(*parts: Any) -> str:
    return uuid.uuid5(_NAMESPACE, json.dumps(parts)).hex
