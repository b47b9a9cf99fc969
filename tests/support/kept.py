"""What programs keep in a memory, written by one version of Memorist and read by a later one.

Run as a script, this file writes it into a new store, with the version of Memorist that Python finds; see
`tests/data/README.md`.
"""

import asyncio
import gzip
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from memorist import Memory
from memorist.agents import text_of

if TYPE_CHECKING:
    from postgres_server import Server

VERSIONS = ("39ec06a", "de2db48a")
"""The versions that have written the stores in `tests/data`, by their commits, the oldest first."""
TOLD = "I prefer homestays when I travel"
ANSWER = "Noted: homestays."


class Kept(ABC):
    """What one framework keeps for a user.

    Attributes:
        needs: the module without which the framework is not installed.
        expected: what `read` returns, whichever version has written it.
    """

    needs: str
    expected: ClassVar[Any]

    @abstractmethod
    async def write(self, memory: Memory) -> None:
        """Store it; `memory` has no user."""

    @abstractmethod
    async def read(self, memory: Memory) -> Any:
        """Return it as the framework's own objects hold it, without ids and times."""


class LangGraph(Kept):
    needs = "langgraph.graph"
    expected: ClassVar[Any] = {
        "messages": [TOLD, ANSWER] * 3,
        "steps": 9,
        "waiting": "and then?",
        "items": {"likes": {"text": TOLD}, "seen": {"count": 3}},
        "namespaces": [("prefs", "alice")],
    }

    def _graph(self, memory: Memory) -> Any:
        from operator import add
        from typing import Annotated, TypedDict

        from langgraph.graph import END, START, StateGraph
        from langgraph.types import interrupt

        from memorist.adapters.langgraph import MemoristSaver

        class State(TypedDict):
            messages: Annotated[list[str], add]

        def reply(state: Any) -> Any:
            asked = interrupt("and then?") if state["messages"][-1] == "Wait" else None
            return {"messages": [asked or ANSWER]}

        State.__annotations__["messages"] = Annotated[list[str], add]  # the names above are this function's
        graph = StateGraph(State).add_node("reply", reply).add_edge(START, "reply").add_edge("reply", END)
        return graph.compile(checkpointer=MemoristSaver(memory.scoped(user="alice")))

    async def write(self, memory: Memory) -> None:
        from memorist.adapters.langgraph import MemoristStore

        graph = self._graph(memory)
        for _ in range(3):
            await graph.ainvoke({"messages": [TOLD]}, {"configurable": {"thread_id": "monday"}})
        await graph.ainvoke({"messages": ["Wait"]}, {"configurable": {"thread_id": "tuesday"}})
        store = MemoristStore(memory.scoped(user="alice"))
        await store.aput(("prefs", "alice"), "likes", {"text": TOLD})
        await store.aput(("prefs", "alice"), "seen", {"count": 3}, index=False)

    async def read(self, memory: Memory) -> Any:
        from memorist.adapters.langgraph import MemoristStore

        graph, monday = self._graph(memory), {"configurable": {"thread_id": "monday"}}
        state = await graph.aget_state(monday)
        waiting = await graph.aget_state({"configurable": {"thread_id": "tuesday"}})
        store = MemoristStore(memory.scoped(user="alice"))
        return {
            "messages": state.values["messages"],
            "steps": len([each async for each in graph.aget_state_history(monday)]),
            "waiting": waiting.interrupts[0].value,
            "items": {each.key: each.value for each in await store.asearch(("prefs",))},
            "namespaces": await store.alist_namespaces(),
        }


class OpenAIAgents(Kept):
    needs = "agents.memory"
    expected: ClassVar[Any] = [
        {"role": "user", "content": TOLD},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}", "id": "fc_1"},
        {"type": "function_call_output", "call_id": "c1", "output": "homestays"},
        {"role": "assistant", "content": ANSWER},
    ]

    def _session(self, memory: Memory) -> Any:
        from memorist.adapters.openai_agents import MemoristSession

        return MemoristSession("monday", memory.scoped(user="alice"))

    async def write(self, memory: Memory) -> None:
        await self._session(memory).add_items(self.expected)

    async def read(self, memory: Memory) -> Any:
        return await self._session(memory).get_items()


class Adk(Kept):
    needs = "google.adk"
    expected: ClassVar[Any] = {
        "texts": [TOLD, ANSWER],
        "state": {"city": "Oslo", "user:name": "Alice", "app:version": 1, "step": 2},
        "sessions": ["monday"],
        "found": [TOLD],
    }
    _PLACE: ClassVar[Any] = {"app_name": "travel", "user_id": "alice", "session_id": "monday"}

    def _service(self, memory: Memory) -> Any:
        from memorist.adapters.adk import MemoristSessionService

        return MemoristSessionService(memory)

    async def write(self, memory: Memory) -> None:
        from google.adk.events.event import Event
        from google.adk.events.event_actions import EventActions
        from google.genai.types import Content, Part

        from memorist.adapters.adk import MemoristMemoryService

        service = self._service(memory)
        state = {"city": "Oslo", "user:name": "Alice", "app:version": 1}
        session = await service.create_session(**self._PLACE, state=state)
        for author, text, change in (("user", TOLD, {}), ("model", ANSWER, {"step": 2})):
            content = Content(role=author, parts=[Part(text=text)])
            event = Event(
                invocation_id="i1", author=author, content=content, actions=EventActions(state_delta=dict(change))
            )
            await service.append_event(session, event)
        await MemoristMemoryService(memory).add_session_to_memory(session)

    async def read(self, memory: Memory) -> Any:
        from memorist.adapters.adk import MemoristMemoryService

        service = self._service(memory)
        session = await service.get_session(**self._PLACE)
        listed = await service.list_sessions(app_name="travel", user_id="alice")
        found = await MemoristMemoryService(memory).search_memory(
            app_name="travel", user_id="alice", query="Where do I prefer to stay when I travel?"
        )
        return {
            "texts": [each.content.parts[0].text for each in session.events],
            "state": session.state,
            "sessions": [each.id for each in listed.sessions],
            "found": [each.content.parts[0].text for each in found.memories][:1],
        }


class Strands(Kept):
    needs = "strands"
    expected: ClassVar[Any] = {"type": "AGENT", "state": {"dish": "soup"}, "messages": [TOLD, ANSWER]}

    async def write(self, memory: Memory) -> None:
        from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

        from memorist.adapters.strands import MemoristSessionRepository

        repository = MemoristSessionRepository(memory.scoped(user="alice"))
        repository.create_session(Session("monday", SessionType.AGENT))
        repository.create_agent("monday", SessionAgent("cook", {"dish": "soup"}, {}))
        for number, (role, text) in enumerate((("user", TOLD), ("assistant", ANSWER))):
            message: Any = {"role": role, "content": [{"text": text}]}
            repository.create_message("monday", "cook", SessionMessage(message=message, message_id=number))

    async def read(self, memory: Memory) -> Any:
        from memorist.adapters.strands import MemoristSessionRepository

        repository = MemoristSessionRepository(memory.scoped(user="alice"))
        session, agent = repository.read_session("monday"), repository.read_agent("monday", "cook")
        assert session is not None and agent is not None
        messages = repository.list_messages("monday", "cook")
        return {
            "type": str(session.session_type).rpartition(".")[2],
            "state": agent.state,
            "messages": [text_of(each.message["content"]) for each in messages],
        }


class Claude(Kept):
    needs = "claude_agent_sdk"
    expected: ClassVar[Any] = {
        "entries": [{"type": "user", "uuid": "a", "message": TOLD}, {"type": "title", "n": 2}],
        "sub": [{"type": "user", "uuid": "b"}],
        "subkeys": ["agents/one"],
        "sessions": ["monday"],
    }
    _KEY: ClassVar[Any] = {"project_key": "proj", "session_id": "monday"}

    def _store(self, memory: Memory) -> Any:
        from memorist.adapters.claude import MemoristSessionStore

        return MemoristSessionStore(memory.scoped(user="alice"))

    async def write(self, memory: Memory) -> None:
        store = self._store(memory)
        for each in self.expected["entries"]:
            await store.append(self._KEY, [each])
        await store.append({**self._KEY, "subpath": "agents/one"}, self.expected["sub"])

    async def read(self, memory: Memory) -> Any:
        store = self._store(memory)
        return {
            "entries": await store.load(self._KEY),
            "sub": await store.load({**self._KEY, "subpath": "agents/one"}),
            "subkeys": await store.list_subkeys(self._KEY),
            "sessions": [each["session_id"] for each in await store.list_sessions("proj")],
        }


class ClaudeFiles(Kept):
    needs = "anthropic.lib.tools"
    expected: ClassVar[Any] = f"/memories/likes.md\n     1\t{TOLD}"

    async def write(self, memory: Memory) -> None:
        from anthropic.types.beta import BetaMemoryTool20250818CreateCommand as Create

        command = Create(command="create", path="/memories/likes.md", file_text=TOLD)
        await self._tool(memory).create(command)

    async def read(self, memory: Memory) -> Any:
        from anthropic.types.beta import BetaMemoryTool20250818ViewCommand as View

        path = "/memories/likes.md"
        told = await self._tool(memory).view(View(command="view", path=path))
        return f"{path}\n" + told.partition("\n")[2]

    def _tool(self, memory: Memory) -> Any:
        from memorist.adapters.claude import MemoristAsyncMemoryTool

        return MemoristAsyncMemoryTool(memory.scoped(user="alice"))


class AgentFramework(Kept):
    needs = "agent_framework"
    expected: ClassVar[Any] = [("user", TOLD), ("assistant", ANSWER)]

    def _history(self, memory: Memory) -> Any:
        from memorist.adapters.agent_framework import MemoristHistoryProvider

        return MemoristHistoryProvider(memory.scoped(user="alice"))

    async def write(self, memory: Memory) -> None:
        from agent_framework import Message

        await self._history(memory).save_messages("monday", [Message(role, [text]) for role, text in self.expected])

    async def read(self, memory: Memory) -> Any:
        return [(str(each.role), each.text) for each in await self._history(memory).get_messages("monday")]


class PydanticAI(Kept):
    needs = "pydantic_ai.conversation_store"
    expected: ClassVar[Any] = [TOLD, ANSWER, "And where?", ANSWER]

    def _store(self, memory: Memory) -> Any:
        from memorist.adapters.pydantic_ai import MemoristConversationStore

        return MemoristConversationStore(memory.scoped(user="alice"))

    async def write(self, memory: Memory) -> None:
        from pydantic_ai import Agent
        from pydantic_ai.conversation import Conversation
        from pydantic_ai.models.test import TestModel

        store = self._store(memory)
        conversation = Conversation(conversation_id="monday")
        for prompt in (TOLD, "And where?"):
            result = await Agent(TestModel(custom_output_text=ANSWER)).run(prompt, conversation=conversation)
            await store.save(result)
            conversation = result.conversation

    async def read(self, memory: Memory) -> Any:
        held = await self._store(memory).load("monday")
        return [part.content for message in held.messages for part in message.parts]


class PydanticFiles(Kept):
    needs = "pydantic_ai_harness.memory"
    expected: ClassVar[Any] = {"content": TOLD, "replayed": True, "paths": ["main/MEMORY.md"]}

    def _write(self, memory: Memory) -> Any:
        from pydantic_ai_harness.memory import MemoryOperation

        from memorist.adapters.pydantic_ai import MemoristMemoryStore

        store = MemoristMemoryStore(memory.scoped(user="alice"))
        operation = MemoryOperation(id="op1", fingerprint="f1")
        return store, store.write("main/MEMORY.md", TOLD, expected_version=None, operation=operation)

    async def write(self, memory: Memory) -> None:
        await self._write(memory)[1]

    async def read(self, memory: Memory) -> Any:
        store, again = self._write(memory)
        replayed = (await again).replayed
        file = await store.read("main/MEMORY.md", max_chars=1000)
        return {"content": file.content, "replayed": replayed, "paths": await store.list_paths(limit=9)}


class AgentScope(Kept):
    needs = "memorist.adapters.agentscope"
    expected: ClassVar[Any] = ([TOLD, ANSWER], "They spoke of stays.")

    def _buffers(self, memory: Memory) -> list[Any]:
        from memorist.adapters.agentscope import DurableMemory

        labels = (None, "monday"), ("guide/1", "tuesday")
        return [DurableMemory(memory.scoped(user="erin", agent=agent, session=name)) for agent, name in labels]

    async def write(self, memory: Memory) -> None:
        from memorist.adapters.agentscope import Msg

        texts, summary = self.expected
        for buffer in self._buffers(memory):
            await buffer.add([Msg("Erin", text, "user") for text in texts])
            await buffer.update_compressed_summary(summary)

    async def read(self, memory: Memory) -> Any:
        found = []
        for buffer in self._buffers(memory):
            summary, *messages = [str(each.content) for each in await buffer.get_memory()]
            found.append((messages, summary))
        assert found[0] == found[1], found
        return found[0]


class CrewAI(Kept):
    needs = "crewai"
    expected: ClassVar[Any] = [(TOLD, "/crew/cook", ["stays"])]

    def _storage(self, memory: Memory) -> Any:
        from memorist.adapters.crewai import MemoristStorage

        return MemoristStorage(memory.scoped(user="carol"))

    async def write(self, memory: Memory) -> None:
        from crewai.memory.types import MemoryRecord

        self._storage(memory).save([MemoryRecord(content=TOLD, scope="/crew/cook", categories=["stays"])])

    async def read(self, memory: Memory) -> Any:
        records = self._storage(memory).list_records("/crew")
        return [(each.content, each.scope, each.categories) for each in records]


KEPT: tuple[type[Kept], ...] = (
    LangGraph, OpenAIAgents, Adk, Strands, Claude, ClaudeFiles, AgentFramework, PydanticAI, PydanticFiles, AgentScope,
    CrewAI,
)  # fmt: skip

_ALICE = ("--user", "alice")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("remember", "Lives in Lisbon", *_ALICE, "--kind", "fact", "--id", "lisbon", "--at", "2026-05-01"),
    ("remember", "Moved to Porto yesterday", *_ALICE, "--kind", "fact", "--supersedes", "lisbon"),
    ("remember", "Is the dentist on Friday?", *_ALICE, "--kind", "message", "--session", "s1", "--id", "asked"),
    ("remember", "Wants to see the dentist", *_ALICE, "--kind", "fact", "--derived-from", "asked"),
    ("remember", "Elixir", *_ALICE, "--kind", "topic", "--key", "adk/language", "--id", "language"),
    ("revise", "language", "Gleam", *_ALICE),
    ("remember", "The office closes at six", "--metadata", '{"floor": 3}'),
    ("recall", "Where does she live?", *_ALICE),
    ("context", "Where does she live?", *_ALICE),
    ("remember", "gone", "--user", "dave"),
    ("purge", "--user", "dave", "--yes"),
    ("retention", "set", "message=9000d"),
    ("token", "create", "phone", *_ALICE, "--right", "read", "--limit", "requests=600/min"),
)
"""What a user of the command has, in the words of every version since the first file in `tests/data`."""


def command(url: str, *arguments: str) -> str:
    """Run the command on a store, and return what it printed."""
    settings = {"MEMORIST_EMBEDDER": "hash", "MEMORIST_KEEP_TRACES": "9000d", "MEMORIST_AUDIT": "changes"}
    done = subprocess.run(
        [sys.executable, "-m", "memorist", "--db", url, *arguments],
        env={**os.environ, **settings}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{arguments}: {done.stderr}"
    return done.stdout


def written() -> datetime:
    """Return a time when nothing in these stores has expired: a clock of `Settings`."""
    return datetime(2026, 11, 29, tzinfo=UTC)


def unpacked(name: str, target: Path) -> Path:
    """Write one of the files of `tests/data`, which are compressed, to `target`, and return it."""
    packed = Path(__file__).parent.parent / "data" / f"{name}.gz"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(gzip.decompress(packed.read_bytes()))
    return target


def restored(version: str, server: "Server", folder: Path) -> str:
    """Make a schema of what a version has written to PostgreSQL, in the place of one made before; return its URL."""
    schema = f"kept_{version}"
    with server.connect("app") as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        connection.execute(unpacked(f"{version}.sql", folder / "dump.sql").read_bytes())
    return server.url(schema=schema)


async def write(url: str) -> None:
    """Write what every installed framework keeps into a store."""
    async with Memory.open(url, embedder="hash") as memory:
        for kind in KEPT:
            if find_spec(kind.needs.partition(".")[0]) is None or not _importable(kind.needs):
                print(f"{kind.__name__}: not installed", file=sys.stderr)
                continue
            await kind().write(memory)
            read = await kind().read(memory)
            assert read == kind.expected, f"{kind.__name__}: {read}"


def _importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1]))
    if "--commands" in sys.argv:  # once for a store, however many environments its frameworks need
        for each in COMMANDS:
            command(sys.argv[1], *each)
