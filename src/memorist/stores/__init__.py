"""Stores: where records live, one back end a file, opened by URL."""

from importlib.metadata import entry_points
from pathlib import Path

from memorist.config import Settings
from memorist.errors import InvalidInputError
from memorist.stores.base import Store

__all__ = ["Store", "open_store"]

ENTRY_POINTS = "memorist.stores"


def open_store(settings: Settings) -> Store:
    """Return the store that `settings.url` names, not yet opened.

    A path, ``sqlite:PATH`` or ``:memory:`` is SQLite; any other scheme is looked up among the entry points
    of the group "memorist.stores", whose objects take the settings and return a `Store`.

    Raises:
        InvalidInputError: no store of that scheme is installed.
    """
    scheme, separator, rest = settings.url.partition(":")
    if settings.url == ":memory:" or not separator or len(scheme) < 2:  # a letter before a colon is a drive
        return _sqlite(settings.url, settings)
    if scheme == "sqlite":
        return _sqlite(rest.removeprefix("//"), settings)
    for entry in entry_points(group=ENTRY_POINTS, name=scheme.partition("+")[0]):
        store: Store = entry.load()(settings)
        return store
    known = sorted({"sqlite", *(entry.name for entry in entry_points(group=ENTRY_POINTS))})
    raise InvalidInputError(
        f"no store is installed for {scheme!r}:…; give a file's path, or one of: {', '.join(known)}"
    )


def _sqlite(place: str, settings: Settings) -> Store:
    from memorist.stores.sqlite import SQLiteStore

    if not place.strip():
        raise InvalidInputError("name the database's file, or :memory:")
    path = None if place == ":memory:" else Path(place).expanduser().absolute()
    return SQLiteStore(path, busy_timeout=settings.busy_timeout)
