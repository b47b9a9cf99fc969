"""mem0 with its search by words, which `mem0_backend` lacks: BM25 by fastembed, as mem0 itself would load it.

mem0 would download fastembed's "Qdrant/bm25", which is no model but lists of stop words; it gets bm25s's English
list in a folder instead, so that nothing is fetched. spaCy's lemmas, the third optional part, stay out: fastembed
stems the words.
"""

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import mem0_backend
import shared
from bm25s.stopwords import STOPWORDS_EN_PLUS
from fastembed import SparseTextEmbedding
from mem0_backend import close, search

__all__ = ["build", "close", "search"]


@cache
def _encoder() -> Any:
    with tempfile.TemporaryDirectory(prefix="memorist-bench-") as folder:
        (Path(folder) / "english.txt").write_text("\n".join(STOPWORDS_EN_PLUS), encoding="utf-8")
        return SparseTextEmbedding("Qdrant/bm25", specific_model_path=folder)


def build(rows: Sequence[shared.Row]) -> mem0_backend.Index:
    """Return a memory that holds the rows."""
    return mem0_backend.build_with(rows, _encoder())
