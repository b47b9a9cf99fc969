"""Memorist through its public interface: what `context` tells, and how sure it is.

A back end of a benchmark of contexts: `build`, `context`, `close`. Rows of the kind fact are facts, others with a
time messages, the rest notes. Embeddings come from the cache of bench/recall/shared.py.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "recall"))

import shared

from memorist.sync import Memory


def build(rows: Sequence[shared.Row]) -> Memory:
    """Return a memory that holds the rows."""
    memory = Memory.open(":memory:", embedder=shared.EMBEDDER)
    memory.remember([shared.draft_of(row) for row in shared.said(rows)])
    return memory


def context(index: Memory, question: str, tokens: int, meta: Mapping[str, Any] | None = None) -> tuple[str, float]:
    """Return what an agent is told, and how sure it is; asked at the question's date if it has one."""
    told = index.context(question, tokens=tokens, now=(meta or {}).get("question_date"))
    return told.text, told.confidence


def close(index: Memory) -> None:
    index.close()
