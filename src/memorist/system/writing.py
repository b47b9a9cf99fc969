"""Writing files in one step: whoever reads sees all of the new content or none of it."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO

from memorist.errors import StoreFullError, StoreUnavailableError, path_taken
from memorist.system.places import expanded
from memorist.system.platforms import replace, sync, sync_folder


def replacing(target: Path, mode: int = 0o600) -> AbstractContextManager[BinaryIO]:
    """Yield a file that takes the place of `target`, with these rights, once the block ends without an error."""
    return _written(target, mode, replace)


def creating(target: Path) -> AbstractContextManager[BinaryIO]:
    """Yield a file that becomes `target`, readable by its owner alone, once the block ends without an error.

    Raises:
        FileExistsError: another was there first, which stays.
    """
    return _written(target, 0o600, _named)


@contextmanager
def new_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a file that is at a path that a user named, once the block ends without an error.

    Raises:
        InvalidInputError: there is something already.
        StoreFullError: no space is left; nothing is there.
        StoreUnavailableError: it cannot be written.
    """
    if os.path.lexists(target := expanded(path)):
        raise path_taken(target)
    try:
        with creating(target) as stream:
            yield stream
    except FileExistsError as error:
        raise path_taken(target) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFullError(
                f"no space left for {target}; nothing was written; free some space, then repeat"
            ) from error
        raise StoreUnavailableError(f"{target} cannot be written: {error.strerror or error}") from error


def linked(part: Path, target: Path) -> bool:
    """Give a file another name, which must be free; return False on a file system whose files have one name each.

    Raises:
        FileExistsError: there is a file of that name.
    """
    try:
        os.link(part, target)  # unlike a rename, never over an existing file
    except FileExistsError:
        raise
    except OSError:
        if target.exists():
            raise FileExistsError(target) from None
        return False
    return True


def _named(part: Path, target: Path) -> None:
    if not linked(part, target):
        replace(part, target)


@contextmanager
def _written(target: Path, mode: int, name: Callable[[Path, Path], None]) -> Iterator[BinaryIO]:
    import tempfile  # which a recall does not need, and whoever signs imports this module

    handle, scratch = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}-")
    part = Path(scratch)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            sync(stream.fileno())
        part.chmod(mode)
        name(part, target)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(target.parent)
