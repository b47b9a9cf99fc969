"""Indexes: vector databases that follow a store and find candidates behind walls too large to be read."""

from memorist.errors import InvalidInputError
from memorist.indexes.address import parse_url
from memorist.indexes.base import Index, Near, Point, Position, token_of
from memorist.indexes.following import IndexedStore
from memorist.stores.base import Store

__all__ = ["Index", "IndexedStore", "Near", "Point", "Position", "indexed", "open_index", "token_of"]


def open_index(url: str) -> Index:
    """Return the index that a URL names, not yet opened.

    ``qdrant://HOST:6333``, ``qdrant+https://:KEY@HOST``, ``qdrant:FOLDER``, ``chroma://HOST:8000``,
    ``chroma+https://HOST``, ``chroma:FOLDER``; ``?collection=NAME`` chooses another collection than "memorist".

    Raises:
        InvalidInputError: the URL names no index.
    """
    name = url.partition(":")[0].partition("+")[0]
    if name == "qdrant":
        from memorist.indexes.qdrant import QdrantIndex

        return QdrantIndex(parse_url(url, 6333))
    if name == "chroma":
        from memorist.indexes.chroma import ChromaIndex

        return ChromaIndex(parse_url(url, 8000))
    raise InvalidInputError(f"an index is qdrant://HOST:6333 or chroma://HOST:8000 (or a folder), not {url!r}")


def indexed(store: Store, index: str | Index) -> Store:
    """Return the store with an index that follows it."""
    return IndexedStore(store, open_index(index) if isinstance(index, str) else index)
