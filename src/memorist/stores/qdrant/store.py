"""The Qdrant store: `QdrantStore`."""

from memorist.stores.logged import DEFAULT_COLLECTION, Backend, LoggedStore, Place
from memorist.stores.qdrant.backend import QdrantBackend

__all__ = ["QdrantStore"]


class QdrantStore(LoggedStore):
    """Records in Qdrant. Needs `pip install 'memorist[qdrant]'`.

    What is said of `LoggedStore` holds. A folder is what Qdrant's client makes of it without a server: everything is
    in memory, and each row is flushed to the disk by itself, which is slow beyond some ten thousand records; a purge
    leaves no byte in its files. A server must be 1.17 or later; what its files still hold after a purge is its own
    affair. On a server the wall is the tenant of every index.

    Args:
        place: a folder, a server's URL ("http://host:port"), or None for this process's memory.
        collection: what the names of the collections begin with.
        api_key: a server's key.
        busy_timeout: how long another process may take for a write before it is taken for dead, in seconds.
    """

    def __init__(
        self, place: Place, *, collection: str = DEFAULT_COLLECTION, api_key: str | None = None,
        busy_timeout: float = 30.0,
    ) -> None:  # fmt: skip
        super().__init__(place, collection=collection, busy_timeout=busy_timeout)
        self.api_key = api_key

    def _backend(self) -> Backend:
        return QdrantBackend(self.place, self.collection, self.api_key)
