"""The blocking twin of `Memory` and its views: for scripts, threads, notebooks, and inside a running loop.

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

# ruff: noqa: D101  # each twin has the text of its original

from memorist import admin, kinds
from memorist import memory as asynchronous
from memorist.twin import Twin

__all__ = ["Admin", "Conversation", "Episodes", "Experiences", "Facts", "Memory", "Notes", "Tools", "Topics"]


class Memory(Twin, of=asynchronous.Memory): ...


class Admin(Twin, of=admin.Admin): ...


class Conversation(Twin, of=kinds.Conversation): ...


class Notes(Twin, of=kinds.Notes): ...


class Topics(Twin, of=kinds.Topics): ...


class Episodes(Twin, of=kinds.Episodes): ...


class Facts(Twin, of=kinds.Facts): ...


class Experiences(Twin, of=kinds.Experiences): ...


class Tools(Twin, of=kinds.Tools): ...
