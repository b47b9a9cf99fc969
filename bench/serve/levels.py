"""Service levels: p50, p95 and p99 of each verb at a server, by the size of the store and the number of clients.

    python bench/serve/levels.py [--records 10000 100000 1000000] [--clients 1 64] [--calls 100] [--pause 0.5]
        [--db MEMORY]

The store is a SQLite file in which each user has 1,000 records; `--db` takes a copy of a file instead, such as
`bench/speed/first.py` leaves one, and adds the users who ask. Each client is a user of its own and asks every verb in
turn. One client asks as fast as it is answered; of several each waits between two calls, at random, for `--pause`
seconds on average. Times are milliseconds, as a caller in the same machine sees them; the first call of each client is
not counted, since it reads the user's records into the cache. The server's processor time a call is the mean of all
verbs, its start included; it depends less on what else the machine does.
"""

import argparse
import asyncio
import contextlib
import os
import random
import shutil
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path

import common

from memorist import Memory
from memorist.records.record import Draft
from memorist.testing import HashEmbedder

WORDS = "cello festival Oslo train ticket garden lemon harbour violin winter bridge lantern market honey river".split()
EACH = 1000
VERBS = ("remember", "recall", "context", "recent", "browse", "get", "count", "revise", "forget")


def text(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=8)) + f" {chance.random()}"


async def fill(path: Path, users: int, dimensions: int) -> None:
    chance = random.Random(users)
    async with Memory.open(path, embedder=HashEmbedder(dimensions)) as memory:
        for user in range(users):
            drafts = [Draft(content=text(chance), id=f"{user}-{number}") for number in range(EACH)]
            await memory.scoped(user=f"user-{user}").remember(drafts)


class Client:
    """Asks each verb in turn, and notes how long it takes."""

    def __init__(self, memory: Memory, number: int) -> None:
        self.memory = memory
        self.number = number
        self.chance = random.Random(number)
        self.written: list[str] = []
        self.times: dict[str, list[float]] = defaultdict(list)

    async def call(self, verb: str) -> None:
        memory, chance = self.memory, self.chance
        if verb == "remember":
            self.written.append((await memory.remember(text(chance))).id)
        elif verb in ("recall", "context"):
            await getattr(memory, verb)(text(chance))
        elif verb == "get":
            await memory.get(f"{self.number}-{chance.randrange(EACH)}")
        elif verb == "revise":
            await memory.revise(self.written[-1], content=text(chance))
        elif verb == "forget":
            await memory.forget(self.written.pop())
        else:
            await getattr(memory, verb)()

    async def work(self, calls: int, pause: float) -> None:
        for turn in range(calls + 1):
            for verb in VERBS:
                if pause:
                    await asyncio.sleep(self.chance.expovariate(1 / pause))
                taken = await common.clocked(lambda verb=verb: self.call(verb))  # type: ignore[misc]
                if turn:
                    self.times[verb].append(taken)


async def levels(url: str, clients: int, calls: int, pause: float, users: int) -> dict[str, list[float]]:
    """Return the times of each verb, of all clients."""
    async with contextlib.AsyncExitStack() as stack:
        working = []
        for number in range(clients):
            user = number * users // clients
            memory = await stack.enter_async_context(Memory.connect(url, user=f"user-{user}"))
            working.append(Client(memory, user))
        each = max(calls // clients, 3)
        await asyncio.gather(*(client.work(each, pause if clients > 1 else 0) for client in working))
    return {verb: [taken for client in working for taken in client.times[verb]] for verb in VERBS}


def percentiles(times: list[float]) -> list[float]:
    cuts = statistics.quantiles(times, n=100)
    return [cuts[49], cuts[94], cuts[98]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--calls", type=int, default=200, help="of each verb, by all clients together")
    parser.add_argument("--pause", type=float, default=0.5)
    parser.add_argument("--db", type=Path, help="the file to copy; vectors of 384 dimensions")
    given = parser.parse_args()
    rows = []
    for records in given.records if given.db is None else [0]:
        with tempfile.TemporaryDirectory(dir=given.db and given.db.parent) as folder:
            path, users, dimensions = Path(folder, "levels.db"), max(records // EACH, 1), 64
            if given.db is not None:
                shutil.copy(given.db, path)
                users, dimensions = max(given.clients), 384
            asyncio.run(fill(path, users, dimensions))
            for clients in given.clients:
                with common.serving(path, embedder=f"hash:{dimensions}") as served:
                    times = asyncio.run(levels(served.url, clients, given.calls, given.pause, users))
                    cpu = served.cpu() / (sum(map(len, times.values())) + clients * len(VERBS))
                held = f"{records:,}" if records else given.db.stem
                rows += [[held, clients, verb, *percentiles(times[verb])] for verb in VERBS]
                rows.append([held, clients, f"server CPU a call, load {os.getloadavg()[0]:.1f}", cpu, "", ""])
    common.show(["records", "clients", "verb", "p50", "p95", "p99"], rows)


if __name__ == "__main__":
    main()
