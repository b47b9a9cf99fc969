"""The contract of a store as tests: whoever writes a back end runs them against it.

    from memorist.testing import StoreContract

    class TestMyStore(StoreContract):
        async def make_store(self) -> Store:
            return MyStore(new_empty_place())

        async def another(self, store: Store) -> Store:
            return MyStore(store.place)

pytest finds the tests in the subclass; no plugin is needed, for each runs an event loop of its own.
"""

from memorist.testing.contract.ranking import RankingContract
from memorist.testing.contract.reading import ReadingContract
from memorist.testing.contract.writing import WritingContract

__all__ = ["StoreContract"]


class StoreContract(WritingContract, ReadingContract, RankingContract):
    """Every promise of `memorist.stores.base.Store`, against the store that `make_store` makes."""
