"""CrewAI's memory, without a model and with a search for words."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from crewai.events.event_bus import crewai_event_bus
from crewai.events.types.memory_events import (
    MemoryQueryCompletedEvent,
    MemoryQueryFailedEvent,
    MemoryQueryStartedEvent,
    MemorySaveCompletedEvent,
    MemorySaveFailedEvent,
    MemorySaveStartedEvent,
)
from crewai.memory.types import MemoryMatch, MemoryRecord
from crewai.memory.unified_memory import Memory as CrewMemory
from crewai.memory.utils import join_scope_paths
from pydantic import Field

from memorist.adapters.crewai.records import narrowed, told_of, visible_to
from memorist.adapters.crewai.storage import MemoristStorage
from memorist.blocking_client import run
from memorist.records.record import Kind


class MemoristMemory(CrewMemory):
    """Keeps texts as they are and finds them by meaning and by words.

    ```python
    crew = Crew(…, memory=MemoristMemory(storage=MemoristStorage(memory.scoped(user="alice"))))
    ```

    No model is asked, neither for a scope, categories and an importance that nobody gave, nor for queries. The score of
    a result is the score of the hit: `recency_weight`, similar weights and `depth` have no effect. What is saved is on
    disk when the call returns. With `llm`, `extract_memories` asks it; without, a text is its one memory.
    """

    storage: Any = Field(description="A MemoristStorage.")
    llm: Any = Field(default=None, description="The model that extract_memories asks, if any.")

    def remember(
        self,
        content: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> MemoryRecord | None:
        """Keep a text, and return its record; None where this memory is read-only."""
        made = self.remember_many(
            [content], scope, categories, metadata, importance, source, private, agent_role, root_scope
        )
        return made[0] if made else None

    def remember_many(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        """Keep texts, all of them or none, and return their records; none where this memory is read-only."""
        if not contents or self.read_only:
            return []
        path = join_scope_paths(self.root_scope if root_scope is None else root_scope, scope)
        records = [
            MemoryRecord(
                content=content,
                scope=path,
                categories=categories or [],
                metadata=metadata or {},
                importance=self.default_importance if importance is None else importance,
                source=source,
                private=private,
            )
            for content in contents
        ]
        value = contents[0] if len(contents) == 1 else f"{len(contents)} memories"
        events = MemorySaveStartedEvent, MemorySaveCompletedEvent, MemorySaveFailedEvent
        with self._told(*events, "save_time_ms", value=value, metadata=metadata or {}) as told:
            self._store.save(records)
            told["agent_role"] = agent_role
        return records

    def extract_memories(self, content: str) -> list[str]:
        """Return what is worth keeping of a text: the text, or what the model says where there is one."""
        if self.llm is None:
            return [content] if content.strip() else []
        extracted: list[str] = super().extract_memories(content)
        return extracted

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """Return the records that matter to a query, best first, without those private to another source.

        A text that came through an import, a tool or another agent says so first.
        """
        condition = narrowed(join_scope_paths(self.root_scope, scope), categories)
        if not include_private:
            condition = visible_to(source, condition)
        events = MemoryQueryStartedEvent, MemoryQueryCompletedEvent, MemoryQueryFailedEvent
        with self._told(*events, "query_time_ms", query=query, limit=limit, score_threshold=None) as told:
            memory = self._store.memory
            hits = run(lambda: memory.recall(query, limit=limit, kind=Kind.NOTE, payload=condition))
            reasons = [["semantic"] * (hit.similarity > 0) + ["words"] * bool(hit.matched) for hit in hits]
            told["results"] = matches = [
                MemoryMatch(record=told_of(hit.record), score=hit.score, match_reasons=each)
                for hit, each in zip(hits, reasons, strict=True)
            ]
        return matches

    def update(
        self,
        record_id: str,
        content: str | None = None,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
    ) -> MemoryRecord:
        """Change the given fields of a record and return it; a read-only memory returns the record unchanged.

        Raises:
            ValueError: there is no such record.
        """
        existing = self._store.get_record(record_id)
        if existing is None:
            raise ValueError(f"Record not found: {record_id}")
        if self.read_only:
            return existing
        given = {
            "content": content,
            "scope": scope,
            "categories": categories,
            "metadata": metadata,
            "importance": importance,
        }
        updated = existing.model_copy(update={name: value for name, value in given.items() if value is not None})
        self._store.update(updated)
        return updated

    @property
    def _store(self) -> MemoristStorage:
        store: MemoristStorage = self.storage
        return store

    @contextmanager
    def _told(self, started: Any, completed: Any, failed: Any, timed: str, **told: Any) -> Iterator[dict[str, Any]]:
        """Tell CrewAI's event bus of a save or a search, as its own memory does; yield what is told at the end."""
        told["source_type"] = "unified_memory"
        crewai_event_bus.emit(self, started(**told))
        start = time.perf_counter()
        result: dict[str, Any] = {}
        try:
            yield result
        except Exception as error:
            crewai_event_bus.emit(self, failed(**told, error=str(error)))
            raise
        took = (time.perf_counter() - start) * 1000
        crewai_event_bus.emit(self, completed(**told, **result, **{timed: took}))
