"""Texts that a chat model writes: questions for a memory, a conversation's summary, the reflection on an episode."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memorist.errors import InvalidInputError
from memorist.framing.frame import without_recalled
from memorist.kinds import Episode, Message, estimate_tokens
from memorist.language.extracting import batches_of
from memorist.language.models import NO_USAGE, ChatModel, ChatModelSpec, Usage
from memorist.language.prompting import Prompts
from memorist.language.steps import (
    NO_MODEL,
    TEXT,
    Given,
    Problem,
    ask_texts,
    messages_of,
    object_of,
    opened,
    shown,
    speaker_of,
)

_QUESTIONS = object_of(questions={"type": "array", "items": TEXT})
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
        raise InvalidInputError("a question must be a string that is not blank")
    before = messages_of(said)[-_SAID:]
    if model is None:
        return Questions(texts=(plain,), problem=NO_MODEL)

    def read(found: Any) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.strip() for each in found["questions"] if each.strip()))[:_MOST_TEXTS]

    asked = await ask_texts(
        "Rewriting a question", model, "questions", {"question": plain, "conversation": shown(before)}, _QUESTIONS,
        prompts, read=read, sources=[plain, *(message.content for message in before)],
    )  # fmt: skip
    texts = asked.data if asked.problem is None else (plain,)
    return Questions(texts=texts, problem=asked.problem, usage=asked.usage)


_SUMMARY = object_of(summary=TEXT)
_SENTENCE = re.compile(r".+?(?:[.!?。!?](?=\s|$)|$)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A conversation, shortened.

    Args:
        text: the summary of the older messages; "" if all fit.
        covered: the messages that it summarises, oldest first.
        rest: the messages that are kept unchanged.
        problem: why the text, or its end, consists of the messages' own first sentences; None if a model wrote it.
        usage: the calls, tokens and cost.
    """

    text: str
    covered: tuple[Message, ...]
    rest: tuple[Message, ...]
    problem: Problem | None = None
    usage: Usage = NO_USAGE


async def summarize(
    messages: Iterable[Given],
    *,
    model: ChatModelSpec | None = None,
    prompts: Prompts | None = None,
    keep_tokens: int = 2000,
    words: int = 200,
    previous: str = "",
    count_tokens: Callable[[str], int] = estimate_tokens,
) -> Summary:
    """Summarise the oldest messages, all but the newest that fit.

    Args:
        messages: in order.
        model: without one, the summary is the first sentence of each message, the newest of them that fit.
        prompts: by default the bundled ones.
        keep_tokens: the most tokens of the messages that are kept unchanged; 0 summarises all.
        words: the approximate length of the summary.
        previous: the summary of earlier messages.
        count_tokens: returns the number of tokens of a text; by default a quarter of its characters, rounded up.

    Raises:
        InvalidInputError: a message is invalid, a number is out of range, or the prompts cannot be read.
    """
    if keep_tokens < 0 or words < 1:
        raise InvalidInputError("keep_tokens must be 0 or more, and words 1 or more")
    given = messages_of(messages)
    split, left = len(given), keep_tokens
    while split and (left := left - count_tokens(given[split - 1].content)) >= 0:
        split -= 1
    old, rest = tuple(given[:split]), tuple(given[split:])
    if not old:
        return Summary(text=previous, covered=(), rest=rest)
    if model is None:
        return Summary(text=_extract(previous, old, words), covered=old, rest=rest, problem=NO_MODEL)
    text, problem, usage = previous, None, NO_USAGE
    async with opened(model) as chat:
        asked: ChatModel | Problem = chat
        for batch in batches_of(old, len(old)):
            made = await ask_texts(
                "Summarising", asked, "summary", {"words": words, "summary": text, "messages": shown(batch)}, _SUMMARY,
                prompts, read=lambda found: [found["summary"].strip()], sources=[each.content for each in batch],
            )  # fmt: skip
            if made.problem is not None and made.problem.temporary:
                asked = made.problem
            problem = problem or made.problem
            usage += made.usage
            text = made.data[0] if made.problem is None else _extract(text, batch, words)
    return Summary(text=text, covered=old, rest=rest, problem=problem, usage=usage)


def _extract(previous: str, messages: Sequence[Message], words: int) -> str:
    """Return the first sentences of the newest messages, one on each line, as many as the words allow."""
    lines = previous.splitlines() + [f"{speaker_of(each)}: {_first_sentence(each.content)}" for each in messages]
    kept: list[str] = []
    left = words
    for line in reversed(lines):
        left -= len(line.split())
        if left < 0 and kept:
            break
        kept.append(line)
    return "\n".join(reversed(kept))


def _first_sentence(text: str) -> str:
    text = " ".join(text.split())
    found = _SENTENCE.match(text)
    sentence = found[0] if found else text
    return sentence if len(sentence) <= 300 else f"{sentence[:300]}…"


_REFLECTION = object_of(reflection=TEXT)
_ROLLOUT = 12_000
"""The most characters of the steps taken; the end of them is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """The reflection on an episode, why a model did not write it (None if one did), and the usage."""

    text: str
    problem: Problem | None = None
    usage: Usage = NO_USAGE


async def reflect(
    episode: Episode | Mapping[str, str],
    *,
    model: ChatModelSpec | None = None,
    prompts: Prompts | None = None,
) -> Reflection:
    """Return what decided the outcome of an episode, and what to do another time.

    Args:
        episode: an `Episode`, or a mapping of its parts.
        model: without one, the reflection says in one line what was done and how it ended.
        prompts: by default the bundled ones.

    Raises:
        InvalidInputError: the parts make no episode, or the prompts cannot be read.
    """
    if isinstance(episode, Mapping):
        try:
            episode = Episode(**episode)
        except TypeError as error:
            raise InvalidInputError(f"an episode has no such part: {error}") from error
    if not isinstance(episode, Episode):
        raise InvalidInputError(f"an episode is an Episode or a mapping of its parts, not {type(episode).__name__}")
    if model is None:
        return Reflection(text=_plainly(episode), problem=NO_MODEL)
    data = {name: without_recalled(part)[-_ROLLOUT:] for name, part in episode.parts().items()}
    asked = await ask_texts(
        "Reflecting", model, "reflection", data, _REFLECTION, prompts, sources=data.values(),
        read=lambda found: [found["reflection"].strip()],
    )  # fmt: skip
    text = asked.data[0] if asked.problem is None else _plainly(episode)
    return Reflection(text=text, problem=asked.problem, usage=asked.usage)


def _plainly(episode: Episode) -> str:
    about = episode.task or episode.question or ""
    if episode.error:
        return f"Failed: {about}: {episode.error}"
    end = episode.result or episode.answer
    return f"Done: {about}: {end}" if end else f"Ended without a result: {about}"
