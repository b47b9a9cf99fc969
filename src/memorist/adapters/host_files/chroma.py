"""Collections in a Chroma folder, written and searched directly, as Mango, Promptise and LoCAL2 do."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from memorist.clients.chroma import connect, query
from memorist.embedders import Embedder, Role, open_embedder
from memorist.errors import (
    ClosedError,
    EmbedderError,
    EmbedderMismatchError,
    MemoristError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)
from memorist.operations.arguments import text as checked_text
from memorist.system.places import expanded

_T = TypeVar("_T")
_MARK = "memorist:embedder"
"""The key of a collection's metadata that names the embedder of its vectors."""
_SIGNS: tuple[tuple[str, type[MemoristError]], ...] = (
    ("client has been closed", ClosedError),
    ("has no attribute 'bindings'", ClosedError),  # what chromadb says once the last client of a folder is closed
    ("disk is full", StoreFullError),
    ("no space left", StoreFullError),
    ("is locked", StoreBusyError),
    ("malformed", StoreCorruptError),
    ("not a database", StoreCorruptError),
    ("unable to open", StoreUnavailableError),
    ("readonly database", StoreUnavailableError),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a collection. `similarity` is the cosine, 0 to 1, where a search found the row."""

    id: str
    document: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    similarity: float = 0.0


class ChromaFolder:
    """A Chroma database in a folder, or in memory.

    Args:
        folder: the folder; None is a database in memory that no other object sees.
        embedding: see `Embedding`.

    Raises:
        StoreUnavailableError: the folder cannot be made or opened.
        MissingExtraError: chromadb is not installed.
    """

    def __init__(self, folder: str | Path | None, embedding: "Embedding") -> None:
        self.where = "Chroma in memory" if folder is None else str(folder)
        with translated(self.where):
            self.client, self._release = connect(None if folder is None else expanded(folder).absolute())
        self.embedding = embedding

    def rows(self, collection: str) -> "Rows":
        """Return a collection by its name; it is made in cosine space if there is none."""
        with translated(self.where):
            found = self.client.get_or_create_collection(
                collection, configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
            )
        return Rows(found, self.embedding, self.client)

    async def close(self) -> None:
        """Release Chroma and the embedder. Later calls raise `ClosedError`."""
        await self.embedding.close()
        await asyncio.to_thread(self._release)


class Rows:
    """One collection.

    Args:
        collection: Chroma's.
        embedding: makes the vectors; without one, the collection's own embedding function does.
        client: the collection's client; needed with an embedding.
    """

    def __init__(self, collection: Any, embedding: "Embedding | None" = None, client: Any = None) -> None:
        self.collection = collection
        self._embedding = embedding
        self._client = client
        self._checked = False

    async def add(self, id: str, document: str, metadata: Mapping[str, Any]) -> None:
        """Store a row with a new id."""
        row = await self._row(id, document, metadata)
        await self.run(lambda: self.collection.add(**row))

    async def put(self, id: str, document: str, metadata: Mapping[str, Any]) -> None:
        """Store a row, and replace one with the same id.

        Chroma merges the metadata of the two: a value of None removes what an older row may have had.
        """
        row = await self._row(id, document, metadata)
        await self.run(lambda: self.collection.upsert(**row))

    async def nearest(self, text: str, count: int, where: Mapping[str, Any] | None = None) -> list[Row]:
        """Return up to `count` rows nearest to a text, best first, however the collection measures distances."""
        chosen: dict[str, Any] = {} if where is None else {"where": dict(where)}
        if self._embedding is None:
            return await self.run(lambda: self._asked(text, count, chosen))
        total = await self.run(self.collection.count)
        if count < 1 or not total:
            return []
        vector = await self._embed(self._embedding, text, Role.QUERY)
        return await self.run(lambda: self._measured(vector, min(count, total), chosen))

    async def get(self, **chosen: Any) -> list[Row]:
        """Return the rows that Chroma's `ids` and `where` choose; all of them by default."""
        found = await self.run(lambda: self.collection.get(include=["documents", "metadatas"], **chosen))
        columns = zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        return [Row(id, document or "", metadata or {}) for id, document, metadata in columns]

    async def run(self, work: Callable[[], _T]) -> _T:
        """Run blocking work on the collection in a thread.

        Raises:
            StoreError, ClosedError: as in `translated`.
        """

        def checked() -> _T:
            with translated(f"the collection {getattr(self.collection, 'name', '')!r}"):
                return work()

        return await asyncio.to_thread(checked)

    async def _row(self, id: str, document: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        row: dict[str, Any] = {"ids": [id], "documents": [document]}
        if metadata:  # Chroma refuses an empty one
            row["metadatas"] = [dict(metadata)]
        if self._embedding is not None:
            row["embeddings"] = [await self._embed(self._embedding, document, Role.DOCUMENT)]
        return row

    async def _embed(self, embedding: "Embedding", text: str, role: Role) -> list[float]:
        if not self._checked and (fingerprint := await embedding.fingerprint()):
            await self.run(lambda: self._claim(fingerprint, embedding.adopts))
            self._checked = True
        return await embedding.of(text, role)

    def _claim(self, fingerprint: str, adopts: bool) -> None:
        """Name the embedder in the collection; refuse to mix its vectors with another's."""
        # A collection object holds the metadata as it was when the object was made.
        known = dict(self._client.get_collection(self.collection.name, embedding_function=None).metadata or {})
        if known.get(_MARK) == fingerprint:
            return
        if self.collection.count() and not (adopts and _MARK not in known):
            raise EmbedderMismatchError(
                f"the collection {self.collection.name!r} holds vectors of {known.get(_MARK, 'another embedder')!r}, "
                f"not of {fingerprint!r}; pass the function that made them as embedding_function"
            )
        changeable = {name: value for name, value in known.items() if not name.startswith("hnsw:")}
        self.collection.modify(metadata={**changeable, _MARK: fingerprint})

    def _measured(self, vector: Sequence[float], count: int, chosen: Mapping[str, Any]) -> list[Row]:
        include = ["documents", "metadatas", "embeddings"]
        answer = query(self.collection, query_embeddings=[vector], n_results=count, include=include, **chosen)
        asked, vectors = np.asarray(vector, np.float64), np.asarray(answer["embeddings"][0], np.float64)
        return _best_first(answer, [_cosine(asked, each) for each in vectors])

    def _asked(self, text: str, count: int, chosen: Mapping[str, Any]) -> list[Row]:
        include = ["documents", "metadatas", "distances"]
        answer = query(self.collection, query_texts=[text], n_results=count, include=include, **chosen)
        distances = (answer.get("distances") or [[]])[0] or [1.0] * len((answer.get("ids") or [[]])[0])
        return _best_first(answer, [1.0 - each for each in distances])[:count]


class Embedding:
    """Turns texts into vectors for Chroma.

    Args:
        given: an embedding function of Chroma's kind (called with a list of texts), or what `open_embedder`
            takes; by default the bundled model, never Chroma's own, which is downloaded at first use.
        adopts: whether a collection that names no embedder is taken to hold this one's vectors.
    """

    def __init__(self, given: Any = None, *, adopts: bool = False) -> None:
        self.adopts = adopts
        plain = callable(given) and not isinstance(given, Embedder)
        self._function: Callable[..., Any] | None = given if plain else None
        self._embedder = None if plain else open_embedder(given)

    async def fingerprint(self) -> str:
        """Return what names the embedder; "" for a function, which has no name."""
        if self._embedder is None:
            return ""
        await self._embedder.ready()
        return self._embedder.fingerprint

    async def of(self, text: str, role: Role) -> list[float]:
        """Return the vector of a text.

        Raises:
            EmbedderError: the embedder failed, or its answer is not one vector.
            InvalidInputError: the text is not a string.
        """
        text = checked_text("text", text)
        if self._embedder is not None:
            rows: Any = await self._embedder.embed([text], role)
        else:
            assert self._function is not None
            call = getattr(self._function, "embed_query", self._function) if role == Role.QUERY else self._function
            try:
                rows = np.asarray(await asyncio.to_thread(call, [text]), np.float32)
            except EmbedderError:
                raise
            except Exception as error:  # a function from elsewhere may raise anything
                raise EmbedderError(f"the embedding function failed: {type(error).__name__}: {error}") from error
        if rows.ndim != 2 or len(rows) != 1 or not np.isfinite(rows).all():
            raise EmbedderError(f"the embedding function returned {rows.tolist()!s:.80} for 1 text, not one vector")
        vector: list[float] = rows[0].tolist()
        return vector

    async def close(self) -> None:
        """Release the embedder; a function is left alone."""
        if self._embedder is not None:
            await self._embedder.close()


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Turn what chromadb raises into errors of this package.

    Raises:
        ClosedError: the client was closed.
        StoreUnavailableError: the folder cannot be used.
        StoreFullError, StoreBusyError, StoreCorruptError, StoreError: as their names say.
    """
    try:
        yield
    except MemoristError:
        raise
    except Exception as error:
        text = str(error).lower()
        kind = StoreUnavailableError if isinstance(error, OSError) else StoreError
        for sign, known in _SIGNS:
            if sign in text:
                raise known(f"{where}: {'it is closed' if known is ClosedError else error}") from error
        raise kind(f"{where}: {error or type(error).__name__}") from error


def _best_first(answer: Mapping[str, Any], similarities: Sequence[float]) -> list[Row]:
    ids = (answer.get("ids") or [[]])[0]
    documents, metadatas = ((answer.get(name) or [[]])[0] or [None] * len(ids) for name in ("documents", "metadatas"))
    rows = [
        Row(id, document or "", metadata or {}, min(max(similarity, 0.0), 1.0))
        for id, document, metadata, similarity in zip(ids, documents, metadatas, similarities, strict=True)
    ]
    return sorted(rows, key=lambda each: -each.similarity)


def _cosine(one: Any, other: Any) -> float:
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 0.0
