"""Long-term memory for agents of AgentScope 2.x, as a middleware."""

import warnings
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from weakref import WeakKeyDictionary

from memorist.adapters.agentscope.base import LongTermMemoryBase
from memorist.adapters.agentscope.reading import RECALLED
from memorist.adapters.agentscope.types import Msg, agentscope_version
from memorist.agents.tools import ToolSchema
from memorist.errors import InvalidInputError, MissingExtraError
from memorist.framing.frame import neutralise

_OPENING = "<long_term_memory>The content below are retrieved from long-term memory, which maybe useful:\n"
_CLOSING = "</long_term_memory>"

Mode: TypeAlias = Literal["static_control", "agent_control", "both"]

if TYPE_CHECKING or agentscope_version() != 2:

    class MiddlewareBase:
        """Stands for AgentScope's class where its version 2 is not installed; no middleware can be made then."""

else:
    from agentscope.middleware import MiddlewareBase


class MemoryMiddleware(MiddlewareBase):
    """A long-term memory for agents of AgentScope 2.x, with the three modes of version 1.

    ```python
    middleware = MemoryMiddleware(memory, mode="both")
    agent = Agent(..., toolkit=Toolkit(tools=await middleware.list_tools()), middlewares=[middleware])
    ```

    Args:
        memory: any of this package's long-term memories, entered if it needs to be.
        mode: "static_control": before a reply, what is retrieved is added as one user message named
            `long_term_memory`, which replaces the last one; after the reply, the exchange is recorded once.
            "agent_control": `list_tools` returns the memory's two functions. "both": both.

    Raises:
        ImportError: AgentScope 2 is not installed.
        InvalidInputError: there is no such mode.
    """

    def __init__(self, memory: LongTermMemoryBase, *, mode: Mode = "both") -> None:
        _require_agentscope()
        if mode not in ("static_control", "agent_control", "both"):
            raise InvalidInputError(f"mode must be static_control, agent_control or both, not {mode!r}")
        self._memory = memory
        self._mode = mode
        # By agent, the messages since its last completed reply.
        self._open: WeakKeyDictionary[Any, list[Msg]] = WeakKeyDictionary()

    async def on_reply(
        self, agent: Any, input_kwargs: dict[str, Any], next_handler: Callable[..., AsyncGenerator[Any, None]]
    ) -> AsyncGenerator[Any, None]:
        """Retrieve before a reply and record after it, except in the mode "agent_control"."""
        if self._mode == "agent_control":
            async for item in next_handler(**input_kwargs):
                yield item
            return
        heard = [_as_ours(each) for each in _messages(input_kwargs.get("inputs"))]
        waiting = self._open.setdefault(agent, [])
        waiting += heard
        note = await self._note(heard)
        reply = None
        async for item in next_handler(**input_kwargs):
            if heard and type(item).__name__ == "ReplyStartEvent":
                _put(agent.state.context, note)
                note = None
            if type(item).__name__ == "Msg" and item.role == "assistant":
                reply = item
            yield item
        await self._record(waiting, reply)

    async def list_tools(self) -> list[Any]:
        """Return the memory's two functions as tools; [] in the mode "static_control"."""
        if self._mode == "static_control":
            return []
        return [_tool(self._memory.record_to_memory, False), _tool(self._memory.retrieve_from_memory, True)]

    async def _note(self, heard: list[Msg]) -> Any:
        """Return the message with recalled memories, or None."""
        if not heard:
            return None
        try:
            text = await self._memory.retrieve(heard)
        except Exception as error:  # the agent goes on without
            warnings.warn(f"Error retrieving memory: {error}", stacklevel=2)
            return None
        framed = f"{_OPENING}{neutralise(text)}{_CLOSING}" if text else ""
        return _user_message(framed) if framed else None

    async def _record(self, waiting: list[Msg], reply: Any) -> None:
        """Record the messages to the agent and its reply, if the reply has a text."""
        if reply is None or not reply.get_text_content():
            return
        exchange: list[Msg | None] = [*waiting, _as_ours(reply)]
        waiting.clear()
        try:
            await self._memory.record(exchange)
        except Exception as error:  # the reply is given, and stays so
            warnings.warn(f"Error recording messages to memory: {error}", stacklevel=2)


def _require_agentscope() -> None:
    if (installed := agentscope_version()) == 2:
        return
    found = "it is not installed" if installed is None else f"version {installed} is installed"
    raise MissingExtraError(f"the middleware is for AgentScope 2, and {found}; run: pip install 'agentscope>=2,<3'")


def _messages(inputs: Any) -> list[Any]:
    given = inputs if isinstance(inputs, list) else [inputs]
    return [each for each in given if type(each).__name__ == "Msg"]  # not the events that resume a reply


def _as_ours(message: Any) -> Msg:
    """Return AgentScope's message with its blocks as plain values."""
    plain = [each.model_dump(mode="json") for each in message.content]
    blocks = [each | {"type": "tool_use"} if each["type"] == "tool_call" else each for each in plain]
    ours = Msg(message.name, blocks, message.role)
    ours.id = message.id
    return ours


def _user_message(text: str) -> Any:
    from agentscope.message import Msg as TheirMsg
    from agentscope.message import TextBlock

    return TheirMsg(name=RECALLED, role="user", content=[TextBlock(text=text)])


def _put(context: list[Any], note: Any) -> None:
    """Replace the message with the memories recalled for an earlier question."""
    context[:] = [each for each in context if getattr(each, "name", None) != RECALLED]
    if note is not None:
        context.append(note)


def _tool(function: Callable[..., Any], read_only: bool) -> Any:
    from agentscope.message import TextBlock
    from agentscope.permission import PermissionBehavior, PermissionDecision
    from agentscope.tool import FunctionTool, ToolChunk

    schema = ToolSchema.of(function)

    class MemoryTool(FunctionTool):  # type: ignore[misc]  # AgentScope need not be installed
        # Before 2.0.8, the constructor takes neither a schema nor a permission.
        async def check_permissions(self, *args: Any, **kwargs: Any) -> Any:
            return PermissionDecision(behavior=PermissionBehavior.ALLOW, message="the agent's own memory")

    async def call(**arguments: Any) -> Any:
        response = await function(
            **{name: arguments[name] for name in schema.parameters["properties"] if name in arguments}
        )
        texts: Iterable[str] = (str(block["text"]) for block in response.content)
        return ToolChunk(content=[TextBlock(text=text) for text in texts])

    tool = MemoryTool(call, name=schema.name, description=schema.description, is_read_only=read_only)
    tool.input_schema = dict(schema.parameters)
    return tool
