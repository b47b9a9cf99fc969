"""Classes that count as those of an original package, too: its ``except`` clauses, `isinstance` and `issubclass`."""

import functools
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any, TypeVar

_E = TypeVar("_E", bound=Exception)


def original(package: str, module: str, name: str) -> Any:
    """Return a class of an original package, or None where the package is not installed or has no such class.

    Args:
        package: the package's name on the package index; another package may have a module of the same name.
        module: the module that has the class. It is imported.
        name: the class's name.
    """
    try:
        distribution(package)
        return getattr(import_module(module), name, None)
    except (PackageNotFoundError, ImportError):
        return None


def caught_by(module: str, error: type[_E]) -> type[_E]:
    """Return `error`, as a subclass also of the class with its name in a module of the original package.

    The package is not imported here: a program with such an ``except`` clause has imported it already.
    """
    theirs = getattr(sys.modules.get(module), error.__name__, None)
    if theirs is None or issubclass(error, theirs):
        return error
    both: type[_E] = _both(error, theirs)  # type: ignore[arg-type]  # mypy takes no type variable for hashable
    return both


@functools.cache
def _both(ours: type[Exception], theirs: type[Exception]) -> Any:
    return type(ours.__name__, (ours, theirs), {"__module__": ours.__module__, "__doc__": ours.__doc__})
