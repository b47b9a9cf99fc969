"""Tables in Chroma: each is a collection, whose metadata are the fields of its rows."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from memorist.errors import ClosedError
from memorist.stores.base import Vector
from memorist.stores.chroma.clients import COSINE, Client, connect, translated
from memorist.stores.logged import Backend, Condition, Fields, Place, Point, Table, chunks, lock_folder

__all__ = ["ChromaBackend"]

_POINT = [1.0]
"""The embedding of rows that have none: Chroma wants one of every row."""
_AT_ONCE = 1000
"""Rows in one call: Chroma takes about five thousand, a request to a server 40 MB."""
_SIGNS = {"=": "$eq", ">": "$gt", "<": "$lt", "<=": "$lte", "in": "$in"}


class ChromaBackend(Backend):
    """Collections in a folder, on a server or in memory, whose names begin with `prefix`."""

    def __init__(self, place: Place, prefix: str) -> None:
        self.name = str(place)
        self.alone = not isinstance(place, str)
        self._place = place
        self._prefix = prefix
        self._client: Client = None
        self._releases: list[Callable[[], None]] = []

    def connect(self) -> None:
        if isinstance(self._place, Path):
            otherwise = "start `chroma run --path` on it and open chroma+http://HOST:PORT in both"
            self._releases.append(lock_folder(self._place, f"{self._prefix}.lock", otherwise))
        self._client, release = connect(self._place)
        self._releases.append(release)

    def close(self) -> None:
        self._client = None
        while self._releases:
            self._releases.pop()()

    def translated(self) -> AbstractContextManager[None]:
        return translated(self.name)

    def table(self, part: str) -> Table:
        if self._client is None:
            raise ClosedError("the store is not open")
        name = f"{self._prefix}-{part}"
        return _Table(self._client.get_or_create_collection(name, configuration=COSINE, embedding_function=None))

    def points(self, part: str) -> Table:
        return self.table(part)

    def drop(self, part: str) -> None:
        names = {getattr(each, "name", each) for each in self._client.list_collections()}
        if (name := f"{self._prefix}-{part}") in names:
            self._client.delete_collection(name)


class _Table(Table):
    def __init__(self, collection: Any) -> None:
        self._collection = collection

    def get(self, ids: Sequence[str]) -> dict[str, Fields]:
        rows: dict[str, Fields] = {}
        for part in chunks(len(ids), _AT_ONCE):
            rows.update(_rows(self._collection.get(ids=list(ids[part]), include=["metadatas"])))
        return rows

    def scan(self, *where: Condition) -> dict[str, Fields]:
        return _rows(self._collection.get(where=_where(where), include=["metadatas"]))

    def vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        vectors: dict[str, Vector] = {}
        for part in chunks(len(ids), _AT_ONCE):
            found = self._collection.get(ids=list(ids[part]), include=["embeddings"])
            vectors.update(zip(found["ids"], np.asarray(found["embeddings"], np.float32), strict=True))
        return vectors

    def add(self, id: str, fields: Fields) -> None:
        self._collection.add(ids=[id], embeddings=[_POINT], metadatas=[dict(fields)])

    def put(self, rows: Mapping[str, Fields]) -> None:
        # Chroma keeps what an older row had and this one does not name: rows of one table name the same fields.
        ids, metadatas = list(rows), list(map(dict, rows.values()))
        for part in chunks(len(ids), _AT_ONCE):
            self._collection.upsert(
                ids=ids[part], embeddings=[_POINT] * len(ids[part]), metadatas=metadatas[part]
            )  # fmt: skip

    def put_points(self, points: Mapping[str, Point]) -> None:
        ids, vectors = list(points), [point.vector for point in points.values()]
        texts, metadatas = ([point.text for point in points.values()], [dict(each.fields) for each in points.values()])
        for part in chunks(len(ids), _AT_ONCE):
            self._collection.upsert(
                ids=ids[part], embeddings=vectors[part], documents=texts[part], metadatas=metadatas[part]
            )  # fmt: skip

    def update(self, rows: Mapping[str, Fields]) -> None:
        ids, metadatas = list(rows), list(map(dict, rows.values()))
        for part in chunks(len(ids), _AT_ONCE):
            self._collection.update(ids=ids[part], metadatas=metadatas[part])

    def delete(self, ids: Sequence[str]) -> None:
        for part in chunks(len(ids), _AT_ONCE):
            self._collection.delete(ids=list(ids[part]))

    def delete_where(self, *where: Condition) -> None:
        self._collection.delete(where=_where(where))


def _rows(found: Mapping[str, Any]) -> dict[str, Fields]:
    return dict(zip(found["ids"], found["metadatas"], strict=True))


def _where(conditions: Sequence[Condition]) -> dict[str, Any] | None:
    each = [{name: {_SIGNS[sign]: value}} for name, sign, value in conditions]
    return {"$and": each} if len(each) > 1 else each[0] if each else None
