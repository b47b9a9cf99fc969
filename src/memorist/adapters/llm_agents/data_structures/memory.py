"""An episode: a task, what was done for it, and how it ended."""

import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from typing import Any
from xml.sax.saxutils import escape

from memorist.errors import needs

with needs("pydantic", "llm-agents"):
    from pydantic import BaseModel, ConfigDict, Field, field_serializer


class RecallMode(str, Enum):  # noqa: UP042  # str(mode) is that of the original
    """Which episodes a store recalls."""

    RECENT = "recent"
    """The newest."""
    SEARCH = "search"
    """Those that are relevant to the query."""


class EpisodeFormatMode(str, Enum):  # noqa: UP042
    """How an episode is written out."""

    XML = "xml"
    """For a prompt."""
    CONCAT = "concat"
    """For an embedder: a line for each field."""


def _new_id() -> str:
    return str(uuid.uuid4())


class Task(BaseModel):
    """Something to be done.

    Args:
        id_: made up unless given.
        instruction: what to do.
    """

    id_: str = Field(default_factory=_new_id)
    instruction: str

    def __str__(self) -> str:
        return self.instruction


class TaskResult(BaseModel):
    """The result of a task.

    Args:
        task_id: the task's `id_`.
        content: the result.
    """

    task_id: str
    content: str

    def __str__(self) -> str:
        return self.content


class Episode(BaseModel):
    """A task that ended, to be remembered.

    Args:
        id_: made up unless given.
        task: what was to be done.
        rollout: what was done on the way.
        result: the result, or None.
        error: why there is no result. It is stored, and later read, as ``"{Type}: {message}"``.
        metadata: notes on it, such as ``{"reflection": "..."}``.
        completed_at: when it ended; by default now, in local time without a zone.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    id_: str = Field(default_factory=_new_id)
    task: Task
    rollout: str
    result: TaskResult | None = None
    error: Exception | str | None = None
    metadata: dict[str, str] = Field(default_factory=dict)
    completed_at: datetime = Field(default_factory=datetime.now)

    @field_serializer("error")
    def error_text(self, error: Exception | str | None) -> str | None:
        """Return an error as it is stored."""
        return f"{type(error).__name__}: {error}" if isinstance(error, Exception) else error

    def format(
        self, mode: EpisodeFormatMode = EpisodeFormatMode.XML, exclude: set[str] | frozenset[str] | None = None
    ) -> str:
        """Write the episode out: its fields in order, a line for each that says something.

        Args:
            mode: as XML for a prompt, values escaped, or as plain lines for an embedder.
            exclude: fields to leave out; by default ``id_`` and ``rollout``.
        """
        left_out = {"id_", "rollout"} if exclude is None else exclude
        said = [(name, text) for field, name, text in self._lines() if field not in left_out]
        if EpisodeFormatMode(mode) is EpisodeFormatMode.CONCAT:
            return "\n".join(f"{name}: {text}" for name, text in said)
        tags = [(_tag(name), escape(text)) for name, text in said]
        return "\n".join(["  <episode>", *(f"    <{tag}>{text}</{tag}>" for tag, text in tags), "  </episode>"])

    def __str__(self) -> str:
        return self.format()

    def _lines(self) -> Iterator[tuple[str, str, str]]:
        """Yield each field that says something, with the name and the text to show; metadata by its keys."""
        for field in Episode.model_fields:
            value = getattr(self, field)
            if not value:
                continue
            if field == "metadata":
                yield from ((field, key, str(text)) for key, text in value.items())
            elif field == "completed_at":
                yield field, field, f"{value:%Y-%m-%d %H:%M:%S}"
            elif field == "error":
                yield field, field, self.error_text(value) or ""
            else:
                yield field, field, str(value)


def own_copy(episode: Any) -> Episode:
    """Return a copy that shares nothing which can be changed with `episode`, an `Episode` or one of the original's.

    An error is not copied, because exceptions cannot be copied in general.
    """
    if isinstance(episode, Episode):  # of a subclass, too
        copy = episode.model_copy(update={"error": None}).model_copy(deep=True)
        copy.error = episode.error
        return copy
    return Episode(**episode.model_dump(exclude={"error"}), error=episode.error)


def in_utc(time: datetime) -> datetime:
    """Return a time in UTC. One without a zone is local; at either end of the calendar it is taken as UTC's."""
    try:
        return time.astimezone(UTC)
    except (OverflowError, ValueError):
        return time.replace(tzinfo=UTC)


def _tag(name: str) -> str:
    """Return a metadata key as the name of a tag, without characters that could open or close a tag."""
    tag = re.sub(r"[^\w.-]", "_", name)
    return tag if re.match(r"[^\W\d]", tag) else f"_{tag}"
