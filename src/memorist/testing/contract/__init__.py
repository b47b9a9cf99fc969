"""The contracts of a store and of an index as tests, to run against a back end of your own.

    from memorist.testing import StoreContract

    class TestMyStore(StoreContract):
        async def make_store(self) -> Store:
            return MyStore(new_empty_place())

        async def another(self, store: Store) -> Store:
            return MyStore(store.place)

pytest finds the tests in the subclass; no plugin is needed, for each runs an event loop of its own.
"""

from memorist.testing.contract.indexing import IndexContract
from memorist.testing.contract.ranking import RankingContract
from memorist.testing.contract.reading import ReadingContract
from memorist.testing.contract.writing import WritingContract

__all__ = ["IndexContract", "StoreContract"]


class StoreContract(WritingContract, ReadingContract, RankingContract):
    """Every promise of `memorist.stores.base.Store`, against the store that `make_store` makes."""
