"""The tools and agents on a bus, and the two stories they are for, across a restart."""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memorist import Role
from memorist.adapters.local2 import (
    RESPONSE_GENERATION,
    TOOL_SCHEMA,
    TOOLS,
    USER_FEEDBACK,
    MemoryAgent,
    MemoryRecallTool,
    MemorySaveTool,
    MemoryService,
    MemoryTool,
    SaveTopicTool,
    SearchMemoryTool,
    run_local,
    tool_request,
    tool_result,
)
from memorist.blocking_client import run
from memorist.bus import Bus, Envelope, LocalBus, NatsBus
from memorist.errors import EmbedderUnavailableError
from memorist.testing import HashEmbedder
from natsserver import nats_server

pytestmark = pytest.mark.anyio


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    return {"store": str(tmp_path / "local2.db"), "embedding_model": "hash"}


@pytest.fixture
def service(settings: dict[str, Any]) -> Iterator[MemoryService]:
    with MemoryService(settings) as service:
        yield service


@pytest.fixture
async def bus() -> AsyncIterator[LocalBus]:
    async with LocalBus() as bus:
        yield bus


def call_of(name: str, correlation_id: str | None = None, /, **args: Any) -> Envelope:
    """A call as the generator sends it."""
    return Envelope(
        subject=tool_request(name),
        message_type="request",
        sender_id="generator",
        payload={"args": args},
        correlation_id=correlation_id,
    )


def answer_of(query: str | None, answer: str | None, **more: Any) -> Envelope:
    """An answer as the generator publishes it."""
    payload = {
        "answer": answer,
        "thinking": "…",
        "tool_calls": [],
        "query": query,
        "session_id": "s-1",
        "query_id": "q-1",
        **more,
    }
    return Envelope(subject=RESPONSE_GENERATION, message_type="response", sender_id="generator", payload=payload)


async def use(bus: Bus, name: str, **args: Any) -> str:
    """Call a tool over the bus and return its text."""
    answer = await bus.request(call_of(name, **args), answer=tool_result(name), timeout=120)
    return str(answer.payload["result"])


# --- tools ---------------------------------------------------------------------------------------------


async def test_a_result_names_its_tool_and_echoes_the_correlation_id(service: MemoryService, bus: LocalBus) -> None:
    await run_local(service, bus)
    request = call_of("save_topic", "c-42", topic="user.name", content="Richard")
    answer = await bus.request(request, answer="tool.result.save_topic")
    assert answer.payload == {"tool": "save_topic", "result": "Memory saved: user.name"}
    assert (answer.correlation_id, answer.subject) == ("c-42", "tool.result.save_topic")


async def test_each_tool_announces_its_schema_once_when_it_starts(service: MemoryService, bus: LocalBus) -> None:
    announced: list[Any] = []

    async def listen(envelope: Envelope) -> None:
        announced.append(envelope.payload)

    await bus.subscribe(TOOL_SCHEMA, listen)
    names = await run_local(service, bus)
    await use(bus, "search_memory", query="anything")
    await bus.idle()
    assert announced == [{"tool": tool.name, "schema": tool.SCHEMA} for tool in TOOLS]
    assert names == ["save_topic", "recall_topic", "save_memory", "search_memory", "MemoryAgent", "FeedbackAgent"]


async def test_the_older_tools_can_be_started_in_their_place(service: MemoryService, bus: LocalBus) -> None:
    names = await run_local(service, bus, dual_mode=True)
    assert names[:2] == ["memory_recall", "memory_save"]
    assert await use(bus, "memory_save", topic="user.name", content="Richard") == "Memory saved: user.name"
    assert await use(bus, "memory_recall", topic="user.name") == "[Memory: user.name]\nRichard"


async def test_a_tool_that_fails_publishes_the_error_and_lives_on(
    service: MemoryService, bus: LocalBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run_local(service, bus)

    def fail(*args: object) -> str:
        raise RuntimeError("the disk is on fire")

    with monkeypatch.context() as patched:
        patched.setattr(service, "write_topic", fail)
        text = await use(bus, "save_topic", topic="user.name", content="Richard")
    assert text == "save_topic failed: the disk is on fire"
    assert await use(bus, "save_topic", topic="user.name", content="Richard") == "Memory saved: user.name"


@pytest.mark.parametrize(
    "payload",
    [{}, {"args": None}, {"args": 3}, {"args": {"query": 5}}, {"args": "{"}, {"args": r'{"query": "", "\ud800": 1}'}],
)
async def test_a_malformed_call_is_answered_too(service: MemoryService, bus: LocalBus, payload: Any) -> None:
    await SearchMemoryTool(service).start(bus)
    request = Envelope(subject="tool.request.search_memory", message_type="request", sender_id="x", payload=payload)
    answer = await bus.request(request, answer="tool.result.search_memory")
    assert answer.payload["result"].startswith("search_memory failed: ")


# --- ingestion -----------------------------------------------------------------------------------------


async def test_an_answer_becomes_one_episode_with_its_metadata(service: MemoryService, bus: LocalBus) -> None:
    await MemoryAgent(service).start(bus)
    answer = answer_of("Capital of France?", "Paris.", tool_calls=[{"name": "web_search"}, {"name": "search_memory"}])
    await bus.publish(answer)
    await bus.idle()
    [hit] = service.search_episodic("Capital of France? Paris.")
    assert hit["content"] == "Q: Capital of France?\nA: Paris."
    assert hit["metadata"] == {
        "session_id": "s-1",
        "query_id": "q-1",
        "tool_calls": 2,
        "timestamp_utc": answer.timestamp_utc,
        "type": "episodic",
    }


async def test_what_recall_put_into_a_question_is_not_remembered_again(service: MemoryService, bus: LocalBus) -> None:
    await MemoryAgent(service).start(bus)
    recalled = "<memory_context>\nLikes jazz\n</memory_context>"
    await bus.publish(answer_of(f"{recalled}\nCapital of France?", "Paris."))
    await bus.publish(answer_of(recalled, "Noted."))
    await bus.idle()
    [hit] = service.search_episodic("Capital of France? Paris.")
    assert "jazz" not in hit["content"]
    assert len(service.search_episodic("Noted", top_k=9)) <= 1


async def test_an_answer_that_quotes_what_was_recalled_is_stored_without_it(
    service: MemoryService, bus: LocalBus
) -> None:
    service.write_topic("user.city", "Oslo")
    await MemoryAgent(service).start(bus)
    await bus.publish(answer_of("Where do I live?", "[Memory: user.city]\nOslo\nYou live in Oslo."))
    await bus.publish(answer_of("What is my city?", "[Memory: user.city]\nOslo", query_id="q-2"))
    await bus.idle()
    [hit] = service.search_episodic("Where do I live? You live in Oslo.", top_k=9)
    assert hit["content"] == "Q: Where do I live?\nA: You live in Oslo."
    assert service.find_episode("q-2") is None


@pytest.fixture(params=["chroma", "ours"])
def shared(request: pytest.FixtureRequest, tmp_path: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of services that share one store."""
    if request.param == "ours":
        return settings
    pytest.importorskip("chromadb")
    return {"chroma_path": str(tmp_path / "chroma"), "embedding_model": "hash"}


async def test_a_message_is_stored_once_however_often_it_comes(shared: dict[str, Any], bus: LocalBus) -> None:
    with MemoryService(shared) as one, MemoryService(shared) as other:
        for service in (one, other):
            await run_local(service, bus)
        answer = answer_of("Capital of France?", "Paris.")
        await bus.publish(answer)
        await bus.publish(answer)
        await bus.publish(answer_of("Capital of France?", "Paris."))  # asked and answered again: another message
        await bus.idle()
        assert len(one.search_episodic("Capital of France? Paris.", top_k=9)) == 2


async def test_an_answer_waits_for_an_embedder_that_is_away(
    settings: dict[str, Any], bus: LocalBus, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    away = True
    known = HashEmbedder()

    def embed(texts: Sequence[str]) -> Any:
        if away:
            raise EmbedderUnavailableError("nobody answers")
        return run(lambda: known.embed(texts, Role.DOCUMENT))

    monkeypatch.setattr("memorist.adapters.local2.agents._RETRY_SECONDS", 0.01)
    with MemoryService(settings, embedder=embed) as service:
        agent = MemoryAgent(service)
        await agent.start(bus)
        for number in range(3):
            await bus.publish(answer_of("Which number?", f"The number {number}.", query_id=f"q-{number}"))
        await bus.idle()
        assert "will be retried: nobody answers" in caplog.text and service.find_episode("q-0") is None
        away = False
        assert agent._retry is not None
        await agent._retry
        assert {service.find_episode(f"q-{number}") is None for number in range(3)} == {False}
        assert len(service.search_episodic("Which number? The number", top_k=9)) == 3


@pytest.mark.parametrize(
    "answer",
    [
        answer_of(None, "Paris."),
        answer_of("Capital of France?", None),
        answer_of(" ", "Paris."),
        answer_of("Capital of France?", ""),
        answer_of("Capital of France?", "Paris.", error="the model timed out"),
        Envelope(
            subject=RESPONSE_GENERATION, message_type="error", sender_id="x", payload={"query": "a", "answer": "b"}
        ),
        Envelope(subject=RESPONSE_GENERATION, message_type="response", sender_id="x", payload={}),
        Envelope(
            subject=RESPONSE_GENERATION, message_type="response", sender_id="x", payload={"query": 1, "answer": 2}
        ),
    ],
)
async def test_an_error_or_half_an_exchange_is_passed_over(
    service: MemoryService, bus: LocalBus, answer: Envelope
) -> None:
    await MemoryAgent(service).start(bus)
    await bus.publish(answer)
    await bus.idle()
    assert service.find_episode("q-1") is None
    assert service.search_episodic("Capital of France? Paris. a b") == []


async def test_a_failing_store_is_logged_never_raised(
    service: MemoryService, bus: LocalBus, caplog: pytest.LogCaptureFixture
) -> None:
    service.close()
    answer = answer_of("a private question", "a private answer")
    await MemoryAgent(service).handle(answer)
    assert f"the answer {answer.message_id} was not stored: ClosedError" in caplog.text
    assert "private" not in caplog.text


# --- feedback ------------------------------------------------------------------------------------------


async def test_feedback_on_the_bus_reaches_the_episode_it_was_given_for(service: MemoryService, bus: LocalBus) -> None:
    await run_local(service, bus)
    for n in "12":
        await bus.publish(answer_of("How do I sort a list?", f"Use sort, way {n}.", query_id=f"q-{n}"))
    await bus.idle()
    feedback = Envelope(
        subject=USER_FEEDBACK, message_type="feedback", sender_id="ui", payload={"query_id": "q-2", "score": 1}
    )
    await bus.publish(feedback)
    await bus.idle()
    first, second = service.search_episodic("How do I sort a list?")
    assert first["metadata"]["query_id"] == "q-2" and first["metadata"]["score"] == 1
    assert second["metadata"]["query_id"] == "q-1" and "score" not in second["metadata"]


async def test_feedback_that_overtakes_its_answer_is_attached_when_that_is_remembered(
    service: MemoryService, bus: LocalBus, caplog: pytest.LogCaptureFixture
) -> None:
    await run_local(service, bus)
    for n in "312":
        payload = {"query_id": f"q-{n}", "score": int(n) / 4}
        await bus.publish(Envelope(subject=USER_FEEDBACK, message_type="feedback", sender_id="ui", payload=payload))
    await bus.idle()
    for n in "12":
        await bus.publish(answer_of("How do I sort a list?", f"Use sort, way {n}.", query_id=f"q-{n}"))
    await bus.publish(answer_of("How do I sort a list?", "Use sort.", query_id=["q-3"]))
    await bus.idle()
    scores = {str(hit["metadata"]["query_id"]): hit["metadata"].get("score") for hit in service.search_episodic("sort")}
    assert scores == {"q-1": 0.25, "q-2": 0.5, "['q-3']": None}
    assert "was not" not in caplog.text


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"score": 1},
        {"query_id": "none", "score": 1},
        {"query_id": {"$ne": "none"}, "score": 1},
        {"id": "none", "score": 1},
        {"query_id": "q-1"},
    ],
)
async def test_feedback_that_fits_nothing_is_logged_never_raised(
    service: MemoryService, bus: LocalBus, caplog: pytest.LogCaptureFixture, payload: dict[str, Any]
) -> None:
    await run_local(service, bus)
    await bus.publish(answer_of("How do I sort a list?", "Use sort."))
    await bus.idle()
    await bus.publish(Envelope(subject=USER_FEEDBACK, message_type="feedback", sender_id="ui", payload=payload))
    await bus.idle()
    assert "feedback" in caplog.text
    assert "score" not in service.search_episodic("How do I sort a list?")[0]["metadata"]


# --- the stories, in one process -------------------------------------------------------------------------


CANBERRA = "The capital of Australia is Canberra, not Sydney."


@pytest.fixture(params=["chroma", "sqlite"])
def stored(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings that name the default store, Chroma in the working folder, or another."""
    if request.param == "sqlite":
        return {"store": str(tmp_path / "local2.db")}
    pytest.importorskip("chromadb")
    monkeypatch.chdir(tmp_path)
    return {}


async def test_s5_what_was_said_is_found_by_its_meaning_after_a_restart(stored: dict[str, Any]) -> None:
    settings = {**stored, "embedding_model": "default"}
    service = await asyncio.to_thread(MemoryService, settings)
    async with LocalBus(drain_timeout=120) as bus:  # in which the model is loaded
        await run_local(service, bus)
        await bus.publish(answer_of("What is the capital of Australia?", CANBERRA))
        await bus.publish(answer_of("How long do I boil an egg?", "About eight minutes.", query_id="q-2"))
    service.close()

    service = await asyncio.to_thread(MemoryService, settings)
    async with LocalBus() as bus:
        await run_local(service, bus)
        text = await use(bus, "search_memory", query="What do you remember about Australian geography?")
    service.close()
    assert "A: The capital of Australia is Canberra, not Sydney." in text.split("\n\n")[1]


async def test_s6_a_saved_topic_is_there_after_a_restart(stored: dict[str, Any]) -> None:
    settings = {**stored, "embedding_model": "hash"}
    with MemoryService(settings) as service:
        async with LocalBus() as bus:
            await run_local(service, bus)
            saved = await use(bus, "save_topic", topic="user.language_preference", content="Elixir")
            assert saved == "Memory saved: user.language_preference"
    with MemoryService(settings) as service:
        async with LocalBus() as bus:
            await run_local(service, bus)
            text = await use(bus, "recall_topic", topic="user.language_preference")
            assert text == "[Memory: user.language_preference]\nElixir"


# --- the stories, over NATS, with the command --------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    pytest.importorskip("nats")
    with nats_server() as url:
        yield url


@contextlib.contextmanager
def running(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Run ``memorist … local2`` until the block ends; it has started when this begins."""
    program = [sys.executable, "-c", "from memorist.cli import main; main()", *arguments]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert "Ctrl-C stops them." in process.stdout.readline()
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            said = process.stdout.read()
    assert (process.returncode, said) == (0, "Stopped.\n")


async def test_the_command_carries_both_stories_over_a_real_server(server: str, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    config = tmp_path / "memory.yaml"
    config.write_text(f"store: {tmp_path}/local2.db\nembedding_model: default\n", encoding="utf-8")
    command = ("local2", "--config", str(config), "--bus", server)
    async with NatsBus(server, connect_timeout=60) as bus:
        with running(*command):
            assert "Memory saved" in await use(bus, "save_topic", topic="user.language_preference", content="Elixir")
            # What is published when this one closes has reached the server.
            async with NatsBus(server, connect_timeout=60) as generator:
                await generator.publish(answer_of("What is the capital of Australia?", CANBERRA))
        with running(*command):
            topic = await use(bus, "recall_topic", topic="user.language_preference")
            found = await use(bus, "search_memory", query="What do you remember about Australian geography?")
    assert topic == "[Memory: user.language_preference]\nElixir"
    assert "Canberra, not Sydney" in found


async def test_the_command_starts_the_older_tools_for_a_user_of_a_given_store(server: str, tmp_path: Path) -> None:
    store = str(tmp_path / "m.db")
    with running("--db", store, "--embedder", "hash", "local2", "--bus", server, "--dual-mode", "--user", "ada"):
        async with NatsBus(server, connect_timeout=60) as bus:
            assert await use(bus, "memory_save", topic="user.name", content="Ada") == "Memory saved: user.name"
    with MemoryService(store=store, embedding_model="hash", user="ada") as service:
        assert service.recall_topic("user.name") == "Ada"


async def test_the_documents_threads_start_each_tool_and_agent_by_itself(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("chromadb")
    pytest.importorskip("yaml")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "memory.yaml").write_text("embedding_model: hash\n", encoding="utf-8")
    participants = [MemoryRecallTool(), MemorySaveTool(), MemoryAgent()]
    threads = [threading.Thread(target=each.run, args=(server,), daemon=True) for each in participants]
    async with NatsBus(server, connect_timeout=60) as bus:
        ready = [asyncio.Event(), asyncio.Event()]

        async def heard(schema: Envelope) -> None:
            ready.pop().set()

        waiting = list(ready)
        await bus.subscribe(TOOL_SCHEMA, heard)
        for thread in threads:
            thread.start()
        for each in waiting:
            await asyncio.wait_for(each.wait(), 60)
        assert await use(bus, "memory_save", topic="user.name", content="Ada") == "Memory saved: user.name"
        assert await use(bus, "memory_recall", topic="user.name") == "[Memory: user.name]\nAda"
    for participant, thread in zip(participants, threads, strict=True):
        participant.stop()
        await asyncio.to_thread(thread.join, 60)
        assert not thread.is_alive()
    with MemoryService(embedding_model="hash") as service:
        assert service.recall_topic("user.name") == "Ada"


def test_the_command_does_not_start_without_what_its_settings_need(server: str, tmp_path: Path) -> None:
    program = [sys.executable, "-c", "from memorist.cli import main; main()", "--db", str(tmp_path / "m.db")]
    embedder = "http://127.0.0.1:1/v1#nomic-embed-text"
    done = subprocess.run([*program, "--embedder", embedder, "local2", "--bus", server], capture_output=True, text=True)
    assert done.returncode != 0 and "nomic-embed-text" in done.stderr
    assert done.stderr.count("\n") == 1


async def test_a_result_too_large_for_the_server_is_answered_with_a_text(server: str, service: MemoryService) -> None:
    service.write_topic("user.novel", "x" * 2_000_000)
    async with NatsBus(server, connect_timeout=60) as bus:
        await run_local(service, bus)
        text = await use(bus, "recall_topic", topic="user.novel")
    assert text == "recall_topic failed: the result could not be sent"


def test_every_tool_tells_a_model_what_it_is_in_plain_json() -> None:
    for tool in TOOLS:
        assert issubclass(tool, MemoryTool) and json.loads(json.dumps(tool.SCHEMA)) == tool.SCHEMA
    assert SaveTopicTool.SCHEMA["type"] == "function"
