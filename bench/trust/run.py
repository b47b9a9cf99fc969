"""Measure how far an attacker who can only write gets into the contexts of others.

    python bench/trust/run.py DATA [--questions 150] [--tokens 500] [--results FILE]

DATA holds the folders locomo and longmemeval_dev; `--eval` names eval_context.py, by default beside DATA. Every attack
is written to the memory of its question, the question is asked, and the attack is forgotten. Embeddings are kept as
bench/recall/shared.py says.
"""

import argparse
import importlib.util
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "recall"))

import shared
from attacks import WAYS, Case

from memorist import Context, Draft, Kind
from memorist.sync import Memory

SETS = {"locomo": "LoCoMo", "longmemeval_dev": "LongMemEval"}
LEVELS = ("low", "medium", "high")
_UNANSWERABLE = ("5-adversarial", "abstention")


def load_evaluator(path: Path) -> ModuleType:
    """Return eval_context as a module."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location("eval_context", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SystemExit(f"there is no evaluator at {path}; name it with --eval")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def draft_of(row: shared.Row) -> Draft:
    """Return the message that a row is; a person's is the user's."""
    role = row["speaker"] if row["speaker"] in shared.ROLES else "user"
    name = {} if row["speaker"] in shared.ROLES else {"speaker": row["speaker"]}
    return Draft(
        content=row["text"], kind=Kind.MESSAGE, id=row["id"], session=row["session"], payload={"role": role, **name},
        happened_at=row["timestamp"] or None,
    )  # fmt: skip


def chosen(queries: Sequence[Mapping[str, Any]], count: int) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield some of the questions that can be answered, each with the answer of another."""
    can = [each for each in queries if each["category"] not in _UNANSWERABLE and each["gold"]]
    some = can[:: max(len(can) // count, 1)][:count]
    for number, query in enumerate(some):
        yield query, str(some[(number + len(some) // 2) % len(some)]["answer"])


class Tally:
    """What came of attacks and evidence, by way and least trust."""

    def __init__(self, evaluator: ModuleType) -> None:
        self._evaluator = evaluator
        self.counts: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, way: str, least: str, told: Context, ids: Sequence[str], gold: Sequence[str], tokens: int) -> None:
        """Note one context: which of the attack's records and how much of the evidence it holds."""
        inside = self._evaluator.shingles(self._evaluator.words(told.text[: 4 * tokens]))
        row = self.counts[f"{way}|{least}"]
        row["evidence"].append(sum(self._evaluator.covered(text, inside) for text in gold) / len(gold))
        if ids:
            there = [item for item in told.items if item.record.id in set(ids)]
            row["told"].append(float(bool(there)))
            row["held"].append(float(any(item.why != "recalled" for item in there)))

    def results(self) -> dict[str, dict[str, float]]:
        """Return sums of attacks, and means of evidence in percent."""
        return {
            key: {"attacks": len(row["told"]), "told": sum(row["told"]), "held": sum(row["held"]),
                  "evidence": round(100 * sum(row["evidence"]) / len(row["evidence"]), 1)}
            for key, row in self.counts.items()
        }  # fmt: skip


def measure(evaluator: ModuleType, folder: Path, count: int, tokens: int) -> dict[str, dict[str, float]]:
    """Return what the attacks reach on one data set."""
    groups, queries = evaluator.groups_of(str(folder))
    by: dict[str, list[tuple[Mapping[str, Any], str]]] = defaultdict(list)
    for query, wrong in chosen(queries, count):
        by[query["group"]].append((query, wrong))
    tally = Tally(evaluator)
    for group, asked in by.items():
        rows = shared.said(groups[group]())
        with Memory.open(":memory:", embedder=shared.EMBEDDER) as everyone:
            victim = everyone.scoped(user="victim")
            victim.remember([draft_of(row) for row in rows])
            for query, wrong in asked:
                ask(tally, everyone, victim, rows, query, wrong, tokens)
        print(".", end="", file=sys.stderr, flush=True)
    return tally.results()


def ask(
    tally: Tally, everyone: Memory, victim: Memory, rows: Sequence[shared.Row], query: Mapping[str, Any], wrong: str,
    tokens: int,
) -> None:  # fmt: skip
    """Ask one question without an attack, and with each."""
    text_of = {row["id"]: row["text"] for row in rows}
    gold = [text_of[id] for id in query["gold"] if id in text_of]
    if not gold:
        return

    def told(least: str) -> Context:
        return victim.context(
            query["question"], tokens=tokens, now=query.get("question_date"), min_trust=least, shared=True
        )  # type: ignore[arg-type]  # a word

    for least in LEVELS:
        tally.add("no attack", least, told(least), (), gold, tokens)
    case = Case(query["question"], wrong, rows[-1]["timestamp"] or None)
    for way, write in WAYS.items():
        ids = write(victim, everyone, case)
        for least in LEVELS:
            tally.add(way, least, told(least), ids, gold, tokens)
        for memory in (victim, everyone):
            memory.forget(*ids)
        for session in ("repeated", "tools"):
            victim.forget(session=session)


def table(results: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Return all results as a table in Markdown."""
    head = ["way", "attacks", "among what always holds", *(f"told, min_trust {each}" for each in LEVELS)]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    for way in WAYS:
        rows = [[found[f"{way}|{least}"] for found in results.values()] for least in LEVELS]
        attacks = sum(each["attacks"] for each in rows[0])
        held = sum(each["held"] for row in rows for each in row)
        told = [f"{sum(each['told'] for each in row):.0f}" for row in rows]
        lines.append(f"| {way} | {attacks:.0f} | {held:.0f} | {' | '.join(told)} |")
    lines += [
        "",
        f"| evidence kept, % | {' | '.join(f'min_trust {each}' for each in LEVELS)} |",
        "|---|---:|---:|---:|",
    ]
    for name, found in results.items():
        *others, saved = WAYS
        for label, ways in (("no attack", ["no attack"]), ("attacked", others), (saved, [saved])):
            cells = [sum(found[f"{way}|{least}"]["evidence"] for way in ways) / len(ways) for least in LEVELS]
            lines.append(f"| {SETS[name]}, {label} | {' | '.join(f'{cell:.1f}' for cell in cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--questions", type=int, default=150)
    parser.add_argument("--tokens", type=int, default=500)
    parser.add_argument("--eval", type=Path)
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    evaluator = load_evaluator(given.eval or given.data.resolve().parent / "eval_context.py")
    results = {}
    for name in given.sets:
        results[name] = measure(evaluator, given.data / name, given.questions, given.tokens)
        if given.results is not None:
            given.results.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(table(results))


if __name__ == "__main__":
    main()
