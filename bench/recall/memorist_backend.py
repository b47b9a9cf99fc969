"""Memorist through its public interface: rows of the kind fact are facts, others with a time messages, the rest notes.

Embeddings come from a cache on disk (see shared.py); timing them is another matter. The store is in memory.
"""

from collections.abc import Sequence
from typing import Any

import shared

from memorist.sync import Memory


def build(rows: Sequence[shared.Row]) -> Memory:
    """Return a memory that holds the rows."""
    memory = Memory.open(":memory:", embedder=shared.EMBEDDER)
    memory.remember([shared.draft_of(row) for row in shared.said(rows)])
    return memory


def search(index: Memory, query: str, k: int, meta: Any = None) -> list[tuple[str, float]]:
    """Return the ids of the best k with their scores, asked at the question's date if it has one."""
    hits = index.recall(query, limit=k, now=(meta or {}).get("question_date"))
    return [(hit.record.id, hit.score) for hit in hits]


def close(index: Memory) -> None:
    index.close()
