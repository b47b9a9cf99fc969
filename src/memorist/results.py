"""What the verb `context` returns."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from memorist.records import Record

__all__ = ["Context", "ContextItem", "Why"]

Why: TypeAlias = Literal["topic", "pinned", "standing", "recalled", "asked", "earlier"]
"""Why a record stands in a context: its topic was asked for, it was pinned, it holds in every turn, it was
recalled, it asks what a recalled message answers, or it held before a recalled fact."""


@dataclass(frozen=True, slots=True)
class ContextItem:
    """A record in a context.

    Attributes:
        record: the whole record, with its id, scope and source.
        text: what the context shows of it; `…` stands where something is left out.
        why: what brought it here.
        score: of a recalled record, how likely it answers, 0 to 1; 1 for what always holds.
    """

    record: Record
    text: str
    why: Why
    score: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"record": self.record.to_dict(), "text": self.text, "why": self.why, "score": self.score}


@dataclass(frozen=True, slots=True)
class Context:
    """What an agent is told.

    Attributes:
        text: for the prompt; "" when there is nothing to tell.
        confidence: how likely the memory holds the answer, 0 to 1; 0 for a blank question.
        items: the records shown, in the order of the text.
        tokens: how long the text is, by the counter of the call.
        error: why nothing could be read, where an agent's turn goes on without memory; else None.
    """

    text: str = ""
    confidence: float = 0.0
    items: tuple[ContextItem, ...] = ()
    tokens: int = 0
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "text": self.text,
            "confidence": self.confidence,
            "items": [item.to_dict() for item in self.items],
            "tokens": self.tokens,
            "error": self.error,
        }
