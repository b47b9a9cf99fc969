"""The bundled models as one embedder: English texts by one, all others by the other, and their vectors in one space.

The vectors of the multilingual model are moved into the space of the English one, by maps that were fitted to texts
embedded by both (tools/fit_spaces.py): one for documents, one for questions. So a record has one vector, whatever its
language, and any question can be compared with it. English vectors are those of the English model, unchanged, and while
all is English the other model is not loaded.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memorist.embedders.base import Embedder, Role, Vectors, embed_spoken
from memorist.embedders.onnx import MULTILINGUAL, OnnxEmbedder
from memorist.errors import EmbedderError
from memorist.languages import is_english
from memorist.system.handles import read_file

SPACES = Path(__file__).parent / "spaces.npy"
"""The maps of documents and of questions: each has as many rows as a vector has numbers, and one more that is added to
each product."""


FINGERPRINT = "bundled@"
"""How the fingerprint of both models together begins."""


class Vectored(NamedTuple):
    """What gave the records of a version their vectors: the model of English, and for other languages model and map."""

    english: str
    others: str


_BGE = "bge-small-en-v1.5-int8@ce317f658bc6d1cd"
_E5 = "multilingual-e5-small-q4@11e0b9d68dad8348 46f075fc8043361c"
FORMER: dict[str, Vectored] = {
    _BGE: Vectored(_BGE, _BGE),  # all languages by the model of English
    "bundled@48e437dfb6580e79": Vectored(_BGE, _E5),  # with another map of questions
    "bundled@9fbbf1e639582c3f": Vectored(_BGE, _E5),  # today's
}
"""By the fingerprint, of each version whose vectors may be stored: what has not changed since is kept in a reindex.

A change of a model or a map adds today's to it, so that the list is added to and never changed.
"""


class BundledEmbedder(Embedder):
    """Embeds a text by the bundled model that knows its language.

    Args:
        english: The model of English texts; by default the bundled one.
        other: The model of all others; likewise.
    """

    def __init__(self, english: OnnxEmbedder | None = None, other: OnnxEmbedder | None = None) -> None:
        self.english = english or OnnxEmbedder()
        self.other = other or OnnxEmbedder(MULTILINGUAL)
        self._alone = False

    def load_ahead(self, *, brief: bool = False) -> None:
        """Begin to load the model of English in a thread; see `OnnxEmbedder.load_ahead`."""
        self.english.load_ahead(brief=brief)

    def moves(self, text: str) -> bool:
        return not self._alone and not is_english(text)

    def keeps(self, fingerprint: str, text: str) -> bool:
        """Return whether the version with this fingerprint gave a text the vector that it has here."""
        former = FORMER.get(fingerprint)
        if former is None:
            return False
        return former.others == self.others if self.moves(text) else former.english == self.english.fingerprint

    @property
    def others(self) -> str:
        """What gives documents in other languages than English their vectors."""
        return f"{self.other.fingerprint} {_digest_of_documents()}"

    def newest(self) -> BundledEmbedder:
        return BundledEmbedder(self.english, self.other) if self._alone else self

    async def ready(self) -> None:
        if self.fingerprint:
            return
        await self.english.ready()
        if not self._alone:
            if not (self.other.folder / "model.onnx").is_file():
                raise EmbedderError(
                    "this installation lacks the bundled model of other languages than English: install the wheel "
                    "again, or run `pip install -e .` again in a checkout"
                )
            await self.other.ready()
        self.dimensions = self.english.dimensions
        self.fingerprint = self.english.fingerprint
        if not self._alone:
            parts = (self.english.fingerprint, self.other.fingerprint, _digest())
            self.fingerprint = f"{FINGERPRINT}{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:16]}"

    async def suits(self, fingerprint: str) -> bool:
        """Embed with the English model alone where an earlier version stored the vectors, and else with both."""
        await self.ready()
        if fingerprint != self.fingerprint and self.english.fingerprint in (fingerprint, self.fingerprint):
            self._alone, self.fingerprint = fingerprint == self.english.fingerprint, ""
            await self.ready()
        return fingerprint == self.fingerprint

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
        await self.ready()
        return await embed_spoken(lambda kept: self._embed(kept, role), texts, self.dimensions)

    async def _embed(self, texts: list[str], role: Role) -> Vectors:
        own = [not self.moves(text) for text in texts]
        if all(own):
            return await self.english.embed(texts, role)
        others = [text for text, here in zip(texts, own, strict=True) if not here]
        rows = np.empty((len(texts), self.dimensions), np.float32)
        mask = np.array(own)
        english = [text for text, here in zip(texts, own, strict=True) if here]
        known, rest = await asyncio.gather(self.english.embed(english, role), self.other.embed(others, role))
        rows[mask], rows[~mask] = known, moved(rest, role)
        return rows

    async def close(self) -> None:
        await self.english.close()
        await self.other.close()


def moved(rows: Vectors, role: Role) -> Vectors:
    """Return unit vectors of the multilingual model in the space of the English one."""
    table = _maps()[int(role is Role.QUERY)]
    mapped = rows @ table[:-1] + table[-1]
    unit: Vectors = (mapped / np.linalg.norm(mapped, axis=1, keepdims=True)).astype(np.float32)
    return unit


@lru_cache(maxsize=1)
def _maps() -> Vectors:
    tables: Vectors = np.load(SPACES).astype(np.float32)
    return tables


@lru_cache(maxsize=1)
def _digest_of_documents() -> str:
    return hashlib.sha256(np.load(SPACES)[0].tobytes()).hexdigest()[:16]


@lru_cache(maxsize=1)
def _digest() -> str:
    return hashlib.sha256(read_file(SPACES)).hexdigest()
