"""ADK's session service."""

import json
import os
import uuid
from dataclasses import replace
from typing import Any

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session
from google.adk.sessions.state import State
from pydantic_core import to_jsonable_python

from memorist.adapters.entries import KeyValue
from memorist.adapters.opening import AnyMemory, behind
from memorist.errors import ConflictError
from memorist.operations.arguments import text
from memorist.records.record import Kind

_FORM = "adk"
_PROCESS = uuid.uuid4().hex


class MemoristSessionService(BaseSessionService):
    """Keeps sessions, their events and their state; recall finds none of this.

    A user of ADK is a user of the memory, an application is the label `agent`, a session the label `session`.
    State under ``app:`` is kept among the shared records, under ``user:`` among the user's.

    Args:
        memory: an open memory, asynchronous or blocking, which is not closed here, or a path or URL; without a user.
        forget_entries: whether deleting a session also deletes what the memory service holds of its events.
    """

    def __init__(self, memory: AnyMemory, *, forget_entries: bool = False) -> None:
        self._memory = behind(memory, "adk")
        self._forgotten = (Kind.STATE, Kind.MESSAGE) if forget_entries else (Kind.STATE,)

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Keep a new session, and return it with the application's and the user's state.

        Raises:
            AlreadyExistsError: the user has a session with this id.
        """
        text("user_id", user_id)  # without one, the user's state would be the application's
        id = (session_id or "").strip() or str(uuid.uuid4())
        app, user, own = _split(state or {})
        head = {"state": own, "updated": self._memory.clock().timestamp()}
        try:
            await self._values(app_name, user_id, id).add(app_name, "sessions", id, value=head)
        except ConflictError as error:
            raise AlreadyExistsError(f"Session with id {id} already exists.") from error
        await self._merge(app_name, None, app)
        await self._merge(app_name, user_id, user)
        return await self._session(app_name, user_id, id, head)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session with its events, oldest first, or None."""
        id = session_id.strip()
        values = self._values(app_name, text("user_id", user_id), id)
        head = await values.get(app_name, "sessions", id)
        if head is None:
            return None
        session = await self._session(app_name, user_id, id, head)
        most = None if config is None else config.num_recent_events
        since = None if config is None else config.after_timestamp
        events = await values.values_under(app_name, "events", id, order="newest", limit=most, since=since)
        session.events = [Event.model_validate(each) for each in reversed(events)]
        return session

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return the sessions of a user, or of everyone, without events, the last active one last.

        Raises:
            ScopeError: everyone's sessions are asked for, and the memory belongs to one user.
        """
        all_of = user_id is None
        values = KeyValue(self._memory if user_id is None else self._memory.scoped(user=user_id), _FORM)
        heads = [each async for each in values.under(app_name, "sessions", everyone=all_of)]
        shared = await self._state(app_name, None)
        states: dict[str | None, dict[str, Any]] = {}
        async for each in values.under(app_name, "state", everyone=all_of):
            states.setdefault(each.user, {})[each.name] = each.value
        sessions = [
            _made(app_name, each.user or "", each.name, each.value, shared, states.get(each.user, {})) for each in heads
        ]
        sessions.sort(key=lambda session: (session.last_update_time, session.user_id, session.id))
        return ListSessionsResponse(sessions=sessions)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session with its events, its state and, if wanted, its entries; an unknown one is ignored."""
        memory = self._memory.scoped(user=text("user_id", user_id), agent=app_name, session=session_id.strip())
        await memory.forget(kind=self._forgotten, payload={"form": _FORM})

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return the user's state, its keys without ``user:``."""
        return await self._state(app_name, text("user_id", user_id))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Keep an event with what it changes in the state, and add it to the session given.

        A partial event is not kept, state under ``temp:`` stays in the session given, and an event that is stored
        already is not stored again. Runs of one process on one session at the same time add to it in turn.

        Raises:
            SessionNotFoundError: there is no such session.
            StaleSessionError: another process changed the session since it was read.
            AlreadyExistsError: the session has another event with this id.
        """
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        app, user, own = _split(event.actions.state_delta if event.actions else {})
        while (updated := await self._append(session, event, user, own)) is None:
            pass
        await self._merge(session.app_name, None, app)
        session.last_update_time = updated
        return self._commit_event_to_session(session, event)

    async def _append(self, session: Session, event: Event, user: dict[str, Any], own: dict[str, Any]) -> float | None:
        """Keep an event and the state it changes in one step, and return when the session was changed last.

        None where another writer came between. A session's head names the process that wrote last, and the time
        since which no other did: a copy that was read after it has missed nothing but what this process wrote.
        """
        app_name, id = session.app_name, session.id
        values = self._values(app_name, session.user_id)
        stored = await values.record(app_name, "sessions", id)
        if stored is None:
            raise SessionNotFoundError(f"Session {id} not found.")
        head = json.loads(stored.content)
        ours = head.get("writer") == _writer()
        since = head["since"] if ours else head["updated"]
        if since > session.last_update_time:
            raise StaleSessionError(f"Session {id} was changed since it was read; read it again.")
        value = event.model_dump(mode="json", exclude_none=True)
        at_once = head["updated"] > session.last_update_time
        updated = max(head["updated"], event.timestamp) if at_once else event.timestamp
        state = {**head["state"], **own}
        head = {"state": state, "updated": updated, "writer": _writer(), "since": min(since, updated)}
        of_session = [
            values.draft(app_name, "sessions", id, value=head),
            values.draft(app_name, "events", id, event.id, value=value, happened_at=event.timestamp),
        ]
        drafts = [replace(draft, session=id) for draft in of_session]
        drafts += [values.draft(app_name, "state", name, value=value) for name, value in user.items()]
        old = [stored, *[await values.record(app_name, "state", name) for name in user]]
        ids = [each.id for each in old if each is not None]
        try:
            await self._memory.scoped(user=session.user_id, agent=app_name).remember(drafts, forgetting=ids)
        except ConflictError as error:
            known = await values.get(app_name, "events", id, event.id)
            if known not in (None, value):
                raise AlreadyExistsError(f"Session {id} has another event with the id {event.id}.") from error
            return None if known is None else float(head["updated"])
        return float(updated)

    # --- state -------------------------------------------------------------------------------------

    def _values(self, app_name: str, user_id: str | None, session_id: str | None = None) -> KeyValue:
        return KeyValue(self._memory.scoped(user=user_id, agent=app_name, session=session_id), _FORM)

    async def _state(self, app_name: str, user_id: str | None) -> dict[str, Any]:
        values = self._values(app_name, user_id)
        return {each.name: each.value async for each in values.under(app_name, "state")}

    async def _merge(self, app_name: str, user_id: str | None, delta: dict[str, Any]) -> None:
        """Keep each changed key under a key of its own, so that no writer undoes another's."""
        for name, value in delta.items():
            await self._values(app_name, user_id).put(app_name, "state", name, value=value)

    async def _session(self, app_name: str, user_id: str, id: str, head: dict[str, Any]) -> Session:
        shared, own = await self._state(app_name, None), await self._state(app_name, user_id)
        return _made(app_name, user_id, id, head, shared, own)


def _writer() -> str:
    """Return a name of this process, also of one that was forked."""
    return f"{_PROCESS}-{os.getpid()}"


def _made(
    app_name: str, user_id: str, id: str, head: dict[str, Any], shared: dict[str, Any], own: dict[str, Any]
) -> Session:
    state = {
        **head["state"],
        **{State.APP_PREFIX + name: value for name, value in shared.items()},
        **{State.USER_PREFIX + name: value for name, value in own.items()},
    }
    return Session(app_name=app_name, user_id=user_id, id=id, state=state, last_update_time=head["updated"])


def _split(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the application's, the user's and the session's part, as JSON, without what is temporary."""
    parts: dict[str, dict[str, Any]] = {State.APP_PREFIX: {}, State.USER_PREFIX: {}, State.TEMP_PREFIX: {}, "": {}}
    for name, value in to_jsonable_python(state, serialize_unknown=True).items():
        prefix = next(each for each in parts if name.startswith(each))
        parts[prefix][name.removeprefix(prefix)] = value
    return parts[State.APP_PREFIX], parts[State.USER_PREFIX], parts[""]
