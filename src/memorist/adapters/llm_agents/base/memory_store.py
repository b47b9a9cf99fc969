"""The base of every store of episodes."""

import warnings
from abc import ABC, abstractmethod
from typing import Any

from memorist.adapters.llm_agents.data_structures.memory import Episode, RecallMode
from memorist.adapters.llm_agents.errors import EpisodeNotFoundError, MaxResultsExceededWarning

__all__ = ["BaseMemoryStore"]


class BaseMemoryStore(ABC):
    """Keeps episodes, and recalls the newest or the relevant ones.

    A store of one's own writes the abstract methods and leaves `recall` as it is.

    Args:
        max_results: most episodes that `recall` should give.
        recall_mode: whether it gives the newest or the relevant ones.
    """

    def __init__(self, max_results: int = 5, recall_mode: RecallMode = RecallMode.SEARCH) -> None:
        self.max_results = max_results
        self.recall_mode = RecallMode(recall_mode)

    @abstractmethod
    async def write(self, episode: Episode) -> None:
        """Keep an episode; one with its id is replaced."""

    @abstractmethod
    async def _read_recent(self, n: int) -> list[Episode]:
        """Return the newest `n` episodes, newest first."""

    @abstractmethod
    async def _search(self, query: str, **kwargs: Any) -> list[Episode]:
        """Return the episodes that matter to a query, best first; `max_results` at most."""

    async def recall(self, query: str, **kwargs: Any) -> list[Episode]:
        """Return the newest or the relevant episodes, as `recall_mode` says.

        More than `max_results` are all returned, with a `MaxResultsExceededWarning`.

        Args:
            query: what to look for, such as a task's instruction. For the newest it does not matter.
            **kwargs: for the store's search. For the newest they do not matter.
        """
        if self.recall_mode == RecallMode.RECENT:
            found = await self._read_recent(self.max_results)
        else:
            found = await self._search(query, **kwargs)
        if len(found) > self.max_results:
            warnings.warn(
                f"{type(self).__name__}._search returned {len(found)} results but max_results={self.max_results}.",
                MaxResultsExceededWarning,
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
        """Put an episode in the place of the one with its id.

        Raises:
            EpisodeNotFoundError: there is none with this id.
        """

    @abstractmethod
    async def count(self) -> int:
        """Return how many episodes there are."""

    @abstractmethod
    async def summary(self) -> str:
        """Return what is in the store, for a person to read: how many episodes, the newest and the oldest."""

    def _not_found(self, id_: str) -> EpisodeNotFoundError:
        return EpisodeNotFoundError(f"Episode '{id_}' not found in {type(self).__name__}.")

    def _summed_up(self, count: int, path: object, newest: Episode | None, oldest: Episode | None) -> str:
        lines = [f"{type(self).__name__}: {count} episodes | path={path}"]
        for name, episode in (("newest", newest), ("oldest", oldest)):
            if episode is not None:
                lines.append(f"  {name}: {str(episode.completed_at)[:19]} | {episode.task.instruction[:60]}")
        return "\n".join(lines)
