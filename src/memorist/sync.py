"""The blocking client of `Memory` and its views: for scripts, threads, notebooks, and inside a running loop.

```python
from memorist.sync import Memory

with Memory.open("agent.db") as memory:
    alice = memory.scoped(user="alice")
    alice.remember("Prefers homestays when she travels")
    for hit in alice.recall("where does she like to stay?", limit=5):
        print(f"{hit.score:.2f}  {hit.record.content}")
```

Every call runs on one background event loop, shared by all, and waits. `Memory.open` returns a memory that
is open. Callbacks (a progress report, a token counter, an embedder) run on that loop, and may not call back.
Type checkers read ``sync.pyi``, which ``tools/make_sync_stub.py`` writes.
"""

# ruff: noqa: D101  # each has the text of its original

from memorist import admin, kinds
from memorist import memory as asynchronous
from memorist.blocking_client import BlockingClient

__all__ = ["Admin", "Conversation", "Episodes", "Experiences", "Facts", "Memory", "Notes", "Tools", "Topics"]


class Memory(BlockingClient, of=asynchronous.Memory): ...


class Admin(BlockingClient, of=admin.Admin): ...


class Conversation(BlockingClient, of=kinds.Conversation): ...


class Notes(BlockingClient, of=kinds.Notes): ...


class Topics(BlockingClient, of=kinds.Topics): ...


class Episodes(BlockingClient, of=kinds.Episodes): ...


class Facts(BlockingClient, of=kinds.Facts): ...


class Experiences(BlockingClient, of=kinds.Experiences): ...


class Tools(BlockingClient, of=kinds.Tools): ...
