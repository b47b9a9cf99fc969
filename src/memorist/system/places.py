"""Where this system keeps a user's files."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from memorist.errors import InvalidInputError

_LINUX = {"cache": ".cache", "config": ".config", "data": ".local/share"}


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path with the home folder in the place of a leading ``~``.

    Raises:
        InvalidInputError: the system does not know that home.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        unknown = f"the system knows no home folder for {os.fspath(path)!r}"
        reason = f"{unknown}; set HOME (on Windows USERPROFILE), or write the full path"
        raise InvalidInputError(reason) from error


def checked_database(path: Path) -> Path:
    """Return the path of a database.

    Raises:
        InvalidInputError: it holds bytes that are no UTF-8, and SQLite opens no such file.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        shown = str(path).encode("utf-8", "backslashreplace").decode()
        raise InvalidInputError(f"SQLite opens no file whose path is not UTF-8; rename {shown}") from error
    return path


def folder(kind: str) -> Path:
    """Return the folder where this system keeps a program's files of a kind: "cache", "config" or "data"."""
    # written by hand: loading a library for this takes a tenth of the time of a command that asks a server
    if sys.platform == "linux":
        given = Path(os.environ.get(f"XDG_{kind.upper()}_HOME", ""))
        return (given if given.is_absolute() else expanded(Path("~", _LINUX[kind]))) / "memorist"
    import platformdirs

    found: Path = getattr(platformdirs, f"user_{kind}_path")("memorist", appauthor=False)
    return found


def default_url() -> str:
    """Return ``memorist.db`` in the folder where this system keeps a user's data."""
    return str(folder("data") / "memorist.db")


def config_file(env: Mapping[str, str] | None = None) -> Path:
    """Return the TOML file of the command's settings: the one that MEMORIST_CONFIG names, else ``config.toml`` in the
    folder where this system keeps a user's configuration, there or not.

    Raises:
        InvalidInputError: MEMORIST_CONFIG names no file.
    """
    named = (os.environ if env is None else env).get("MEMORIST_CONFIG", "").strip()
    return existing(named, "MEMORIST_CONFIG") if named else folder("config") / "config.toml"


def existing(path: str, said_by: str) -> Path:
    """Return the file of settings at a path that the user named.

    Raises:
        InvalidInputError: there is no such file; the text says which option or variable named the path.
    """
    file = expanded(path)
    if not file.is_file():
        raise InvalidInputError(f"there is no file {file}, which {said_by} names; correct the path, or create the file")
    return file
