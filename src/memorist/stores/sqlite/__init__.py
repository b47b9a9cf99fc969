"""The default store: one SQLite file, through apsw, so that every user has the same, current SQLite."""

from memorist.stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
