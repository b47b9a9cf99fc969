"""The one place where tests look below the verbs: at the store, the ranking and its cache."""

from memorist.engine.core import Core
from memorist.engine.local import LocalEngine
from memorist.memory import Memory


def core_of(memory: Memory) -> Core:
    """Return what the handlers of a local memory share."""
    engine = memory._engine
    assert isinstance(engine, LocalEngine)
    return engine._core


def walls_held(memory: Memory) -> int:
    """Return how many walls the ranking holds in memory."""
    return len(core_of(memory).recaller._indexes)


async def kept(memory: Memory) -> None:
    """Wait until the indexes that this event loop is keeping are kept."""
    keeper = core_of(memory).recaller._keeper
    assert keeper is not None
    await keeper.close()
