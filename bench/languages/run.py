"""Find what was said in several languages, asked in the same language and in English.

    python bench/languages/run.py [DATA] [--alone]

DATA is a folder with `corpus.jsonl` and `queries.jsonl`, by default bench/data/polyglot_dev; its README says what is in
them. `--alone` embeds all texts by the model of English, as earlier versions did. Vectors are kept on disk; see
bench/recall/shared.py.
"""

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "recall"))

from shared import CachedEmbedder, Row, draft_of, said  # noqa: E402

from memorist.embedders import OnnxEmbedder  # noqa: E402
from memorist.sync import Memory  # noqa: E402

CROSS = "cross"
"""The category of questions in another language than the rest of their group."""
_DEPTH = 10


def score(found: Sequence[str], gold: Sequence[str]) -> dict[str, float]:
    """Return hit@1, hit@5, hit@10 and nDCG@10 of one question."""
    places = [place for place, each in enumerate(found, start=1) if each in gold]
    gain = sum(1 / math.log2(place + 1) for place in places)
    most = sum(1 / math.log2(place + 1) for place in range(1, min(_DEPTH, len(gold)) + 1))
    hits = {f"hit@{k}": float(any(place <= k for place in places)) for k in (1, 5, 10)}
    return {**hits, "nDCG@10": gain / most}


def run(data: Path, embedder: CachedEmbedder) -> dict[str, list[dict[str, float]]]:
    """Return the scores of all questions that have an answer, by language."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in _read(data / "corpus.jsonl"):
        groups[row["group"]].append(row)
    scores: dict[str, list[dict[str, float]]] = defaultdict(list)
    for group, rows in groups.items():
        with Memory.open(":memory:", embedder=embedder) as memory:
            memory.remember([draft_of(row) for row in said(rows)])
            for asked in _read(data / "queries.jsonl"):
                if asked["group"] == group and asked["gold"]:
                    hits = memory.recall(asked["question"], limit=_DEPTH, now=asked.get("question_date"))
                    name = f"{group}, asked in English" if asked["category"] == CROSS else group
                    scores[name].append(score([hit.record.id for hit in hits], asked["gold"]))
    return scores


def _read(file: Path) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def table(scores: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Return the means in percent, a language a line."""
    every = [each for some in scores.values() for each in some]
    names = list(every[0])
    lines = [f"| language | questions | {' | '.join(names)} |", f"|---|---:|{'---:|' * len(names)}"]
    for language, some in [*sorted(scores.items()), ("**all**", every)]:
        numbers = " | ".join(f"{100 * mean(each[name] for each in some):.1f}" for name in names)
        lines.append(f"| {language} | {len(some)} | {numbers} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, default=HERE.parent / "data" / "polyglot_dev")
    parser.add_argument("--alone", action="store_true", help="embed all texts by the model of English")
    options = parser.parse_args()
    print(table(run(options.data, CachedEmbedder(OnnxEmbedder() if options.alone else None))))
