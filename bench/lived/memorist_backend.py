"""Memorist through its public interface, as a memory in which everything was kept: hits, and what `context` tells.

A back end of eval_lived.py: `build`, `add`, `search`, `context`, `close`. Every row is a message with its role and its
speaker. Embeddings come from the cache of bench/recall/shared.py.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "recall"))

import shared

from memorist.sync import Memory

Meta = Mapping[str, Any] | None


def build(rows: Sequence[shared.Row]) -> Memory:
    """Return a memory that holds the rows."""
    memory = Memory.open(":memory:", embedder=shared.EMBEDDER)
    add(memory, rows)
    return memory


def add(index: Memory, rows: Sequence[shared.Row]) -> None:
    """Store more rows, later."""
    index.remember([shared.draft_of(row) for row in shared.said(rows)])


def search(index: Memory, question: str, k: int, meta: Meta = None) -> list[tuple[str, float]]:
    """Return the ids of the best k with their scores, asked at the question's date if it has one."""
    hits = index.recall(question, limit=k, now=(meta or {}).get("question_date"))
    return [(hit.record.id, hit.score) for hit in hits]


def context(index: Memory, question: str, tokens: int, meta: Meta = None) -> tuple[str, float]:
    """Return what an agent is told, and how sure it is; asked at the question's date if it has one."""
    told = index.context(question, tokens=tokens, now=(meta or {}).get("question_date"))
    return told.text, told.confidence


def close(index: Memory) -> None:
    index.close()
