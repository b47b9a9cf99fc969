"""Tables in Qdrant: each is a collection, whose payloads are the fields of its rows."""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from memorist.stores.base import Vector
from memorist.stores.logged import Condition, Fields, Point, Table, chunks

__all__ = ["QdrantTable"]

_AT_ONCE = 500
_NAMESPACE = uuid.UUID("5b1c9bfa-0c0d-4d3e-9a39-6d656d6f7269")
_ID, _TEXT = "_id", "_text"
"""Fields of a payload beside the row's own: its id, for Qdrant's are numbers and UUIDs alone, and a point's text."""
_TENANT = "wall"


class QdrantTable(Table):
    """A collection, made with the first rows if it is missing: only then is the length of the vectors known."""

    def __init__(
        self, client: Any, models: Any, name: str, indexed: tuple[Sequence[str], Sequence[str]] | None
    ) -> None:
        self._client = client
        self._name = name
        self._indexed = indexed
        self._serves = indexed is not None
        self._models = models
        self._there = bool(client.collection_exists(name))

    def ensure(self, dimensions: int | None) -> None:
        """Make the collection where it is missing, for vectors of this length, or for none."""
        if self._there:
            return
        models = self._models
        vectors = {} if dimensions is None else models.VectorParams(size=dimensions, distance=models.Distance.COSINE)
        # A graph for each wall and none for all of them: what Qdrant advises where each tenant asks for its own.
        graphs = models.HnswConfigDiff(m=0, payload_m=16)
        try:
            self._call("create_collection", vectors_config=vectors, hnsw_config=graphs)
        except Exception:
            if not self._client.collection_exists(self._name):  # else another process was first
                raise
        if self._indexed is not None:
            self._make_indexes(*self._indexed)
        self._there = True

    def _make_indexes(self, keywords: Sequence[str], numbers: Sequence[str]) -> None:
        models = self._models
        indexes = {_TENANT: models.KeywordIndexParams(type="keyword", is_tenant=True)}
        indexes |= {name: models.KeywordIndexParams(type="keyword") for name in keywords}
        indexes |= {name: models.IntegerIndexParams(type="integer", lookup=True, range=True) for name in numbers}
        for name, index in indexes.items():
            self._call("create_payload_index", field_name=name, field_schema=index, wait=True)

    def _call(self, method: str, **given: Any) -> Any:
        if self._serves and method in ("retrieve", "scroll"):
            given["consistency"] = self._models.ReadConsistencyType.MAJORITY
        if self._serves and method in ("upsert", "delete", "batch_update_points"):
            given["ordering"] = self._models.WriteOrdering.STRONG
        return getattr(self._client, method)(self._name, **given)

    def _exists(self) -> bool:
        if not self._there:  # another process may have made it meanwhile
            self._there = bool(self._client.collection_exists(self._name))
        return self._there

    # --- reading ---------------------------------------------------------------------------------------

    def get(self, ids: Sequence[str]) -> dict[str, Fields]:
        return {point.payload[_ID]: _fields(point) for point in self._points(ids)}

    def vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        found = self._points(ids, with_payload=[_ID], with_vectors=True)
        return {point.payload[_ID]: np.asarray(point.vector, np.float32) for point in found}

    def _points(self, ids: Sequence[str], *, with_payload: Any = True, with_vectors: bool = False) -> Iterator[Any]:
        how = {"with_payload": with_payload, "with_vectors": with_vectors}
        if self._exists():
            for part in chunks(len(ids), _AT_ONCE):
                yield from self._call("retrieve", ids=list(map(_point_id, ids[part])), **how)

    def scan(self, *where: Condition) -> dict[str, Fields]:
        rows: dict[str, Fields] = {}
        offset, more = None, self._exists()
        while more:
            chosen = self._filter(where) if where else None
            points, offset = self._call("scroll", scroll_filter=chosen, limit=_AT_ONCE, offset=offset)
            rows.update((point.payload[_ID], _fields(point)) for point in points)
            more = offset is not None
        return rows

    def _filter(self, where: Sequence[Condition]) -> Any:
        return self._models.Filter(must=[self._condition(*each) for each in where])

    def _condition(self, name: str, sign: str, value: Any) -> Any:
        models = self._models
        if sign == "=":
            return models.FieldCondition(key=name, match=models.MatchValue(value=value))
        if sign == "in":
            return models.FieldCondition(key=name, match=models.MatchAny(any=list(value)))
        bound = {">": "gt", "<": "lt", "<=": "lte"}[sign]
        return models.FieldCondition(key=name, range=models.Range(**{bound: value}))

    # --- writing ---------------------------------------------------------------------------------------

    def add(self, id: str, fields: Fields) -> None:
        self._upsert([self._row(id, fields)], update_mode=self._models.UpdateMode.INSERT_ONLY)

    def put(self, rows: Mapping[str, Fields]) -> None:
        self._upsert([self._row(id, fields) for id, fields in rows.items()])

    def put_points(self, points: Mapping[str, Point]) -> None:
        for point in points.values():
            self.ensure(len(point.vector))
            break
        self._upsert([
            self._row(id, {**point.fields, _TEXT: point.text}, np.asarray(point.vector, np.float32).tolist())
            for id, point in points.items()
        ])  # fmt: skip

    def _row(self, id: str, fields: Fields, vector: Any = None) -> Any:
        payload = {**_given(fields), _ID: id}
        return self._models.PointStruct(id=_point_id(id), vector={} if vector is None else vector, payload=payload)

    def _upsert(self, rows: Sequence[Any], **how: Any) -> None:
        for part in chunks(len(rows), _AT_ONCE):
            self._call("upsert", points=list(rows[part]), wait=True, **how)

    def update(self, rows: Mapping[str, Fields]) -> None:
        alike: dict[str, list[str]] = {}
        for point in self._points(list(rows), with_payload=[_ID]):  # one that is not there would be an error
            alike.setdefault(json.dumps(dict(rows[point.payload[_ID]])), []).append(point.id)
        models = self._models
        changes = [
            models.SetPayloadOperation(set_payload=models.SetPayload(payload=json.loads(fields), points=points[part]))
            for fields, points in alike.items()
            for part in chunks(len(points), _AT_ONCE)
        ]
        for part in chunks(len(changes), _AT_ONCE):
            self._call("batch_update_points", update_operations=changes[part], wait=True)

    def delete(self, ids: Sequence[str]) -> None:
        for part in chunks(len(ids) if self._exists() else 0, _AT_ONCE):
            self._call("delete", points_selector=list(map(_point_id, ids[part])), wait=True)

    def delete_where(self, *where: Condition) -> None:
        if self._exists():
            self._call("delete", points_selector=self._models.FilterSelector(filter=self._filter(where)), wait=True)


def _point_id(id: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, id))


def _given(fields: Fields) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _fields(point: Any) -> Fields:
    return {name: value for name, value in point.payload.items() if name not in (_ID, _TEXT)}
