"""A store in Chroma: in a folder, on a server, or in memory; see `LoggedStore` for what is weaker than SQLite."""

from memorist.config import Settings
from memorist.stores.chroma.tables import ChromaBackend
from memorist.stores.logged import DEFAULT_COLLECTION, Backend, LoggedStore, Place, parse_url

__all__ = ["ChromaStore", "open_chroma"]

DEFAULT_PORT = 8000


class ChromaStore(LoggedStore):
    """Records in Chroma's collections. What it promises, and its arguments, are a `LoggedStore`'s; with a purge,
    Chroma's own files may keep bytes of what was deleted."""

    def __init__(self, place: Place, *, collection: str = DEFAULT_COLLECTION, busy_timeout: float = 30.0) -> None:
        super().__init__(place, collection=collection, busy_timeout=busy_timeout)

    def _backend(self) -> Backend:
        return ChromaBackend(self.place, self.collection)


def open_chroma(settings: Settings) -> ChromaStore:
    """Return the store that a URL names, not yet opened.

    ``chroma:FOLDER``, ``chroma::memory:``, or ``chroma+http://HOST:PORT`` (or ``https``) for a server that
    ``chroma run`` started. ``?collection=NAME`` chooses the first part of the collections' names.

    Raises:
        InvalidInputError: the URL is none of these.
    """
    place, collection = parse_url(settings.url, DEFAULT_PORT)
    return ChromaStore(place, collection=collection, busy_timeout=settings.busy_timeout)
