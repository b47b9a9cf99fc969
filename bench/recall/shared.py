"""What the back ends share: how a row reads as text, and the default embedder with a cache on disk.

The cache lies in the folder that MEMORIST_BENCH_CACHE names, else in one of the system's temporary folder, so
that a second run takes minutes, not an hour. What a back end takes is therefore measured without embedding:
`EMBEDDER.seconds` counts the time spent in here, computed or read back, and run.py takes it off. What embedding
itself costs is measured apart, by run.py for one question and by latency.py from end to end.
"""

import asyncio
import hashlib
import json
import os
import re
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memorist import Draft, Kind
from memorist.embedders import Embedder, EmbedderSpec, Role, Vectors, open_embedder
from memorist.recall import artefact
from memorist.recall.analysis import stop_words
from memorist.recall.heads import labelled

Row = Mapping[str, Any]

UNKNOWN = [text for label, text in labelled() if label == "unknown"]
"""What an assistant says that does not know."""
_KEYWORD = re.compile(r"[\w'-]+")
ROLES = frozenset({"user", "assistant", "tool", "training", "session"})
"""Speakers that are no people: nobody asks for them by name."""


def text_of(row: Row) -> str:
    """Return what a back end without fields indexes: the text, after the speaker's name if a person speaks."""
    if not row["speaker"] or row["speaker"] in ROLES:
        return str(row["text"])
    return f"{row['speaker']}: {row['text']}"


def said(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that say something; what is blank, no back end can find."""
    return [row for row in rows if row["text"].strip()]


def draft_of(row: Row) -> Draft:
    """Return the record that a row is stored as: a fact, a message where there is a time, else a note."""
    if row.get("kind") == "fact":
        kind, payload = Kind.FACT, {}
    elif not row["timestamp"]:
        return Draft(content=row["text"], id=row["id"])
    elif "role" in row:
        kind, payload = Kind.MESSAGE, {"role": row["role"]}
        if row["speaker"] != row["role"]:
            payload["speaker"] = row["speaker"]
    else:
        kind, payload = Kind.MESSAGE, {"speaker": row["speaker"]}
    return Draft(
        content=row["text"],
        kind=kind,
        id=row["id"],
        session=row["session"],
        payload=payload,
        happened_at=row["timestamp"],
    )


def asked_before(questions: Sequence[Mapping[str, Any]], last: str) -> Iterator[tuple[str, list[Row]]]:
    """Yield each question as it was asked before, every third one in keywords, and what was answered to it: every other
    time that it is not known."""
    for place, query in enumerate(questions):
        text = query["question"]
        if place % 3 == 1:
            text = " ".join(word for word in _KEYWORD.findall(text) if word.casefold() not in stop_words()) or text
        known = place % 2 == 0 and bool(query["gold"])
        base = {"session": "asked", "timestamp": query.get("question_date") or last}
        said = str(query["answer"]) if known else UNKNOWN[place % len(UNKNOWN)]
        yield query["id"], [
            {**base, "id": f"asked {place}", "speaker": "user", "role": "user", "text": text},
            {**base, "id": f"answered {place}" if known else f"unanswered {place}", "speaker": "assistant",
             "role": "assistant", "text": said},
        ]  # fmt: skip


def put(**sections: Any) -> None:
    """Write sections of the artefact of `memorist.recall` anew."""
    path = Path(__file__).parents[2] / "src" / "memorist" / "recall" / artefact.NAME
    artefact.artefact.cache_clear()  # another command may have written its own
    path.write_text(json.dumps({**artefact.artefact(), **sections}, indent=1) + "\n", encoding="utf-8")


class CachedEmbedder(Embedder):
    """An embedder that computes no text twice, in this run or the next.

    Args:
        inner: the embedder, as `memorist.embedders.open_embedder` takes it; by default the default one.
        folder: where the cache lies.

    Attributes:
        inner: the embedder without a cache.
        seconds: spent in here so far, waiting included.
        computed: how many texts were not in the cache.
    """

    def __init__(self, inner: EmbedderSpec = None, folder: Path | None = None) -> None:
        self.inner = open_embedder(inner)
        self._folder = folder or _default_folder()
        self._lock = threading.Lock()
        self._table: sqlite3.Connection | None = None
        self.dimensions, self.fingerprint = self.inner.dimensions, self.inner.fingerprint
        self.seconds = 0.0
        self.computed = 0

    async def ready(self) -> None:
        await self.inner.ready()
        self.dimensions, self.fingerprint = self.inner.dimensions, self.inner.fingerprint

    async def suits(self, fingerprint: str) -> bool:
        suits = await self.inner.suits(fingerprint)
        self.dimensions, self.fingerprint = self.inner.dimensions, self.inner.fingerprint
        return suits

    def moves(self, text: str) -> bool:
        return self.inner.moves(text)

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
        start = time.perf_counter()
        await self.ready()
        keys = [_key(text, role) for text in texts]
        known = self._read(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            rows = await self.inner.embed(list(missing.values()), role)
            new = dict(zip(missing, rows, strict=True))
            self._write(new)
            known |= new
            self.computed += len(new)
        vectors = np.array([known[key] for key in keys], np.float32).reshape(len(keys), self.dimensions)
        self.seconds += time.perf_counter() - start
        return vectors

    def embed_now(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
        """Return the same, for a back end that is not asynchronous."""
        start, before = time.perf_counter(), self.seconds
        vectors = asyncio.run(self.embed(texts, role))
        self.seconds = before + time.perf_counter() - start
        return vectors

    async def close(self) -> None:
        """Nothing: one embedder serves every index of a run."""

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        with self._lock:
            table, question = self._open(), "SELECT vector FROM vectors WHERE key = ?"
            found = [table.execute(question, (key,)).fetchone() for key in keys]
            return {key: np.frombuffer(row[0], np.float32) for key, row in zip(keys, found, strict=True) if row}

    def _write(self, vectors: Mapping[bytes, Vectors]) -> None:
        rows = [(key, np.asarray(vector, np.float32).tobytes()) for key, vector in vectors.items()]
        with self._lock, self._open() as table:
            table.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

    def _open(self) -> sqlite3.Connection:
        if self._table is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            name = re.sub(r"[^\w.@-]", "_", self.fingerprint)
            self._table = sqlite3.connect(self._folder / f"{name}.db", timeout=60, check_same_thread=False)
            self._table.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
        return self._table


def _default_folder() -> Path:
    return Path(os.environ.get("MEMORIST_BENCH_CACHE") or Path(tempfile.gettempdir()) / "memorist-bench")


def _key(text: str, role: Role) -> bytes:
    return hashlib.blake2b(f"{role}\0{text}".encode(), digest_size=16).digest()


EMBEDDER = CachedEmbedder(os.environ.get("MEMORIST_EMBEDDER") or os.environ.get("MEMORIST_MODEL"))
"""The one that every back end uses. As in Memorist itself, the two variables name another than the bundled one."""
