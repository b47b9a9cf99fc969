"""What every step does: ask with a prompt, data and a form, and tell why there is no answer where there is none."""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from memorist.agents.injection import without_recalled
from memorist.errors import ModelError, ModelUnavailableError
from memorist.kinds import Message
from memorist.kinds.message import to_message
from memorist.language.models import NO_USAGE, ChatModelSpec, Usage, open_chat_model
from memorist.language.prompting import Prompts
from memorist.language.tongues import other_language

__all__ = ["Asked", "Given", "Problem", "ask", "messages_of", "object_of", "speaker_of", "told"]

log = logging.getLogger("memorist.language")

Given: TypeAlias = str | Message | Mapping[str, Any]
"""A message in any form that a conversation takes."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a step has the result that it has without a model.

    `temporary` says that the model could not be reached or used: the same call may succeed later.
    """

    reason: str
    temporary: bool = False

    def __str__(self) -> str:
        return self.reason


NO_MODEL = Problem("no chat model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What came of one question to a model: its data, or a problem."""

    data: Any = None
    problem: Problem | None = None
    usage: Usage = NO_USAGE


async def ask(
    model: ChatModelSpec, prompt: str, data: Mapping[str, Any], schema: Mapping[str, Any], prompts: Prompts | None
) -> Asked:
    """Put data to a model with one of the prompts, and return what it says in the form of `schema`.

    A failing model is a `Problem`, never an exception.
    """
    opened = open_chat_model(model)
    messages = [
        {"role": "system", "content": (prompts or Prompts()).get(prompt)},
        {"role": "user", "content": json.dumps(data, ensure_ascii=False, indent=1)},
    ]
    try:
        reply = await opened.complete(messages, schema=schema)
    except ModelError as error:
        return Asked(
            problem=Problem(str(error), temporary=isinstance(error, ModelUnavailableError)),
            usage=Usage(failures=1, batches=1),
        )
    finally:
        if isinstance(model, str) and (close := getattr(opened, "close", None)) is not None:
            await close()
    usage = replace(reply.usage, batches=1)
    if reply.problem is not None or reply.data is None:
        return Asked(problem=Problem(reply.problem or "the answer is empty"), usage=usage)
    return Asked(data=reply.data, usage=usage)


def told(step: str, problem: Problem) -> Problem:
    """Say in the log that a step went on without its model, and return the problem."""
    log.warning("%s without the model: %s", step, problem.reason)
    return problem


def wrong_language(answers: Iterable[str], sources: Iterable[str], prompts: Prompts | None) -> Problem | None:
    """Return a problem where the answers are in another language than the texts, and none was asked for."""
    if prompts is not None and prompts.language is not None:
        return None
    other = other_language("\n".join(answers), "\n".join(sources))
    return Problem(f"the answer is in another language ({other})") if other else None


def messages_of(given: Iterable[Given] | Given) -> list[Message]:
    """Return the messages, without what recall put into them; those of which nothing is left are not there.

    Raises:
        InvalidInputError: one is no message.
    """
    each = [given] if isinstance(given, str | Message | Mapping) else list(given)
    found = [to_message(one) for one in each]
    cleaned = [replace(one, content=without_recalled(one.content)) for one in found]
    return [one for one in cleaned if one.content.strip()]


def speaker_of(message: Message) -> str:
    """Return who speaks: the name, or else the role."""
    return message.name or message.role


def shown(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages as they are put to a model."""
    return [
        {
            "number": number,
            "speaker": speaker_of(message),
            "date": None if message.happened_at is None else f"{message.happened_at:%Y-%m-%d %H:%M (%A)}",
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
