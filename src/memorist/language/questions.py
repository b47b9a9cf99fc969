"""Rewriting what a user asks into questions for a memory: each stands by itself and asks for one thing."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from memorist.errors import InvalidInputError
from memorist.framing.frame import without_recalled
from memorist.language.models import NO_USAGE, ChatModelSpec, Usage
from memorist.language.prompting import Prompts
from memorist.language.steps import (
    NO_MODEL,
    TEXT,
    Given,
    Problem,
    ask_texts,
    messages_of,
    object_of,
    shown,
)

_FORM = object_of(questions={"type": "array", "items": TEXT})
_MOST_TEXTS = 4
"""Questions that are kept; a model is asked for three at most."""
_SAID = 10
"""The last messages that a model is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The questions for a memory, why no model wrote them (None if one did), and the usage."""

    texts: tuple[str, ...]
    problem: Problem | None = None
    usage: Usage = NO_USAGE

    @property
    def query(self) -> str:
        """All questions as one query of `Memory.recall` or `Memory.context`."""
        return " ".join(self.texts)


async def rewrite_question(
    question: str,
    said: Iterable[Given] = (),
    *,
    model: ChatModelSpec | None = None,
    prompts: Prompts | None = None,
) -> Questions:
    """Return the questions that a memory should be asked in the place of the user's.

    Pronouns and "the second one" are replaced by what they mean in the conversation, and a question about several
    things becomes several questions.

    Args:
        question: what the user asks.
        said: the conversation before it; its last ten messages are read.
        model: without one, the question stays as it is.
        prompts: by default the bundled ones.

    Raises:
        InvalidInputError: the question is blank or no text, a message is invalid, or the prompts cannot be read.
    """
    if not isinstance(question, str) or not (plain := without_recalled(question).strip()):
        raise InvalidInputError("a question must be a text that is not blank")
    before = messages_of(said)[-_SAID:]
    if model is None:
        return Questions(texts=(plain,), problem=NO_MODEL)

    def read(found: Any) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.strip() for each in found["questions"] if each.strip()))[:_MOST_TEXTS]

    asked = await ask_texts(
        "Rewriting a question", model, "questions", {"question": plain, "conversation": shown(before)}, _FORM, prompts,
        read=read, sources=[plain, *(message.content for message in before)],
    )  # fmt: skip
    texts = asked.data if asked.problem is None else (plain,)
    return Questions(texts=texts, problem=asked.problem, usage=asked.usage)
