"""CrewAI's storage of memory records."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Any

from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
from crewai.memory.types import MemoryRecord, ScopeInfo

from memorist.adapters.crewai.records import FORM, draft_of, has_metadata, narrowed, path_of, plain_metadata, record_of
from memorist.adapters.entries import enough, first
from memorist.adapters.opening import AnyMemory, behind
from memorist.adapters.turns import of_user
from memorist.blocking_client import blocking_method, run
from memorist.embedders import EmbedderSpec, open_embedder
from memorist.errors import InvalidInputError
from memorist.memory import Memory
from memorist.records.record import Hit, Kind, Record


class MemoristStorage:
    """Keeps what CrewAI's own memory has analysed and embedded; a `StorageBackend`.

    ```python
    storage = MemoristStorage(memory.scoped(user="alice"))
    crew = Crew(…, memory=crewai.Memory(storage=storage, embedder=embedder()))
    ```

    CrewAI brings the vectors, of documents and of queries: they must be those of the memory's own embedder, which
    `embedder` returns, or the memory be opened with CrewAI's. Calls may be made from any thread.

    Args:
        memory: an open memory, asynchronous or blocking, which is not closed here, or a path or URL.
        user: returns whose records a call means, where the memory is everyone's: `ContextVar.get`, say, of a variable
            that the program sets before it starts a crew.

    Raises (from every call):
        InvalidInputError: `user` returned no user.
    """

    def __init__(self, memory: AnyMemory, *, user: Callable[[], str | None] | None = None) -> None:
        self._memory = behind(memory, "crewai")
        self._user = user

    @property
    def memory(self) -> Memory:
        """The memory, seen by the user of this call."""
        name = self._user
        return of_user(self._memory, None if name is None else lambda _: name(), None)

    def __deepcopy__(self, memo: object) -> "MemoristStorage":
        return self  # CrewAI copies crews; there is one store

    # --- writing -----------------------------------------------------------------------------------

    async def asave(self, records: list[MemoryRecord]) -> None:
        """Store records: all of them or none. A record replaces a stored one with the same id.

        Raises:
            EmbeddingDimensionMismatchError: the vectors are of another length than those stored.
        """
        try:
            await self.memory.remember([draft_of(record) for record in records], if_exists="replace")
        except InvalidInputError as error:
            raise await self._mismatch([record.embedding for record in records], error) from error

    save = blocking_method(asave)

    def update(self, record: MemoryRecord) -> None:
        """Replace the record with the same id."""
        self.save([record])

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the records that meet every criterion given, and return how many there were."""
        if record_ids is not None and not record_ids:
            return 0
        chosen: dict[str, Any] = {
            "kind": Kind.NOTE,
            "payload": narrowed(scope_prefix, categories),
            "until": older_than,
            "where": plain_metadata(metadata_filter),
        }
        if not metadata_filter:
            return await self.memory.forget(*(record_ids or ()), **chosen)
        wanted = None if record_ids is None else set(record_ids)
        ids = [
            record.id
            async for record in self.memory.iterate(**chosen)
            if has_metadata(record, metadata_filter) and (wanted is None or record.id in wanted)
        ]
        return await self.memory.forget(*ids) if ids else 0

    delete = blocking_method(adelete)

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete every record in a scope and below it; by default all of CrewAI's."""
        self.delete(scope_prefix)

    # --- reading -----------------------------------------------------------------------------------

    async def asearch(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Return the records nearest to a vector with their cosines, nearest first.

        Raises:
            EmbeddingDimensionMismatchError: the vector is of another length than those stored.
        """

        async def recall(count: int) -> list[Hit]:
            return await self.memory.recall(
                "vector",
                vector=query_embedding,
                mode="dense",
                kind=Kind.NOTE,
                where=plain_metadata(metadata_filter),
                min_similarity=min_score,
                payload=narrowed(scope_prefix, categories),
                limit=count,
            )

        try:
            hits = await enough(recall, limit, lambda record: has_metadata(record, metadata_filter))
        except InvalidInputError as error:
            raise await self._mismatch([query_embedding], error) from error
        return [(record_of(hit.record), hit.similarity) for hit in hits]

    search = blocking_method(asearch)

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return the record with this id, or None."""
        found = run(lambda: self.memory.get(record_id))
        return record_of(found) if found is not None and found.payload.get("form") == FORM else None

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Return records of a scope and below it, newest first; [] for an offset below zero."""
        if offset < 0:
            return []
        records = run(lambda: first(self._every(scope_prefix), offset + limit))
        return [record_of(record) for record in records[offset:]]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return the counts, categories and times of the records in a scope and below it."""
        records = run(lambda: self._all(scope))
        times = [record_of(record).created_at for record in records]
        return ScopeInfo(
            path=path_of(scope),
            record_count=len(records),
            categories=sorted(_categories(records)),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=_children(scope, records),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the paths of the scopes directly below one, sorted."""
        return _children(parent, run(lambda: self._all(parent)))

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return how many records of a scope and below it each category has."""
        return dict(_categories(run(lambda: self._all(scope_prefix))))

    def count(self, scope_prefix: str | None = None) -> int:
        """Return how many records there are in a scope and below it."""
        return run(lambda: self.memory.count(kind=Kind.NOTE, payload=narrowed(scope_prefix)))

    def _every(self, scope: str | None) -> AsyncIterator[Record]:
        return self.memory.iterate(kind=Kind.NOTE, payload=narrowed(scope), order="newest")

    async def _all(self, scope: str | None) -> list[Record]:
        return [record async for record in self._every(scope)]

    async def _mismatch(self, given: Sequence[list[float] | None], error: InvalidInputError) -> Exception:
        """Return CrewAI's error where vectors have another length than the stored ones, else `error`."""
        newest = await self.memory.browse(kind=Kind.NOTE, payload=narrowed(), limit=1)
        vectors = await self.memory.vectors([record.id for record in newest.records])
        lengths = {len(vector) for vector in given if vector}
        for stored in vectors.values():
            if other := lengths - {len(stored)}:
                mismatch: Exception = EmbeddingDimensionMismatchError(len(stored), other.pop())
                return mismatch
        return error


def factory(memory: AnyMemory, *, user: Callable[[], str | None] | None = None) -> Callable[[str], MemoristStorage]:
    """Return a factory for CrewAI's `set_memory_storage_factory` that gives every memory the same storage."""
    storage = MemoristStorage(memory, user=user)
    return lambda spec: storage


def embedder(spec: EmbedderSpec = None) -> Callable[[list[str]], list[list[float]]]:
    """Return an embedder as CrewAI takes it: a function from texts to vectors.

    Args:
        spec: as in `Memory.open`, and the same as there.
    """
    opened = open_embedder(spec)

    async def embed(texts: list[str]) -> list[list[float]]:
        await opened.ready()
        rows: list[list[float]] = (await opened.embed(texts)).tolist()
        return rows

    return lambda texts: run(lambda: embed(list(texts)))


def _categories(records: Sequence[Record]) -> Counter[str]:
    return Counter(name for record in records for name in record.payload["categories"])


def _children(parent: str, records: Sequence[Record]) -> list[str]:
    depth = len(path_of(parent).rstrip("/").split("/"))
    paths = [record.payload["path"].split("/") for record in records]
    return sorted({"/".join(path[: depth + 1]) for path in paths if len(path) > depth and path != ["", ""]})
