"""Mango's types: three kinds of entries, and the interface of a memory that keeps them."""

import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

__all__ = ["MemoryEntry", "MemoryService", "TextMemoryEntry", "TrainingEntry", "make_entry_id"]


def make_entry_id() -> str:
    """Return a new id: a random UUID."""
    return str(uuid.uuid4())


def _now() -> str:
    return datetime.now(UTC).isoformat()


@dataclass
class MemoryEntry:
    """A tool call that answered a question.

    `similarity` is filled by a search; `timestamp` is in ISO format. `source` ("manual", "import", "llm")
    and `verified` are kept by a memory that was made with `provenance`, and None elsewhere.
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
class TextMemoryEntry:
    """A text; `similarity` is filled by a search."""

    id: str
    text: str
    similarity: float = 0.0
    source: str | None = None
    verified: bool | None = None


@dataclass
class TrainingEntry:
    """A verified example of how a question is answered; the fields are those of `MemoryEntry`."""

    id: str
    question: str
    tool_name: str
    tool_args: dict[str, Any]
    result_summary: str = ""
    similarity: float = 0.0
    timestamp: str = field(default_factory=_now)
    source: str | None = None
    verified: bool | None = None


class MemoryService(ABC):
    """Where an agent keeps what it learned. The six abstract methods make one; training may be left out."""

    @abstractmethod
    async def store(self, entry: MemoryEntry) -> None:
        """Keep a tool call; one with the same id is replaced."""

    @abstractmethod
    async def retrieve(self, question: str, top_k: int = 3, similarity_threshold: float = 0.6) -> list[MemoryEntry]:
        """Return the calls made for questions like this one, best first, those below the threshold left out."""

    @abstractmethod
    async def delete(self, entry_id: str) -> None:
        """Delete a tool call; a missing one is passed over."""

    @abstractmethod
    async def save_text(self, text: str) -> str:
        """Keep a text, and return its new id."""

    @abstractmethod
    async def search_text(self, query: str, top_k: int = 3, similarity_threshold: float = 0.6) -> list[TextMemoryEntry]:
        """Return the texts that are like the query, best first, those below the threshold left out."""

    @abstractmethod
    def count(self) -> int:
        """Return how many tool calls there are."""

    async def train(self, entry: TrainingEntry) -> None:
        """Keep a verified example; one with the same id is replaced."""
        raise NotImplementedError("this memory takes no training entries")

    async def get_training_entries(
        self, question: str, top_k: int = 5, similarity_threshold: float = 0.5
    ) -> list[TrainingEntry]:
        """Return the examples for questions like this one, best first, those below the threshold left out."""
        raise NotImplementedError("this memory takes no training entries")

    def training_count(self) -> int:
        """Return how many examples there are."""
        raise NotImplementedError("this memory takes no training entries")

    async def export_all(self) -> list[dict[str, Any]]:
        """Return every entry as a dict with its "type": "tool", "text" or "training"."""
        raise NotImplementedError("this memory exports nothing")

    async def import_all(self, entries: list[dict[str, Any]]) -> int:
        """Keep what `export_all` returned, and tell how many entries were imported."""
        raise NotImplementedError("this memory imports nothing")
