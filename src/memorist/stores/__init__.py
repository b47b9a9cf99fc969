"""Stores hold the records. Each is opened by its URL."""

import os
from pathlib import Path

from memorist.config import Settings
from memorist.errors import InvalidInputError
from memorist.stores.base import Store
from memorist.system.places import expanded

__all__ = ["Store", "file_of", "open_store"]

ENTRY_POINTS = "memorist.stores"


def open_store(settings: Settings) -> Store:
    """Return the store that `settings.url` names, not yet opened.

    A path, ``sqlite:PATH`` or ``:memory:`` is SQLite, ``postgresql://`` PostgreSQL. Any other scheme, up to a ``+``,
    is looked up among the entry points of the group "memorist.stores", whose objects take the settings and return
    a `Store`.

    Raises:
        InvalidInputError: no store of that scheme is installed.
        ImportError: the store's library is not installed; the message names the command that installs it.
    """
    path = _path(settings.url)
    if path is not None:
        from memorist.stores.sqlite import SQLiteStore

        if not path.strip():
            raise InvalidInputError("give the path of the database file, or :memory:")
        return SQLiteStore(
            file_of(settings.url),
            busy_timeout=settings.busy_timeout,
            clock=settings.clock,
            key_from=settings.key_from,
        )
    if settings.key_from is not None:
        raise InvalidInputError(
            "key_from encrypts SQLite files only; open this store without it, and let its server encrypt the disk"
        )
    scheme = settings.url.partition(":")[0]
    name = scheme.partition("+")[0]
    if name in ("postgresql", "postgres"):
        from memorist.stores.postgres import open_postgres  # it needs an extra

        return open_postgres(settings)
    from importlib.metadata import entry_points  # it takes longer to import than to open what is built in

    for entry in entry_points(group=ENTRY_POINTS, name=name):
        store: Store = entry.load()(settings)
        return store
    if name in ("qdrant", "chroma"):
        raise InvalidInputError(
            f"{name} holds no records; it is an index beside a store: Memory.open('postgresql://…', index='{name}://…')"
        )
    known = sorted({"sqlite", "postgres", "postgresql", *(entry.name for entry in entry_points(group=ENTRY_POINTS))})
    raise InvalidInputError(
        f"no store is installed for {scheme!r}:…; give a file's path, or one of: {', '.join(known)}"
    )


def file_of(url: str) -> Path | None:
    """Return the file that a SQLite URL names, whether it exists or not; None for ``:memory:`` and other stores.

    Links are followed, as SQLite does: its log lies beside the file itself.
    """
    path = _path(url)
    if path is None or path == ":memory:" or not path.strip():
        return None
    return Path(os.path.realpath(expanded(path)))


def _path(url: str) -> str | None:
    """Return the path in a SQLite URL, ``:memory:``, or ""; None for other stores."""
    scheme, separator, rest = url.partition(":")
    if url == ":memory:" or not separator or len(scheme) < 2 or "/" in scheme:  # a letter before a colon is a drive
        return url
    return rest.removeprefix("//") if scheme == "sqlite" else None
