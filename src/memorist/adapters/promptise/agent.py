"""Promptise's agent: wraps a LangGraph graph or a LangChain runnable and adds relevant memories to each call."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from importlib import import_module
from typing import Any

from memorist.adapters.promptise.context import _format_memory_context, get_current_caller
from memorist.adapters.promptise.messages import GraphAnswer, is_system, messages_of, query_of
from memorist.adapters.promptise.types import MemoryProvider, MemoryResult, MemoryScope, is_adaptive
from memorist.blocking_client import run
from memorist.errors import MemoristError, needs
from memorist.framing.frame import without_recalled

logger = logging.getLogger("memorist.adapters.promptise")


class MemoryAgent:
    """Wraps an agent, and adds a system message with relevant memories to its input.

    A memory that fails or takes too long never blocks the agent. Other attributes are those of the agent.

    Args:
        inner: anything with ``ainvoke``, ``astream`` and ``invoke``, or those of them that are used.
        provider: where to search and store.
        max_memories: the most memories in one message.
        min_score: the least score of a memory; applied only above 0.
        timeout: how long to wait for the memory, in seconds.
        auto_store: store each question with its answer after the agent has succeeded.

    Raises:
        ImportError: langchain-core is not installed.
    """

    def __init__(
        self,
        inner: Any,
        provider: MemoryProvider,
        *,
        max_memories: int = 5,
        min_score: float = 0.0,
        timeout: float = 5.0,
        auto_store: bool = False,
    ) -> None:
        self._inner = inner
        self.provider = provider
        self._max_memories = max_memories
        self._min_score = min_score
        self._timeout = timeout
        self._auto_store = auto_store
        with needs("langchain-core", "langgraph"):
            self._system_message = import_module("langchain_core.messages").SystemMessage
        self._first_user: str | None = None
        self._warned = False
        self._unfinished: set[asyncio.Future[Any]] = set()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_inner" not in self.__dict__:  # a copy that is not filled yet
            raise AttributeError(name)
        return getattr(self._inner, name)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Call the agent with relevant memories."""
        query, user = query_of(input), self._user()
        told = self._told(input, await self._recalled(query, user))
        answer = await self._inner.ainvoke(told, config=config, **kwargs)
        await self._keep(query, GraphAnswer.of(answer), user)
        return answer

    async def astream(self, input: Any, config: Any = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Stream from the agent, called with relevant memories."""
        query, user = query_of(input), self._user()
        told = self._told(input, await self._recalled(query, user))
        answer = GraphAnswer()
        async for chunk in self._inner.astream(told, config=config, **kwargs):
            answer.take(chunk)
            yield chunk
        await self._keep(query, answer, user)

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Call the agent from blocking code, with or without a running event loop."""
        query, user = query_of(input), self._user()
        told = self._told(input, self._apart(lambda: self._recalled(query, user), ""))
        answer = self._inner.invoke(told, config=config, **kwargs)
        self._apart(lambda: self._keep(query, GraphAnswer.of(answer), user), None)
        return answer

    @staticmethod
    def _apart(call: Any, otherwise: Any) -> Any:
        """Run a coroutine on the background loop; return `otherwise` if it fails."""
        try:
            return run(call)
        # the background loop refuses calls now; the coroutines themselves raise no error of the memory
        except MemoristError:
            logger.warning("Memory could not be reached", exc_info=True)
            return otherwise

    # --- recalling ---------------------------------------------------------------------------------------

    async def _recalled(self, query: str, user: str | None) -> str:
        """Return the block of memories for a query; "" if there are none, or memory fails."""
        if not query.strip():
            return ""
        try:
            found = await self._in_time(query, user)
            if found is None:
                logger.warning("Memory search timed out after %.1fs", self._timeout)
                return ""
            memories = [each for each in found if not is_adaptive(each.metadata)]
            near = [each for each in memories if self._min_score <= 0 or each.score >= self._min_score]
            return _format_memory_context(near[: self._max_memories])
        except Exception:  # the host's rule: whatever a provider raises, the turn goes on without memory
            logger.warning("Memory search failed", exc_info=True)
            return ""

    async def _in_time(self, query: str, user: str | None) -> Sequence[MemoryResult] | None:
        """Return what a search finds, or None after the timeout; a search that ignores its cancellation goes on."""
        task = asyncio.ensure_future(self.provider.search(query, limit=self._max_memories, user_id=user))
        try:
            await asyncio.wait({task}, timeout=self._timeout)
            if task.cancelled():
                raise RuntimeError("the provider cancelled its own search")
            return task.result() if task.done() else None
        finally:
            if not task.done():
                task.cancel()
                self._let_be(task)

    def _told(self, input: Any, block: str) -> Any:
        """Return the agent's input with the block after the leading system messages."""
        messages = messages_of(input)
        if messages is None or not block:
            return input
        position = next((n for n, each in enumerate(messages) if not is_system(each)), len(messages))
        messages.insert(position, self._system_message(content=block))
        return {**input, "messages": messages}

    # --- storing -----------------------------------------------------------------------------------------

    async def _keep(self, query: str, answer: GraphAnswer, user: str | None) -> None:
        if not self._auto_store:
            return
        asked, said = without_recalled(query), without_recalled(answer.text)
        if not asked.strip() or not said.strip():
            return
        content = f"User: {asked}\nAssistant: {said}"
        task = asyncio.ensure_future(self._stored(content, user))
        self._let_be(task)  # the write goes on if the caller is cancelled
        await asyncio.wait({task}, timeout=self._timeout)

    async def _stored(self, content: str, user: str | None) -> None:
        try:
            await self.provider.add(content, metadata={"source": "auto_store"}, user_id=user)
        except Exception:  # the host's rule, as above
            logger.warning("Storing an exchange failed", exc_info=True)

    def _let_be(self, task: "asyncio.Future[Any]") -> None:
        """Keep a reference to a task, because its loop keeps none, and retrieve its exception."""
        self._unfinished.add(task)

        def ended(task: "asyncio.Future[Any]") -> None:
            self._unfinished.discard(task)
            if not task.cancelled():
                task.exception()

        task.add_done_callback(ended)

    def _user(self) -> str | None:
        """Return the key of the user whose memory a call uses. It is read once: the agent may change the caller."""
        caller = get_current_caller()
        user = None if caller is None else getattr(caller, "isolation_key", None) or caller.user_id
        if getattr(self.provider, "scope", None) == MemoryScope.PER_USER:
            return user
        self._note(user)
        return None

    def _note(self, user: str | None) -> None:
        """Warn once, when a second caller is served from a memory that nobody chose to share."""
        if user is None or self._warned or getattr(self.provider, "_scope_explicit", False):
            return
        if self._first_user is None:
            self._first_user = user
        elif user != self._first_user:
            self._warned = True
            logger.warning(
                "%s has the default scope SHARED and serves several callers: each can read what is stored for the "
                "others. Pass scope=MemoryScope.PER_USER to separate them, or scope=MemoryScope.SHARED if this "
                "is intended",
                type(self.provider).__name__,
            )
