"""Mango's types: three kinds of entries, and the base class of a memory. Where Mango is installed, they are its own."""

import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memorist.adapters.originals import original


def _of_mango(name: str) -> tuple[Any, ...]:
    """Return the bases of a class: Mango's own class of this name, where Mango is installed."""
    found = original("mango-ai", "mango.memory", name)
    return () if found is None else (found,)


def make_entry_id() -> str:
    """Return a new id: a random UUID."""
    return str(uuid.uuid4())


def _now() -> str:
    return datetime.now(UTC).isoformat()


@dataclass
class MemoryEntry(*_of_mango("MemoryEntry")):  # type: ignore[misc]
    """A tool call that answered a question.

    A search fills `similarity`; `timestamp` is in ISO format. A memory with `provenance` stores `source`
    ("manual", "import", "llm") and `verified`; elsewhere they are None.
    """

    id: str
    question: str
    tool_name: str
    tool_args: dict[str, Any]
    result_summary: str
    similarity: float = 0.0
    timestamp: str = field(default_factory=_now)
    source: str | None = None
    verified: bool | None = None


@dataclass
class TextMemoryEntry(*_of_mango("TextMemoryEntry")):  # type: ignore[misc]
    """A text; a search fills `similarity`."""

    id: str
    text: str
    similarity: float = 0.0
    source: str | None = None
    verified: bool | None = None


@dataclass
class TrainingEntry(MemoryEntry, *_of_mango("TrainingEntry")):  # type: ignore[misc]
    """A verified example of how to answer a question, with the fields of `MemoryEntry`."""

    result_summary: str = ""


class MemoryService(ABC):
    """Base class of memory backends. A subclass needs the six abstract methods; the others are optional."""

    @abstractmethod
    async def store(self, entry: MemoryEntry) -> None:
        """Store a tool call, and replace one with the same id."""

    @abstractmethod
    async def retrieve(self, question: str, top_k: int = 3, similarity_threshold: float = 0.6) -> list[MemoryEntry]:
        """Return the calls for similar questions whose similarity reaches the threshold, best first."""

    @abstractmethod
    async def delete(self, entry_id: str) -> None:
        """Delete a tool call; do nothing if there is none with this id."""

    @abstractmethod
    async def save_text(self, text: str, *, source: str | None = None, verified: bool | None = None) -> str:
        """Store a text, and return its new id.

        `source` and `verified` are kept with `provenance`. By default a text is a manual note, which is verified.
        """

    @abstractmethod
    async def search_text(self, query: str, top_k: int = 3, similarity_threshold: float = 0.6) -> list[TextMemoryEntry]:
        """Return the texts whose similarity to the query reaches the threshold, best first."""

    @abstractmethod
    def count(self) -> int:
        """Return how many tool calls there are."""

    async def train(self, entry: TrainingEntry) -> None:
        """Store a verified example, and replace one with the same id."""
        raise NotImplementedError("this memory takes no training entries")

    async def get_training_entries(
        self, question: str, top_k: int = 5, similarity_threshold: float = 0.5
    ) -> list[TrainingEntry]:
        """Return the examples for similar questions whose similarity reaches the threshold, best first."""
        raise NotImplementedError("this memory takes no training entries")

    def training_count(self) -> int:
        """Return how many examples there are."""
        raise NotImplementedError("this memory takes no training entries")

    async def export_all(self) -> list[dict[str, Any]]:
        """Return every entry as a dict with its "type": "tool", "text" or "training"."""
        raise NotImplementedError("this memory exports nothing")

    async def import_all(self, entries: list[dict[str, Any]]) -> int:
        """Store what `export_all` returned, and return how many entries were imported."""
        raise NotImplementedError("this memory imports nothing")


for _theirs in _of_mango("MemoryService"):  # registered, not derived: ours has fewer abstract methods
    _theirs.register(MemoryService)
