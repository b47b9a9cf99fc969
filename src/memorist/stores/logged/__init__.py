"""Stores on back ends that have no transactions: a log of what each commit does, carried out until it is done.

A back end is a `Backend` with its `Table`, a few methods on rows; all else is here, once for all of them.
"""

from memorist.stores.logged.places import DEFAULT_COLLECTION, Place, lock_folder, parse_url
from memorist.stores.logged.store import LoggedStore
from memorist.stores.logged.tables import Backend, Condition, Fields, Point, Table, chunks

__all__ = [
    "DEFAULT_COLLECTION", "Backend", "Condition", "Fields", "LoggedStore", "Place", "Point", "Table", "chunks",
    "lock_folder", "parse_url",
]  # fmt: skip
