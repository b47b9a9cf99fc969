"""A connection to Qdrant: to a folder, a server, or memory; what goes wrong there as errors of ours."""

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from importlib import import_module
from pathlib import Path
from typing import Any

from memorist.errors import ClosedError, MemoristError, StoreBusyError, StoreUnavailableError, missing_extra
from memorist.stores.logged import Backend, Place, Table, lock_folder
from memorist.stores.logged.errors import translated
from memorist.stores.qdrant.tables import QdrantTable

__all__ = ["QdrantBackend", "import_qdrant"]

_INDEXED: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "records": (["tenant"], ["epoch", "number", "expires_at"]),
    "changes": (["record"], ["epoch"]),
    "log": (["token"], ["turn", "piece"]),
    "vectors": (["tenant", "user", "agent", "session", "kind"], []),
}
"""The fields with an index on a server, beside the wall: texts and numbers that the store or its users filter by."""
_OLDEST = (1, 17)
"""The first version of the server that can leave a point alone that is there already."""
_OTHERWISE = "run a server, and open qdrant://HOST:PORT in both"


def import_qdrant() -> Any:
    """Return the module qdrant_client.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module("qdrant_client")
    except ImportError as error:
        raise missing_extra("qdrant-client", "qdrant") from error


class QdrantBackend(Backend):
    """Collections in a folder, on a server or in memory, whose names begin with `prefix`."""

    def __init__(self, place: Place, prefix: str, api_key: str | None) -> None:
        self.name = str(place or ":memory:")
        self.alone = not isinstance(place, str)
        self._place = place
        self._prefix = prefix
        self._api_key = api_key
        self._client: Any = None
        self._unlock: Callable[[], None] = lambda: None

    def connect(self) -> None:
        qdrant = import_qdrant()
        if isinstance(self._place, Path):
            self._unlock = lock_folder(self._place, f"{self._prefix}.lock", _OTHERWISE)
            self._client = qdrant.QdrantClient(path=str(self._place), force_disable_check_same_thread=True)
        elif self._place is None:
            self._client = qdrant.QdrantClient(":memory:")
        else:
            self._client = qdrant.QdrantClient(url=self._place, api_key=self._api_key, check_compatibility=False)
            self._check_version(str(self._client.info().version))  # and whoever is not there says so now

    def _check_version(self, version: str) -> None:
        """Make sure that a server of this version will do.

        Raises:
            StoreUnavailableError: it is too old.
        """
        if tuple(map(int, re.findall(r"\d+", version)[:2])) < _OLDEST:
            needed = ".".join(map(str, _OLDEST))
            raise StoreUnavailableError(
                f"{self.name} is Qdrant {version}; this store needs {needed} or later: upgrade it"
            )

    def close(self) -> None:
        client, self._client = self._client, None
        try:
            if client is not None:
                client.close()
        finally:
            unlock, self._unlock = self._unlock, lambda: None
            unlock()

    def translated(self) -> AbstractContextManager[None]:
        return translated(self.name, self._error_for)

    def _error_for(self, error: Exception) -> MemoristError | None:
        said = str(error) or type(error).__name__
        if "already accessed" in said:
            return StoreBusyError(f"somebody has {self.name} open, and one alone can use it; {_OTHERWISE}")
        if type(error).__name__ == "ResponseHandlingException":
            return StoreUnavailableError(f"{self.name} does not answer ({said}); check the host and the port")
        if getattr(error, "status_code", None) in (401, 403):
            return StoreUnavailableError(f"{self.name} refused the key; give the right one in QDRANT_API_KEY")
        return None

    def table(self, part: str) -> Table:
        table = self._table(part)
        table.ensure(None)
        return table

    def points(self, part: str) -> Table:
        return self._table(part)  # made with the first point: only then is its length known

    def _table(self, part: str) -> QdrantTable:
        if self._client is None:
            raise ClosedError("the store is not open")
        indexed = None if self.alone else _INDEXED[part.partition("-")[0]]  # without a server they have no effect
        return QdrantTable(self._client, import_qdrant().models, f"{self._prefix}-{part}", indexed)

    def drop(self, part: str) -> None:
        if self._client.collection_exists(f"{self._prefix}-{part}"):
            self._client.delete_collection(f"{self._prefix}-{part}")

    def wipe(self) -> None:
        """Without a server every collection is a file of SQLite, which keeps what was deleted until it is rewritten."""
        if isinstance(self._place, Path):
            for file in self._place.glob(f"collection/{self._prefix}-*/storage.sqlite"):
                with closing(sqlite3.connect(file)) as connection:
                    connection.execute("VACUUM")
