"""Adapters' packages import a framework only when a name that needs it is asked for."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from memorist.errors import MissingExtraError, missing_extra


def lazy_names(package: str, modules: Mapping[str, str], *, extras: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``, which imports each public name from its module on first use.

    Args:
        package: the package's own name.
        modules: the module, within the package, of each name.
        extras: the extra that brings each of the frameworks' packages.
    """

    def __getattr__(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(f"{package}.{modules[name]}"), name)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            top = missing.partition(".")[0]
            if top not in extras:
                raise
            if missing != top:
                raise MissingExtraError(f"the installed {top} has no {missing}; install a newer one") from error
            raise missing_extra(top, extras[top]) from error

    return __getattr__
