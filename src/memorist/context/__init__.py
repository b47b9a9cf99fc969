"""From ranked records to what an agent is told: choose, cut, date, group, weigh."""

from memorist.context.base import Context, ContextItem, Why
from memorist.context.budget import CountTokens
from memorist.context.confidence import MIN_CONFIDENCE
from memorist.context.telling import Reader, tell

__all__ = ["MIN_CONFIDENCE", "Context", "ContextItem", "CountTokens", "Reader", "Why", "tell"]
