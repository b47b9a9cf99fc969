"""What everybody writes alone: the hits of a search as dated lines, best first, until the budget is full."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import memorist_backend  # noqa: F401  # finds bench/recall
import shared

_CHARACTERS_A_TOKEN = 4
_HITS = 150


class Index(NamedTuple):
    """A search back end's index, and the rows by id."""

    inner: Any
    rows: Mapping[str, shared.Row]


class Filled:
    """A back end of contexts made of one of searches, those of bench/recall.

    It has no confidence: it always tells something, and always 1.
    """

    def __init__(self, name: str) -> None:
        self._search = importlib.import_module(f"{name}_backend")

    def build(self, rows: Sequence[shared.Row]) -> Index:
        return Index(self._search.build(rows), {row["id"]: row for row in rows})

    def context(self, index: Index, question: str, tokens: int, meta: Any = None) -> tuple[str, float]:
        room = _CHARACTERS_A_TOKEN * tokens
        lines = []
        for id in self._search.search(index.inner, question, _HITS):
            line = _line(index.rows[id])
            if len(line) > room:
                lines.append(line[:room])
                break
            lines.append(line)
            room -= len(line) + 1
        return "\n".join(lines), 1.0

    def close(self, index: Index) -> None:
        if hasattr(self._search, "close"):
            self._search.close(index.inner)


def _line(row: shared.Row) -> str:
    return f"[{row['timestamp']}] {shared.text_of(row)}" if row["timestamp"] else shared.text_of(row)
