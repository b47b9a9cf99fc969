"""Texts embedded in parts: a single vector of a long text says little about details in it."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from memorist.embedders import BatchedEmbedder, Role, Vectors, unit_rows
from memorist.errors import EmbedderError, InvalidInputError
from memorist.languages import role_of
from memorist.languages.sentences import unspaced
from memorist.recall.analysis import words
from memorist.recall.text_features import speaker_of
from memorist.records.record import Kind, Record
from memorist.system.offload import offload

SHORT = 50
"""The most words of a message that is embedded whole."""
PART = 40
"""The most words in a part."""
MOST = 12
"""The most parts that are embedded: a longer message is represented by its beginning, as in the models themselves."""
NAME = 0.2
"""The weight of a function's name in its vector."""
_SENTENCE = re.compile(r"(?<=[.!?;:؟।])\s+|(?<=[。！？；])\s*|\n+")
_NAME = re.compile(r"[^\W\d](?:\w|[.](?=\w))*(?=[:(\s]|$)")


async def embedded(embedder: BatchedEmbedder, records: Sequence[Record]) -> Vectors:
    """Return a vector for each record, at most of unit length; shape (len(records), dimensions).

    A long message of an assistant is the mean of its parts. The mean is shorter the less the parts have in common, and
    its product with a question is the mean of their cosines. So an answer about many subjects is near to no question. A
    long message of a person, who mentions things by the way, is their mean direction, of unit length. The text of a
    function is mixed with its name in words.

    Raises:
        EmbedderError: the texts cannot be embedded.
    """
    parts = await offload(lambda: [parts_of(record) for record in records], records)
    rows = await embedder.embed([part for each in parts for part in each], Role.DOCUMENT)
    if len(rows) == len(records):
        return rows
    counts = np.array([len(each) for each in parts])
    starts = np.cumsum([0, *counts[:-1]])
    shares = np.repeat(1 / counts, counts).astype(np.float32)
    for start, record, count in zip(starts.tolist(), records, counts.tolist(), strict=True):
        if record.kind is not Kind.MESSAGE and count > 1:
            shares[start : start + 2] = 1 - NAME, NAME
    vectors: Vectors = np.add.reduceat(rows * shares[:, None], starts, axis=0)
    told = [position for position, record in enumerate(records) if counts[position] > 1 and _by_a_person(record)]
    vectors[told] /= np.maximum(np.linalg.norm(vectors[told], axis=1, keepdims=True), 1e-12)
    return vectors


def parts_of(record: Record) -> list[str]:
    """Return the texts to embed of a record: a long message's parts; a function's text and its name in words."""
    if record.kind is Kind.MESSAGE:
        return _passages(record.text)
    name = _NAME.match(record.text)
    split = words(name[0]) if name is not None else []
    return [record.text, " ".join(split)] if len(split) > 1 else [record.text]


def _by_a_person(record: Record) -> bool:
    return record.kind is Kind.MESSAGE and role_of(speaker_of(record)) != "assistant"


def _passages(text: str) -> list[str]:
    """Return a text in parts of whole sentences; a sentence that is too long for a part is split."""
    cut, glue = (_pairs, "") if unspaced(text) else (str.split, " ")
    if len(cut(text)) <= SHORT:
        return [text]
    parts: list[list[str]] = [[]]
    for sentence in _SENTENCE.split(text):
        found = cut(sentence)
        if len(parts[-1]) + len(found) > PART and parts[-1]:
            parts.append([])
        while len(found) > PART:
            parts[-1:] = [found[:PART], []]
            found = found[PART:]
        parts[-1] += found
    return [glue.join(part) for part in parts if part][:MOST]


def _pairs(text: str) -> list[str]:
    """Return a text that is written without spaces in pairs of letters, which are about as much as a word."""
    return [text[start : start + 2] for start in range(0, len(text), 2)]


def given_vector(vector: Any, dimensions: int) -> Vectors:
    """Return the embedding that a caller brings along as a unit row; shape (1, dimensions).

    Raises:
        InvalidInputError: the embedding is not a vector of that size, or is zero.
    """
    try:
        return unit_rows([vector], 1, dimensions, "the vector given")
    except EmbedderError as error:
        raise InvalidInputError(str(error)) from error
