"""What goes wrong in a back end's library, as errors of ours."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memorist.errors import (
    MemoristError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)

__all__ = ["translated"]

_SIGNS: tuple[tuple[str, type[StoreError]], ...] = (
    ("disk is full", StoreFullError),
    ("no space left", StoreFullError),
    ("is locked", StoreBusyError),
    ("malformed", StoreCorruptError),
    ("not a database", StoreCorruptError),
    ("could not connect", StoreUnavailableError),
    ("unable to open", StoreUnavailableError),
    ("readonly database", StoreUnavailableError),
)
"""What SQLite, which the back ends use in a folder, says, and their own words for the same."""


@contextmanager
def translated(where: str, own: Callable[[Exception], MemoristError | None]) -> Iterator[None]:
    """Turn what a library raises into errors of ours; what `own` makes of one comes first.

    Raises:
        StoreUnavailableError: there is no connection, or the place cannot be used.
        StoreFullError, StoreBusyError, StoreCorruptError, StoreError: as their names say.
    """
    try:
        yield
    except MemoristError:
        raise
    except Exception as error:
        raise own(error) or _error_for(where, error) from error


def _error_for(where: str, error: Exception) -> MemoristError:
    text = str(error).lower()
    for sign, kind in _SIGNS:
        if sign in text:
            return kind(f"{where}: {error}")
    if isinstance(error, OSError):
        return StoreUnavailableError(f"{where} cannot be used: {error}")
    if type(error).__module__.partition(".")[0] in ("httpx", "httpcore"):
        return StoreUnavailableError(f"{where} does not answer: {error or type(error).__name__}")
    return StoreError(f"{where}: {error or type(error).__name__}")
