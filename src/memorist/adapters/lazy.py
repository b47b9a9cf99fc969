"""Errors for frameworks that are not installed, and names that import theirs only when they are asked for."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from memorist.errors import MissingExtraError, missing_extra


@contextmanager
def needing(extras: Mapping[str, str]) -> Iterator[None]:
    """Turn a failed import of a framework into an error that says what to install.

    Args:
        extras: the extra that brings each of the frameworks' packages.

    Raises:
        MissingExtraError: a package is missing, or is too old to have what is imported.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = f"{error.name}."
        for package, extra in extras.items():
            if f"{package}.".startswith(missing):  # also if only the parent namespace is missing
                raise missing_extra(package, extra) from error
            if missing.startswith(f"{package}."):
                raise MissingExtraError(f"the installed {package} has no {error.name}; install a newer one") from error
        raise


def lazy_names(package: str, modules: Mapping[str, str], *, extras: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``, which imports each public name from its module on first use.

    Args:
        package: the package's own name.
        modules: the module, within the package, of each name.
        extras: see `needing`.
    """

    def __getattr__(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with needing(extras):
            return getattr(import_module(f"{package}.{modules[name]}"), name)

    return __getattr__
