"""Experiences from trajectories: lessons for another time from the messages of a task and its outcome."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from memorist.errors import InvalidInputError
from memorist.kinds import Message
from memorist.language.models import NO_USAGE, ChatModel, ChatModelSpec, Usage
from memorist.language.prompting import Prompts
from memorist.language.reconciling import same_words
from memorist.language.steps import (
    NO_MODEL,
    NUMBER,
    TEXT,
    TRUTH,
    WHOLE,
    Given,
    Problem,
    ask,
    list_of,
    messages_of,
    object_of,
    opened,
    shown,
    speaker_of,
    told,
    worst,
    wrong_language,
)
from memorist.memory import Memory
from memorist.operations.arguments import number
from memorist.records.origins import Author
from memorist.records.record import Draft, Kind, Record

VALID_FROM = 0.5
SUCCESS_FROM = 1.0

_DRAWN = object_of(experiences=list_of(when_to_use=TEXT, experience=TEXT))
_JUDGED = object_of(judgements=list_of(number=WHOLE, valid=TRUTH, score=NUMBER))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The messages of one task, and a score of its outcome: 1 and above is a success."""

    messages: Sequence[Given]
    score: float = SUCCESS_FROM


TrajectoryLike: TypeAlias = Trajectory | Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """An experience that is not stored yet.

    Args:
        when_to_use: the situation it is for; a search matches this.
        experience: what to do then.
        score: the quality that the model judged, 0 to 1.
        raw: why it is the trajectory's own text; None if it was extracted.
        trajectory: the messages and score of a raw one.
    """

    when_to_use: str
    experience: str
    score: float = 1.0
    raw: str | None = None
    trajectory: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lessons:
    """The experiences extracted from trajectories.

    Args:
        lessons: the experiences to keep; for a trajectory that the model could not process, its own text, with `raw`.
        refused: experiences that were judged invalid, or below the least score.
        problem: why some are raw, or were not judged; None if there was no problem.
        usage: the calls, tokens and cost.
        records: the stored records, for `keep_experiences`; the existing record for an experience already there.
    """

    lessons: tuple[Lesson, ...] = ()
    refused: tuple[Lesson, ...] = ()
    problem: Problem | None = None
    usage: Usage = NO_USAGE
    records: tuple[Record, ...] = ()


async def draw_experiences(
    trajectories: Iterable[TrajectoryLike] | TrajectoryLike,
    *,
    model: ChatModelSpec | None = None,
    prompts: Prompts | None = None,
    min_score: float = VALID_FROM,
) -> Lessons:
    """Extract lessons from each trajectory, and judge them.

    Args:
        trajectories: each a `Trajectory`, or a mapping of ``messages`` and ``score``.
        model: without one, each trajectory becomes one experience, with its first request as `when_to_use`.
        prompts: by default the bundled ones.
        min_score: experiences that are judged below this are refused.

    Returns:
        The experiences. A failing model raises nothing: experiences that it could not judge are refused, and the
        trajectory is kept raw.

    Raises:
        InvalidInputError: a trajectory or a message is invalid, or the prompts cannot be read.
    """
    if not isinstance(trajectories, Trajectory | Iterable):
        raise InvalidInputError(f"trajectories must be a list, not {type(trajectories).__name__}")
    given = [trajectories] if isinstance(trajectories, Trajectory | Mapping) else list(trajectories)
    read = [(messages, score) for each in given for messages, score in [_read(each)] if messages]
    if model is None:
        raw = tuple(_raw(messages, score, NO_MODEL) for messages, score in read)
        return Lessons(lessons=raw, problem=NO_MODEL if raw else None)
    async with opened(model) as chat:
        parts = await asyncio.gather(*(_draw(messages, score, chat, prompts, min_score) for messages, score in read))
    return Lessons(
        lessons=tuple(lesson for part in parts for lesson in part.lessons),
        refused=tuple(lesson for part in parts for lesson in part.refused),
        problem=worst(part.problem for part in parts),
        usage=sum((part.usage for part in parts), Usage()),
    )


async def keep_experiences(
    memory: Memory,
    trajectories: Iterable[TrajectoryLike] | TrajectoryLike,
    *,
    model: ChatModelSpec | None = None,
    prompts: Prompts | None = None,
    min_score: float = VALID_FROM,
    **fields: Any,
) -> Lessons:
    """Extract experiences as `draw_experiences` does, and store those that are not stored word for word already.

    A trajectory that the model could not process is stored as it is, with the reason under `raw` in the record's
    payload; `Digest` retries it.

    Args:
        memory: the memory to store them in; the arguments after it are those of `draw_experiences`.
        **fields: what any record can have, as in `Memory.remember`.
    """
    drawn = await draw_experiences(trajectories, model=model, prompts=prompts, min_score=min_score)
    records = [await store_lesson(memory, lesson, fields) for lesson in drawn.lessons]
    return replace(drawn, records=tuple(records))


async def store_lesson(memory: Memory, lesson: Lesson, fields: Mapping[str, Any]) -> Record:
    """Store one experience, and return its record, or the one that says the same already."""
    for hit in await memory.experiences.search(lesson.when_to_use, limit=5):
        if same_words(hit.record.content, lesson.experience) and same_words(hit.record.text, lesson.when_to_use):
            return hit.record
    payload = {"score": lesson.score, "raw": lesson.raw, "trajectory": lesson.trajectory}
    draft = Draft(
        content=lesson.experience,
        kind=Kind.EXPERIENCE,
        cue=lesson.when_to_use,
        payload={name: value for name, value in payload.items() if value is not None},
        **{"author": Author.ASSISTANT | Author.TOOL, **fields},
    )
    return await memory.remember(draft)


async def _draw(
    messages: list[Message], score: float, model: ChatModel, prompts: Prompts | None, min_score: float
) -> Lessons:
    data: dict[str, Any] = {"score": score, "success": score >= SUCCESS_FROM, "messages": shown(messages)}
    drawn = await ask(model, "experiences", data, _DRAWN, prompts)
    problem, found = drawn.problem, []
    if problem is None:
        found = [
            each for each in drawn.data["experiences"] if each["when_to_use"].strip() and each["experience"].strip()
        ]
        if drawn.data["experiences"] and not found:
            problem = Problem("every experience in the answer is blank")
        else:
            answers = [each["experience"] for each in found]
            problem = wrong_language(answers, (each.content for each in messages), prompts)
    if problem is not None or not found:
        problem = problem or Problem("the model drew no experience")
        told("Drawing experiences", problem)
        return Lessons(lessons=(_raw(messages, score, problem),), problem=problem, usage=drawn.usage)
    numbered = [{"number": number, **each} for number, each in enumerate(found, 1)]
    judged = await ask(model, "judge", {**data, "experiences": numbered}, _JUDGED, prompts)
    usage = drawn.usage + judged.usage
    if judged.problem is not None:
        told("Judging experiences", judged.problem)
        raw = _raw(messages, score, judged.problem)
        return Lessons(lessons=(raw,), problem=judged.problem, usage=usage)
    marks = {each["number"]: each for each in judged.data["judgements"]}
    kept: list[Lesson] = []
    refused: list[Lesson] = []
    for place, each in enumerate(found, 1):
        mark = marks.get(place, {"valid": False, "score": 0.0})  # an experience that was not judged is not kept
        worth = min(max(float(mark["score"]), 0.0), 1.0)
        lesson = Lesson(when_to_use=each["when_to_use"].strip(), experience=each["experience"].strip(), score=worth)
        (kept if mark["valid"] and worth >= min_score else refused).append(lesson)
    return Lessons(lessons=tuple(kept), refused=tuple(refused), usage=usage)


def _read(given: TrajectoryLike) -> tuple[list[Message], float]:
    if isinstance(given, Mapping):
        if "messages" not in given:
            raise InvalidInputError("a trajectory needs its messages")
        given = Trajectory(messages=given["messages"], score=given.get("score", SUCCESS_FROM))
    if not isinstance(given, Trajectory):
        raise InvalidInputError(f"a trajectory is a Trajectory or a mapping, not {type(given).__name__}")
    return messages_of(given.messages), float(number("a trajectory's score", given.score))


def _raw(messages: Sequence[Message], score: float, problem: Problem) -> Lesson:
    first = next((each for each in messages if each.role.lower() == "user"), messages[0])
    rest = [each for each in messages if each is not first]
    text = "\n".join(f"{speaker_of(each)}: {each.content}" for each in rest) or first.content
    return Lesson(
        when_to_use=first.content.strip(),
        experience=text,
        score=min(max(score, 0.0), 1.0),
        raw=problem.reason,
        trajectory={"messages": [each.to_dict() for each in messages], "score": score},
    )
