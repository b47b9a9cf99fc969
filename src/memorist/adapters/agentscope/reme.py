"""What personal, task and tool memory share: their workspace, their engine, their checks."""

import warnings
from collections.abc import Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Self

from memorist.adapters.agentscope.base import RecordingMemory
from memorist.adapters.agentscope.flows import FlowRunner, Result
from memorist.adapters.agentscope.reading import asked, listed, recorded, text_of
from memorist.adapters.agentscope.types import Msg
from memorist.errors import InvalidInputError
from memorist.memory import Memory

__all__ = ["ReMeLongTermMemoryBase"]

_TOP_K = 3
NOT_STARTED = "ReMeApp context not started. Please use 'async with' to initialize the app."


class ReMeLongTermMemoryBase(RecordingMemory):
    """A long-term memory in the user's workspace.

    ```python
    async with ReMePersonalLongTermMemory(user_name="alice", memory="agent.db") as memory:
        await memory.record_to_memory("she said so", ["Alice likes green tea"])
    ```

    Args:
        agent_name: the agent that records; a label of the records.
        user_name: the user: the workspace, which no other user's memory can see. Any text is allowed.
        run_name: the session; a label of the records.
        model: a chat model of this project or of AgentScope, which extracts what is worth keeping. Without one,
            the given text is kept.
        embedding_model: an embedder of this project or of AgentScope; by default the bundled one.
        reme_config_path: a file of ReMe's settings; it has no effect, and a warning says so.
        memory: a file, a URL, or an open `Memory`; by default the value of MEMORIST_DB, else ``memorist.db`` in
            the user's data folder.
        **kwargs: further settings of ReMe, likewise without effect.

    Raises:
        InvalidInputError: `memory` is open, and an embedding model is given too.
    """

    def __init__(
        self,
        agent_name: str | None = None,
        user_name: str | None = None,
        run_name: str | None = None,
        model: Any = None,
        embedding_model: Any = None,
        reme_config_path: str | None = None,
        *,
        memory: Memory | str | PathLike[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if reme_config_path is not None or kwargs:
            named = ", ".join(sorted([*kwargs, *(["reme_config_path"] if reme_config_path is not None else [])]))
            warnings.warn(f"settings of ReMe without effect here: {named}", stacklevel=2)
        if isinstance(memory, Memory) and embedding_model is not None:
            raise InvalidInputError("an open memory has its embedder; leave embedding_model out")
        self.agent_name = agent_name
        self.workspace_id = user_name
        self.run_name = run_name
        self.app: Any = FlowRunner(memory, embedder=embedding_model, model=model, agent=agent_name, session=run_name)
        self._app_started = False
        self._entered: Any = None

    async def __aenter__(self) -> Self:
        if hasattr(self.app, "__aenter__"):
            await self.app.__aenter__()
            self._entered = self.app
        self._app_started = True
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None:
        self._app_started = False
        entered, self._entered = self._entered, None
        if entered is not None:
            await entered.__aexit__(exc_type, exc_val, exc_tb)

    # --- what the three kinds need ---------------------------------------------------------------------

    def _require_started(self) -> None:
        if not self._app_started:
            raise RuntimeError(NOT_STARTED)

    async def _run(self, flow: str, options: dict[str, Any], **arguments: Any) -> Result:
        """Run a flow in the workspace. Options cannot change the flow or the workspace."""
        given = {**options, **arguments, "name": flow, "workspace_id": self.workspace_id}
        result: Result = await self.app.async_execute(**given)
        return result

    def _to_record(self, msgs: Any) -> list[Msg]:
        """Return the checked messages that were not recorded before."""
        found = recorded(msgs)
        if found:
            self._require_started()
        return self._unrecorded(found)

    def _to_ask(self, msg: Any) -> str:
        """Return the query: the text of the last message, or ""."""
        found = asked(msg)
        if not found:
            return ""
        self._require_started()
        return text_of(found[-1])

    async def _learn(
        self, flow: str, options: dict[str, Any], trajectory: dict[str, Any], new: list[Msg], source: str
    ) -> None:
        """Record new messages as one trajectory. A failure is a warning; the agent goes on."""
        if not trajectory["messages"]:
            return
        try:
            await self._run(flow, options, trajectories=[trajectory])
            self._note_recorded(new)
        except Exception as error:  # the edge to the engine
            warnings.warn(f"Error recording messages to {source}: {error}", stacklevel=3)

    async def _answer(self, flow: str, options: dict[str, Any], msg: Any, source: str) -> str:
        """Return what a flow finds for a message. A failure is a warning; the agent goes on without."""
        query = self._to_ask(msg)
        if not query:
            return ""
        try:
            options, most = split_options(options)
            result = await self._run(flow, options, query=query, top_k=_TOP_K if most is None else most)
            return str(result.get("answer") or "")
        except Exception as error:  # the edge to the engine
            warnings.warn(f"Error retrieving {source}: {error}", stacklevel=3)
            return ""

    async def _search(self, flow: str, options: dict[str, Any], keywords: list[str]) -> list[str]:
        """Return the answers for the keywords that have one."""
        options, most = split_options(options)
        answers = []
        for keyword in listed(keywords):
            result = await self._run(flow, options, query=keyword, top_k=_TOP_K if most is None else most)
            if answer := result.get("answer"):
                answers.append(f"Keyword '{keyword}':\n{answer}")
        return answers


def split_options(given: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the options of a flow without `top_k` and `limit`, and the one of the two that is given, or None."""
    options = dict(given)
    limit = options.pop("limit", None)
    top_k = options.pop("top_k", None)
    return options, limit if top_k is None else top_k


def items_of(content: list[str]) -> list[str]:
    """Return the items to record, without blank ones."""
    return [item for each in listed(content) if each is not None and (item := str(each)).strip()]


def acknowledged(thinking: str, items: Sequence[str], acknowledgement: str) -> list[dict[str, str]]:
    """Return a recording as the messages of a conversation, in which an assistant acknowledges each item."""
    messages = [{"role": "user", "content": thinking}] if thinking and items else []
    for item in items:
        messages += [{"role": "user", "content": item}, {"role": "assistant", "content": acknowledgement}]
    return messages
