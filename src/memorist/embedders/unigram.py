"""The tokenizer and the table of words of a multilingual model, both read from files that are mapped into memory.

A SentencePiece unigram model cuts a text into the pieces whose scores add up to most. Of its 250,000 pieces only a hash
of each is kept, sorted; a piece's place among them is its row in the table of words, so nothing is read at the start.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorist.embedders.base import Vectors
from memorist.errors import EmbedderError
from memorist.system.regex import regex

HASHES, SCORES, WORDS, POSITIONS = "hashes.npy", "scores.npy", "words.npy", "positions.npy"
TABLES = (SCORES, WORDS, POSITIONS)
"""The files beside the hashes."""
_BEGIN, _END, _UNKNOWN, _FIRST = 0, 1, 2, 3
"""Rows of the table of words; the pieces follow in the order of their hashes."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_LONGEST = 16
"""The most letters in a piece."""
_UNKNOWN_PENALTY = 10.0
"""The additional cost of an unknown letter over the rarest piece, as in SentencePiece."""
_SPACE = "\u2581"
_WAVE = "\uff5e"
"""The full-width tilde, which has a piece of its own."""
_NOTHING = np.float32(0)
_AT_ONCE = 1000
"""The approximate number of letters that are cut at once."""
_BLANK = regex(r"[\t\n\f\r \u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]+")
_CLUSTER = regex(r"\w[^\w\s\u2581]+|[\u1100-\u11ff]+")
_CONTROL = regex(r"[\x00-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]")


class Unigram:
    """Cuts texts into pieces; safe to use from several threads.

    Args:
        folder: where the files are.
        most: the most tokens, special ones included; longer texts are cut.

    Raises:
        EmbedderError: the files cannot be read.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self._hashes = _mapped(folder / HASHES)
        self._scores = _mapped(folder / SCORES)
        self._unknown = self._scores.min() - np.float32(_UNKNOWN_PENALTY)
        self._room = most - 2

    def encode(self, text: str) -> list[int]:
        """Return the rows of a text's pieces in the table of words, between those of its beginning and its end."""
        rows: list[int] = []
        for part in _parts(normalized(text)):
            rows += self._cut(part)
            if len(rows) >= self._room:
                break
        return [_BEGIN, *rows[: self._room], _END]

    def _cut(self, part: str) -> list[int]:
        """Return the rows of the best pieces, by Viterbi's algorithm."""
        starts, lengths, places = self._known(part)
        # In 32 bits, as SentencePiece adds them, which decides between the ways to cut "kkkk".
        best, back = [np.float32(0), *[np.float32(-np.inf)] * len(part)], [(0, _UNKNOWN)] * (len(part) + 1)
        edges = zip(starts.tolist(), (starts + lengths).tolist(), places.tolist(), self._scores[places], strict=True)
        at = -1
        for start, stop, place, score in [*edges, (len(part), 0, 0, _NOTHING)]:
            while at < start:  # a letter that is in no piece is crossed as unknown
                at += 1
                if at < len(part) and (cost := best[at] + self._unknown) > best[at + 1]:
                    best[at + 1], back[at + 1] = cost, (at, _UNKNOWN)
            if stop and (total := best[start] + score) > best[stop]:
                best[stop], back[stop] = total, (start, _FIRST + place)
        rows, at = list[int](), len(part)
        while at:
            at, row = back[at]
            if row != _UNKNOWN or not rows or rows[-1] != _UNKNOWN:  # unknown letters in a row are one token
                rows.append(row)
        return rows[::-1]

    def _known(self, part: str) -> tuple[NDArray[np.intp], ...]:
        """Return each piece that stands in a text: where it begins, its length, and its place among the hashes."""
        letters = np.frombuffer(part.encode("utf-32-le"), np.uint32).astype(np.uint64) + np.uint64(1)
        count = min(_LONGEST, len(letters))
        hashes = np.zeros((len(letters), count), np.uint64)
        running = np.zeros(len(letters), np.uint64)
        for length in range(count):
            running = running[: len(letters) - length] * _MULTIPLIER + letters[length:]
            hashes[: len(running), length] = running
        places = np.minimum(np.searchsorted(self._hashes, hashes.ravel()), len(self._hashes) - 1)
        found = np.flatnonzero(self._hashes[places] == hashes.ravel())
        starts, lengths = np.divmod(found, count)
        return starts, lengths + 1, places[found]


class WordTable:
    """The vectors of words with their positions. The words are 4-bit numbers, and only those of a text are read."""

    def __init__(self, folder: Path) -> None:
        self._blocks = _mapped(folder / WORDS)
        self._positions = _mapped(folder / POSITIONS)

    def take(self, rows: list[int]) -> Vectors:
        """Return one vector for each token of a text; shape (tokens, dimensions)."""
        blocks = np.asarray(self._blocks[rows])
        scales = np.ascontiguousarray(blocks[:, :, :2]).view(np.float16).astype(np.float32)
        packed = blocks[:, :, 2:]
        weights = np.concatenate([packed & 15, packed >> 4], axis=2).astype(np.float32) - np.float32(8)
        vectors: Vectors = (weights * scales).reshape(len(rows), -1) + self._positions[: len(rows)]
        return vectors


def normalized(text: str) -> str:
    """Return a text as the pieces are written: compatibility forms, one mark before each word, no controls."""
    plain = _BLANK.sub(" ", _CONTROL.sub("", text))
    if not plain.isascii():
        plain = _BLANK.sub(" ", _composed("".join(map(_compatible, plain))))
    return _SPACE + plain.strip(" ").replace(" ", _SPACE)


@lru_cache(maxsize=1 << 13)
def _compatible(letter: str) -> str:
    return letter if letter == _WAVE else unicodedata.normalize("NFKC", letter)


def _composed(text: str) -> str:
    """Return a text with letters and their marks as one, where there is such a letter; other marks keep their order."""
    if unicodedata.is_normalized("NFC", text):
        return text

    def compose(cluster: re.Match[str]) -> str:
        composed = unicodedata.normalize("NFC", cluster[0])
        return composed if len(composed) < len(cluster[0]) else cluster[0]

    return _CLUSTER.sub(compose, text)


def _parts(text: str) -> Iterator[str]:
    """Yield a normalized text in parts of whole words: no piece goes beyond its word."""
    start = 0
    while len(text) - start > 2 * _AT_ONCE:
        stop = text.find(_SPACE, start + _AT_ONCE)
        if stop < 0:
            break
        yield text[start:stop]
        start = stop
    yield text[start:]


def _mapped(path: Path) -> NDArray[Any]:
    try:
        mapped: NDArray[Any] = np.load(path, mmap_mode="r")
    except (OSError, ValueError) as error:
        raise EmbedderError(f"cannot read {path}: {error}") from error
    return mapped
