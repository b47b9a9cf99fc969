"""Names that Promptise's code reaches for, for what all agents here share: the caller, and safe injection."""

from collections.abc import Iterable

from memorist.adapters.promptise.types import MemoryResult
from memorist.agents.caller import CallerContext, current_caller
from memorist.agents.caller import caller as _caller_ctx_var
from memorist.agents.injection import MEMORY_CONTEXT
from memorist.agents.sanitizing import sanitize

__all__ = [
    "CallerContext",
    "_caller_ctx_var",
    "_format_memory_context",
    "get_current_caller",
    "sanitize_memory_content",
]


def get_current_caller() -> CallerContext | None:
    """Return on whose behalf the task that runs was started, or None."""
    return current_caller()


def sanitize_memory_content(content: str) -> str:
    """Return a recalled text without what could pass for instructions, cut to 2,000 characters.

    What is stored never changes. The law is that of `memorist.agents.sanitize`.
    """
    return sanitize(content)


def _format_memory_context(results: Iterable[MemoryResult]) -> str:
    """Return the block that tells an agent what was recalled; "" when nothing is left after sanitising."""
    return MEMORY_CONTEXT.of(each.content for each in results)
