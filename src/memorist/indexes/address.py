"""An index's URL, and the translation of its library's errors to this package's."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from memorist.errors import InvalidInputError, MemoristError, StoreBusyError, StoreError, StoreUnavailableError
from memorist.system.places import expanded


@dataclass(frozen=True, slots=True)
class Address:
    """Where an index is, as its URL names it.

    Args:
        at: a folder, a server's URL ("http://host:port"), or None for this process's memory.
        collection: the first part of the collections' names.
        key: the server's key.
    """

    at: Path | str | None
    collection: str = "memorist"
    key: str | None = None

    @property
    def shown(self) -> str:
        """The address to show in errors, without the key."""
        return str(self.at or ":memory:")


def parse_url(url: str, port: int) -> Address:
    """Return where ``NAME:FOLDER``, ``NAME::memory:``, ``NAME://HOST:PORT`` or ``NAME+https://:KEY@HOST`` points.

    ``?collection=NAME`` at the end sets the first part of the collections' names.

    Raises:
        InvalidInputError: the URL has none of these forms.
    """
    scheme, _, rest = url.partition(":")
    name, _, protocol = scheme.partition("+")
    rest, _, query = rest.partition("?")
    asked = parse_qs(query, keep_blank_values=True)
    collection = asked.pop("collection", ["memorist"])[-1]
    if asked or not re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,200}", collection):
        raise InvalidInputError(f"a {name} URL takes only ?collection=NAME, of letters, digits, . _ and -")
    if protocol in ("", "http", "https") and rest.startswith("//"):
        return _server(f"{protocol or 'http'}:{rest}", name, port, collection)
    if protocol or not rest.strip("/ "):
        raise InvalidInputError(f"a {name} URL is {name}:FOLDER, {name}::memory:, or {name}://HOST:PORT")
    return Address(None if rest == ":memory:" else expanded(rest).absolute(), collection)


def _server(url: str, name: str, port: int, collection: str) -> Address:
    try:
        parts = urlsplit(url)
        port = parts.port or port
    except ValueError as error:
        raise InvalidInputError(f"the {name} server's URL has no valid host or port ({error})") from error
    if not (parts.hostname or "").strip() or parts.path.strip("/") or parts.username:
        raise InvalidInputError(f"a {name} server's URL is {name}://HOST:PORT or {name}+https://:KEY@HOST:PORT")
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    key = unquote(parts.password) if parts.password else None
    return Address(f"{parts.scheme}://{host}:{port}", collection, key)


@contextmanager
def translated(where: str, own: Callable[[str], MemoristError | None] = lambda said: None) -> Iterator[None]:
    """Turn a library's errors into this package's; `own` may choose one by the library's message.

    Raises:
        StoreUnavailableError: there is no connection, or it cannot be used.
        StoreBusyError: another process has it.
        StoreError: anything else.
    """
    try:
        yield
    except MemoristError:
        raise
    except Exception as error:
        said = str(error) or type(error).__name__
        low = said.lower()
        if (ours := own(said)) is not None:
            raise ours from error
        if "locked" in low:
            raise StoreBusyError(f"the index {where} is locked by another process ({said}); try again") from error
        lost = ("could not connect", "connection", "timed out", "unable to open", "readonly", "refused")
        if isinstance(error, OSError) or any(sign in low for sign in lost):
            raise StoreUnavailableError(f"the index {where} cannot be used ({said}); check that it runs") from error
        raise StoreError(f"the index {where} failed: {said}") from error
