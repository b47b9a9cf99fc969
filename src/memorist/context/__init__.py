"""From ranked records to what an agent is told: choose, cut, date, group, weigh."""

from memorist.context.budget import CountTokens
from memorist.context.composing import compose
from memorist.context.confidence import MIN_CONFIDENCE
from memorist.context.reading import Reader
from memorist.operations.answers import Context, ContextItem, Why

__all__ = ["MIN_CONFIDENCE", "Context", "ContextItem", "CountTokens", "Reader", "Why", "compose"]
