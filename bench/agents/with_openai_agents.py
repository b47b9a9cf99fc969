"""OpenAI Agents SDK: MemoristSession and its context beside one SQLiteSession, which sends its whole history."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from agents import Agent as SdkAgent
from agents import Model as SdkModel
from agents import ModelResponse, RunConfig, Runner, SQLiteSession, Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText
from scripted import Exchange, Script, ScriptedAgent, Thread

from memorist import Memory
from memorist.adapters.openai_agents import MemoristSession
from memorist.embedders import Embedder


class Model(SdkModel):
    stream_response: Any = None

    def __init__(self, script: Script) -> None:
        self._script = script

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:
        contents = [each["content"] for each in ([{"content": input}] if isinstance(input, str) else input)]
        texts = [each if isinstance(each, str) else each[0]["text"] for each in contents]
        text = ResponseOutputText(text=self._script.reply("\n".join(texts)), type="output_text", annotations=[])
        said = ResponseOutputMessage(id="1", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[said], usage=Usage(), response_id=None)


class Agent(ScriptedAgent):
    """An agent without sessions."""

    def __init__(self) -> None:
        super().__init__()
        self._agent = SdkAgent(name="agent", model=Model(self.script))

    async def turn(self, session: str, said: str, *, keep: bool) -> None:
        await self._run(said)

    async def _run(self, said: str, session: Any = None, callback: Any = None) -> None:
        config = RunConfig(session_input_callback=callback, tracing_disabled=True)
        await Runner.run(self._agent, said, session=session, run_config=config)


class Own(Agent):
    """An agent with one session for all."""

    def __init__(self) -> None:
        super().__init__()
        self._session = SQLiteSession("all")

    async def turn(self, session: str, said: str, *, keep: bool) -> None:
        await self._run(said, self._session)
        if not keep:
            await self._session.pop_item()
            await self._session.pop_item()


class Ours(Agent):
    """An agent with a session for each conversation, and context from all of them."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory

    async def turn(self, session: str, said: str, *, keep: bool) -> None:
        ours = MemoristSession(session, self._memory)
        await self._run(said, ours if keep else SQLiteSession(session), ours.add_context)


def agents(memory: Memory, embedder: Embedder) -> Mapping[str, Callable[[], ScriptedAgent]]:
    """Return what makes an agent with each memory, by the memory's name."""
    return {"none": Agent, "SQLiteSession": Own, "Memorist": lambda: Ours(memory.scoped(user="alice"))}


class Kept(Thread):
    """A thread in a session, with or without the context of the memory."""

    def __init__(self, session: Any, **config: Any) -> None:
        self._agent = SdkAgent(name="agent", model=Model(Script("That is good to know.")))
        self._session = session
        self._config = RunConfig(tracing_disabled=True, **config)

    async def fill(self, said: Sequence[Exchange]) -> None:
        items: list[Any] = []
        for asked, answer in said:
            content = [{"text": answer, "type": "output_text", "annotations": []}]
            reply = {"id": "1", "content": content, "role": "assistant", "status": "completed", "type": "message"}
            items += [{"role": "user", "content": asked}, reply]
        for start in range(0, len(items), 30):  # many at once would be embedded behind, during the turns
            await self._session.add_items(items[start : start + 30])

    async def turn(self, said: str) -> None:
        await Runner.run(self._agent, said, session=self._session, run_config=self._config)


async def threads(memories: Sequence[Memory], folder: Path, stack: AsyncExitStack) -> Mapping[str, Thread]:
    """Return a thread in each store, by the store's name; the framework's own first."""
    sessions = [MemoristSession("long", memory.scoped(user="alice")) for memory in memories]
    whole, filtered, called = sessions
    return {
        "SQLiteSession": Kept(SQLiteSession("long", folder / "own.db")),
        "SQLiteSession, a callback that adds nothing": Kept(
            SQLiteSession("long", folder / "called.db"), session_input_callback=lambda history, new: [*history, *new]
        ),
        "MemoristSession": Kept(whole),
        "MemoristSession, add_to_input": Kept(filtered, call_model_input_filter=filtered.add_to_input),
        "MemoristSession, add_context": Kept(called, session_input_callback=called.add_context),
    }
