"""Adapters' packages import a framework only when a name that needs it is asked for."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from memorist.errors import missing_extra

__all__ = ["lazy_names"]


def lazy_names(package: str, modules: Mapping[str, str], *, extra: str) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``, which imports each public name from its module on first use.

    Args:
        package: the package's own name.
        modules: the module, within the package, of each name.
        extra: what brings the framework; named where it is not installed.
    """

    def __getattr__(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(f"{package}.{modules[name]}"), name)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("memorist"):
                raise
            raise missing_extra(error.name.partition(".")[0], extra) from error

    return __getattr__
