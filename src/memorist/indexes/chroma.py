"""An index in Chroma: on a server, in a folder, or in memory."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import numpy as np

from memorist.clients.chroma import connect, query
from memorist.errors import ClosedError
from memorist.indexes.address import Address, translated
from memorist.indexes.base import Index, Near, Point, Position
from memorist.stores.base import Vector

_AT_ONCE = 500


class ChromaIndex(Index):
    """Points in the address's collection, positions in one beside it. Needs `pip install 'memorist[chroma]'`.

    Chroma's files may keep bytes of vectors and ids that were deleted.
    """

    residue = "its files may still contain deleted vectors and ids"

    def __init__(self, address: Address) -> None:
        self.name = f"chroma {address.shown}"
        self._address = address
        self._client: Any = None
        self._release: Callable[[], None] = lambda: None

    def open(self) -> None:
        with translated(self.name):
            self._client, self._release = connect(self._address.at, self._address.key)

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            self._release()

    @contextmanager
    def _using(self) -> Iterator[Any]:
        with translated(self.name):
            if self._client is None:
                raise ClosedError("the index is not open")
            yield self._client

    def _positions(self) -> Any:
        return self._client.get_or_create_collection(f"{self._address.collection}-positions", embedding_function=None)

    def _points(self) -> Any:
        """Return the collection of points; None before the first."""
        with suppress(import_module("chromadb.errors").NotFoundError):
            return self._client.get_collection(self._address.collection, embedding_function=None)
        return None

    def position(self, wall: str) -> Position | None:
        with self._using():
            found = self._positions().get(ids=[wall], include=["metadatas"])["metadatas"]
            return Position(found[0]["generation"], found[0]["epoch"]) if found else None

    def update(self, wall: str, points: Sequence[Point], gone: Sequence[int], position: Position) -> None:
        epoch = position.epoch
        with self._using():
            collection = self._fit(len(points[0].vector)) if points else self._points()
            for start in range(0, len(points), _AT_ONCE):
                some = points[start : start + _AT_ONCE]
                collection.upsert(
                    ids=[f"{wall}:{each.number}:{epoch}" for each in some],
                    embeddings=[np.asarray(each.vector, np.float32) for each in some],
                    metadatas=[{"wall": wall, "number": each.number, "epoch": epoch, "id": each.id} for each in some],
                )
            self._drop_older(collection, wall, [each.number for each in points], epoch)
            self._drop_older(collection, wall, gone, epoch + 1)
            self._positions().upsert(
                ids=[wall], embeddings=[[1.0]], metadatas=[{"generation": position.generation, "epoch": epoch}]
            )

    def _fit(self, dimensions: int) -> Any:
        """Return the collection for vectors of this length; vectors of another length belong to another embedder."""
        found = self._points()
        if found is not None and (found.metadata or {}).get("dimensions") != dimensions:
            self._client.delete_collection(self._address.collection)
            self._client.delete_collection(f"{self._address.collection}-positions")
        return self._client.get_or_create_collection(
            self._address.collection,
            configuration={"hnsw": {"space": "cosine"}},
            embedding_function=None,
            metadata={"dimensions": dimensions},
        )

    def _drop_older(self, collection: Any, wall: str, numbers: Sequence[int], epoch: int) -> None:
        """Remove the points of these numbers from before an epoch."""
        for start in range(0, len(numbers) if collection is not None else 0, _AT_ONCE):
            those = {"number": {"$in": list(numbers[start : start + _AT_ONCE])}}
            collection.delete(where={"$and": [{"wall": wall}, those, {"epoch": {"$lt": epoch}}]})

    def nearest(self, wall: str, vector: Vector, limit: int) -> list[Near]:
        with self._using():
            collection = self._points()
            if collection is None:
                return []
            answer = query(
                collection,
                query_embeddings=[np.asarray(vector, np.float32)],
                n_results=limit,
                where={"wall": wall},
                include=["metadatas", "distances"],
            )
            found = zip(answer["metadatas"][0], answer["distances"][0], strict=True)
            return [Near(row["number"], row["id"], 1.0 - distance) for row, distance in found]

    def walls(self) -> dict[str, int]:
        with self._using():
            return {wall: self.count(wall) for wall in self._positions().get(include=[])["ids"]}

    def count(self, wall: str) -> int:
        with self._using():
            collection = self._points()
            return 0 if collection is None else len(collection.get(where={"wall": wall}, include=[])["ids"])

    def purge(self, wall: str) -> None:
        with self._using():
            collection = self._points()
            if collection is not None:
                collection.delete(where={"wall": wall})
            self._positions().delete(ids=[wall])
