"""Edits of files: planned, shown as a difference, and written."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memorist.cli.files import replacing
from memorist.cli.installing.edits import Edit
from memorist.errors import InvalidInputError
from memorist.system.handles import read_file

BACKUP = ".before-memorist"
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file's text before and after an edit.

    Args:
        file: where.
        before: the text; None where there is no file.
        after: the new text.
    """

    file: Path
    before: str | None
    after: str

    def lines(self) -> Iterator[str]:
        """Yield the removed and added lines, and no other: a settings file may hold secrets."""
        old, new = (self.before or "").splitlines(), self.after.splitlines()
        for line in difflib.unified_diff(old, new, n=0, lineterm=""):
            if not line.startswith(("---", "+++", "@@")):
                yield line


def planned(file: Path, edit: Edit) -> FileEdit | None:
    """Return an edit of a file, or None where it changes nothing.

    Raises:
        InvalidInputError: the file cannot be read, or is not what it should be.
    """
    try:
        before = read_file(file).decode("utf-8")
    except FileNotFoundError:
        before = None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{file} cannot be read, and is left as it is: {error}") from error
    try:
        mark = _BOM if (before or "").startswith(_BOM) else ""
        after = mark + edit((before or "").removeprefix(mark))
    except (ValueError, InvalidInputError, RecursionError) as error:
        raise InvalidInputError(f"{file} is left as it is: {error}") from error
    return None if after == (before or "") else FileEdit(file, before, after)


def written(change: FileEdit) -> Path | None:
    """Write a change in one step, and return the backup of what was there before, if anything was.

    Raises:
        InvalidInputError: the file has changed since the change was planned.
        OSError: it cannot be written; it is left as it was.
    """
    file = change.file.resolve()  # if the path is a link, the file that it points to is replaced
    file.parent.mkdir(parents=True, exist_ok=True)
    mode, backup = 0o644, None
    if change.before is not None:
        if read_file(file) != change.before.encode():
            raise InvalidInputError(f"{change.file} has just been changed by another program; run the command again")
        mode = file.stat().st_mode & 0o777
        backup = change.file.with_name(change.file.name + BACKUP)
        _replace(backup, change.before, mode)
    _replace(file, change.after, mode)
    return backup


def _replace(file: Path, text: str, mode: int) -> None:
    with replacing(file, mode) as out:
        out.write(text.encode())
