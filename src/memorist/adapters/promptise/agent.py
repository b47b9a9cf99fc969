"""Promptise's agent: any LangGraph graph or LangChain runnable, told before each call what memory knows of it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from importlib import import_module
from typing import Any

from memorist.adapters.promptise.context import _format_memory_context, get_current_caller
from memorist.adapters.promptise.messages import Answer, is_system, query_of
from memorist.adapters.promptise.types import MemoryProvider, MemoryResult, MemoryScope
from memorist.agents.injection import without_recalled
from memorist.errors import missing_extra
from memorist.twin import run

__all__ = ["MemoryAgent"]

logger = logging.getLogger("memorist.adapters.promptise")


class MemoryAgent:
    """Wraps an agent, and puts a system message with what was recalled into what it is asked.

    A memory that fails or takes too long never holds the agent up. Attributes that this class does not have
    are those of the agent.

    Args:
        inner: anything with ``ainvoke``, ``astream`` and ``invoke``, or those of them that are used.
        provider: where to search and store.
        max_memories: the most memories in one message.
        min_score: the least score of a memory; heeded from above 0.
        timeout: how long to wait for the memory, in seconds.
        auto_store: keep each question with its answer once the agent has succeeded.

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
        self._provider = provider
        self._max_memories = max_memories
        self._min_score = min_score
        self._timeout = timeout
        self._auto_store = auto_store
        self._system_message = _system_message_class()
        self._unfinished: set[asyncio.Future[Any]] = set()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_inner" not in self.__dict__:  # a copy that is not filled yet
            raise AttributeError(name)
        return getattr(self._inner, name)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Ask the agent, with what memory knows of the question."""
        query = query_of(input)
        told = self._with(await self._recalled(query), input)
        answer = await self._inner.ainvoke(told, config=config, **kwargs)
        await self._keep(query, Answer().take(answer))
        return answer

    async def astream(self, input: Any, config: Any = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Ask the agent, and pass on what it streams."""
        query = query_of(input)
        told = self._with(await self._recalled(query), input)
        answer = Answer()
        async for chunk in self._inner.astream(told, config=config, **kwargs):
            answer.take(chunk)
            yield chunk
        await self._keep(query, answer)

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Ask the agent from blocking code, whether an event loop runs here or not."""
        query = query_of(input)
        told = self._with(self._apart(lambda: self._recalled(query), []), input)
        answer = self._inner.invoke(told, config=config, **kwargs)
        self._apart(lambda: self._keep(query, Answer().take(answer)), None)
        return answer

    @staticmethod
    def _apart(call: Any, otherwise: Any) -> Any:
        """Run a coroutine on the background loop; what fails there fails no agent."""
        try:
            return run(call)
        except Exception:
            logger.warning("Memory could not be reached", exc_info=True)
            return otherwise

    # --- recalling ---------------------------------------------------------------------------------------

    async def _recalled(self, query: str) -> list[MemoryResult]:
        if not query.strip():
            return []
        search = self._provider.search(query, limit=self._max_memories, user_id=self._user())
        try:
            found = await self._in_time(search)
        except TimeoutError:
            logger.warning("Memory search timed out after %.1fs", self._timeout)
            return []
        except Exception:
            logger.warning("Memory search failed", exc_info=True)
            return []
        near = [each for each in found if self._min_score <= 0 or each.score >= self._min_score]
        return near[: self._max_memories]

    async def _in_time(self, work: Any) -> Sequence[MemoryResult]:
        """Wait for a search as long as may be; one that is later, and minds no cancelling, is left to itself."""
        task = asyncio.ensure_future(work)
        try:
            done, _ = await asyncio.wait({task}, timeout=self._timeout)
        except BaseException:
            task.cancel()
            raise
        if not done:
            task.cancel()
            self._let_be(task)
            raise TimeoutError
        return task.result()  # type: ignore[no-any-return]

    def _with(self, found: Sequence[MemoryResult], input: Any) -> Any:
        """Return what the agent is asked, with what was recalled after the leading system messages."""
        if not isinstance(input, dict) or not isinstance(input.get("messages"), list | tuple):
            return input
        block = _format_memory_context(found)
        if not block:
            return input
        messages = list(input["messages"])
        place = next((n for n, each in enumerate(messages) if not is_system(each)), len(messages))
        messages.insert(place, self._system_message(content=block))
        return {**input, "messages": messages}

    # --- storing -----------------------------------------------------------------------------------------

    async def _keep(self, query: str, answer: Answer) -> None:
        asked, said = without_recalled(query), without_recalled(answer.text)
        if not self._auto_store or not asked.strip() or not said.strip():
            return
        content = f"User: {asked}\nAssistant: {said}"
        task = asyncio.ensure_future(self._stored(content, self._user()))
        self._let_be(task)  # whatever happens to the caller, what was begun is written
        await asyncio.wait({task}, timeout=self._timeout)

    async def _stored(self, content: str, user: str | None) -> None:
        try:
            await self._provider.add(content, metadata={"source": "auto_store"}, user_id=user)
        except Exception:
            logger.warning("Storing an exchange failed", exc_info=True)

    def _let_be(self, task: "asyncio.Future[Any]") -> None:
        """Hold on to a task, for its loop does not, and take note of how it ends."""
        self._unfinished.add(task)

        def ended(task: "asyncio.Future[Any]") -> None:
            self._unfinished.discard(task)
            if not task.cancelled():
                task.exception()

        task.add_done_callback(ended)

    def _user(self) -> str | None:
        if self._provider.scope != MemoryScope.PER_USER:
            return None
        caller = get_current_caller()
        return None if caller is None else caller.user_id


def _system_message_class() -> Any:
    try:
        return import_module("langchain_core.messages").SystemMessage
    except ImportError as error:
        raise missing_extra("langchain-core", "langgraph") from error
