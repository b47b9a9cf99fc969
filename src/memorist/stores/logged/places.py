"""Where a store is: its URL, a folder that one process alone may use, and sharing it within that process."""

import os
import re
import threading
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

from memorist.errors import InvalidInputError, StoreBusyError, StoreUnavailableError
from memorist.stores.logged.database import Database

__all__ = ["DEFAULT_COLLECTION", "Place", "lock_folder", "parse_url", "share"]

Place: TypeAlias = Path | str | None
"""A folder, the URL of a server, or None for this process's memory."""

DEFAULT_COLLECTION = "memorist"


def parse_url(url: str, default_port: int) -> tuple[Place, str]:
    """Return where ``NAME:FOLDER``, ``NAME::memory:`` or ``NAME+http://HOST:PORT`` (or ``https``) points, and the
    first part of the tables' names there, which ``?collection=`` gives.

    Raises:
        InvalidInputError: the URL is none of these.
    """
    scheme, _, rest = url.partition(":")
    name, _, protocol = scheme.partition("+")
    rest, _, query = rest.partition("?")
    asked = parse_qs(query, keep_blank_values=True)
    collection = asked.pop("collection", [DEFAULT_COLLECTION])[-1]
    if asked or not re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,200}", collection):
        raise InvalidInputError(
            f"a {name} URL takes ?collection=NAME alone, of letters, digits, . _ and -, not {query!r}"
        )
    if protocol in ("http", "https"):
        return _server(f"{protocol}:{rest}", name, default_port), collection
    if protocol or not rest.strip("/ "):
        raise InvalidInputError(f"a {name} URL is {name}:FOLDER, {name}::memory: or {name}+http://HOST:PORT")
    if rest == ":memory:":
        return None, collection
    return Path(rest.removeprefix("//")).expanduser().absolute(), collection


def _server(url: str, name: str, default_port: int) -> str:
    parts = urlsplit(url)
    try:
        port = parts.port or default_port
    except ValueError as error:
        raise InvalidInputError(f"the port of {url!r} is not a number from 0 to 65535") from error
    if not parts.hostname or parts.path.strip("/") or parts.username or parts.password:
        raise InvalidInputError(f"a {name} server's URL is {name}+http://HOST:PORT")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}"


def lock_folder(folder: Path, name: str, otherwise: str) -> Callable[[], None]:
    """Take the folder, made if it is missing, for this process until it is released or killed; return what does.

    Args:
        name: the file there that is locked.
        otherwise: what to do to use it from several processes, for the error's text.

    Raises:
        StoreBusyError: another process has it.
        StoreUnavailableError: it is a file, or cannot be made.
    """
    if folder.exists() and not folder.is_dir():
        raise StoreUnavailableError(f"{folder} is a file; this store keeps its data in a folder")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:  # no such lock on this system: there it is the user who must take care
        return lambda: None
    handle = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise StoreBusyError(f"another process has {folder} open, and one alone can use it; {otherwise}") from error
    return lambda: os.close(handle)


_shared: dict[Hashable, Database] = {}
_sharing = threading.Lock()


def share(key: Hashable | None, make: Callable[[], Database]) -> tuple[Database, Callable[[], None]]:
    """Return an open database, and what releases it: one for all in this process that ask with the same key."""
    with _sharing:
        database = None if key is None else _shared.get(key)
        if database is None:
            database = make()
            database.open()
            if key is not None:
                _shared[key] = database
        database.users += 1
    shared = database

    def release() -> None:
        with _sharing, shared.lock:
            shared.users -= 1
            if shared.users == 0:
                _shared.pop(key, None)
                shared.close()

    return shared, release
