"""A store of episodes in a Memorist memory."""

from collections.abc import Callable, Mapping
from datetime import datetime
from os import PathLike, fspath
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from memorist.adapters.entries import id_in
from memorist.adapters.llm_agents.base.memory_store import BaseMemoryStore
from memorist.adapters.llm_agents.data_structures.memory import (
    Episode,
    EpisodeFormatMode,
    RecallMode,
    Task,
    TaskResult,
    in_utc,
    own_copy,
)
from memorist.adapters.opening import AnyMemory, behind
from memorist.embedders import EmbedderSpec
from memorist.errors import NotFoundError, UnknownArgumentError
from memorist.kinds import Episode as Parts
from memorist.memory import Memory
from memorist.records.attribution import origin_on_own
from memorist.records.record import Kind, Record
from memorist.stores.base import Order
from memorist.system.locks import Lock

KeyFn: TypeAlias = Callable[[Episode], str]

_INSTEAD = {
    "limit": "`max_results` of the store says how many episodes are recalled",
    "kind": "a store has episodes only",
    "where": "a condition on the metadata is `filter`",
    "min_similarity": "the least similarity is `score_threshold`",
}
"""The advice in the error for arguments of `Memory.recall` that a search sets itself."""
ORIGIN = "memory_origin"
"""The name in an episode's metadata that says where a recalled one came from; it is not stored."""
_ORDERS: tuple[Order, Order] = ("newest", "oldest")
_NOT_IN_KEY = frozenset({"id_", "rollout", "completed_at"})


def default_key(episode: Episode) -> str:
    """Return the text of an episode that a search matches: all fields except id, rollout and time."""
    return episode.format(EpisodeFormatMode.CONCAT, exclude=_NOT_IN_KEY)


class MemoristMemoryStore(BaseMemoryStore):
    """Keeps episodes in a Memorist memory, where its other verbs see them too.

    Args:
        memory: an open `memorist.Memory`, whose scope the episodes get; or a file or URL, which the first call
            opens and `close` closes. By default the user's own database.
        name: a label that separates several stores in one memory. Stores of different names share nothing, also
            where an agent gives them the same episode.
        embedder: for a file or URL; see `memorist.embedders.open_embedder`.
        max_results: the most episodes that `recall` returns.
        recall_mode: whether `recall` returns the newest or the relevant episodes.
        key_fn: returns the text of an episode that a search matches; by default `default_key`.
    """

    def __init__(
        self,
        memory: AnyMemory | None = None,
        name: str | None = None,
        *,
        embedder: EmbedderSpec = None,
        max_results: int = 5,
        recall_mode: RecallMode = RecallMode.SEARCH,
        key_fn: KeyFn | None = None,
    ) -> None:
        super().__init__(max_results=max_results, recall_mode=recall_mode)
        self._own = memory is None or isinstance(memory, str | PathLike)
        self._opened = False
        self._opening = Lock()
        opened = memory
        if opened is None or isinstance(opened, str | PathLike):
            opened = Memory.open(opened, embedder=embedder)
        self._memory = behind(opened, "llm_agents")
        self._scoped = self._memory if name is None else self._memory.scoped(agent=name)
        self._key_fn = key_fn or default_key
        self.path = _shown(memory) if memory is None or isinstance(memory, str | PathLike) else repr(memory)

    async def close(self) -> None:
        """Close the memory, unless it was handed in. A second call does nothing."""
        if self._own:
            await self._memory.close()

    async def write(self, episode: Episode) -> None:
        memory = await self._open()
        id = id_in(self._scoped.scope, episode.id_)
        await memory.remember(kind=Kind.EPISODE, id=id, if_exists="replace", **self._fields(episode))

    async def update(self, episode: Episode) -> None:
        memory = await self._open()
        try:
            await memory.revise(await self._stored_id(episode.id_), **self._fields(episode))
        except NotFoundError as error:  # deleted in the meantime
            raise self._not_found(episode.id_) from error

    async def _stored_id(self, id_: str) -> str:
        """Return the id of the record of a stored episode; the episode's own id if it was not written by a store.

        Raises:
            EpisodeNotFoundError: there is no such episode.
        """
        memory = await self._open()
        for id in dict.fromkeys([id_in(self._scoped.scope, id_), id_]):
            if await memory.episodes.get(id) is not None:
                return id
        raise self._not_found(id_)

    def _fields(self, episode: Episode) -> dict[str, Any]:
        """Return the fields of an episode's record."""
        given = own_copy(episode)
        parts = parts_of(given)
        payload = {**parts.parts(), "id": given.id_, "task_id": given.task.id_}
        payload["completed_at"] = given.completed_at.isoformat()
        if given.result is not None:
            payload["result_task_id"] = given.result.task_id
        return {
            "content": parts.text,
            "cue": self._key_fn(given).replace("\0", " "),  # a result may hold any text, a cue may not
            "metadata": {name: value for name, value in given.metadata.items() if name != ORIGIN},
            "payload": payload,
            "happened_at": in_utc(given.completed_at),
        }

    async def delete(self, id_: str) -> None:
        memory = await self._open()
        if not await memory.episodes.delete(await self._stored_id(id_)):
            raise self._not_found(id_)

    async def count(self) -> int:
        return await (await self._open()).count(kind=Kind.EPISODE)

    async def summary(self) -> str:
        memory = await self._open()
        count = await memory.count(kind=Kind.EPISODE)
        ends = [(await memory.browse(kind=Kind.EPISODE, order=order, limit=1)).records for order in _ORDERS]
        newest, oldest = (_episode(found[0]) if found else None for found in ends)
        return self._summed_up(count, self.path, newest, oldest)

    async def _read_recent(self, n: int) -> list[Episode]:
        return [_marked(record) for record in await (await self._open()).recent(n, kind=Kind.EPISODE)]

    async def _search(
        self,
        query: str,
        *,
        score_threshold: float | None = None,
        filter: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> list[Episode]:
        """Return the episodes relevant to a query, best first.

        Args:
            query: such as a task's instruction.
            score_threshold: the least similarity, 0 to 1; None for any.
            filter: a condition on the metadata; see `memorist.records.filters.parse_where`.
            **kwargs: any other argument of `Memory.recall`, such as `since`.

        Raises:
            UnknownArgumentError: `Memory.recall` has no such argument, or the store sets it.
        """
        own: dict[str, Any] = {
            "limit": self.max_results,
            "kind": Kind.EPISODE,
            "where": filter,
            "min_similarity": score_threshold or 0.0,
        }
        for name in own.keys() & kwargs.keys():
            raise UnknownArgumentError(f"recall takes no {name!r}: {_INSTEAD[name]}")
        hits = await (await self._open()).recall(query, **own, **kwargs)
        return [_marked(hit.record) for hit in hits]

    async def _open(self) -> Memory:
        if self._own and not self._opened:
            async with self._opening:
                if not self._opened:
                    await self._memory
                    self._opened = True
        return self._scoped


def parts_of(episode: Episode) -> Parts:
    """Return the parts of an episode as this project's kind has them."""
    return Parts(
        task=episode.task.instruction,
        rollout=episode.rollout,
        result=None if episode.result is None else episode.result.content,
        error=episode.error_text(episode.error),
    )


def _marked(record: Record) -> Episode:
    """Return the episode of a record, which says whom it came from where that was no run of the agent itself."""
    episode, origin = _episode(record), origin_on_own(record)
    if origin:
        episode.metadata[ORIGIN] = origin
    return episode


def _episode(record: Record) -> Episode:
    """Return the episode of a record, also of one that was stored as a question and its answer."""
    said = record.payload
    task = Task(id_=said.get("task_id") or record.id, instruction=_first(said, "task", "question") or record.content)
    result = _first(said, "result", "answer")
    ended = said.get("completed_at")
    return Episode(
        id_=said.get("id") or record.id,
        task=task,
        rollout=said.get("rollout") or "",
        result=None if result is None else TaskResult(task_id=said.get("result_task_id") or task.id_, content=result),
        error=said.get("error"),
        metadata={name: value if isinstance(value, str) else str(value) for name, value in record.metadata.items()},
        completed_at=record.at if ended is None else datetime.fromisoformat(ended),
    )


def _first(said: Mapping[str, Any], *names: str) -> str | None:
    return next((said[name] for name in names if said.get(name) is not None), None)


def _shown(memory: str | PathLike[str] | None) -> str:
    """Return where a store is, without the password that may be in a URL."""
    if memory is None:
        return "the user's database"
    url = fspath(memory)
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if "@" in parts.netloc else url
