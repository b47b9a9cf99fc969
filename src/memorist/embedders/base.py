"""The base class of embedders, and checks of the vectors that they return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memorist.errors import EmbedderError

Vectors: TypeAlias = NDArray[np.float32]

_UNIT_TOLERANCE = 1e-6


class Role(StrEnum):
    """Whether a text is a document or a query: many models embed the two differently."""

    DOCUMENT = "document"
    QUERY = "query"


class Embedder(ABC):
    """Turns texts into unit vectors.

    To write your own, subclass it with two attributes and one method:

    ```python
    class HashEmbedder(Embedder):
        dimensions = 256
        fingerprint = "hash-256-v1"

        async def embed(self, texts, role=Role.DOCUMENT):
            rows = np.zeros((len(texts), 256), np.float32)
            for row, text in zip(rows, texts):
                for word in text.lower().split():
                    row[zlib.crc32(word.encode()) % 256] += 1
            return rows
    ```

    Memorist calls `embed` on the event loop of the caller, never with a blank text, and brings the rows to
    unit length itself; anything that blocks belongs in `asyncio.to_thread`.

    Attributes:
        dimensions: Length of each vector; 0 until `ready` for an embedder that must ask for it.
        fingerprint: Identifies the model, weights, pooling and prefixes. It changes whenever the vectors would,
            is the same on every machine, and is "" only where `dimensions` is still 0.
    """

    dimensions: int = 0
    fingerprint: str = ""

    async def ready(self) -> None:
        """Make `dimensions` and `fingerprint` known. Idempotent and cheap after the first call.

        Raises:
            EmbedderError: The model is missing or broken.
            EmbedderUnavailableError: A service did not answer.
        """

    async def suits(self, fingerprint: str) -> bool:
        """Embed as vectors with this fingerprint were embedded, and return whether that can be done.

        An embedder that has replaced an earlier one goes on embedding as that did where its vectors are stored, until
        they are made anew.
        """
        await self.ready()
        return fingerprint == self.fingerprint

    def moves(self, text: str) -> bool:
        """Return whether a text's vector is moved here from another model's space."""
        return False

    def keeps(self, fingerprint: str, text: str) -> bool:
        """Return whether a text has the vector here that an embedder with another fingerprint gave it."""
        return False

    def newest(self) -> Embedder:
        """Return an embedder like this one that embeds as well as it can, whatever is stored."""
        return self

    @abstractmethod
    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
        """Return a float32 array of shape (len(texts), dimensions), one row for each text, in order.

        Raises:
            EmbedderError: The texts could not be embedded.
            EmbedderUnavailableError: A service did not answer; the same call may succeed later.
        """

    async def close(self) -> None:
        """Release what the embedder holds. Idempotent."""


def unit_rows(rows: ArrayLike, count: int, dimensions: int, name: str) -> Vectors:
    """Return the rows of an embedder scaled to length 1, after checking them.

    Args:
        rows: What the embedder returned: anything numpy can read as a matrix.
        count: How many texts were embedded.
        dimensions: Expected length of a row; 0 accepts any.
        name: The embedder, for the error's text.

    Raises:
        EmbedderError: Not numbers, the wrong shape, or a row that is not finite or all zero.
    """
    try:
        matrix = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbedderError(f"{name} did not return one vector of numbers per text: {error}") from error
    if count == 0 and matrix.size == 0:
        return np.zeros((0, dimensions), np.float32)
    if matrix.ndim != 2 or matrix.shape[0] != count:
        raise EmbedderError(
            f"{name} returned an array of shape {matrix.shape} for {count} texts; expected ({count}, dimensions)"
        )
    if matrix.shape[1] == 0 or (dimensions and matrix.shape[1] != dimensions):
        raise EmbedderError(f"{name} returned vectors of {matrix.shape[1]} dimensions, expected {dimensions or 'some'}")
    squares = np.einsum("ij,ij->i", matrix, matrix)
    if all(abs(square - 1) < _UNIT_TOLERANCE for square in squares.tolist()):  # for one row, quicker than NumPy
        return np.asarray(matrix, dtype=np.float32)  # a second check must not change a single bit
    finite = np.isfinite(matrix).all(axis=1)
    if not finite.all():
        raise EmbedderError(f"{name} returned NaN or infinity for text {int(np.argmin(finite))} of {count}")
    # Scaled first, so that squaring neither overflows nor vanishes.
    peak = np.abs(matrix).max(axis=1, keepdims=True)
    if not peak.all():
        raise EmbedderError(f"{name} returned an all-zero vector for text {int(np.argmin(peak))} of {count}")
    lengths = peak * np.linalg.norm(matrix / peak, axis=1, keepdims=True)
    return np.asarray(matrix / peak / (lengths / peak), dtype=np.float32)


async def embed_checked(
    call: Callable[[list[str]], Awaitable[ArrayLike]], texts: Sequence[str], dimensions: int, name: str
) -> Vectors:
    """Embed with `call`, which gets no blank text, and return unit rows for all texts.

    Raises:
        EmbedderError: `call` raised, or did not return a matrix of vectors (see `unit_rows`).
    """

    async def checked(kept: list[str]) -> Vectors:
        return unit_rows(await call(kept), len(kept), dimensions, name)

    return await embed_spoken(checked, texts, dimensions)


async def embed_spoken(
    call: Callable[[list[str]], Awaitable[Vectors]], texts: Sequence[str], dimensions: int
) -> Vectors:
    """Embed the texts that are not blank with `call`, and add a zero row for each blank one.

    A zero row makes the similarity of a blank text to everything 0. Lone surrogates, which neither UTF-8 nor a
    tokenizer accepts, become question marks.
    """
    if isinstance(texts, str):
        raise TypeError("texts must be a sequence of strings, not one string")
    kept = [index for index, text in enumerate(texts) if text.strip()]
    rows = np.zeros((len(texts), dimensions), np.float32)
    if kept:
        rows[kept] = await call([texts[index].encode("utf-8", "replace").decode() for index in kept])
    return rows
