"""The one reader of annotations: of requests, answers, tools and commands."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def once(read: Callable[[Any], T]) -> Callable[[Any], T]:
    """Cache what is read of each type; of a class with `__hash__`, `cache` alone is typed as for an instance."""
    return cache(read)


class Hint(NamedTuple):
    """What an annotation says: the types that a value may have but None, whether it may be None, and the notes.

    The notes are those of `Annotated`.
    """

    kinds: tuple[Any, ...]
    optional: bool
    notes: tuple[Any, ...]


def read_hint(hint: Any) -> Hint:
    """Return what an annotation says."""
    notes = ()
    if get_origin(hint) is Annotated:
        hint, notes = hint.__origin__, hint.__metadata__
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return Hint(tuple(each for each in parts if each is not NoneType), NoneType in parts, notes)


@once
def fields_of(kind: Any) -> Mapping[str, Any]:
    """Return the annotations of the fields of a dataclass or a named tuple, in order."""
    hints = get_type_hints(kind, include_extras=True)
    names = [each.name for each in fields(kind)] if is_dataclass(kind) else kind._fields
    return {name: hints[name] for name in names}
