"""The one place where tests look below the verbs: at the store, the ranking and its cache."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from memorist.audit.log import Act
from memorist.engine import inbox
from memorist.engine.core import Core
from memorist.engine.local import LocalEngine
from memorist.memory import Memory
from memorist.operations.requests import Remember
from memorist.records.record import Draft
from memorist.records.scope import Scope, Wall
from memorist.stores.base import Write
from memorist.stores.postgres import PostgresStore


def core_of(memory: Memory) -> Core:
    """Return what the handlers of a local memory share."""
    engine = memory._engine
    assert isinstance(engine, LocalEngine)
    return engine._core


def proposal_of(content: str) -> str:
    """Return the id of the proposal to remember a text, of the shared memory."""
    return inbox._fingerprint(Scope(), Remember(records=(Draft(content=content),)))


def before_next_write(memory: Memory, work: Callable[[], Awaitable[object]]) -> None:
    """Let something happen between what the next call of a memory reads and what it writes."""
    store = core_of(memory).store
    write = store.write

    async def late(wall: Wall, writes: Sequence[Write], *, act: Act | None = None) -> list[bool]:
        store.write = write  # type: ignore[method-assign]
        await work()
        return await write(wall, writes, act=act)

    store.write = late  # type: ignore[method-assign]


def walls_held(memory: Memory) -> int:
    """Return how many walls the ranking holds in memory."""
    return len(core_of(memory).recaller.indexes)


async def kept(memory: Memory) -> None:
    """Wait until the indexes that this event loop is keeping are kept."""
    keeper = core_of(memory).recaller.indexes.keeper
    assert keeper is not None
    await keeper.close()


def hurry(store: PostgresStore, busy_timeout: float) -> None:
    """Let calls wait only so long from now on; to connect may take as long as when the store was opened."""
    connections = store._connections
    assert connections._pool is not None
    connections.options = replace(connections.options, busy_timeout=busy_timeout)
    connections._pool._timeout = busy_timeout
