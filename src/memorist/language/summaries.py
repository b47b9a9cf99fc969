"""Summarising the oldest part of a conversation, so that the rest of it fits."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from memorist.errors import InvalidInputError
from memorist.kinds import Message, estimate_tokens
from memorist.language.extracting import BATCH_CHARACTERS, batches_of
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

_FORM = object_of(summary=TEXT)
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
        for batch in batches_of(old, len(old), BATCH_CHARACTERS):
            made = await ask_texts(
                "Summarising", asked, "summary", {"words": words, "summary": text, "messages": shown(batch)}, _FORM,
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
