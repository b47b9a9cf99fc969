"""Measure what a chat model answers from what it is told: is a context that holds the answer one that is answered from?

    python bench/answers/run.py --model openai:NAME@URL [--data DATA] [--tokens 300] [--language en] [--every N]

DATA is a folder like bench/data/lived_dev: memories of everything that was said, and questions asked of them. The model
is any endpoint that speaks as OpenAI's does. It answers each question from the text of `context`, from the hits of
`recall` as lines, and from nothing. An answer is scored by its own words, by no judge: it is right if it holds two
thirds of the words of the right answer and every number in it. Where nothing is known, it is right to say so. Questions
whose answer is no words, small talk and how the user wants to be answered, are left out.
"""

import argparse
import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, TypeAlias

from memorist import Draft, Kind, Memory
from memorist.embedders import EmbedderSpec
from memorist.language import ChatModel, open_chat_model
from memorist.languages import language
from memorist.languages.writing import day_of

Row: TypeAlias = Mapping[str, Any]
Teller: TypeAlias = Callable[[Memory, Row, int], Awaitable[str]]

LEFT_OUT = ("standing", "smalltalk")
UNKNOWN = "unknown"
_DATA = Path(__file__).parents[1] / "data" / "lived_dev"
_ASKED = (
    "You are the assistant of the user who asks. Answer in one short sentence, in the language of the question, from "
    "what you remember. If that does not tell the answer, say that you do not know."
)
_WORD = re.compile(r"[^\W_]+")
_ENOUGH = 2 / 3
"""The share of the right answer's words that an answer must hold."""
_CHARACTERS_A_TOKEN = 4
_MOST_HITS = 150
_NOT_KNOWN = re.compile(
    r"\bnot? (?:\w+ ){0,2}(?:know|aware|sure|told|mention|specif|provid|stat|record|contain|information|available)"
    r"|n['’]t (?:\w+ )?(?:know|have|mention|specif|provid|stat|contain|remember)|unknown"
    r"|\bnicht (?:\w+ )?(?:bekannt|erwähnt|angegeben|genannt|sicher)|weiß (?:\w+ ){0,2}nicht|unbekannt"
    r"|keine (?:\w+ )?(?:information|angabe)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered to one question.

    Attributes:
        told: whether what the model was told holds the right answer's words.
        right: whether the answer does; of what nobody knows, whether the answer says so.
        tokens: how long what it was told is, about.
    """

    category: str
    told: bool
    right: bool
    tokens: float


async def from_context(memory: Memory, question: Row, tokens: int) -> str:
    """Return the text of a context."""
    return (await memory.context(question["question"], tokens=tokens, now=question["question_date"])).text


async def from_recall(memory: Memory, question: Row, tokens: int) -> str:
    """Return the hits of a recall as lines, best first, as many as fit."""
    lines, left = list[str](), tokens * _CHARACTERS_A_TOKEN
    for hit in await memory.recall(question["question"], limit=_MOST_HITS, now=question["question_date"]):
        record = hit.record
        who = record.payload.get("speaker") or record.payload.get("role")
        line = f"[{day_of(record.at)}] {who}: {' '.join(record.content.split())}"
        if (left := left - len(line) - 1) < 0:
            break
        lines.append(line)
    return "\n".join(lines)


async def from_nothing(memory: Memory, question: Row, tokens: int) -> str:
    """Return no text."""
    return ""


TELLERS: Mapping[str, Teller] = {"context": from_context, "recall": from_recall, "nothing": from_nothing}
"""What a model is told, by name."""


def holds(text: str, answer: str, code: str) -> bool:
    """Return whether a text holds an answer's words: two thirds of them and every number; `code` is its language."""
    needed = {word for word in _words(answer) if word not in language(code).stop} or _words(answer)
    found = needed & _words(text)
    numbers = {word for word in needed if any(map(str.isdigit, word))}
    return numbers <= found and len(found) >= _ENOUGH * len(needed)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def says_unknown(text: str) -> bool:
    """Return whether an answer says that it does not know."""
    return _NOT_KNOWN.search(text) is not None


async def answered(model: ChatModel, memory: Memory, question: Row, teller: Teller, tokens: int) -> Answer:
    """Return what the model answers to a question from what it is told."""
    text = await teller(memory, question, tokens)
    known = f"What you remember:\n{text}\n\n" if text else "You remember nothing of this.\n\n"
    asked = [
        {"role": "system", "content": _ASKED},
        {"role": "user", "content": f"{known}Question ({question['question_date'][:10]}): {question['question']}"},
    ]
    reply = (await model.complete(asked)).text
    if question["category"] == UNKNOWN:
        return Answer(UNKNOWN, False, says_unknown(reply), len(text) / _CHARACTERS_A_TOKEN)
    code, right = question["language"], str(question["answer"])
    told = holds(text, right, code)
    return Answer(question["category"], told, holds(reply, right, code), len(text) / _CHARACTERS_A_TOKEN)


async def run(
    data: Path,
    model: ChatModel,
    *,
    tokens: int = 300,
    codes: Sequence[str] = (),
    every: int = 1,
    embedder: EmbedderSpec = None,
) -> Mapping[str, list[Answer]]:
    """Return the answers to the questions of a folder, by what the model is told."""
    rows, asked = defaultdict[str, list[Row]](list), defaultdict[str, list[Row]](list)
    for row in _lines(data / "corpus.jsonl"):
        rows[row["group"]].append(row)
    wanted = [each for each in _lines(data / "queries.jsonl") if each["category"] not in LEFT_OUT]
    for question in [each for each in wanted if not codes or each["language"] in codes][::every]:
        asked[question["group"]].append(question)
    answers: dict[str, list[Answer]] = {name: [] for name in TELLERS}
    for group, questions in asked.items():
        async with Memory.open(":memory:", embedder=embedder) as memory:
            await memory.remember(map(_draft, rows[group]))
            for question in questions:
                for name, teller in TELLERS.items():
                    answers[name].append(await answered(model, memory, question, teller, tokens))
    return answers


def _lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _draft(row: Row) -> Draft:
    payload = {"role": row["role"], "speaker": row["speaker"]}
    return Draft(
        content=row["text"],
        kind=Kind.MESSAGE,
        session=row["session"],
        payload=payload,
        happened_at=row["timestamp"],
    )


def table(answers: Mapping[str, Sequence[Answer]]) -> str:
    """Return the shares as a table in Markdown, in percent."""
    titles = ("told from", "tokens", "told", "right", "right where told", "says it is unknown")
    lines = [f"| {' | '.join(titles)} |", "|---|" + "---:|" * (len(titles) - 1)]
    for name, given in answers.items():
        known = [each for each in given if each.category != UNKNOWN]
        shares = (
            [each.told for each in known],
            [each.right for each in known],
            [each.right for each in known if each.told],
            [each.right for each in given if each.category == UNKNOWN],
        )
        tokens = mean(each.tokens for each in given) if given else 0
        cells = (name, f"{tokens:.0f}", *(f"{100 * mean(share):.0f}" if share else "" for share in shares))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="as memorist.language.open_chat_model takes it")
    parser.add_argument("--data", type=Path, default=_DATA)
    parser.add_argument("--tokens", type=int, default=300)
    parser.add_argument("--language", action="append", default=[], help="only questions in it; may be repeated")
    parser.add_argument("--every", type=int, default=1, help="take every nth question")
    given = parser.parse_args()
    options = {"temperature": 0, "max_tokens": 80}
    model = open_chat_model(given.model, options=options, concurrency=1, timeout=300)
    answers = asyncio.run(run(given.data, model, tokens=given.tokens, codes=given.language, every=given.every))
    print(table(answers))


if __name__ == "__main__":
    main()
