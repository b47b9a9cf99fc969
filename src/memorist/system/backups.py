"""Dated backups in one folder: the name of the next one, and which are removed after it."""

import os
import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memorist.errors import InvalidInputError, StoreUnavailableError, shown

_DATED = re.compile(r"memorist-[0-9]{8}T[0-9]{6}Z\.db")


def placed(target: Any, keep: int | None, now: datetime) -> Any:
    """Return the target of a backup: for a folder, a file in it named after the time; any other target unchanged.

    Raises:
        InvalidInputError: `keep` is not a whole number from 1, or given without a folder.
    """
    if keep is not None and (isinstance(keep, bool) or not isinstance(keep, int) or keep < 1):
        raise InvalidInputError(f"keep must be a whole number of 1 or more, not {shown(keep)}")
    with suppress(TypeError, ValueError, OSError, RuntimeError):  # not a path; the request reports the error
        folder = Path(target).expanduser().absolute()
        if folder.is_dir():
            return folder / f"memorist-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}.db"
    if isinstance(target, str) and target.endswith(("/", os.sep)):
        raise InvalidInputError(f"there is no folder {target}; make it, or name a file")
    if keep is not None:
        raise InvalidInputError(f"keep needs a folder that exists, not {shown(target)}")
    return target


def prune(newest: Path, keep: int) -> None:
    """Remove the dated backups older than `newest` in its folder, except the `keep` - 1 latest; touch nothing else.

    Raises: StoreUnavailableError: a backup cannot be removed.
    """
    names = (each.name for each in newest.parent.iterdir() if each.is_file() and not each.is_symlink())
    older = sorted(name for name in names if _DATED.fullmatch(name) and name < newest.name)
    for name in older[: max(0, len(older) - (keep - 1))]:
        try:
            (newest.parent / name).unlink()
        except OSError as error:
            raise StoreUnavailableError(
                f"the backup {newest} is made, but {name} beside it cannot be removed: {error}"
            ) from error
