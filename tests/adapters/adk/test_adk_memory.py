"""The memory service: the cases of ADK's own in-memory and SQLite services."""

from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai.types import Content, FunctionCall, Part

from memorist import Memory
from memorist.adapters.adk import MemoristMemoryService
from memorist.errors import InvalidInputError, ScopeError

pytestmark = pytest.mark.anyio

APP, USER = "travel", "alice"
TRAVEL: dict[str, Any] = {"app_name": APP, "user_id": USER}


def event(id: str, text: str, *, author: str = "user", at: float = 1_742_000_000.0, **fields: Any) -> Event:
    role = "user" if author == "user" else "model"
    return Event(
        id=id, invocation_id="i1", author=author, timestamp=at,
        content=Content(role=role, parts=[Part(text=text)]), **fields,
    )  # fmt: skip


def session(*events: Event, id: str = "monday", user: str = USER, app: str = APP) -> Session:
    return Session(app_name=app, user_id=user, id=id, events=list(events), last_update_time=1_742_000_000.0)


@pytest.fixture
def service(everyone: Memory) -> MemoristMemoryService:
    return MemoristMemoryService(everyone)


async def found(service: MemoristMemoryService, query: str, **where: Any) -> list[str]:
    response = await service.search_memory(**{**TRAVEL, **where}, query=query)
    return [entry.content.parts[0].text for entry in response.memories]  # type: ignore[index,misc]


async def test_what_was_said_is_found_with_who_said_it_and_when(service: MemoristMemoryService) -> None:
    await service.add_session_to_memory(
        session(event("e1", "I prefer homestays"), event("e2", "Noted.", author="agent"))
    )
    entry = (await service.search_memory(**TRAVEL, query="homestays")).memories[0]
    assert (entry.id, entry.author, entry.timestamp) == ("e1", "user", "2025-03-15T00:53:20+00:00")
    assert entry.content == Content(role="user", parts=[Part(text="I prefer homestays")])


async def test_events_without_a_text_are_left_out(everyone: Memory, service: MemoristMemoryService) -> None:
    empty = Event(id="e1", invocation_id="i1", author="user", timestamp=1.0)
    no_parts = Event(id="e2", invocation_id="i1", author="user", timestamp=1.0, content=Content(parts=[]))
    call = Part(function_call=FunctionCall(name="look", args={}))
    called = Event(id="e3", invocation_id="i1", author="agent", timestamp=1.0, content=Content(parts=[call]))
    thought = Event(
        id="e4",
        invocation_id="i1",
        author="agent",
        timestamp=1.0,
        content=Content(parts=[Part(text="They like homestays", thought=True)]),
    )
    await service.add_session_to_memory(session(empty, no_parts, called, thought))
    assert await everyone.admin.users() == {}


async def test_a_session_may_be_added_again_as_it_grows(everyone: Memory, service: MemoristMemoryService) -> None:
    events = [event(f"e{number}", f"Homestay number {number}") for number in range(3)]
    for count in (1, 3, 3):
        await service.add_session_to_memory(session(*events[:count]))
    assert await everyone.scoped(user=USER).count() == 3


async def test_an_event_that_was_edited_is_revised(everyone: Memory, service: MemoristMemoryService) -> None:
    events = [event("e1", "I prefer castles \ud83d"), event("e2", "Noted.", author="agent")]
    for text in ("I prefer castles \ud83d", "I prefer homestays"):
        await service.add_session_to_memory(session(event("e1", text), *events[1:]))
    assert await found(service, "what do I prefer?") == ["I prefer homestays", "Noted."]
    assert len(await everyone.scoped(user=USER).history((await everyone.scoped(user=USER).recall("prefer"))[0])) == 2


async def test_events_are_a_delta(everyone: Memory, service: MemoristMemoryService) -> None:
    await service.add_events_to_memory(**TRAVEL, events=[event("e1", "One homestay")], session_id="monday")
    await service.add_events_to_memory(**TRAVEL, events=[event("e2", "Two homestays")], session_id="monday")
    await service.add_events_to_memory(**TRAVEL, events=[event("e2", "Two homestays")], session_id="monday")
    await service.add_events_to_memory(**TRAVEL, events=[event("e2", "Two homestays")], session_id="tuesday")
    await service.add_events_to_memory(**TRAVEL, events=[event("e3", "Three homestays")])
    await service.add_events_to_memory(**TRAVEL, events=[])
    assert await everyone.scoped(user=USER).count() == 4


async def test_metadata_goes_with_the_events(service: MemoristMemoryService) -> None:
    await service.add_events_to_memory(**TRAVEL, events=[event("e1", "A homestay")], custom_metadata={"trip": 7})
    [entry] = (await service.search_memory(**TRAVEL, query="homestay")).memories
    assert entry.custom_metadata == {"trip": 7}


async def test_users_and_applications_are_apart(everyone: Memory, service: MemoristMemoryService) -> None:
    await service.add_session_to_memory(session(event("e1", "Homestays for alice")))
    await service.add_session_to_memory(session(event("e1", "Homestays for bob"), user="bob"))
    await service.add_session_to_memory(session(event("e1", "Homestays elsewhere"), app="other"))
    assert await found(service, "homestays") == ["Homestays for alice"]
    assert await found(service, "homestays", user_id="bob") == ["Homestays for bob"]
    assert await found(service, "homestays", app_name="other") == ["Homestays elsewhere"]
    assert await found(service, "homestays", user_id="carol") == []
    together = MemoristMemoryService(everyone, apps_apart=False)
    assert sorted(await found(together, "homestays")) == ["Homestays elsewhere", "Homestays for alice"]
    with pytest.raises(ScopeError):
        await MemoristMemoryService(everyone.scoped(user="bob")).search_memory(**TRAVEL, query="homestays")


@pytest.mark.parametrize("query", ["", "   "])
async def test_a_blank_query_finds_nothing(service: MemoristMemoryService, query: str) -> None:
    await service.add_session_to_memory(session(event("e1", "A homestay")))
    assert await found(service, query) == []


async def test_a_search_has_a_bound(everyone: Memory, service: MemoristMemoryService) -> None:
    events = [event(f"e{number}", f"Homestay number {number}") for number in range(12)]
    await service.add_session_to_memory(session(*events))
    assert len(await found(service, "homestay")) == 10
    assert len(await found(MemoristMemoryService(everyone, max_results=3), "homestay")) == 3


async def test_a_deleted_entry_does_not_come_back(service: MemoristMemoryService) -> None:
    whole = session(event("e1", "One homestay"), event("e2", "Two homestays"))
    await service.add_session_to_memory(whole)
    await service.delete_memory(**TRAVEL, memory_id="e1")
    await service.add_session_to_memory(whole)
    assert await found(service, "homestay homestays") == ["Two homestays"]
    await service.delete_memory(**TRAVEL, memory_id="unknown")
    with pytest.raises(InvalidInputError, match="memory_id"):
        await service.delete_memory(**TRAVEL)
    await service.delete_memory(app_name=APP, user_id="bob", memory_id="e2")
    assert await found(service, "homestay homestays") == ["Two homestays"]


async def test_entries_are_kept_as_notes(service: MemoristMemoryService) -> None:
    entry = MemoryEntry(
        content=Content(parts=[Part(text="Prefers homestays")]),
        author="form",
        timestamp="2025-03-15T00:53:20Z",
        custom_metadata={"sure": True},
        id="m1",
    )
    await service.add_memory(**TRAVEL, memories=[entry], custom_metadata={"from": "crm"})
    [got] = (await service.search_memory(**TRAVEL, query="homestays")).memories
    assert (got.id, got.author, got.timestamp) == ("m1", "form", "2025-03-15T00:53:20+00:00")
    assert got.custom_metadata == {"sure": True, "from": "crm"}
    entry.content = Content(parts=[Part(text="Prefers hostels")])
    await service.add_memory(**TRAVEL, memories=[entry])
    assert await found(service, "prefers") == ["Prefers hostels"]
    await service.delete_memory(**TRAVEL, memory_id="m1")
    assert await found(service, "prefers") == []
    with pytest.raises(InvalidInputError, match="blank"):
        await service.add_memory(**TRAVEL, memories=[MemoryEntry(content=Content(parts=[]))])


async def test_records_of_other_doors_are_found_too(everyone: Memory, service: MemoristMemoryService) -> None:
    note = await everyone.scoped(user=USER, agent=APP).remember("Prefers homestays")
    [entry] = (await service.search_memory(**TRAVEL, query="homestays")).memories
    assert (entry.id, entry.content.parts) == (note.id, [Part(text="Prefers homestays")])
    await service.delete_memory(**TRAVEL, memory_id=note.id)
    assert await found(service, "homestays") == []


async def test_what_belongs_to_nobody_is_refused(service: MemoristMemoryService, everyone: Memory) -> None:
    nobody: Any = {"app_name": APP, "user_id": None}
    entry = MemoryEntry(content=Content(parts=[Part(text="Prefers homestays")]))
    for attempt in (
        service.add_events_to_memory(**nobody, events=[event("e1", "Prefers homestays")]),
        service.add_memory(**nobody, memories=[entry]),
        service.search_memory(**nobody, query="homestays"),
        service.delete_memory(**nobody, memory_id="e1"),
    ):
        with pytest.raises(InvalidInputError, match="user_id must be a string"):
            await attempt
    assert await everyone.count() == 0


async def test_of_a_session_that_grew_only_what_is_new_is_looked_up(
    everyone: Memory, service: MemoristMemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [event(f"e{number}", f"thing {number}") for number in range(20)]
    await service.add_session_to_memory(session(*events))
    looked_up: list[str] = []
    history = Memory.history

    async def counted(self: Memory, id: Any) -> Any:
        looked_up.append(id)
        return await history(self, id)

    monkeypatch.setattr(Memory, "history", counted)
    await service.delete_memory(**TRAVEL, memory_id="e3")
    await service.add_session_to_memory(session(*events, event("new", "a newer thing")))
    assert len(set(looked_up)) == 2  # what the session ended with, and the new one
    assert await everyone.scoped(user=USER).count() == 20


async def test_a_session_is_stored_again_after_a_purge(everyone: Memory, service: MemoristMemoryService) -> None:
    await service.add_session_to_memory(session(event("e1", "I prefer homestays")))
    await everyone.scoped(user=USER).purge()
    await service.add_session_to_memory(session(event("e1", "I prefer homestays"), event("e2", "and hostels")))
    assert await everyone.scoped(user=USER).count() == 2
