"""The common part of every step: asking a model with a prompt, data and a schema, and reporting problems."""

import json
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from typing import Any, TypeAlias

from memorist.errors import InvalidInputError, MemoristError, ModelError, ModelUnavailableError
from memorist.framing.frame import without_recalled
from memorist.kinds import Message
from memorist.kinds.message import to_message
from memorist.language.models import NO_USAGE, ChatModel, ChatModelSpec, Reply, Usage
from memorist.language.opening import open_chat_model
from memorist.language.prompting import Prompts
from memorist.language.reading import fits, is_refusal, read_answer
from memorist.languages import CODES, language, languages_of
from memorist.languages.detection import share_script
from memorist.records.zones import read_in

log = logging.getLogger("memorist.language")
_ENOUGH = 8
"""The least words of texts by which two languages of one script are told apart."""

_MIXED = 0.4
"""The share of Latin letters above which a text is not one in another script."""

Given: TypeAlias = str | Message | Mapping[str, Any]
"""A message in any form that a conversation accepts."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a step returned the result that it has without a model.

    `temporary` is true if the model could not be reached or used: the same call may succeed later.
    """

    reason: str
    temporary: bool = False

    def __str__(self) -> str:
        return self.reason


NO_MODEL = Problem("no chat model")


def worst(problems: Iterable[Problem | None]) -> Problem | None:
    """Return the first temporary one of several problems, or else the first; None where there is none."""
    there = [each for each in problems if each is not None]
    return next((each for each in there if each.temporary), there[0] if there else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """The result of one call of a model: its data, or a problem."""

    data: Any = None
    problem: Problem | None = None
    usage: Usage = NO_USAGE


async def ask(
    model: ChatModelSpec | Problem,
    prompt: str,
    data: Mapping[str, Any],
    schema: Mapping[str, Any],
    prompts: Prompts | None,
) -> StepResult:
    """Send data to a model with one of the prompts, and return its answer in the form of `schema`.

    A failing model results in a `Problem`, never an exception. A `Problem` given instead of a model is returned at
    once, so that a step does not wait for an unavailable model again and again.
    """
    if isinstance(model, Problem):
        return StepResult(problem=model)
    messages = [
        {"role": "system", "content": (prompts or Prompts()).get(prompt)},
        {"role": "user", "content": json.dumps(data, ensure_ascii=False, indent=1)},
    ]
    try:
        async with opened(model) as chat:
            reply = await chat.complete(messages, schema=schema)
        if not isinstance(reply, Reply):
            raise TypeError(f"complete() returned {type(reply).__name__}, not a Reply")
    except ModelError as error:
        problem = Problem(str(error), temporary=isinstance(error, ModelUnavailableError))
        return StepResult(problem=problem, usage=Usage(failures=1, batches=1))
    except (ImportError, MemoristError):
        raise
    except Exception as error:  # a model from elsewhere may raise anything, and its next call may succeed
        problem = Problem(f"the chat model failed: {type(error).__name__}: {error}", temporary=True)
        return StepResult(problem=problem, usage=Usage(failures=1, batches=1))
    usage = replace(reply.usage, batches=1)
    answer, reason = reply.data, reply.problem
    if reason is None and (answer is None or not fits(answer, schema)):  # a model that does not parse its answers
        answer, reason = read_answer(reply.text, schema)
    return StepResult(usage=usage, data=answer) if reason is None else StepResult(usage=usage, problem=Problem(reason))


@asynccontextmanager
async def opened(model: ChatModelSpec, *, concurrency: int = 4) -> AsyncIterator[ChatModel]:
    """Yield the chat model that `model` names, for all calls of a step, and close it if it was opened here."""
    chat = open_chat_model(model, concurrency=concurrency)
    try:
        yield chat
    finally:
        if isinstance(model, str) and (close := getattr(chat, "close", None)) is not None:
            await close()


def told(step: str, problem: Problem) -> Problem:
    """Log that a step continued without its model, and return the problem."""
    log.warning("%s without the model: %s", step, problem.reason)
    return problem


def other_language(answer: str, source: str) -> str | None:
    """Return the language of `answer` if it is clearly not one of `source`, else None."""
    theirs, ours = languages_of(answer), languages_of(source)
    letters = [letter for letter in answer if letter.isalpha()]
    latin = sum(letter < "\u0250" for letter in letters) > _MIXED * len(letters)
    if not theirs or not ours or not set(theirs).isdisjoint(ours) or (latin and not share_script(theirs[0], "en")):
        return None
    short = min(len(answer.split()), len(source.split())) < _ENOUGH
    if short and any(share_script(one, other) for one in theirs for other in ours):
        return None
    return language(theirs[0]).name if theirs[0] in CODES else theirs[0]


def wrong_language(answers: Iterable[str], sources: Iterable[str], prompts: Prompts | None) -> Problem | None:
    """Return a problem if the answers are in another language than the texts, and no language was requested."""
    if prompts is not None and (prompts.language is not None or prompts.added):  # the added text may ask for a language
        return None
    other = other_language("\n".join(answers), "\n".join(sources))
    return Problem(f"the answer is in another language ({other})") if other else None


async def ask_texts(
    step: str,
    model: ChatModelSpec | Problem,
    prompt: str,
    data: Mapping[str, Any],
    schema: Mapping[str, Any],
    prompts: Prompts | None,
    *,
    read: Callable[[Any], Sequence[str]],
    sources: Iterable[str],
) -> StepResult:
    """As `ask`, for an answer of texts, which `read` returns; they are made from the `sources`.

    No texts, a refusal, and another language than the sources' are problems. A problem is logged as one of the `step`.
    """
    asked = await ask(model, prompt, data, schema, prompts)
    if asked.problem is None:
        texts = read(asked.data)
        problem = wrong_language(texts, sources, prompts)
        if not texts or not texts[0]:
            problem = Problem("the answer is empty")
        elif is_refusal(texts[0]):
            problem = Problem("the model refused")
        asked = replace(asked, data=texts, problem=problem)
    if asked.problem is not None:
        told(step, asked.problem)
    return asked


def messages_of(given: Iterable[Given] | Given, zone: tzinfo = UTC) -> list[Message]:
    """Return the messages without recalled memories in them; messages that are then empty are left out.

    A time that names no zone is one of `zone`.

    Raises:
        InvalidInputError: a message is invalid.
    """
    if not isinstance(given, Iterable | Message):
        raise InvalidInputError(f"messages must be a list, not {type(given).__name__}")
    each = [given] if isinstance(given, str | Message | Mapping) else list(given)
    found = [to_message(one, zone) for one in each]
    cleaned = [replace(one, content=without_recalled(one.content)) for one in found]
    return [one for one in cleaned if one.content.strip()]


def speaker_of(message: Message) -> str:
    """Return the speaker: the name, or else the role."""
    return message.name or message.role


def shown(messages: Sequence[Message], zone: tzinfo = UTC) -> list[dict[str, Any]]:
    """Return messages in the form that a model is given, with the days of a zone."""
    return [
        {
            "number": number,
            "speaker": speaker_of(message),
            "date": None
            if message.happened_at is None
            else f"{read_in(message.happened_at, zone):%Y-%m-%d %H:%M (%A)}",
            "text": message.content,
        }
        for number, message in enumerate(messages, 1)
    ]


def object_of(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object that has all these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


TEXT: Mapping[str, Any] = {"type": "string"}
NUMBER: Mapping[str, Any] = {"type": "number"}
WHOLE: Mapping[str, Any] = {"type": "integer"}
TRUTH: Mapping[str, Any] = {"type": "boolean"}


def list_of(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a list of such objects."""
    return {"type": "array", "items": object_of(**properties)}
