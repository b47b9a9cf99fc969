"""Long-term memory for the agents of LangChain 1.x: recalls before each turn, and stores what was said after it."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.messages import SystemMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime

from memorist.adapters.opening import AnyMemory, behind
from memorist.adapters.turns import keep_turn, of_user
from memorist.agents import before_turn
from memorist.blocking_client import blocking_method, run
from memorist.context import Context
from memorist.errors import InvalidInputError
from memorist.memory import Memory

_State: TypeAlias = AgentState[Any]
_TURNS = 256
"""Most turns whose context is kept in this process at a time."""


class MemoryMiddleware(AgentMiddleware[_State, Any, Any]):
    """Tells an agent what the memory knows of a question, and keeps what was said.

    ```python
    middleware = MemoryMiddleware(memory, user=lambda runtime: runtime.context.user_id)
    agent = create_agent(model, middleware=[middleware], context_schema=Context)
    await agent.ainvoke({"messages": [question]}, {"configurable": {"thread_id": "monday"}}, context=Context("alice"))
    ```

    The context is put at the end of the system message of each model call of the turn. It is added to no message and
    no state of the thread, so that no checkpoint holds it. Messages are kept as the conversation of the thread, each
    once. Where the store or the embedder fails, the turn goes on without, and that is logged.

    Args:
        memory: an open memory, asynchronous or blocking, or a path or URL. `invoke` and `ainvoke` work with either.
        user: returns the user for a runtime; by default the user of the memory's scope.
        tokens: the most tokens of the recalled context.
        keep: whether messages are stored.
        **options: further arguments of `Memory.context`, such as `min_confidence` or `topics`.

    Raises (from a turn):
        InvalidInputError: `user` returned no user, or `keep` is on and there is neither a thread nor a session.
    """

    def __init__(
        self,
        memory: AnyMemory,
        *,
        user: Callable[[Runtime[Any]], str | None] | None = None,
        tokens: int = 600,
        keep: bool = True,
        **options: Any,
    ) -> None:
        super().__init__()
        self._memory: Memory = behind(memory, "langgraph")
        self._user = user
        self._tokens = tokens
        self._keep = keep
        self._options = options
        self._told: OrderedDict[tuple[Any, ...], Context] = OrderedDict()

    async def abefore_agent(self, state: _State, runtime: Runtime[Any]) -> None:
        """Find the context of the turn."""
        await self._tell(self._scoped(runtime), state)

    async def _tell(self, memory: Memory, state: _State) -> Context:
        """Return the context of a turn, found anew, and keep it in this process until the turn ends."""
        told = await before_turn(memory, state["messages"], tokens=self._tokens, **self._options)
        self._told[_turn(memory, state)] = told
        while len(self._told) > _TURNS:  # turns that failed
            self._told.popitem(last=False)
        return told

    async def _with_context(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        memory = self._scoped(request.runtime)
        told = self._told.get(_turn(memory, request.state))
        if told is None:  # the turn goes on after an interrupt
            told = await self._tell(memory, request.state)
        if not told.text:
            return request
        before = request.system_message
        content: list[Any] = [] if before is None else [*before.content_blocks]
        content.append({"type": "text", "text": f"\n\n{told.text}" if before else told.text})
        return request.override(system_message=SystemMessage(content=content))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Call the model with the context."""
        return await handler(await self._with_context(request))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the context, blocking."""
        return handler(run(lambda: self._with_context(request)))

    async def aafter_agent(self, state: _State, runtime: Runtime[Any]) -> None:
        """Keep what was said."""
        memory = self._scoped(runtime)
        told = self._told.pop(_turn(memory, state), None)
        if self._keep:
            await keep_turn(memory, state["messages"], told=told)

    before_agent = blocking_method(abefore_agent)
    after_agent = blocking_method(aafter_agent)

    def _scoped(self, runtime: Runtime[Any]) -> Memory:
        """Return the memory seen by the user of this turn, in the session that is its thread."""
        thread = get_config().get("configurable", {}).get("thread_id")
        session = self._memory.scope.session if thread is None else str(thread)
        if self._keep and session is None:
            raise InvalidInputError(
                "could not identify the conversation: pass a thread_id in the agent's config, "
                "scope the memory to a session, or pass keep=False to the middleware"
            )
        return of_user(self._memory, self._user, runtime).scoped(session=session)


def _turn(memory: Memory, state: Any) -> tuple[Any, ...]:
    """Return what a turn is known by: whose it is, its thread, and the last message of the user."""
    messages = state["messages"]
    asked = next((n for n in range(len(messages) - 1, -1, -1) if messages[n].type == "human"), None)
    return memory.scope, asked, None if asked is None else messages[asked].text
