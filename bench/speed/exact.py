"""How long the exact reads take: a key looked up, a record by its id, the newest ten of a user, a page.

    python bench/speed/exact.py [--rows 100000]

In a file with `--rows` notes of one user and a thousand notes and a hundred topics of another, for both. `browse`
returns the newest fifty that pass a filter on a label.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import common
from common import Memory, clock_async


async def measure(path: Path, rows: int) -> list[dict[str, Any]]:
    measured: list[dict[str, Any]] = []
    async with Memory.open(path, embedder=common.embedder(8)) as memory:
        for user, count in (("small", 1000), ("large", rows)):
            scope = memory.scoped(user=user)
            await common.fill(scope, common.isotropic(count, dimensions=8))
            for number in range(100):
                await scope.topics.set(f"topic.{number}", "a value")
            page = await scope.browse(limit=100, kind="note")
            ids = [record.id for record in page.records]

            def lookup(turn: int, scope: Memory = scope) -> Awaitable[Any]:
                return scope.lookup(f"topic.{turn % 100}")

            def recent(turn: int, scope: Memory = scope) -> Awaitable[Any]:
                return scope.recent(10)

            def get(turn: int, scope: Memory = scope, ids: list[str] = ids) -> Awaitable[Any]:
                return scope.get(ids[turn % 100])

            def browse(turn: int, scope: Memory = scope) -> Awaitable[Any]:
                return scope.browse(kind="note", limit=50)

            calls: dict[str, Callable[[int], Awaitable[Any]]] = {
                "lookup": lookup, "get": get, "recent(10)": recent, "browse(50)": browse,
            }  # fmt: skip
            for name, call in calls.items():
                measured.append({"read": name, "rows of the user": count, **(await clock_async(call, 1000)).plain()})
    return measured


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        common.report(asyncio.run(measure(Path(folder) / "memorist.db", given.rows)), given.out)


if __name__ == "__main__":
    main()
