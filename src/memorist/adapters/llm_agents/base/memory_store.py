"""The base class of stores of episodes."""

import warnings
from abc import ABC, abstractmethod
from typing import Any

from memorist.adapters.llm_agents.data_structures.memory import Episode, RecallMode
from memorist.adapters.llm_agents.errors import EpisodeNotFoundError, MaxResultsExceededWarning, known
from memorist.adapters.originals import original


class BaseMemoryStore(ABC):
    """Stores episodes, and recalls the newest or the relevant ones.

    A subclass implements the abstract methods and does not override `recall`.

    Args:
        max_results: the most episodes that `recall` should return.
        recall_mode: whether `recall` returns the newest or the relevant episodes.
    """

    def __init__(self, max_results: int = 5, recall_mode: RecallMode = RecallMode.SEARCH) -> None:
        self.max_results = max_results
        self.recall_mode = RecallMode(recall_mode)

    @abstractmethod
    async def write(self, episode: Episode) -> None:
        """Store an episode, and replace one with the same id."""

    @abstractmethod
    async def _read_recent(self, n: int) -> list[Episode]:
        """Return the newest `n` episodes, newest first."""

    @abstractmethod
    async def _search(self, query: str, **kwargs: Any) -> list[Episode]:
        """Return up to `max_results` episodes relevant to a query, best first."""

    async def recall(self, query: str, **kwargs: Any) -> list[Episode]:
        """Return the newest or the relevant episodes, as `recall_mode` says.

        If the store returns more than `max_results`, all are returned, with a `MaxResultsExceededWarning`.

        Args:
            query: what to look for, such as a task's instruction. Ignored where the newest are recalled.
            **kwargs: arguments of the store's search. Ignored where the newest are recalled.
        """
        if self.recall_mode == RecallMode.RECENT:
            found = await self._read_recent(self.max_results)
        else:
            found = await self._search(query, **kwargs)
        if len(found) > self.max_results:
            warnings.warn(
                f"{type(self).__name__}._search returned {len(found)} results but max_results={self.max_results}.",
                known(MaxResultsExceededWarning),
                stacklevel=2,
            )
        return found

    @abstractmethod
    async def delete(self, id_: str) -> None:
        """Delete an episode.

        Raises:
            EpisodeNotFoundError: there is none with this id.
        """

    @abstractmethod
    async def update(self, episode: Episode) -> None:
        """Replace the episode that has the same id.

        Raises:
            EpisodeNotFoundError: there is none with this id.
        """

    @abstractmethod
    async def count(self) -> int:
        """Return how many episodes there are."""

    @abstractmethod
    async def summary(self) -> str:
        """Return a text for people: how many episodes there are, the newest and the oldest."""

    def _not_found(self, id_: str) -> EpisodeNotFoundError:
        return known(EpisodeNotFoundError)(f"Episode '{id_}' not found in {type(self).__name__}.")

    def _summed_up(self, count: int, path: object, newest: Episode | None, oldest: Episode | None) -> str:
        lines = [f"{type(self).__name__}: {count} episodes | path={path}"]
        for name, episode in (("newest", newest), ("oldest", oldest)):
            if episode is not None:
                lines.append(f"  {name}: {str(episode.completed_at)[:19]} | {episode.task.instruction[:60]}")
        return "\n".join(lines)


_theirs = original("llm-agents-from-scratch", "llm_agents_from_scratch.base.memory_store", "BaseMemoryStore")
if _theirs is not None:
    _theirs.register(BaseMemoryStore)
