"""Records looked through in Python: what a store needs whose back end cannot filter, order or rank by itself."""

from memorist.stores.plain.store import Source, ViewStore
from memorist.stores.plain.views import Row, View, Words, page
from memorist.stores.plain.writing import Writer

__all__ = ["Row", "Source", "View", "ViewStore", "Words", "Writer", "page"]
