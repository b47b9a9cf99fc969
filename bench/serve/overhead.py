"""What REST adds to a verb: the same call on a memory in this process, and on one at a server on this machine.

    python bench/serve/overhead.py [--calls 300] [--records 1000] [--token]

Both have the same records in files of their own; the calls alternate, over the two and over the verbs, so that whatever
else the machine does touches all. `raw adds` is the same request by a bare client of asyncio's streams, without the
Python client: the server's part and the way; it comes last, and finds caches up to date that the two before it had to
bring there. `CPU added` is the processor's time that a call takes in both processes, less that of the embedded one:
since client and server take turns, it is what is added where nothing else runs. With `--token` the server asks for one,
as those for other machines do.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import common

from memorist import Memory
from memorist.serve.auth import Tokens

Verb = Callable[[Memory, int], Awaitable[Any]]
VERBS: dict[str, Verb] = {
    "remember": lambda memory, turn: memory.remember(f"Note {turn} on the cello festival in Oslo"),
    "recall": lambda memory, turn: memory.recall(f"what about the cello, {turn % 7}?"),
    "recent": lambda memory, turn: memory.recent(),
    "lookup": lambda memory, turn: memory.topics.get("language"),
    "get": lambda memory, turn: memory.get("one"),
    "revise": lambda memory, turn: memory.revise("one", content=f"Seen {turn} times"),
    "count": lambda memory, turn: memory.count(),
}
REQUESTS: dict[str, tuple[str, str, Callable[[int], Any]]] = {
    "remember": ("POST", "/v1/records", lambda turn: {"records": [{"content": f"Note {turn} on the cello in Oslo"}]}),
    "recall": ("POST", "/v1/recall", lambda turn: {"query": f"what about the cello, {turn % 7}?"}),
    "recent": ("POST", "/v1/recent", lambda turn: {}),
    "lookup": ("GET", "/v1/lookup?key=language&", lambda turn: None),
    "get": ("GET", "/v1/records/one", lambda turn: None),
    "revise": ("PATCH", "/v1/records/one", lambda turn: {"content": f"Seen {turn} times"}),
    "count": ("POST", "/v1/count", lambda turn: {}),
}


WARM = 20


class Raw:
    """One connection, and no more of HTTP than it takes to send a request."""

    def __init__(self, url: str, token: str | None) -> None:
        self._at = urlsplit(url)
        self._token = "" if token is None else f"Authorization: Bearer {token}\r\n"

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(self._at.hostname, self._at.port)

    async def ask(self, method: str, path: str, body: Any) -> None:
        sent = b"" if body is None else json.dumps(body).encode()
        path = path + ("" if path.endswith("&") else "?") + "user=alice"
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._at.netloc}\r\n{self._token}"
        head += "" if body is None else "Content-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        assert answer.startswith(b"http/1.1 2"), answer
        await self._reader.readexactly(int(answer.partition(b"content-length: ")[2].partition(b"\r\n")[0]))

    def close(self) -> None:
        self._writer.close()


async def fill(memory: Memory, records: int) -> None:
    await memory.remember([f"Note {number} on the cello festival, day {number % 9}" for number in range(records)])
    await memory.remember("Seen", id="one")
    await memory.topics.set("language", "Elixir")


async def measure(here: Memory, there: Memory, raw: Raw, server: common.Served, calls: int) -> list[list[Any]]:
    times: dict[tuple[str, str], list[float]] = {}

    async def clock(name: str, where: str, call: Callable[[], Awaitable[Any]]) -> None:
        times.setdefault((name, where), []).append(await common.clocked(call))

    for turn in range(calls + WARM):
        for name, verb in VERBS.items():
            method, path, body = REQUESTS[name]
            await clock(name, "here", lambda: verb(here, turn))  # noqa: B023
            await clock(name, "there", lambda: verb(there, turn))  # noqa: B023
            await clock(name, "raw", lambda: raw.ask(method, path, body(turn)))  # noqa: B023
    rows = []
    for name, verb in VERBS.items():
        embedded, rest, bare = (statistics.median(times[name, where][WARM:]) for where in ("here", "there", "raw"))
        added = await worked(verb, there, server, calls) - await worked(verb, here, None, calls)
        rows.append([name, embedded, rest, rest - embedded, bare - embedded, added])
    return rows


async def worked(verb: Verb, memory: Memory, server: common.Served | None, calls: int) -> float:
    """Return the milliseconds of a processor that a call takes, here and at the server."""

    def used() -> float:
        return time.process_time() * 1000 + (0 if server is None else server.cpu())

    start = used()
    for turn in range(calls):
        await verb(memory, turn)
    return (used() - start) / calls


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--token", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "here.db"), Path(folder, "there.db")
        token = None
        for path in files:
            async with Memory.open(path, embedder=common.EMBEDDER) as memory:
                await fill(memory.scoped(user="alice"), given.records)
                token = (await Tokens(memory).create("bench"))[0] if given.token else None
        with common.serving(files[1], *(["--require-token"] if given.token else [])) as server:
            raw = Raw(server.url, token)
            await raw.open()
            async with (
                Memory.open(files[0], embedder=common.EMBEDDER, user="alice") as here,
                Memory.connect(server.url, token=token, user="alice") as there,
            ):
                rows = await measure(here, there, raw, server, given.calls)
            raw.close()
    common.show(["verb", "embedded ms", "REST ms", "added ms", "raw adds ms", "CPU added ms"], rows)


if __name__ == "__main__":
    asyncio.run(main())
