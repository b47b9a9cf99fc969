"""A store in Qdrant: in a folder, on a server, or in memory; see `QdrantStore` for what is weaker than SQLite."""

import os
import re
from urllib.parse import unquote

from memorist.config import Settings
from memorist.stores.logged import parse_url
from memorist.stores.qdrant.backend import import_qdrant
from memorist.stores.qdrant.store import QdrantStore

__all__ = ["QdrantStore", "open_qdrant"]

_PORT = 6333


def open_qdrant(settings: Settings) -> QdrantStore:
    """Return the store that a URL names, not yet opened.

    ``qdrant:FOLDER``, ``qdrant::memory:``, or ``qdrant://HOST:PORT`` for a server (``qdrant+https://`` with TLS).
    ``?collection=NAME`` chooses the first part of the collections' names. The server's key stands where a password
    does, as in ``qdrant+https://:KEY@HOST``, or in the variable QDRANT_API_KEY.

    Raises:
        InvalidInputError: the URL is none of these.
        MissingExtraError: qdrant-client is not installed.
    """
    import_qdrant()
    url = settings.url
    if url.startswith("qdrant://"):
        url = url.replace("qdrant:", "qdrant+http:", 1)
    api_key = os.environ.get("QDRANT_API_KEY") or None
    if found := re.match(r"([a-z+]+://):([^@/?]+)@", url):
        url, api_key = url.replace(found[0], found[1], 1), unquote(found[2])
    place, collection = parse_url(url, _PORT)
    return QdrantStore(place, collection=collection, api_key=api_key, busy_timeout=settings.busy_timeout)
