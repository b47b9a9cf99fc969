"""Many clients at once on one server: whether anything fails or is lost, and how long recall takes then.

    python bench/serve/load.py [--clients 64] [--seconds 120] [--records 1000] [--pause 0.5] [--url URL [--token TOKEN]]

Each client has a connection of its own and a user of its own, with so many records to begin with, and does one call
after the other: half of them reads (recall, recent, get, count), half writes (remember, one or three at once, revise,
rate, forget). Between two calls it waits, as an agent that thinks does: by default half a second on average, at
random, which makes some 120 calls a second. `--pause 0` asks as fast as it is answered: that measures throughput, and
64 calls are then always waiting for each other. What was acknowledged is noted, and compared with what the server has
at the end. Before that, every user's records are asked once, which reads them into the server's cache, and then one
client alone asks `recall`, for what its time is compared with. Nothing is tried again but what the Python client tries
again.
"""

import argparse
import asyncio
import contextlib
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import common

from memorist import Memory
from memorist.errors import MemoristError

WORDS = "cello festival Oslo train ticket garden lemon harbour violin winter bridge lantern market honey river".split()
READS = ["recall", "recall", "recent", "get", "count"]
WRITES = ["remember", "remember", "several", "revise", "rate", "forget"]


@dataclass
class Client:
    """One client: its memory, and what it was told is stored there."""

    memory: Memory
    random: random.Random
    stored: dict[str, str] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    recalls: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def text(self) -> str:
        return " ".join(self.random.choices(WORDS, k=8)) + f" {self.random.random()}"

    async def work(self, until: float, pause: float) -> None:
        """Make calls until that time, at least one, with a pause before each."""
        while not self.calls or time.monotonic() < until:
            if pause:
                await asyncio.sleep(self.random.expovariate(1 / pause))
            what = self.random.choice(self.random.choice([READS, WRITES]))
            try:
                await self.call(what)
            except MemoristError as error:
                self.errors.append(f"{what}: {type(error).__name__}: {error}")
            self.calls[what] += 1

    async def call(self, what: str) -> None:
        memory, some = self.memory, self.random.choice([*self.stored, ""])
        if what == "recall":
            self.recalls.append(await common.clocked(lambda: memory.recall(self.text())))
        elif what in ("recent", "count"):
            await getattr(memory, what)()
        elif what == "several":
            for record in await memory.remember([self.text() for _ in range(3)]):
                self.stored[record.id] = record.content
        elif what == "remember" or not some:
            record = await memory.remember(self.text())
            self.stored[record.id] = record.content
        elif what == "get":
            found = await memory.get(some)
            if found is None or found.content != self.stored[some]:
                self.errors.append(f"get: {some} is not what was stored")
        elif what == "revise":
            self.stored[some] = (await memory.revise(some, content=self.text())).content
        elif what == "rate":
            await memory.rate(some, self.random.choice([-1, 0, 1]))
        elif what == "forget":
            await memory.forget(some)
            del self.stored[some]

    async def lost(self) -> list[str]:
        """Return what is there and was not acknowledged, or the other way round."""
        there: dict[str, str] = {}
        cursor = None
        while True:
            page = await self.memory.browse(limit=1000, cursor=cursor)
            there |= {record.id: record.content for record in page.records}
            if (cursor := page.next) is None:
                return [id for id in {*there, *self.stored} if there.get(id) != self.stored.get(id)]


@dataclass
class Outcome:
    """What a run came to; times are milliseconds."""

    alone: list[float]
    clients: list[Client]
    lost: list[str]
    seconds: float

    @property
    def errors(self) -> list[str]:
        return [error for client in self.clients for error in client.errors]

    @property
    def recalls(self) -> list[float]:
        return [taken for client in self.clients for taken in client.recalls]


async def run(
    url: str, token: str | None = None, *, clients: int, seconds: float, records: int, pause: float, alone: int = 300
) -> Outcome:
    """Put load on a server."""
    async with contextlib.AsyncExitStack() as stack:
        working = []
        for number in range(clients):
            memory = await stack.enter_async_context(Memory.connect(url, token=token, user=f"load-{number}"))
            working.append(client := Client(memory, random.Random(number)))
            if records:
                for record in await memory.remember([client.text() for _ in range(records)]):
                    client.stored[record.id] = record.content
            await memory.recall(client.text())
        one = working[0]
        for _ in range(10):
            await one.memory.recall(one.text())
        single = [await common.clocked(lambda: one.memory.recall(one.text())) for _ in range(alone)]
        start = time.monotonic()
        await asyncio.gather(*(client.work(start + seconds, pause) for client in working))
        took = time.monotonic() - start
        lost = [id for client in working for id in await client.lost()]
        return Outcome(single, working, lost, took)


@contextlib.contextmanager
def served(url: str | None) -> Iterator[str]:
    """Give the URL, or that of a server of our own."""
    if url is not None:
        yield url
        return
    with tempfile.TemporaryDirectory() as folder, common.serving(Path(folder, "load.db")) as own:
        yield own.url


def report(outcome: Outcome) -> None:
    calls = sum((client.calls for client in outcome.clients), Counter[str]())
    p50, p95 = statistics.median(outcome.alone), common.p95(outcome.recalls)
    writes = sum(calls[each] for each in set(WRITES))
    common.show(
        ["what", "measured"],
        [
            ["clients", len(outcome.clients)],
            ["seconds", outcome.seconds],
            ["calls", sum(calls.values())],
            ["of them writes", writes],
            ["calls a second", sum(calls.values()) / outcome.seconds],
            ["errors", len(outcome.errors)],
            ["acknowledged and lost, or there and not acknowledged", len(outcome.lost)],
            ["recall alone, p50 ms", p50],
            ["recall under load, p50 ms", statistics.median(outcome.recalls)],
            ["recall under load, p95 ms", p95],
            ["p95 under load / p50 alone", p95 / p50],
        ],
    )
    for error in outcome.errors[:10]:
        print(error, file=sys.stderr)


async def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--pause", type=float, default=0.5)
    parser.add_argument("--url")
    parser.add_argument("--token")
    given = parser.parse_args()
    with served(given.url) as url:
        sizes = {"clients": given.clients, "seconds": given.seconds, "records": given.records, "pause": given.pause}
        outcome = await run(url, given.token, **sizes)
    report(outcome)
    return 1 if outcome.errors or outcome.lost else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
