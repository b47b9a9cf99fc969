"""Edits of files: planned, shown as a difference, and written."""

import difflib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memorist.cli.installing.edits import Edit
from memorist.errors import InvalidInputError
from memorist.files.regular import opened
from memorist.system.writing import replacing

BACKUP = ".before-memorist"
_LARGEST = 16_000_000
"""Bytes of a settings file; Claude Code's own, which has a history in it, grows to some hundred thousand."""
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file's text before and after an edit.

    Args:
        file: where.
        before: the text; None where there is no file.
        after: the new text; None where the file goes.
        keep: whether the text before is kept as a backup; otherwise an older backup stays, or goes with what was ours.
    """

    file: Path
    before: str | None
    after: str | None
    keep: bool = True

    def lines(self) -> Iterator[str]:
        """Yield the removed and added lines, and no other: a settings file may hold secrets."""
        old, new = (self.before or "").splitlines(), (self.after or "").splitlines()
        for line in difflib.unified_diff(old, new, n=0, lineterm=""):
            if not line.startswith(("---", "+++", "@@")):
                yield line


def planned(
    file: Path, put: Sequence[Edit], take: Sequence[Edit], *, out: bool = False, project: Path | None = None
) -> FileEdit | None:
    """Return an edit of a file, or None where it changes nothing.

    What is taken out leaves the file as it was before ours was put in, to the byte: as its backup has it, or no file
    where there was none. Where others have changed the file since, their changes stay.

    Args:
        file: where.
        put: add what is ours.
        take: remove what is ours.
        out: whether ours is to be taken out; otherwise it is put in.
        project: the folder that the file must not lead out of; None for a user's own file, whose links are their own.

    Raises:
        InvalidInputError: the file cannot be read, is not what it should be, or leads out of the project.
    """
    check_inside(file, project)
    before, first = read_settings(file), read_settings(_backup(file))

    def edited(text: str | None, *edits: Edit) -> str:
        mark = _BOM if (text or "").startswith(_BOM) else ""
        text = (text or "").removeprefix(mark)
        for edit in edits:
            text = edit(text)
        return mark + text

    try:
        after: str | None = edited(before, *(take if out else put))
        if after == (before or ""):
            return None
        bare = edited(before, *take)
        if not out:
            return FileEdit(file, before, after, keep=bare == (before or ""))
        if (first is None or edited(first, *take) == first) and edited(first, *put, *take) == bare:
            after = first
    except (ValueError, InvalidInputError, RecursionError) as error:
        raise InvalidInputError(f"{file} was not changed: {error}") from error
    return FileEdit(file, before, after, keep=False)


def _backup(file: Path) -> Path:
    return file.with_name(file.name + BACKUP)


def check_inside(file: Path, folder: Path | None) -> None:
    """Refuse a file of a folder that is reached, or whose backup is, through a link to somewhere else.

    A repository may hold such links for whoever clones it.

    Raises:
        InvalidInputError: it leads out of the folder.
    """
    if folder is None:
        return
    for each in (file, _backup(file)):
        try:
            place = each.resolve()
        except (OSError, RuntimeError) as error:  # links in a circle
            raise InvalidInputError(f"{each} was not changed: {error}") from error
        if not place.is_relative_to(folder.resolve()):
            raise InvalidInputError(
                f"{each} is a link out of {folder}, to {place}; it was not followed. Remove the link first"
            )


def read_settings(file: Path) -> str | None:
    """Return the text of a settings file, or None if there is no file. Only a regular file of limited size is read.

    Raises:
        InvalidInputError: it cannot be read, or is anything else.
    """
    try:
        with opened(file) as stream:
            text = stream.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise InvalidInputError(f"{file} was not changed: it is larger than {_LARGEST:,} bytes")
        return text.decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{file} cannot be read, and was not changed: {error}") from error


def written(change: FileEdit, *, out_of: Path | None = None, project: Path | None = None) -> Path | None:
    """Write a change in one step, and return the backup of what was there before, if one was made.

    Args:
        change: what `planned` returned.
        out_of: where ours is taken out, the home or the project: then no backup stays, nor a folder in it that is
            empty now.
        project: as for `planned`.

    Raises:
        InvalidInputError: the file has changed since the change was planned.
        OSError: it cannot be written; it is left as it was.
    """
    check_inside(change.file, project)
    file, backup = change.file.resolve(), _backup(change.file)  # of a link, the file that it points to is replaced
    if read_settings(file) != change.before:
        raise InvalidInputError(f"{change.file} has just been changed by another program; run the command again")
    file.parent.mkdir(parents=True, exist_ok=True)
    mode = new_mode() if change.before is None else file.stat().st_mode & 0o777
    if change.keep:
        backup.unlink(missing_ok=True)
        if change.before is not None:
            _replace(backup, change.before, mode)
    if change.after is None:
        file.unlink()
    else:
        _replace(file, change.after, mode)
    if out_of is not None:
        tidy(change.file, out_of)
    return backup if change.keep and change.before is not None else None


def tidy(file: Path, root: Path) -> None:
    """Take away the backup of a file that has nothing of ours, and the folders in a root folder that are empty now."""
    _backup(file).unlink(missing_ok=True)
    for folder in file.parents:
        if root not in folder.parents or folder.is_symlink() or (folder.exists() and any(folder.iterdir())):
            break
        if folder.exists():
            folder.rmdir()


def new_mode() -> int:
    """Return the rights that this process gives a new file."""
    os.umask(mask := os.umask(0o077))
    return 0o666 & ~mask


def _replace(file: Path, text: str, mode: int) -> None:
    with replacing(file, mode) as stream:
        stream.write(text.encode())
