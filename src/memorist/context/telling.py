"""From a question to a context: what always holds, then the best evidence that fits."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from memorist.context.base import Context
from memorist.context.budget import Budget, CountTokens
from memorist.context.choosing import chosen
from memorist.context.confidence import MIN_CONFIDENCE, confidence_of
from memorist.context.lines import Line, laid_out, ordered
from memorist.context.reading import Reader
from memorist.context.standing import asked_for, standing_among
from memorist.errors import InvalidInputError
from memorist.times import TimeLike, parse_time

__all__ = ["Reader", "tell"]

STANDING_SHARE = 1 / 3
"""How much of the budget what always holds may take."""
_CHARACTERS_A_HIT = 15
_FEWEST, _MOST = 20, 150


async def tell(
    reader: Reader,
    query: str,
    *,
    tokens: int = 600,
    count_tokens: CountTokens | None = None,
    min_confidence: float = MIN_CONFIDENCE,
    standing: bool = True,
    topics: Iterable[str] = (),
    pinned: Iterable[str] = (),
    now: TimeLike | None = None,
    shared: bool = False,
    **narrowing: Any,
) -> Context:
    """Return what an agent is told for a question; see `memorist.Memory.context` for the arguments."""
    if not isinstance(query, str):
        raise InvalidInputError(f"the query must be a string, not {type(query).__name__}")
    budget, asked_at = Budget(tokens, count_tokens), None if now is None else parse_time(now)
    _check_confidence(min_confidence)
    held = await asked_for(reader, topics, pinned, shared=shared)
    if standing:
        held += await standing_among(reader, shared=shared)
    lines = chosen(held, budget, share=STANDING_SHARE)
    confidence = 0.0
    if query.strip():
        limit = min(max(tokens // _CHARACTERS_A_HIT, _FEWEST), _MOST)
        hits = await reader.recall(query, limit=limit, now=asked_at, shared=shared, **narrowing)
        confidence = confidence_of(hits)
        if confidence >= min_confidence:
            recalled = [Line(hit.record, hit.record.content, "recalled", hit.score) for hit in hits]
            lines = chosen(recalled, budget, lines)
    return _context(lines, confidence, budget, asked_at)


def _context(lines: Sequence[Line], confidence: float, budget: Budget, now: datetime | None) -> Context:
    """Return the context of lines in the order of their worth, without the last ones where they do not fit."""
    kept = list(lines)
    while kept and not budget.holds(text := laid_out(ordered(kept), now)):
        kept.pop()
    if not kept:
        return Context(confidence=confidence)
    return Context(text, confidence, tuple(line.item for line in ordered(kept)), budget.count(text))


def _check_confidence(value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInputError(f"min_confidence must be a number from 0 to 1, not {value!r}")
