"""What is measured of an answer, and how sure it is; no language model judges anything.

A row of evidence counts as told if half of its runs of three words are in the text; in Chinese, Japanese and Thai each
letter is a word. Tokens are characters divided by four.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

BUDGETS = (150, 300, 600, 1200)
ROLES = ("user", "assistant", "session", "tool")
UNANSWERABLE = ("abstention", "5-adversarial")
CROSS = "cross"
"""The category of questions in English about messages in another language."""
_SPACELESS = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff"
_DRAWS = 2000

Row = dict[str, Any]


@dataclass(frozen=True)
class Data:
    """A data set: rows by memory, questions with the ids of what answers them, and whether memories share sessions."""

    name: str
    groups: Mapping[str, Sequence[Row]]
    questions: Sequence[Row]
    pooled: bool

    @classmethod
    def read(cls, folder: Path) -> "Data":
        """Read `corpus.jsonl`, `queries.jsonl` and, where memories share sessions, `haystacks.jsonl`."""
        try:
            corpus, questions = (_lines(folder / f"{name}.jsonl") for name in ("corpus", "queries"))
        except FileNotFoundError as error:
            raise SystemExit(f"{folder} is no data set: it has no {Path(error.filename).name}") from error
        rows, sessions = defaultdict(list), defaultdict(list)
        for row in filter(lambda row: row["text"].strip(), corpus):
            named = row["speaker"] and row["speaker"] not in ROLES
            row = {**row, "said": row["text"], "text": f"{row['speaker']}: {row['text']}" if named else row["text"]}
            rows[row["group"]].append(row)
            sessions[row["session"]].append(row)
        pooled = (folder / "haystacks.jsonl").exists()
        if pooled:
            hay = _lines(folder / "haystacks.jsonl")
            rows = {each["group"]: [row for one in each["sessions"] for row in sessions[one]] for each in hay}
        return cls(folder.name, rows, questions, pooled)

    def asked(self, every: int = 1, strangers: int = 3) -> list[Row]:
        """Return what is asked of which memory: each question of its own, and each third of the next one.

        Nothing is asked of another where sessions are shared, or where the questions are about "me" and what changed
        for me: those fit everybody's memory.
        """
        names, found = list(self.groups), []
        apart = len(names) > 1 and not self.pooled and not any(each.get("stale") for each in self.questions)
        own = [each for each in self.questions if each["category"] not in UNANSWERABLE and each["gold"]][::every]
        for number, each in enumerate(own):
            plain = {"question": each["question"], "when": each.get("question_date")}
            found.append({**plain, "key": each["id"], "of": each["group"], "own": True})
            if number % strangers == 0 and apart:
                other = names[(names.index(each["group"]) + 1) % len(names)]
                found.append({**plain, "key": f"{each['id']} of {other}", "of": other, "own": False})
        return found


def _lines(file: Path) -> list[Row]:
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def scores(data: Data, answers: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Return the measures of each question, by its key; a stranger's has `silent` alone."""
    questions = {each["id"]: each for each in data.questions}
    texts = {name: {row["id"]: row["text"] for row in rows} for name, rows in data.groups.items()}
    said = {name: {row["id"]: row["said"] for row in rows} for name, rows in data.groups.items()}
    found = {}
    for each in answers:
        question = questions.get(each["key"])
        if question is None:
            told = each["told"].values() if "told" in each else each["ids"]
            found[each["key"]] = {"silent": float(not any(map(str.strip, told)))}
            continue
        own = texts[question["group"]]
        gold = [said[question["group"]][id] for id in question["gold"] if id in own]
        found[each["key"]] = ranked(each["ids"], question) | {
            f"{name}@{budget}": value
            for budget in BUDGETS
            for name, value in told_of(_prompt(each, own, budget), gold).items()
        }
    return found


def _prompt(answer: Row, texts: Mapping[str, str], budget: int) -> str:
    """Return what stands in the prompt: a system's own context, or the hits as lines, cut at the budget."""
    text = answer["told"][str(budget)] if "told" in answer else "\n".join(f"- {texts[id]}" for id in answer["ids"])
    return text[: 4 * budget]


def ranked(ids: Sequence[str], question: Row) -> dict[str, float]:
    """Return hit@5, all@5, nDCG@10 and, where something changed, whether a right row stands above all stale ones."""
    gold = set(question["gold"])
    places = [place for place, id in enumerate(ids, 1) if id in gold]
    gain = sum(1 / math.log2(place + 1) for place in places if place <= 10)
    most = sum(1 / math.log2(place + 1) for place in range(1, min(10, len(gold)) + 1))
    found = {"hit@5": float(bool(places) and places[0] <= 5), "nDCG@10": gain / most}
    found["all@5"] = float(sum(place <= 5 for place in places) == len(gold))
    if stale := set(question.get("stale") or ()):
        right = gold | set(question.get("also") or ())
        found["current"] = float(next((id in right for id in ids[:20] if id in stale | right), False))
    return found


def told_of(text: str, gold: Sequence[str]) -> dict[str, float]:
    """Return the share of the evidence that a text tells, the share of the text that is evidence, and its tokens."""
    words = _words(text)
    inside, runs = _runs(words), [_runs(_words(each)) for each in gold]
    told = [len(each & inside) >= len(each) / 2 for each in runs]
    dense = {"density": len(inside & set().union(*runs)) / len(inside)} if words else {}
    return {"evidence": sum(told) / len(told), "told": float(bool(words)), "tokens": math.ceil(len(text) / 4), **dense}


def _words(text: str) -> list[str]:
    return re.findall(rf"[{_SPACELESS}]|[^\W_{_SPACELESS}]+", text.casefold())


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + 3]) for at in range(len(words) - 2)} or {tuple(words)}


@dataclass(frozen=True)
class Cell:
    """A mean over questions in percent (or tokens), its interval of 95 percent, and how it differs from another's.

    Attributes:
        differs: -1 or 1 where the interval of the difference to the other's, question by question, is below or above
            zero; 0 where it is not, so that these questions show no difference; None where there is no other.
    """

    mean: float
    low: float
    high: float
    count: int
    differs: int | None = None


def cell(values: Mapping[str, float], other: Mapping[str, float] | None = None, scale: float = 100) -> Cell | None:
    """Return the cell of a measure, by question; None if no question has it."""
    if not values:
        return None
    low, high = _interval(np.array(list(values.values())))
    differs = None
    if other is not None and (both := sorted(values.keys() & other.keys())):
        under, over = _interval(np.array([values[key] - other[key] for key in both]))
        differs = int(under > 0) - int(over < 0)
    mean = float(np.mean(list(values.values())))
    return Cell(scale * mean, scale * low, scale * high, len(values), differs)


def _interval(values: "np.ndarray[Any, Any]") -> tuple[float, float]:
    draws = np.random.default_rng(0).integers(0, len(values), (_DRAWS, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)
