"""An embedder for tests: offline, instant, and the same on every machine."""

import re
import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from memorist.embedders.base import Embedder, Role, Vectors
from memorist.errors import EmbedderError
from memorist.system.offload import offload

_WORD = re.compile(r"\w+")
_TRIGRAM_WEIGHT = 0.4
"""The weight of a trigram relative to a word: enough that "travels" is near "travelling", too little to dominate."""


class HashEmbedder(Embedder):
    """Texts that share words, or parts of words, are similar; meaning is ignored.

    Args:
        dimensions: length of a vector, at least 1, as a number or its digits; with few, unrelated texts collide.
        fingerprint: the fingerprint of the vectors; by default it names the dimensions.

    Raises:
        EmbedderError: the dimensions are not a whole number of at least 1.
    """

    def __init__(self, dimensions: int | str = 64, fingerprint: str | None = None) -> None:
        if not str(dimensions).isdecimal() or int(dimensions) < 1:
            raise EmbedderError(f"the dimensions must be a whole number, at least 1, not {dimensions!r}")
        self.dimensions = int(dimensions)
        self.fingerprint = f"hash-{self.dimensions}-v1" if fingerprint is None else fingerprint

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
        """Embed each text, in both roles alike. A text of only white space has a zero row."""
        return await offload(lambda: self._embedded(texts), texts)

    def _embedded(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for feature, weight in _features(text):
                column, sign = divmod(zlib.crc32(feature.encode("utf-8", "replace")), 2)
                row[column % self.dimensions] += weight if sign else -weight
            if not row.any() and text.strip():  # all weights cancelled out
                row[zlib.crc32(text.encode("utf-8", "replace")) % self.dimensions] = 1
            row /= np.linalg.norm(row) or 1
        return rows


def _features(text: str) -> Iterator[tuple[str, float]]:
    folded = text.casefold()
    for word in _WORD.findall(folded) or folded.split():
        yield word, 1.0
        marked = f"<{word}>"
        for start in range(len(marked) - 2):
            yield marked[start : start + 3], _TRIGRAM_WEIGHT
