"""What personal, task and tool memory share: their workspace, their engine, their checks."""

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from memorist.adapters.agentscope.base import RecordingMemory
from memorist.adapters.agentscope.flows import FlowRunner, Result
from memorist.adapters.agentscope.reading import listed, one_or_more, recorded, text_of
from memorist.adapters.agentscope.types import Msg
from memorist.adapters.opening import AnyMemory, is_place
from memorist.errors import InvalidInputError

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

    _kind: ClassVar[str]
    """Names its flows."""
    _what: ClassVar[str]
    """Names it in warnings."""

    def __init__(
        self,
        agent_name: str | None = None,
        user_name: str | None = None,
        run_name: str | None = None,
        model: Any = None,
        embedding_model: Any = None,
        reme_config_path: str | None = None,
        *,
        memory: AnyMemory | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if reme_config_path is not None or kwargs:
            named = ", ".join(sorted([*kwargs, *(["reme_config_path"] if reme_config_path is not None else [])]))
            warnings.warn(f"ignored settings of ReMe: {named}", stacklevel=2)
        if memory is not None and not is_place(memory) and embedding_model is not None:
            raise InvalidInputError("an open memory already has an embedder; omit embedding_model")
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

    async def __aexit__(self, *raised: object) -> None:
        self._app_started = False
        entered, self._entered = self._entered, None
        if entered is not None:
            await entered.__aexit__(*raised)

    async def record(self, msgs: list[Msg | None], **kwargs: Any) -> None:
        """Record what is worth keeping of these messages; those recorded before are left out.

        Args:
            msgs: the messages; None among them is skipped. A failure of the engine causes a warning.
            **kwargs: further arguments of the flow.

        Raises:
            TypeError: there is something else than messages.
            RuntimeError: used before ``async with``.
        """
        found = recorded(msgs)
        if found:
            self._require_started()
        new = self._unrecorded(found)
        try:
            if await self._learned(new, kwargs):
                self._note_recorded(new)
        except Exception as error:  # the edge to the engine: the agent goes on
            warnings.warn(f"Error recording messages to {self._what}: {error}", stacklevel=2)

    async def retrieve(self, msg: Msg | list[Msg] | None, **kwargs: Any) -> str:
        """Return what is relevant to this message.

        Args:
            msg: the message; of several, the last. With None nothing is found. A failure of the engine causes a
                warning.
            **kwargs: `top_k` or `limit`, the most memories (3; of guidelines, all), and further arguments of the flow.

        Raises:
            TypeError: there is something else than messages.
            RuntimeError: used before ``async with``.
        """
        found = one_or_more(msg)
        if not found:
            return ""
        self._require_started()
        try:
            return await self._found(query, kwargs) if (query := text_of(found[-1])) else ""
        except Exception as error:  # as above
            warnings.warn(f"Error retrieving {self._what}: {error}", stacklevel=2)
            return ""

    # --- what the three kinds need ---------------------------------------------------------------------

    def _require_started(self) -> None:
        if not self._app_started:
            raise RuntimeError(NOT_STARTED)

    async def _run(self, flow: str, options: dict[str, Any], **arguments: Any) -> Result:
        """Run a flow in the workspace. Options cannot change the flow or the workspace."""
        given = {**options, **arguments, "name": flow, "workspace_id": self.workspace_id}
        result: Result = await self.app.async_execute(**given)
        return result

    async def _learned(self, new: list[Msg], options: dict[str, Any]) -> bool:
        """Record new messages as one trajectory, and return whether they say anything."""
        trajectory = self._trajectory(new, options)
        if trajectory["messages"]:
            await self._run(f"summary_{self._kind}_memory", options, trajectories=[trajectory])
        return bool(trajectory["messages"])

    def _trajectory(self, new: list[Msg], options: dict[str, Any]) -> dict[str, Any]:
        """Return what messages say, as the flow that records takes it."""
        raise NotImplementedError

    async def _found(self, query: str, options: dict[str, Any]) -> str:
        """Return the text found for a query; "" if nothing was found."""
        result = await self._run(f"retrieve_{self._kind}_memory", flow_options(options, _TOP_K), query=query)
        return str(result.get("answer") or "")

    async def _search(self, options: dict[str, Any], keywords: list[str]) -> str:
        """Return the answers for the keywords that have one."""
        found = [(keyword, await self._found(keyword, options)) for keyword in listed(keywords)]
        return "\n\n".join(f"Keyword '{keyword}':\n{answer}" for keyword, answer in found if answer)


def flow_options(given: dict[str, Any], top_k: int | None = None) -> dict[str, Any]:
    """Return the options of a flow, with `limit` under its other name, `top_k`; without either, `top_k` as given."""
    options = dict(given)
    limits = (options.pop("top_k", None), options.pop("limit", None), top_k)
    most = next((each for each in limits if each is not None), None)
    return options if most is None else {**options, "top_k": most}


def items_of(content: list[str]) -> list[str]:
    """Return the items to record, without blank ones."""
    return [item for each in listed(content) if each is not None and (item := str(each)).strip()]


def acknowledged(thinking: str, items: Sequence[str], acknowledgement: str) -> list[dict[str, str]]:
    """Return a recording as the messages of a conversation, in which an assistant acknowledges each item."""
    messages = [{"role": "user", "content": thinking}] if thinking and items else []
    for item in items:
        messages += [{"role": "user", "content": item}, {"role": "assistant", "content": acknowledgement}]
    return messages
