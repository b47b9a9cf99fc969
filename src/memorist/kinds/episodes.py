"""What happened: a question and its answer, or a task and how it went."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from memorist.errors import InvalidInputError, NotFoundError, shown
from memorist.kinds.common import RecordFields, SearchedView, check_text
from memorist.operations.arguments import UNSET, Unset
from memorist.records.record import Kind, Record
from memorist.records.times import TimeLike

_LABELS = {"question": "Q", "answer": "A", "task": "Task", "result": "Result", "error": "Error"}
_PARTS = (*_LABELS, "rollout")


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """The parts of an episode's record; parts that were not given are None.

    `rollout` is what was done on the way to the result, step by step; it is kept, not searched.
    """

    question: str | None = None
    answer: str | None = None
    task: str | None = None
    rollout: str | None = None
    result: str | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        for name in _PARTS:
            if (value := getattr(self, name)) is not None and not isinstance(value, str):
                raise InvalidInputError(f"{name} must be a string, not {type(value).__name__}")
        asked = self.question is not None or self.answer is not None
        done = any(each is not None for each in (self.task, self.rollout, self.result, self.error))
        if asked == done:
            raise InvalidInputError(
                "an episode is either question= and answer=, or task= with rollout=, result= or error="
            )
        if asked:
            check_text("question", self.question)
            check_text("answer", self.answer)
        else:
            check_text("task", self.task)

    @classmethod
    def of(cls, record: Record) -> "Episode":
        """Return the parts of a record that `Episodes` stored."""
        return cls(**{name: record.payload.get(name) for name in _PARTS})

    @property
    def text(self) -> str:
        """The episode to read: one line for each part that is not empty, without the rollout."""
        said = ((label, getattr(self, name)) for name, label in _LABELS.items())
        return "\n".join(f"{label}: {part}" for label, part in said if part and part.strip())

    def parts(self) -> dict[str, str]:
        """Return the parts it has, by name."""
        return {name: value for name in _PARTS if (value := getattr(self, name)) is not None}


class Episodes(SearchedView):
    """The episodes of one scope. A record's `content` is `Episode.text`, its parts are in the payload.

    ```python
    await memory.episodes.add(question="What is the capital of Australia?", answer="Canberra.")
    await memory.episodes.add(task="Book a flight to Oslo", rollout="searched, …", result="Booked SK 802")
    [hit] = await memory.episodes.search("Australian geography", limit=1)
    Episode.of(hit.record).answer  # "Canberra."
    ```
    """

    _kind = Kind.EPISODE

    async def add(
        self,
        *,
        question: str | None = None,
        answer: str | None = None,
        task: str | None = None,
        rollout: str | None = None,
        result: str | None = None,
        error: str | None = None,
        cue: str | None = None,
        **fields: Unpack[RecordFields],
    ) -> Record:
        """Keep an episode, and return its record.

        Args:
            question: what was asked; needs an answer.
            answer: what was answered.
            task: what was to be done, in place of question and answer.
            rollout: what was done on the way, step by step.
            result: the result.
            error: why there is no result.
            cue: the text that a search matches; by default all parts but the rollout.
            **fields: what any record can have, as in `Memory.remember`.

        Raises:
            InvalidInputError: the parts make no episode, or a field is wrong.
            ConflictError: the id is taken and `if_exists` is "error".
        """
        episode = Episode(question=question, answer=answer, task=task, rollout=rollout, result=result, error=error)
        return await self._keep(episode.text, fields, cue=cue, payload=episode.parts())

    async def recent(
        self,
        limit: int = 10,
        *,
        where: Mapping[str, Any] | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        shared: bool = False,
    ) -> list[Record]:
        """Return the newest episodes by when they happened, newest first; arguments as in `Memory.recent`."""
        return await self._memory.recent(limit, kind=Kind.EPISODE, where=where, since=since, until=until, shared=shared)

    async def update(
        self,
        id: str,
        *,
        question: str | None = None,
        answer: str | None = None,
        task: str | None = None,
        rollout: str | None = None,
        result: str | None = None,
        error: str | None = None,
        cue: str | Unset | None = UNSET,
        metadata: Mapping[str, Any] | Unset | None = UNSET,
        source: str | Unset | None = UNSET,
    ) -> Record:
        """Change the parts given, and return the record; it keeps its id, and its history has the old version.

        `metadata` replaces the old metadata whole.

        Raises:
            NotFoundError: there is no such episode.
            InvalidInputError: the parts make no episode, or nothing is given.
        """
        old = await self.get(id)
        if old is None:
            raise NotFoundError(f"there is no episode {shown(id)} in this scope")
        values = (question, answer, task, result, error, rollout)
        given = {name: value for name, value in zip(_PARTS, values, strict=True) if value is not None}
        if not given:
            return await self._memory.revise(id, cue=cue, metadata=metadata, source=source)
        episode = Episode(**{**Episode.of(old).parts(), **given})
        return await self._memory.revise(
            id, content=episode.text, payload=episode.parts(), cue=cue, metadata=metadata, source=source
        )
