"""Long-term memory for the agents of LangChain 1.x: recalls before each turn, and stores what was said after it."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import SystemMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime

from memorist.adapters.turns import keep_turn, of_user
from memorist.agents import before_turn
from memorist.errors import InvalidInputError
from memorist.memory import Memory
from memorist.twin import Twin, asynchronous, run


class _State(AgentState[Any]):
    memorist_context: NotRequired[Annotated[str, PrivateStateAttr]]  # type: ignore[valid-type, unused-ignore]


class MemoryMiddleware(AgentMiddleware[_State, Any, Any]):
    """Tells an agent what the memory knows of a question, and keeps what was said.

    ```python
    middleware = MemoryMiddleware(memory, user=lambda runtime: runtime.context.user_id)
    agent = create_agent(model, middleware=[middleware], context_schema=Context)
    await agent.ainvoke({"messages": [question]}, {"configurable": {"thread_id": "monday"}}, context=Context("alice"))
    ```

    The context is put at the end of the system message of each model call of the turn. It is not added to the messages
    of the thread. Messages are kept as the conversation of the thread, each once. Where the store or the embedder
    fails, the turn goes on without, and that is logged.

    Args:
        memory: an open memory, asynchronous or blocking. `invoke` and `ainvoke` work with either.
        user: returns the user for a runtime; by default the user of the memory's scope.
        tokens: the most tokens of the recalled context.
        keep: whether messages are stored.
        **options: further arguments of `Memory.context`, such as `min_confidence` or `topics`.

    Raises (from a turn):
        InvalidInputError: `user` returned no user, or `keep` is on and there is neither a thread nor a session.
    """

    state_schema = _State

    def __init__(
        self,
        memory: Memory | Twin,
        *,
        user: Callable[[Runtime[Any]], str | None] | None = None,
        tokens: int = 600,
        keep: bool = True,
        **options: Any,
    ) -> None:
        super().__init__()
        self._memory: Memory = asynchronous(memory).through("langgraph")
        self._user = user
        self._tokens = tokens
        self._keep = keep
        self._options = options

    # --- before a turn ---------------------------------------------------------------------------------

    async def abefore_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any]:
        """Find the context of the turn."""
        return await self._told(state, self._scoped(runtime))

    def before_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any]:
        """Find the context of the turn, blocking."""
        memory = self._scoped(runtime)
        return run(lambda: self._told(state, memory))

    async def _told(self, state: _State, memory: Memory) -> dict[str, Any]:
        told = await before_turn(memory, state["messages"], tokens=self._tokens, **self._options)
        return {"memorist_context": told.text}

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Call the model with the context."""
        return await handler(_with_context(request))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the context, blocking."""
        return handler(_with_context(request))

    # --- after a turn ----------------------------------------------------------------------------------

    async def aafter_agent(self, state: _State, runtime: Runtime[Any]) -> None:
        """Keep what was said."""
        if self._keep:
            await keep_turn(self._scoped(runtime), state["messages"], session=self._session())

    def after_agent(self, state: _State, runtime: Runtime[Any]) -> None:
        """Keep what was said, blocking."""
        if self._keep:
            memory, session = self._scoped(runtime), self._session()
            run(lambda: keep_turn(memory, state["messages"], session=session))

    # --- whose, and where ------------------------------------------------------------------------------

    def _scoped(self, runtime: Runtime[Any]) -> Memory:
        """Return the memory seen by the user of this turn."""
        if self._keep and self._session() is None:
            raise InvalidInputError(
                "nothing says which conversation this is: give the agent a thread_id in its config, "
                "the memory a session, or the middleware keep=False"
            )
        return of_user(self._memory, self._user, runtime)

    def _session(self) -> str | None:
        thread = get_config().get("configurable", {}).get("thread_id")
        return self._memory.scope.session if thread is None else str(thread)


def _with_context(request: ModelRequest[Any]) -> ModelRequest[Any]:
    told = request.state.get("memorist_context")
    if not told:
        return request
    before = request.system_message
    content = [
        *([] if before is None else before.content_blocks),
        {"type": "text", "text": f"\n\n{told}" if before else told},
    ]
    return request.override(system_message=SystemMessage(content=content))
