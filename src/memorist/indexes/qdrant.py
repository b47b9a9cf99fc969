"""An index in Qdrant: on a server, in a folder, or in memory."""

import os
import sqlite3
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from memorist.errors import ClosedError, MemoristError, StoreBusyError, StoreUnavailableError, needs
from memorist.indexes.address import Address, translated
from memorist.indexes.base import Index, Near, Point, Position
from memorist.stores.base import Vector

_AT_ONCE = 500
_NAMESPACE = uuid.UUID("5b1c9bfa-0c0d-4d3e-9a39-6d656d6f7269")


class QdrantIndex(Index):
    """Points in the address's collection, positions in one beside it. Needs `pip install 'memorist[qdrant]'`.

    A server's key is read from the URL or from the variable QDRANT_API_KEY. Without a server, the client keeps all
    points in memory, and only one process can use the folder.
    """

    def __init__(self, address: Address) -> None:
        self.name = f"qdrant {address.shown}"
        self.residue = (
            "its segments contain deleted vectors and ids until it optimises them"
            if isinstance(address.at, str)
            else ""
        )
        self._address = address
        self._points, self._positions = address.collection, f"{address.collection}-positions"
        self._client: Any = None
        self._models: Any = None
        # The client without a server is not thread-safe.
        self._turn: Any = nullcontext() if isinstance(address.at, str) else threading.RLock()

    def open(self) -> None:
        with needs("qdrant-client", "qdrant"):
            qdrant = import_module("qdrant_client")
        self._models = qdrant.models
        at, key = self._address.at, self._address.key or os.environ.get("QDRANT_API_KEY") or None
        with translated(self.name, self._own):
            if isinstance(at, str):
                self._client = qdrant.QdrantClient(url=at, api_key=key, check_compatibility=False)
            elif at is None:
                self._client = qdrant.QdrantClient(":memory:")
            else:
                self._client = qdrant.QdrantClient(path=str(at), force_disable_check_same_thread=True)
            self._make(self._positions, {}, ())

    def close(self) -> None:
        with self._turn:
            client, self._client = self._client, None
            if client is not None:
                client.close()

    @contextmanager
    def _using(self) -> Iterator[Any]:
        with translated(self.name, self._own), self._turn:
            if self._client is None:
                raise ClosedError("the index is not open")
            yield self._client

    def _own(self, said: str) -> MemoristError | None:
        if "already accessed" in said:
            return StoreBusyError(f"{self.name} is open elsewhere; run a Qdrant server to share an index")
        if "401" in said or "403" in said or "api key" in said.lower():
            return StoreUnavailableError(f"{self.name} rejected the API key; correct QDRANT_API_KEY")
        return None

    def _make(self, name: str, vectors: Any, numbers: Sequence[str]) -> None:
        """Create a collection if it is missing, with the wall as the tenant of its indexes."""
        client, models = self._client, self._models
        if client.collection_exists(name):
            return
        # One graph for each tenant and none over all of them, as Qdrant advises for searches within a tenant.
        graphs = models.HnswConfigDiff(m=0, payload_m=16)
        try:
            client.create_collection(name, vectors_config=vectors, hnsw_config=graphs)
        except Exception:
            if not client.collection_exists(name):  # otherwise another process has created it meanwhile
                raise
        if isinstance(self._address.at, str):
            wall = models.KeywordIndexParams(type="keyword", is_tenant=True)
            client.create_payload_index(name, field_name="wall", field_schema=wall, wait=True)
            for each in numbers:
                client.create_payload_index(name, field_name=each, field_schema="integer", wait=True)

    def _behind(self, wall: str, *more: Any) -> Any:
        models = self._models
        same = models.FieldCondition(key="wall", match=models.MatchValue(value=wall))
        return models.Filter(must=[same, *more])

    def position(self, wall: str) -> Position | None:
        with self._using() as client:
            found = client.retrieve(self._positions, ids=[_id(wall)])
            return Position(found[0].payload["generation"], found[0].payload["epoch"]) if found else None

    def update(self, wall: str, points: Sequence[Point], gone: Sequence[int], position: Position) -> None:
        epoch, models = position.epoch, self._models
        with self._using() as client:
            if points:
                self._fit(len(points[0].vector))
            for start in range(0, len(points), _AT_ONCE):
                rows = [
                    models.PointStruct(
                        id=_id(wall, each.number, epoch),
                        vector=np.asarray(each.vector, np.float32).tolist(),
                        payload={"wall": wall, "number": each.number, "epoch": epoch, "id": each.id},
                    )
                    for each in points[start : start + _AT_ONCE]
                ]
                client.upsert(self._points, points=rows, wait=True)
            self._drop_older(wall, [each.number for each in points], epoch)
            self._drop_older(wall, gone, epoch + 1)
            row = {"wall": wall, "generation": position.generation, "epoch": epoch}
            noted = models.PointStruct(id=_id(wall), vector={}, payload=row)
            client.upsert(self._positions, points=[noted], wait=True)

    def _fit(self, dimensions: int) -> None:
        """Prepare for vectors of this length; vectors of another length belong to another embedder, and are all
        removed."""
        client, models = self._client, self._models
        if client.collection_exists(self._points):
            if client.get_collection(self._points).config.params.vectors.size == dimensions:
                return
            client.delete_collection(self._points)
            client.delete_collection(self._positions)
            self._make(self._positions, {}, ())
        vectors = models.VectorParams(size=dimensions, distance=models.Distance.COSINE)
        self._make(self._points, vectors, ("number", "epoch"))

    def _drop_older(self, wall: str, numbers: Sequence[int], epoch: int) -> None:
        """Remove the points of these numbers from before an epoch."""
        models = self._models
        if not numbers or not self._client.collection_exists(self._points):
            return
        those = models.FieldCondition(key="number", match=models.MatchAny(any=list(numbers)))
        older = models.FieldCondition(key="epoch", range=models.Range(lt=epoch))
        chosen = models.FilterSelector(filter=self._behind(wall, those, older))
        self._client.delete(self._points, points_selector=chosen, wait=True)

    def nearest(self, wall: str, vector: Vector, limit: int) -> list[Near]:
        with self._using() as client:
            if not client.collection_exists(self._points):
                return []
            answer = client.query_points(
                self._points,
                query=np.asarray(vector, np.float32).tolist(),
                query_filter=self._behind(wall),
                limit=limit,
                with_payload=["number", "id"],
            )
            return [Near(each.payload["number"], each.payload["id"], each.score) for each in answer.points]

    def walls(self) -> dict[str, int]:
        found: dict[str, int] = {}
        with self._using() as client:
            offset, more = None, True
            while more:
                rows, offset = client.scroll(self._positions, limit=_AT_ONCE, offset=offset)
                for row in rows:
                    wall = row.payload["wall"]
                    found[wall] = self.count(wall)
                more = offset is not None
        return found

    def count(self, wall: str) -> int:
        with self._using() as client:
            there = client.collection_exists(self._points)
            return int(client.count(self._points, count_filter=self._behind(wall)).count) if there else 0

    def purge(self, wall: str) -> None:
        with self._using() as client:
            for name in (self._points, self._positions):
                if client.collection_exists(name):
                    chosen = self._models.FilterSelector(filter=self._behind(wall))
                    client.delete(name, points_selector=chosen, wait=True)
            if isinstance(self._address.at, Path):  # each collection is a SQLite file, which keeps what was deleted
                for file in self._address.at.glob(f"collection/{self._points}*/storage.sqlite"):
                    with closing(sqlite3.connect(file)) as connection:
                        connection.execute("VACUUM")


def _id(*parts: object) -> str:
    return str(uuid.uuid5(_NAMESPACE, " ".join(map(str, parts))))
