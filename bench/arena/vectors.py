"""Our embedder for systems in other environments: a process that embeds, and what asks for vectors there.

`Vectors` starts the process, with this Python and Memorist in it. A worker calls `connect`, which needs nothing but the
standard library. Vectors are kept on disk, so that no text is embedded twice; where the cost is measured they are not.
"""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from multiprocessing.connection import Client, Listener
from pathlib import Path
from typing import Any

ADDRESS = "ARENA_VECTORS"
KINDS = ("ours", "fresh", "made_up")
"""Ours, kept on disk; ours, computed anew; vectors that mean nothing, at once."""


class Connected:
    """What an adapter gets as `embed`: `embed(texts, query=False)` returns lists of floats.

    Attributes:
        dimensions: of each vector.
        cpu: seconds of processor time that the other process spent for this one.
    """

    def __init__(self, kind: str) -> None:
        self.kind, self.cpu = kind, 0.0
        self._client = Client(os.environ[ADDRESS])
        self.dimensions = len(self(["a word"])[0])
        self.cpu = 0.0

    def __call__(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        texts = [texts] if isinstance(texts, str) else list(texts)
        self._client.send((texts, query, self.kind))
        data, dimensions, cpu = self._client.recv()
        self.cpu += cpu
        numbers = array("f", data).tolist()
        return [numbers[start : start + dimensions] for start in range(0, len(numbers), dimensions)]


class Vectors:
    """A process that embeds, for the time of a `with`; `environment` tells a worker where it is."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache

    def __enter__(self) -> "Vectors":
        command = [sys.executable, __file__, str(self._cache)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.environment = {ADDRESS: self._process.stdout.readline().strip()}
        if not self.environment[ADDRESS]:
            raise SystemExit("the embedder did not start; see the error above")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # closes what it reads, and so ends it


class _Kept:
    def __init__(self, cache: Path) -> None:
        from memorist.embedders import open_embedder

        self._embedder = open_embedder(os.environ.get("MEMORIST_EMBEDDER"))
        asyncio.run(self._embedder.ready())
        cache.mkdir(parents=True, exist_ok=True)
        name = "".join(each if each.isalnum() else "-" for each in self._embedder.fingerprint)
        self._table = sqlite3.connect(cache / f"{name}.db", timeout=60, check_same_thread=False)
        self._table.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")

    def answer(self, texts: list[str], query: bool, kind: str) -> bytes:
        if kind == "made_up":
            return b"".join(map(_made_up, texts))
        keys = [blake2b(f"{query}\0{text}".encode(), digest_size=16).digest() for text in texts]
        select = "SELECT vector FROM vectors WHERE key = ?"
        rows = [None if kind == "fresh" else self._table.execute(select, (key,)).fetchone() for key in keys]
        found = {key: row[0] for key, row in zip(keys, rows, strict=True) if row}
        if missing := {key: text for key, text in zip(keys, texts, strict=True) if key not in found}:
            found |= zip(missing, self._embed(list(missing.values()), query), strict=True)
            with self._table:
                each = [(key, found[key]) for key in missing]
                self._table.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", each)
        return b"".join(found[key] for key in keys)

    def _embed(self, texts: list[str], query: bool) -> list[bytes]:
        from memorist.embedders import Role

        rows = asyncio.run(self._embedder.embed(texts, Role.QUERY if query else Role.DOCUMENT))
        return [row.tobytes() for row in rows]


def _made_up(text: str, dimensions: int = 384) -> bytes:
    import numpy as np

    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
    row = np.random.default_rng(seed).standard_normal(dimensions, np.float32)
    return (row / np.linalg.norm(row)).tobytes()


def _serve(cache: Path) -> None:
    kept, lock = _Kept(cache), threading.Lock()

    def converse(client: Any) -> None:
        with client, suppress(EOFError, ConnectionError):
            while True:
                texts, query, kind = client.recv()
                with lock:
                    start = time.process_time()
                    data = kept.answer(texts, query, kind)
                    spent = time.process_time() - start
                client.send((data, len(data) // 4 // max(len(texts), 1), spent))

    def end_with_parent() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    with Listener() as listener:
        print(listener.address, flush=True)
        while True:
            threading.Thread(target=converse, args=(listener.accept(),), daemon=True).start()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
