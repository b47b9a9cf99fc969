"""The session service: the cases of ADK's own services, on ours and on its SQLite service side by side."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai.types import Content, Part

from memorist import Memory
from memorist.adapters.adk import MemoristMemoryService, MemoristSessionService, sessions
from memorist.errors import InvalidInputError, ScopeError
from memorist.records.record import Kind

pytestmark = pytest.mark.anyio

TRAVEL: dict[str, Any] = {"app_name": "travel", "user_id": "alice"}
MONDAY: dict[str, Any] = {**TRAVEL, "session_id": "monday"}


@pytest.fixture(params=["memorist", "sqlite"])
def service(request: pytest.FixtureRequest, everyone: Memory, tmp_path: Path) -> BaseSessionService:
    if request.param == "sqlite":
        return SqliteSessionService(str(tmp_path / "adk.db"))
    return MemoristSessionService(everyone)


def event(text: str = "Hello", *, at: float | None = None, state: dict[str, Any] | None = None, **fields: Any) -> Event:
    content = Content(role="user", parts=[Part(text=text)])
    actions = EventActions(state_delta=state or {})
    when = {} if at is None else {"timestamp": at}
    return Event(invocation_id="i1", author="user", content=content, actions=actions, **when, **fields)


def texts(session: Any) -> list[str]:
    return [each.content.parts[0].text for each in session.events]


async def test_a_session_is_created_and_read(service: BaseSessionService) -> None:
    made = await service.create_session(**TRAVEL, state={"topic": "Oslo"})
    assert made.id
    assert (made.state, made.events) == ({"topic": "Oslo"}, [])
    assert await service.get_session(**TRAVEL, session_id=made.id) == made
    assert await service.get_session(**TRAVEL, session_id="unknown") is None
    assert await service.get_session(app_name="travel", user_id="bob", session_id=made.id) is None
    assert await service.get_session(app_name="other", user_id="alice", session_id=made.id) is None


async def test_nobodys_session_is_refused_and_nothing_of_it_becomes_the_applications(everyone: Memory) -> None:
    service, nobody = MemoristSessionService(everyone), {"app_name": "travel", "user_id": None}
    for attempt in (
        service.create_session(**nobody, state={"user:name": "Alice"}),  # type: ignore[arg-type]
        service.get_session(**nobody, session_id="monday"),  # type: ignore[arg-type]
        service.get_user_state(**nobody),  # type: ignore[arg-type]
        service.delete_session(**nobody, session_id="monday"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidInputError, match="user_id must be a string"):
            await attempt
    assert await everyone.count(kind=tuple(Kind)) == 0


async def test_an_id_is_taken_once(service: BaseSessionService) -> None:
    await service.create_session(**{**MONDAY, "session_id": " monday "})
    with pytest.raises(AlreadyExistsError):
        await service.create_session(**MONDAY)
    await service.create_session(app_name="travel", user_id="bob", session_id="monday")
    await service.create_session(app_name="other", user_id="alice", session_id="monday")


async def test_events_come_back_whole_and_in_order(service: BaseSessionService) -> None:
    session = await service.create_session(**MONDAY)
    given = [event(f"number {number}", at=1_742_000_000.0 + number // 2) for number in range(5)]
    session.last_update_time = 0.0
    with pytest.raises(StaleSessionError):
        await service.append_event(session, given[0])
    session = await service.create_session(**{**MONDAY, "session_id": "tuesday"})
    session.last_update_time = 2_000_000_000.0
    for each in given:
        await service.append_event(session, each)
    assert session.events == given
    read = await service.get_session(**TRAVEL, session_id="tuesday")
    assert read is not None
    assert read.events == given
    assert read.last_update_time == given[-1].timestamp


async def test_newer_events_alone(service: BaseSessionService) -> None:
    session = await service.create_session(**MONDAY)
    start = session.last_update_time
    for number in range(5):
        await service.append_event(session, event(f"{number}", at=start + number))

    async def read(**config: Any) -> list[str]:
        return texts(await service.get_session(**MONDAY, config=GetSessionConfig(**config)))

    assert await read() == ["0", "1", "2", "3", "4"]
    assert await read(num_recent_events=2) == ["3", "4"]
    assert await read(num_recent_events=0) == []
    assert await read(after_timestamp=start + 3) == ["3", "4"]
    assert await read(num_recent_events=1, after_timestamp=start + 3) == ["4"]


async def test_state_has_three_places_and_one_that_is_not_kept(service: BaseSessionService) -> None:
    session = await service.create_session(**MONDAY, state={"app:a": 1, "user:u": 2, "s": 3})
    assert session.state == {"app:a": 1, "user:u": 2, "s": 3}
    change = {"app:a": 10, "user:v": [1, {"x": None}], "s": 30, "temp:t": 40}
    await service.append_event(session, event(state=change))
    assert session.state == {"app:a": 10, "user:u": 2, "user:v": [1, {"x": None}], "s": 30, "temp:t": 40}
    read = await service.get_session(**MONDAY)
    assert read is not None
    assert read.state == {"app:a": 10, "user:u": 2, "user:v": [1, {"x": None}], "s": 30}
    assert "temp:t" not in read.events[0].actions.state_delta
    assert await service.get_user_state(**TRAVEL) == {"u": 2, "v": [1, {"x": None}]}
    other = await service.create_session(**TRAVEL)
    assert other.state == {"app:a": 10, "user:u": 2, "user:v": [1, {"x": None}]}
    bobs = await service.create_session(app_name="travel", user_id="bob")
    assert bobs.state == {"app:a": 10}
    assert (await service.create_session(app_name="other", user_id="alice")).state == {}
    assert await service.get_user_state(app_name="other", user_id="alice") == {}


async def test_a_partial_event_is_not_kept(service: BaseSessionService) -> None:
    session = await service.create_session(**MONDAY)
    await service.append_event(session, event(partial=True))
    read = await service.get_session(**MONDAY)
    assert read is not None
    assert (read.events, session.events) == ([], [])


async def test_sessions_are_listed_with_the_last_active_last(service: BaseSessionService) -> None:
    first = await service.create_session(**MONDAY, state={"s": 1, "user:u": 2})
    await service.create_session(**TRAVEL, session_id="tuesday")
    await service.create_session(app_name="travel", user_id="bob", session_id="monday")
    await service.create_session(app_name="other", user_id="alice", session_id="monday")
    await service.append_event(first, event())
    listed = (await service.list_sessions(**TRAVEL)).sessions
    assert [(each.id, each.events) for each in listed] == [("tuesday", []), ("monday", [])]
    assert [each.state for each in listed] == [{"user:u": 2}, {"s": 1, "user:u": 2}]
    everyones = (await service.list_sessions(app_name="travel")).sessions
    assert [(each.user_id, each.id) for each in everyones] == [
        ("alice", "tuesday"),
        ("bob", "monday"),
        ("alice", "monday"),
    ]
    assert (await service.list_sessions(app_name="none")).sessions == []


async def test_a_deleted_session_is_gone(service: BaseSessionService) -> None:
    session = await service.create_session(**MONDAY, state={"user:u": 2})
    await service.append_event(session, event())
    await service.create_session(**TRAVEL, session_id="monday2")
    await service.delete_session(**MONDAY)
    await service.delete_session(**MONDAY)
    assert await service.get_session(**MONDAY) is None
    with pytest.raises(SessionNotFoundError):
        await service.append_event(session, event())
    again = await service.create_session(**MONDAY)
    assert (again.events, again.state) == ([], {"user:u": 2})
    assert len((await service.list_sessions(**TRAVEL)).sessions) == 2


async def test_who_read_before_another_process_wrote_is_stale(
    service: BaseSessionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await service.create_session(**MONDAY)
    second = await service.get_session(**MONDAY)
    assert second is not None
    await service.append_event(first, event("first"))
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(sessions, "_writer", lambda: "another process")
        with pytest.raises(StaleSessionError):
            await service.append_event(second, event("second", state={"user:u": 2, "app:a": 1, "s": 3}))
    read = await service.get_session(**MONDAY)
    assert read is not None
    assert (texts(read), read.state) == (["first"], {})


async def test_an_event_that_is_there_is_not_kept_again(everyone: Memory) -> None:
    service = MemoristSessionService(everyone)
    session = await service.create_session(**MONDAY)
    once = event("once", state={"user:u": 2}, id="e1")
    for _ in range(2):
        await service.append_event(session, once)
    with pytest.raises(AlreadyExistsError, match="another event with the id e1"):
        await service.append_event(session, event("twice", id="e1"))
    read = await service.get_session(**MONDAY)
    assert texts(read) == ["once"]


async def test_no_event_of_writers_at_once_is_lost(everyone: Memory) -> None:
    services = [MemoristSessionService(everyone) for _ in range(2)]
    first = await services[0].create_session(**MONDAY)
    readers = [first, *[await services[0].get_session(**MONDAY) for _ in range(7)]]
    for round in range(2):
        calls = [
            services[n % 2].append_event(each, event(f"{n} {round}", state={f"s{n}": round}))
            for n, each in enumerate(readers)
            if each is not None
        ]
        await asyncio.gather(*calls)
    read = await services[0].get_session(**MONDAY)
    assert sorted(texts(read)) == [f"{n} {round}" for n in range(8) for round in range(2)]
    assert read is not None
    assert read.state == {f"s{n}": 1 for n in range(8)}


@pytest.mark.parametrize("forget_entries", [False, True])
async def test_a_deleted_session_takes_its_entries_along_where_wanted(everyone: Memory, forget_entries: bool) -> None:
    service, entries = MemoristSessionService(everyone, forget_entries=forget_entries), MemoristMemoryService(everyone)
    for id in ("monday", "tuesday"):
        session = await service.create_session(**TRAVEL, session_id=id)
        await service.append_event(session, event(f"Homestays on {id}"))
        await entries.add_session_to_memory(session)
    await service.delete_session(**MONDAY)
    found = await entries.search_memory(**TRAVEL, query="homestays")
    held = {each.content.parts[0].text for each in found.memories if each.content.parts}
    assert held == {"Homestays on tuesday", *([] if forget_entries else ["Homestays on monday"])}


async def test_writers_of_other_sessions_keep_each_others_state(everyone: Memory) -> None:
    service = MemoristSessionService(everyone)
    sessions = [await service.create_session(**TRAVEL) for _ in range(6)]
    await asyncio.gather(
        *(service.append_event(each, event(state={f"user:{n}": n, f"app:{n}": n})) for n, each in enumerate(sessions))
    )
    assert await service.get_user_state(**TRAVEL) == {str(n): n for n in range(6)}


async def test_nothing_is_recalled_and_no_wall_is_crossed(everyone: Memory) -> None:
    service = MemoristSessionService(everyone)
    session = await service.create_session(**MONDAY)
    await service.append_event(session, event("Homestays please"))
    assert await everyone.scoped(user="alice").recall("homestays please") == []
    assert set(await everyone.admin.users()) == {"alice"}
    bobs = MemoristSessionService(everyone.scoped(user="bob"))
    with pytest.raises(ScopeError):
        await bobs.get_session(**MONDAY)
    with pytest.raises(ScopeError):
        await bobs.list_sessions(app_name="travel")


async def test_names_may_hold_anything(everyone: Memory) -> None:
    service = MemoristSessionService(everyone)
    for app, id in (("a", "b/c"), ("a/b", "c"), ("a%2Fb", "c"), ("é🎉", "sessions/x")):
        session = await service.create_session(app_name=app, user_id="alice", session_id=id, state={"app:k/l": app})
        await service.append_event(session, event(app))
    for app, id in (("a", "b/c"), ("a/b", "c"), ("a%2Fb", "c"), ("é🎉", "sessions/x")):
        read = await service.get_session(app_name=app, user_id="alice", session_id=id)
        assert read is not None
        assert (texts(read), read.state) == ([app], {"app:k/l": app})


async def test_state_that_is_no_json_is_kept_as_a_text(service: BaseSessionService) -> None:
    session = await service.create_session(**MONDAY, state={"call": print, "set": {1}})
    assert isinstance(session.state["call"], str)
    assert session.state["set"] == [1]
