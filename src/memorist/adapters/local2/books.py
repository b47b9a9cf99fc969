"""Where a memory service keeps its topics and episodes: a Chroma folder, or any store of this package."""

import json
import re
import uuid
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

from memorist.adapters.host_files.chroma import ChromaFolder, Embedding, Row
from memorist.blocking_client import run
from memorist.embedders import Embedder
from memorist.errors import InvalidInputError
from memorist.records.attribution import note_on_own
from memorist.records.record import Kind, Record
from memorist.records.times import now
from memorist.sync import Memory

_T = TypeVar("_T")
_RATING = 0.05
"""What a rating of 1 adds to a similarity when episodes are ordered, as in `Memory.recall`."""
_CANDIDATES = 4
"""How many times the asked number of rows is read, so that ratings can change their order."""
_HIDDEN = "memorist"
"""The key of a row's metadata for what Chroma cannot keep by itself; searches do not return it."""


@dataclass(frozen=True, slots=True)
class Episode:
    """An episode; `at` is when it happened, `similarity` the cosine where a search found it."""

    id: str
    content: str
    at: datetime
    metadata: Mapping[str, Any]
    similarity: float = 0.0
    note: str = ""
    """What is said of its origin where a model reads it."""


class MemoryBook:
    """Topics and episodes in an open memory. Every call blocks, and may be made from any thread."""

    def __init__(self, memory: Memory, *, owned: bool) -> None:
        self._memory = memory.through("local2")
        self._owned = owned

    def set_topic(self, topic: str, content: str) -> str:
        """Store a topic's value in place of an older one, and return the row's id, which stays the same."""
        return self._memory.topics.set(topic, content, metadata={"type": "topic", "topic": topic}).id

    def topic(self, topic: str) -> str | None:
        """Return a topic's value, or None."""
        return self._memory.topics.get(topic)

    def topic_note(self, topic: str) -> str:
        """Return what is said of a topic's origin where a model reads it."""
        found = self._memory.topics.record(topic)
        return "" if found is None else note_on_own(found).strip()

    def add(self, id: str, content: str, metadata: Mapping[str, Any], at: datetime | None) -> None:
        """Store an episode, unless one with this id exists."""
        self._memory.remember(
            content, id=id, kind=Kind.EPISODE, metadata=dict(metadata), happened_at=at, if_exists="ignore"
        )

    def nearest(self, query: str, count: int, least: float) -> list[Episode]:
        """Return the episodes whose similarity is `least` or more, best first; a good rating counts a little."""
        hits = self._memory.recall(query, limit=count, kind=Kind.EPISODE, mode="dense", min_similarity=least)
        return [_of_record(hit.record, hit.similarity) for hit in hits]

    def episode(self, id: str) -> Episode | None:
        """Return an episode, or None."""
        record = self._memory.get(id)
        return _of_record(record) if record is not None and record.kind == Kind.EPISODE else None

    def find(self, query_id: Any) -> str | None:
        """Return the id of the newest episode with this `query_id` in its metadata, or None."""
        found = self._memory.recent(1, kind=Kind.EPISODE, where={"query_id": {"$eq": query_id}})
        return found[0].id if found else None

    def rate(self, episode: Episode, score: float) -> None:
        """Store a score in an episode's metadata, and as its rating."""
        self._memory.revise(episode.id, metadata={**episode.metadata, "score": score})
        self._memory.rate(episode.id, _rating(score), source="feedback")

    def now(self) -> datetime:
        """Return the present, in UTC."""
        return self._memory.clock()

    def close(self) -> None:
        """Release the store, unless it was handed in. A second call does nothing."""
        if self._owned:
            self._memory.close()


class ChromaBook:
    """The same as rows of one Chroma collection, told apart by `type`, topics found by `topic`.

    Args:
        folder: Chroma's folder.
        collection: the collection.
        embedder: makes the vectors, of topics too.
    """

    def __init__(self, folder: str, collection: str, embedder: Embedder) -> None:
        self._folder: ChromaFolder | None = ChromaFolder(folder, Embedding(embedder, adopts=True))
        self._rows = self._folder.rows(collection)

    def set_topic(self, topic: str, content: str) -> str:
        found = self._topic(topic)
        id = found.id if found else str(uuid.uuid5(uuid.NAMESPACE_OID, topic))
        _wait(self._rows.put(id, content, {"type": "topic", "topic": topic}))
        return id

    def topic(self, topic: str) -> str | None:
        found = self._topic(topic)
        return found.document if found else None

    def topic_note(self, topic: str) -> str:
        """Return "": Chroma keeps no origins."""
        return ""

    def _topic(self, topic: str) -> Row | None:
        found = _wait(self._rows.get(where={"$and": [{"topic": topic}, {"type": "topic"}]}))
        return found[0] if found else None

    def add(self, id: str, content: str, metadata: Mapping[str, Any], at: datetime | None) -> None:
        plain = {name: value for name, value in metadata.items() if _fits(name, value)}
        other = {name: value for name, value in metadata.items() if name not in plain}
        hidden = json.dumps({"at": (at or self.now()).isoformat(), "other": other})
        if not _wait(self._rows.get(ids=[id])):
            _wait(self._rows.add(id, content, {**plain, _HIDDEN: hidden}))

    def nearest(self, query: str, count: int, least: float) -> list[Episode]:
        rows = _wait(self._rows.nearest(query, count * _CANDIDATES, {"type": "episodic"}))
        found = [_of_row(row) for row in rows if row.similarity >= least]
        return sorted(found, key=lambda each: -_weighed(each))[:count]

    def episode(self, id: str) -> Episode | None:
        found = _wait(self._rows.get(ids=[id]))
        return _of_row(found[0]) if found and found[0].metadata.get("type") == "episodic" else None

    def find(self, query_id: Any) -> str | None:
        if isinstance(query_id, bool) or not isinstance(query_id, str | int | float):
            raise InvalidInputError(f"query_id must be a string or a number, not {type(query_id).__name__}")
        found = _wait(self._rows.get(where={"$and": [{"type": "episodic"}, {"query_id": query_id}]}))
        return max(map(_of_row, found), key=lambda each: each.at).id if found else None

    def rate(self, episode: Episode, score: float) -> None:
        rows = self._rows
        _wait(rows.run(lambda: rows.collection.update(ids=[episode.id], metadatas=[{"score": score}])))

    def now(self) -> datetime:
        return now()

    def close(self) -> None:
        folder, self._folder = self._folder, None
        if folder is not None:
            _wait(folder.close())


Book: TypeAlias = MemoryBook | ChromaBook
"""Where a memory service keeps its topics and episodes."""


def _wait(work: Coroutine[Any, Any, _T]) -> _T:
    return run(lambda: work)


def _of_record(record: Record, similarity: float = 0.0) -> Episode:
    return Episode(record.id, record.content, record.at, dict(record.metadata), similarity, note_on_own(record).strip())


def _fits(name: str, value: Any) -> bool:
    """Return whether Chroma keeps an item of metadata as it is."""
    if not re.match(r"\w", name) or name.startswith("chroma:") or name == _HIDDEN:
        return False
    return isinstance(value, str | float) or (isinstance(value, int) and -(2**63) <= value < 2**63)


def _of_row(row: Row) -> Episode:
    """Return a row as an episode; rows that another program wrote have no hidden part."""
    metadata = dict(row.metadata)
    try:
        hidden = json.loads(metadata.pop(_HIDDEN, "{}"))
        at = datetime.fromisoformat(hidden.get("at") or metadata["timestamp_utc"])
    except (KeyError, TypeError, ValueError, AttributeError):
        hidden, at = {}, datetime.fromtimestamp(0, UTC)
    other = hidden.get("other") or {}
    return Episode(row.id, row.document, at if at.tzinfo else at.replace(tzinfo=UTC), metadata | other, row.similarity)


def _weighed(episode: Episode) -> float:
    score = episode.metadata.get("score")
    return episode.similarity + _RATING * (_rating(score) if isinstance(score, int | float) else 0.0)


def _rating(score: float) -> float:
    return max(-1.0, min(1.0, score))
