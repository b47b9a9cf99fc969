"""The memory service: topics by their exact key, episodes by meaning."""

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from os import PathLike
from types import TracebackType
from typing import Any, Self

from memorist.adapters.local2.config import MemoryConfig
from memorist.embedders import CallableEmbedder, Embedder, EmbedderSpec, Prefixes, Role, Vectors, prefixes_for
from memorist.errors import InvalidInputError, NotFoundError
from memorist.kinds.common import check_number, check_text
from memorist.records import Kind, Record
from memorist.sync import Memory
from memorist.times import parse_time

__all__ = ["MemoryService"]


class MemoryService:
    """Topics and episodes in one store; every call blocks, and may be made from any thread.

    ```python
    with MemoryService("memory.yaml") as service:
        service.write_topic("user.language_preference", "Elixir")
        service.recall_topic("user.language_preference")  # "Elixir"
        service.write_episodic("Q: Capital of France?\\nA: Paris.", {"session_id": "s-1"})
        service.search_episodic("French geography")[0]["content"]
    ```

    Args:
        config: a `MemoryConfig`, a mapping of its settings, or the path of a ``memory.yaml``.
        memory: a memory that is open, in the place of the one that the settings name; it is not closed here.
        embedder: an embedder in the place of `embedding_model`. A plain function stands for that model, so
            it gets the texts with the prefixes that the model needs.
        **settings: single settings, before those of `config`.

    Raises:
        InvalidInputError: a setting is wrong.
        StoreError: the store cannot be used.
    """

    def __init__(
        self,
        config: MemoryConfig | Mapping[str, Any] | str | PathLike[str] | None = None,
        *,
        memory: Memory | None = None,
        embedder: EmbedderSpec = None,
        **settings: Any,
    ) -> None:
        self.config = _config(config, settings)
        self._own = memory is None
        if memory is None:
            memory = Memory.open(
                self.config.url,
                tenant=self.config.collection,
                user=self.config.user,
                embedder=_embedder(self.config, embedder),
            )
        self._memory = memory
        self._feedback = threading.Lock()

    def close(self) -> None:
        """Close the store, unless the memory was handed in. A second call does nothing."""
        if self._own:
            self._memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- topics ------------------------------------------------------------------------------------

    def write_topic(self, topic: str, content: str) -> str:
        """Give a topic its value, in the place of the one it had, and return its id, which stays.

        Raises:
            InvalidInputError: the key starts with none of the prefixes, or the value is blank.
        """
        prefixes = self.config.topic_prefixes
        if not isinstance(topic, str) or not any(
            topic.startswith(prefix) and topic[len(prefix) :].strip() for prefix in prefixes
        ):
            raise InvalidInputError(f"A topic's key starts with {_listed(prefixes)} and goes on; {topic!r} does not.")
        record: Record = self._memory.topics.set(
            topic, check_text("content", content), metadata={"type": "topic", "topic": topic}
        )
        return record.id

    def recall_topic(self, topic: str) -> str | None:
        """Return the topic's value, or None. The key is matched exactly; nothing is embedded or guessed.

        Raises:
            InvalidInputError: the key is no text.
        """
        if isinstance(topic, str) and not topic.strip():
            return None
        return self._memory.topics.get(topic)

    # --- episodes ----------------------------------------------------------------------------------

    def write_episodic(self, content: str, metadata: Mapping[str, Any] | None = None) -> str:
        """Keep an episode, and return its id, which is always a new one.

        Args:
            content: the text that a search matches.
            metadata: kept as it is, plus ``type: "episodic"``; `timestamp_utc` is when it happened.

        Raises:
            InvalidInputError: the content is blank, or the metadata is no JSON object.
        """
        if not isinstance(metadata, Mapping | None):
            raise InvalidInputError(f"metadata must be a mapping, not {type(metadata).__name__}")
        given = dict(metadata or {})
        happened_at = None
        with suppress(ValueError, TypeError):  # whatever the caller calls so is kept; it need not be a time
            happened_at = None if "timestamp_utc" not in given else parse_time(given["timestamp_utc"])
        record: Record = self._memory.remember(
            check_text("content", content),
            kind=Kind.EPISODE,
            metadata={**given, "type": "episodic"},
            happened_at=happened_at,
        )
        return record.id

    def search_episodic(self, query: str, top_k: int | None = None) -> list[dict[str, Any]]:
        """Return the episodes most like a query: at most `top_k`, none below `min_score`, best first.

        Among episodes of like similarity the well-rated come first.

        Returns:
            For each its id, content, score (the cosine similarity) and metadata.
        """
        hits = self._memory.recall(
            query,
            limit=self.config.top_k if top_k is None else top_k,
            kind=Kind.EPISODE,
            mode="dense",
            min_similarity=self.config.min_score,
        )
        return [
            {
                "id": hit.record.id,
                "content": hit.record.content,
                "score": hit.similarity,
                "metadata": dict(hit.record.metadata),
            }
            for hit in hits
        ]

    def date_of(self, entry_id: str) -> str | None:
        """Return the day an episode happened, as ``2026-05-30`` in UTC; None if there is no such episode."""
        record = self._episode(entry_id)
        return None if record is None else f"{record.at:%Y-%m-%d}"

    # --- feedback ----------------------------------------------------------------------------------

    def add_feedback(self, entry_id: str, score: float) -> None:
        """Attach a score to the episode it was given for.

        It goes into the metadata as ``score``, next to what is there, and from -1 (bad) to 1 (good) it says
        which of similar episodes come first; what is beyond counts as much as the end of that range.

        Raises:
            NotFoundError: there is no such episode.
            InvalidInputError: the score is no finite number.
        """
        score = check_number("score", score)
        with self._feedback:  # what is read must still stand when it is written
            record = self._episode(entry_id)
            if record is None:
                raise NotFoundError(f"there is no episode {entry_id!r}")
            self._memory.revise(entry_id, metadata={**record.metadata, "score": score})
            self._memory.rate(entry_id, max(-1.0, min(1.0, score)), source="feedback")

    def find_episode(self, query_id: str) -> str | None:
        """Return the id of the newest episode with this ``query_id`` in its metadata, or None.

        Raises:
            InvalidInputError: the id is no text or number.
        """
        found = self._memory.recent(1, kind=Kind.EPISODE, where={"query_id": {"$eq": query_id}})
        return found[0].id if found else None

    def _episode(self, entry_id: str) -> Record | None:
        record: Record | None = self._memory.get(entry_id)
        return record if record is not None and record.kind == Kind.EPISODE else None


class _Prefixed(Embedder):
    """An embedder that is given every text with its role's prefix, exactly once."""

    def __init__(self, inner: Embedder, prefixes: Prefixes) -> None:
        self._inner = inner
        self._prefixes = prefixes
        self._named()

    async def ready(self) -> None:
        await self._inner.ready()
        self._named()

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
        await self.ready()
        return await self._inner.embed([self._prefixes.apply(text, role) for text in texts], role)

    async def close(self) -> None:
        await self._inner.close()

    def _named(self) -> None:
        self.dimensions = self._inner.dimensions
        self.fingerprint = f"{self._inner.fingerprint}:{self._prefixes.mark()}" if self._inner.fingerprint else ""


def _config(
    config: MemoryConfig | Mapping[str, Any] | str | PathLike[str] | None, settings: Mapping[str, Any]
) -> MemoryConfig:
    if isinstance(config, str | PathLike):
        return MemoryConfig.load(config, **settings)
    if isinstance(config, MemoryConfig):
        config = {name: getattr(config, name) for name in config.__dataclass_fields__}
    return MemoryConfig.of({**(config or {}), **settings})


def _embedder(config: MemoryConfig, given: EmbedderSpec) -> EmbedderSpec:
    if given is None:
        return config.embedder
    if not callable(given) or isinstance(given, Embedder):
        return given
    prefixes = prefixes_for(config.embedding_model)
    plain = CallableEmbedder(given, fingerprint=f"function:{config.embedding_model}")
    return _Prefixed(plain, prefixes) if prefixes.mark() else plain


def _listed(prefixes: Sequence[str]) -> str:
    *first, last = prefixes
    return f"{', '.join(first)} or {last}" if first else last
