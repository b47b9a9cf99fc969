"""Long messages embedded in parts: one vector of everything at once says little of what was mentioned by the way."""

import re
from collections.abc import Sequence

import numpy as np

from memorist.embedders import BatchedEmbedder, Role, Vectors
from memorist.records import Kind, Record

__all__ = ["embedded", "parts_of"]

SHORT = 50
"""Words up to which a message is embedded whole."""
PART = 40
"""The most words in a part."""
MOST = 12
"""The most parts that are embedded: a longer message is known by its beginning, as models know it too."""
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n+")


async def embedded(embedder: BatchedEmbedder, records: Sequence[Record]) -> Vectors:
    """Return a unit vector for each record: the mean of its parts' directions; shape (len(records), dimensions).

    Raises:
        EmbedderError: the texts cannot be embedded.
    """
    parts = [parts_of(record.text) if record.kind is Kind.MESSAGE else [record.text] for record in records]
    rows = await embedder.embed([part for each in parts for part in each], Role.DOCUMENT)
    if len(rows) == len(records):
        return rows
    starts = np.cumsum([0, *(len(each) for each in parts[:-1])])
    sums = np.add.reduceat(rows, starts, axis=0)
    unit: Vectors = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    return unit


def parts_of(text: str) -> list[str]:
    """Return a text in parts of whole sentences, as far as a part can hold them."""
    if len(text.split()) <= SHORT:
        return [text]
    parts: list[list[str]] = [[]]
    for sentence in _SENTENCE.split(text):
        words = sentence.split()
        if len(parts[-1]) + len(words) > PART and parts[-1]:
            parts.append([])
        while len(words) > PART:
            parts[-1:] = [words[:PART], []]
            words = words[PART:]
        parts[-1] += words
    return [" ".join(part) for part in parts if part][:MOST]
