"""Errors that the ``except`` clauses of an original package catch, too."""

import functools
import sys
from typing import Any, TypeVar

_E = TypeVar("_E", bound=Exception)


def caught_by(module: str, error: type[_E]) -> type[_E]:
    """Return `error`, as a subclass also of the class with its name in a module of the original package.

    The package is not imported here: whoever has such an ``except`` clause has imported it.
    """
    theirs = getattr(sys.modules.get(module), error.__name__, None)
    if theirs is None or issubclass(error, theirs):
        return error
    both: type[_E] = _both(error, theirs)  # type: ignore[arg-type]  # mypy takes no type variable for hashable
    return both


@functools.cache
def _both(ours: type[Exception], theirs: type[Exception]) -> Any:
    return type(ours.__name__, (ours, theirs), {"__module__": ours.__module__, "__doc__": ours.__doc__})
