"""Connections to Chroma: a folder, a server, or memory; what goes wrong there as errors of ours."""

import os
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from memorist.errors import ClosedError, MemoristError, StoreUnavailableError, missing_extra
from memorist.stores.logged import Place, errors

__all__ = ["COSINE", "Client", "connect", "import_chroma", "translated"]

Client: TypeAlias = Any
"""A chromadb client; the library is imported on first use, and is not typed strictly."""
COSINE = {"hnsw": {"space": "cosine"}}


def import_chroma() -> Any:
    """Return the module chromadb.

    Raises:
        MissingExtraError: it is not installed.
    """
    # Said by the environment, telemetry is off in the settings of others too: Chroma refuses a second client of
    # the same folder whose settings are not the first one's.
    os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")
    try:
        return import_module("chromadb")
    except ImportError as error:
        raise missing_extra("chromadb", "chroma") from error


def connect(place: Place) -> tuple[Client, Callable[[], None]]:
    """Return a client, with telemetry off, and what releases it.

    A client of memory alone has a database of its own, which its release drops: no two see each other.

    Raises:
        StoreUnavailableError: the folder cannot be made or the server not be reached.
        MissingExtraError: chromadb is not installed.
    """
    chromadb = import_chroma()
    if place is None:
        return _in_memory(chromadb)
    with translated(str(place)):
        if isinstance(place, Path):
            if place.exists() and not place.is_dir():
                raise StoreUnavailableError(f"{place} is a file; Chroma keeps its data in a folder")
            place.mkdir(parents=True, exist_ok=True)
            client = chromadb.PersistentClient(str(place), _settings(str(place)))
        else:
            parts = urlsplit(place)
            client = chromadb.HttpClient(
                host=parts.hostname, port=parts.port, ssl=parts.scheme == "https", settings=_settings()
            )
    return client, _released(client)


def _settings(system: str = "") -> Any:
    """Return settings without telemetry; of a system that somebody in this process has begun, those it has."""
    shared = import_module("chromadb.api.shared_system_client").SharedSystemClient
    begun = getattr(shared, "_identifier_to_system", {}).get(system)
    return import_module("chromadb.config").Settings(anonymized_telemetry=False) if begun is None else begun.settings


def _in_memory(chromadb: Any) -> tuple[Client, Callable[[], None]]:
    settings = _settings("ephemeral")
    first = chromadb.EphemeralClient(settings)
    name = f"memory-{uuid.uuid4().hex}"
    admin = chromadb.AdminClient(first.get_settings())
    admin.create_database(name)
    client = chromadb.EphemeralClient(settings, database=name)

    def release() -> None:
        with suppress(Exception):  # a copy in memory that is left over harms nobody
            admin.delete_database(name)
        _released(client)()
        _released(first)()

    return client, release


def _released(client: Client) -> Callable[[], None]:
    servers = (getattr(each, "_server", None) for each in (client, getattr(client, "_admin_client", None)))
    sessions = [session for server in servers if (session := getattr(server, "_session", None)) is not None]

    def release() -> None:
        if hasattr(client, "close"):  # chromadb before 1.1 has none
            client.close()
        for session in sessions:  # a client of a server forgets its connections without closing them
            session.close()

    return release


def translated(where: str) -> AbstractContextManager[None]:
    """Turn what chromadb raises into errors of ours.

    Raises:
        StoreUnavailableError: there is no connection, or the place cannot be used.
        StoreFullError, StoreBusyError, StoreCorruptError, StoreError: as their names say.
    """
    return errors.translated(where, _own)


_CLOSED = ("client has been closed", "has no attribute 'bindings'")
"""What chromadb says of a client that was closed: one that others share, and the last of a folder."""


def _own(error: Exception) -> MemoristError | None:
    return ClosedError("the store is not open") if any(sign in str(error).lower() for sign in _CLOSED) else None
