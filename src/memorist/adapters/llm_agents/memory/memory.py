"""The memory of an agent: a store, and functions that add metadata to an episode before it is stored."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar

from memorist.adapters.llm_agents.base.memory_store import BaseMemoryStore
from memorist.adapters.llm_agents.data_structures.memory import Episode, own_copy
from memorist.adapters.llm_agents.errors import MemoryStoreError, known

_T = TypeVar("_T")

MetadataFn: TypeAlias = Callable[[Episode], str | Awaitable[str]]


class _Instructed(Protocol):
    """A `Task`, this adapter's or the original's."""

    instruction: str


class Memory:
    """Recalls episodes for a task, and records those that ended.

    ```python
    memory = Memory(MemoristMemoryStore("agent.db"), metadata_fns={"lesson": lesson_of})
    prompt = await memory.recall(task)
    await memory.record(Episode(task=task, rollout=rollout, result=result))
    ```

    Errors of the store are passed on. A store that does not answer within `timeout` raises `MemoryStoreError`.

    Args:
        store: where the episodes are.
        metadata_fns: a function of the episode, blocking or async, for each key of the metadata.
        timeout: seconds that one call of the store may take; None for no limit.
    """

    def __init__(
        self,
        store: BaseMemoryStore,
        metadata_fns: Mapping[str, MetadataFn] | None = None,
        *,
        timeout: float | None = 60.0,
    ) -> None:
        self.store = store
        self.metadata_fns = dict(metadata_fns or {})
        self.timeout = timeout

    async def recall(self, task: _Instructed) -> str:
        """Return the episodes recalled for a task, formatted for a prompt; "" if there are none."""
        return "\n".join(str(episode) for episode in await self._in_time(self.store.recall(task.instruction)))

    async def record(self, episode: Episode) -> None:
        """Store a copy of an episode with the metadata that the `metadata_fns` return.

        The functions run at the same time. If one raises, so does this, and nothing is stored.
        """
        copy = own_copy(episode)
        copy.metadata |= await self._noted(copy)
        await self._in_time(self.store.write(copy))

    async def delete(self, id_: str) -> None:
        """Delete an episode; see `BaseMemoryStore.delete`."""
        await self._in_time(self.store.delete(id_))

    async def update(self, episode: Episode) -> None:
        """Replace the episode that has the same id; see `BaseMemoryStore.update`."""
        await self._in_time(self.store.update(episode))

    async def summary(self) -> str:
        """Return the store's summary and the names of the functions, for people."""
        names = ", ".join(self.metadata_fns) or "none"
        return f"{await self._in_time(self.store.summary())}\n  metadata_fns: {names}"

    async def close(self) -> None:
        """Close the store, if it has a `close`."""
        if (close := getattr(self.store, "close", None)) is not None:
            await close()

    async def _noted(self, episode: Episode) -> dict[str, str]:
        calls = [asyncio.ensure_future(_call(name, fn, episode)) for name, fn in self.metadata_fns.items()]
        try:
            return dict(zip(self.metadata_fns, await asyncio.gather(*calls), strict=True))
        finally:
            for call in calls:
                call.cancel()

    async def _in_time(self, call: Awaitable[_T]) -> _T:
        try:
            return await asyncio.wait_for(call, self.timeout)
        except TimeoutError as error:
            limit = "in time" if self.timeout is None else f"within {self.timeout:g} s"
            raise known(MemoryStoreError)(f"{type(self.store).__name__} did not answer {limit}.") from error


async def _call(name: str, fn: MetadataFn, episode: Episode) -> str:
    """Return what a function returns for a copy of the episode; a blocking one is called in a thread."""
    given = own_copy(episode)
    found: Any = fn(given) if inspect.iscoroutinefunction(fn) else await asyncio.to_thread(fn, given)
    said = await found if inspect.isawaitable(found) else found
    if not isinstance(said, str):
        raise TypeError(f"the metadata function for {name!r} must return a string, not {type(said).__name__}")
    return said
