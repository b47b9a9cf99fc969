"""Memorist: long-term memory for LLM agents. Local, exact, and without a model call."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memorist.context import Context, ContextItem
    from memorist.embedders import Embedder, Role
    from memorist.errors import MemoristError
    from memorist.memory import Memory
    from memorist.records.record import Action, Change, Draft, Hit, Kind, Page, Record
    from memorist.records.scope import Scope

__all__ = [
    "Action",
    "Change",
    "Context",
    "ContextItem",
    "Draft",
    "Embedder",
    "Hit",
    "Kind",
    "MemoristError",
    "Memory",
    "Page",
    "Record",
    "Role",
    "Scope",
]

__version__ = "0.1.0"

_HOMES = {
    "Context": "memorist.operations.answers",
    "ContextItem": "memorist.operations.answers",
    "Memory": "memorist.memory",
    "MemoristError": "memorist.errors",
    "Embedder": "memorist.embedders",
    "Role": "memorist.embedders",
    "Scope": "memorist.records.scope",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for, so that importing the package costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOMES.get(name, "memorist.records.record")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return every public name, imported or not."""
    return sorted({*globals(), *__all__})
