"""Clients of Chroma: of a server, of a folder, or in memory, with telemetry off."""

import functools
import uuid
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from memorist.errors import StoreUnavailableError, needs

_TRIES = 5
_RACED = "error finding id"
"""What Chroma says of a row that was written while a query read the index; the next try finds it."""


def connect(at: Path | str | None, key: str | None = None) -> tuple[Any, Callable[[], None]]:
    """Return a client, and the function that releases it.

    Args:
        at: a folder, which is made if it is missing; a server's URL; None for a database in memory that no other
            client sees and that is dropped when it is released.
        key: the server's key.

    Raises:
        StoreUnavailableError: the folder is a file.
        MissingExtraError: chromadb is not installed.
    """
    with needs("chromadb", "chroma"):
        chromadb = import_module("chromadb")
    if at is None:
        return _in_memory(chromadb)
    if isinstance(at, Path):
        if at.exists() and not at.is_dir():
            raise StoreUnavailableError(f"{at} is a file; Chroma keeps its data in a folder")
        at.mkdir(parents=True, exist_ok=True)
        client = chromadb.PersistentClient(str(at), _settings(str(at)))
    else:
        parts = urlsplit(at)
        client = chromadb.HttpClient(
            host=parts.hostname,
            port=parts.port,
            ssl=parts.scheme == "https",
            headers={"Authorization": f"Bearer {key}"} if key else None,
            settings=chromadb.Settings(anonymized_telemetry=False),
        )
    return client, lambda: _close(client)


def query(collection: Any, **asked: Any) -> Any:
    """Return what a collection's `query` returns, also while other threads and processes write to it."""
    for _ in range(_TRIES - 1):
        try:
            return collection.query(**asked)
        except Exception as error:
            if _RACED not in str(error).lower():
                raise
    return collection.query(**asked)


def _in_memory(chromadb: Any) -> tuple[Any, Callable[[], None]]:
    """Return a client of a database of its own: clients in memory share one system."""
    settings = _settings("ephemeral")
    first = chromadb.EphemeralClient(settings)
    name = f"memory-{uuid.uuid4().hex}"
    admin = chromadb.AdminClient(first.get_settings())
    admin.create_database(name)
    client = chromadb.EphemeralClient(settings, database=name)

    def release() -> None:
        with suppress(Exception):  # a database that is left over in memory harms nobody
            admin.delete_database(name)
        _close(client)
        _close(first)

    return client, release


def _settings(system: str) -> Any:
    """Return settings without telemetry, or those with which this process opened the system already."""
    shared = import_module("chromadb.api.shared_system_client").SharedSystemClient
    begun = getattr(shared, "_identifier_to_system", {}).get(system)
    return _sharing()(anonymized_telemetry=False) if begun is None else begun.settings


@functools.cache
def _sharing() -> Any:
    """Return a class of settings that equal all others.

    Chroma refuses a second client of a folder whose settings differ from the first one's. With these settings the host
    program may open, with its own, a folder that is open here; both then share one system, and telemetry stays off.
    """

    plain: Any = import_module("chromadb.config").Settings

    class SharingSettings(plain):  # type: ignore[misc]  # a class known at run time
        def __eq__(self, other: object) -> bool:
            return isinstance(other, plain)

        __hash__ = None  # type: ignore[assignment]  # as of every model of pydantic that can change

    return SharingSettings


def _close(client: Any) -> None:
    for each in (client, getattr(client, "_admin_client", None)):
        session = getattr(getattr(each, "_server", None), "_session", None)
        if session is not None:  # a client of a server forgets its connections without closing them
            session.close()
    if hasattr(client, "close"):  # chromadb before 1.1 has none
        client.close()
