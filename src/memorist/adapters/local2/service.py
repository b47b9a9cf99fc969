"""The memory service: topics by their exact key, episodes by meaning."""

import threading
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, Self

from memorist.adapters.local2.books import Book, ChromaBook, Episode, MemoryBook
from memorist.adapters.local2.config import MemoryConfig
from memorist.blocking_client import run
from memorist.embedders import CallableEmbedder, Embedder, EmbedderSpec, open_embedder, prefixes_for
from memorist.errors import InvalidInputError, NotFoundError, shown
from memorist.kinds.common import check_text
from memorist.operations.arguments import handle, number, text, whole
from memorist.records.content import whole_name
from memorist.records.record import plain_json
from memorist.records.times import parse_time
from memorist.sync import Memory

_CONFIG = Path("config/memory.yaml")


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
        config: a `MemoryConfig`, a mapping of its settings, or the path of a ``memory.yaml``. By default
            ``config/memory.yaml``, or the documented settings where there is no such file.
        memory: an open memory to use instead of the store that the settings name, which is not closed here; or a
            path or URL, at which it is opened, and closed with the service.
        embedder: used instead of `embedding_model`. A plain function stands for that model, so it gets the
            texts with the prefixes that the model needs.
        **settings: single settings; they override those of `config`.

    Raises:
        InvalidInputError: a setting is wrong.
        StoreError: the store cannot be used.
        MissingExtraError: the store needs a package that is not installed.
    """

    def __init__(
        self,
        config: MemoryConfig | Mapping[str, Any] | str | PathLike[str] | None = None,
        *,
        memory: Memory | str | PathLike[str] | None = None,
        embedder: EmbedderSpec = None,
        **settings: Any,
    ) -> None:
        self.config = _config(config, settings)
        self._embedder = None if memory is not None else open_embedder(_spec(self.config, embedder))
        self._book = _book(self.config, memory, self._embedder)
        self._feedback = threading.Lock()

    def check(self) -> None:
        """Check that the embedder works, before anything depends on it.

        Raises:
            EmbedderError: the model cannot be reached or used.
            MissingExtraError: the embedder needs a package that is not installed.
        """
        if self._embedder is not None:
            run(self._embedder.ready)

    def now(self) -> datetime:
        """Return the present, in UTC, by the store's clock."""
        return self._book.now()

    def close(self) -> None:
        """Close the store, unless the memory was handed in. A second call does nothing."""
        self._book.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    # --- topics ------------------------------------------------------------------------------------

    def write_topic(self, topic: str, content: str) -> str:
        """Set a topic's value, and return the topic's id, which stays the same when the value is replaced.

        Raises:
            InvalidInputError: the key does not start with one of the prefixes, or the value is blank.
        """
        prefixes = self.config.topic_prefixes
        if not isinstance(topic, str) or not any(
            topic.startswith(prefix) and topic[len(prefix) :].strip() for prefix in prefixes
        ):
            raise InvalidInputError(
                f"A topic's key must start with {_listed(prefixes)} followed by a name; {topic!r} does not."
            )
        return self._book.set_topic(handle("topic", topic), check_text("content", content))

    def recall_topic(self, topic: str) -> str | None:
        """Return the topic's value, or None. The key is matched exactly; nothing is embedded or guessed.

        Raises:
            InvalidInputError: the key is not a text.
        """
        topic = handle("topic", topic)
        return self._book.topic(topic) if topic.strip() else None

    def topic_note(self, topic: str) -> str:
        """Return what is said of a topic's origin where a model reads it: "(from an import)", or "" for nothing."""
        return self._book.topic_note(topic)

    # --- episodes ----------------------------------------------------------------------------------

    def write_episodic(
        self, content: str, metadata: Mapping[str, Any] | None = None, *, message_id: str | None = None
    ) -> str:
        """Store an episode, and return its id.

        Args:
            content: the text that a search matches.
            metadata: kept as it is, plus ``type: "episodic"``; `timestamp_utc` is when it happened.
            message_id: the message that the episode comes from. A message is stored once, however often and by
                however many services it is received. Without one, every call stores a new episode.

        Raises:
            InvalidInputError: the content is blank, or the metadata is not a JSON object.
        """
        given = plain_json("metadata", {} if metadata is None else metadata)
        at = None
        # a value that the caller gives under this name is kept, even if it is not a time
        with suppress(ValueError, TypeError):
            at = None if "timestamp_utc" not in given else parse_time(given["timestamp_utc"])
        id = str(
            uuid.uuid4()
            if message_id is None
            else uuid.uuid5(uuid.NAMESPACE_OID, f"message {whole_name(str(message_id))}")
        )
        self._book.add(id, check_text("content", content), {**given, "type": "episodic"}, at)
        return id

    def search_episodic(self, query: str, top_k: int | None = None) -> list[dict[str, Any]]:
        """Return the episodes most like a query: at most `top_k`, none below `min_score`, best first.

        Among episodes of like similarity the well-rated come first.

        Returns:
            For each its id, content, score (the cosine similarity) and metadata.
        """
        return [
            {"id": each.id, "content": each.content, "score": each.similarity, "metadata": dict(each.metadata)}
            for each in self.episodes(query, top_k)
        ]

    def episodes(self, query: str, top_k: int | None = None) -> list[Episode]:
        """Return what `search_episodic` does, with the time of each episode.

        Raises:
            InvalidInputError: the query is not a text, or `top_k` is not a whole number of 1 or more.
        """
        count = self.config.top_k if top_k is None else top_k
        whole("top_k", count, 1)
        return self._book.nearest(query, count, self.config.min_score) if text("query", query).strip() else []

    # --- feedback ----------------------------------------------------------------------------------

    def add_feedback(self, entry_id: str, score: float) -> None:
        """Attach a score to the episode it was given for.

        The score joins the episode's metadata as ``score``. From -1 (bad) to 1 (good) it decides which of
        similar episodes come first; a score beyond that range counts as its end.

        Raises:
            NotFoundError: there is no such episode.
            InvalidInputError: the score is not a finite number.
        """
        score = number("score", score)
        with self._feedback:  # the metadata that is read must still stand when it is written
            episode = self._book.episode(handle("entry_id", entry_id))
            if episode is None:
                raise NotFoundError(f"there is no episode {entry_id!r}")
            self._book.rate(episode, score)

    def find_episode(self, query_id: str) -> str | None:
        """Return the id of the newest episode with this ``query_id`` in its metadata, or None.

        Raises:
            InvalidInputError: the id is not a text or number.
        """
        return self._book.find(query_id)


def _config(
    config: MemoryConfig | Mapping[str, Any] | str | PathLike[str] | None, settings: Mapping[str, Any]
) -> MemoryConfig:
    if config is None and _CONFIG.exists():
        config = _CONFIG
    if isinstance(config, str | PathLike):
        return MemoryConfig.load(config, **settings)
    if isinstance(config, MemoryConfig):
        config = {name: getattr(config, name) for name in config.__dataclass_fields__}
    return MemoryConfig.of({**(config or {}), **settings})


def _book(config: MemoryConfig, memory: Memory | str | PathLike[str] | None, embedder: Embedder | None) -> Book:
    if isinstance(memory, str | PathLike):
        return MemoryBook(Memory.open(memory), owned=True)
    if memory is not None and not isinstance(memory, Memory):
        raise InvalidInputError(f"pass an open Memory of `memorist.sync`, or a path or URL, not {shown(memory)}")
    if memory is not None:
        return MemoryBook(memory, owned=False)
    assert embedder is not None
    if config.store is None:
        # A user's collection has a name that no other user's can have; Chroma takes few characters in names.
        mine = "" if config.user is None else f"-{uuid.uuid5(uuid.NAMESPACE_OID, config.user).hex}"
        return ChromaBook(config.chroma_path, config.collection + mine, embedder)
    opened = Memory.open(config.store, tenant=config.collection, user=config.user, embedder=embedder)
    return MemoryBook(opened, owned=True)


def _spec(config: MemoryConfig, given: EmbedderSpec) -> EmbedderSpec:
    if given is None:
        return config.embedder
    if not callable(given) or isinstance(given, Embedder):
        return given
    model = config.embedding_model
    return CallableEmbedder(given, fingerprint=f"function:{model}", prefixes=prefixes_for(model))


def _listed(prefixes: Sequence[str]) -> str:
    *first, last = prefixes
    return f"{', '.join(first)} or {last}" if first else last
