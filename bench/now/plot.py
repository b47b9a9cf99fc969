"""Draw what a memory of a year in which things change tells: evidence against tokens, and what was believed when.

    python bench/now/plot.py [--data DATA] [--every N] [--out FOLDER]

It needs nothing but this repository and matplotlib: `pip install '.[bench]'`. DATA is a folder like bench/data/now_dev.
evidence.png shows the share of the rows that answer which a context tells, at the tokens that it used of those allowed;
believed.png for each question about the present what came first in `recall`, had it been asked at the end of a month.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memorist import Draft, Kind
from memorist.sync import Memory

BUDGETS = (75, 150, 300, 600, 1200, 2000)
STATES = ("not said yet", "what held then", "what held before", "something else")
_COLORS = ("#ffffff", "#1e8449", "#c0392b", "#bdc3c7")
_MOST_LETTERS = 48
Row = Mapping[str, Any]


def read(path: Path) -> Iterator[Row]:
    """Yield the rows of a file of JSON lines."""
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def filled(rows: Sequence[Row]) -> Memory:
    """Return a memory that holds the rows as messages."""
    memory = Memory.open(":memory:")
    memory.remember(
        [
            Draft(
                content=row["text"], id=row["id"], kind=Kind.MESSAGE, session=row["session"],
                payload={"speaker": row["speaker"]}, happened_at=row["timestamp"],
            )
            for row in rows
        ]
    )  # fmt: skip
    return memory


def told(memory: Memory, question: Row, tokens: int) -> tuple[float, int]:
    """Return which part of the rows that answer a context tells, and the tokens that it used."""
    context = memory.context(question["question"], tokens=tokens, now=question["question_date"])
    shown = {item.record.id for item in context.items}
    return len(shown.intersection(question["gold"])) / len(question["gold"]), context.tokens


def believed(memory: Memory, question: Row, at: Mapping[str, str], ends: Sequence[datetime]) -> list[int]:
    """Return for the end of each month which of `STATES` came first in a recall."""
    found = []
    for end in ends:
        said = sorted((at[id], id) for id in (*question["gold"], *question["stale"]) if at[id] < end.isoformat())
        hits = memory.recall(question["question"], limit=1, as_of=end, now=end)
        first = hits[0].record.id if hits else ""
        states = [id for _, id in said]
        held = 0 if not states else 1 if at.get(first) == at[states[-1]] else 2 if first in states else 3
        found.append(held)
    return found


def draw_evidence(points: Mapping[int, Sequence[tuple[float, int]]], path: Path) -> None:
    """Draw the evidence told against the tokens used."""
    figure, panel = _pyplot().subplots(figsize=(6, 4), layout="constrained")
    used = [sum(tokens for _, tokens in each) / len(each) for each in points.values()]
    shares = [100 * sum(share for share, _ in each) / len(each) for each in points.values()]
    panel.plot(used, shares, "o-", color="#c0392b")
    allowed = defaultdict[tuple[int, int], list[str]](list)  # a larger budget may be used no further
    for budget, x, y in zip(points, used, shares, strict=True):
        allowed[round(x), round(y)].append(f"{budget:,}")
    *before, last = allowed
    for place, budgets in allowed.items():
        side = "right" if place in before[1:] else "center" if place == last else "left"
        offset = {"right": (-6, 4), "center": (-40, -24), "left": (8, -4)}[side]
        text = f"{' and '.join(budgets)} allowed"
        panel.annotate(text, place, textcoords="offset points", xytext=offset, ha=side, fontsize=8)
    panel.margins(y=0.12)
    panel.set(xlabel="tokens used", ylabel="rows that answer, told, %", title="A year in which things change")
    panel.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def draw_believed(rows: Sequence[tuple[str, list[int]]], ends: Sequence[datetime], path: Path) -> None:
    """Draw one line a question and one column a month, coloured by what came first."""
    plt = _pyplot()
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    figure, panel = plt.subplots(figsize=(9, 1.2 + 0.2 * len(rows)), layout="constrained")
    cells = [each for _, each in rows]
    panel.imshow(cells, cmap=ListedColormap(_COLORS), vmin=0, vmax=len(STATES) - 1, aspect="auto")
    panel.set_xticks(range(len(ends)), [f"{end - timedelta(days=1):%b}" for end in ends])
    panel.set_yticks(range(len(rows)), [question[:_MOST_LETTERS] for question, _ in rows], fontsize=7)
    patches = [Patch(facecolor=color, edgecolor="#999999") for color in _COLORS]
    figure.legend(patches, STATES, loc="outside lower center", ncols=len(STATES), frameon=False)
    panel.set_title("What came first, had it been asked at the end of each month")
    figure.savefig(path, dpi=75)


def _pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "data" / "now_dev")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path())
    given = parser.parse_args()
    corpus, asked = defaultdict[str, list[Row]](list), defaultdict[str, list[Row]](list)
    for row in read(given.data / "corpus.jsonl"):
        corpus[row["group"]].append(row)
    for question in list(read(given.data / "queries.jsonl"))[:: given.every]:
        asked[question["group"]].append(question)
    zone = Memory.open(":memory:").clock().tzinfo
    year = int(min(row["timestamp"] for rows in corpus.values() for row in rows)[:4])
    ends = [datetime(year + month // 12, month % 12 + 1, 1, tzinfo=zone) for month in range(1, 12)]
    points, lines = defaultdict[int, list[tuple[float, int]]](list), list[tuple[str, list[int]]]()
    for group, questions in asked.items():
        at = {row["id"]: row["timestamp"] for row in corpus[group]}
        with filled(corpus[group]) as memory:
            for question in questions:
                for budget in BUDGETS:
                    points[budget].append(told(memory, question, budget))
                if question["category"] == "now" and question.get("stale"):
                    lines.append((question["question"], believed(memory, question, at, ends)))
    given.out.mkdir(parents=True, exist_ok=True)
    draw_evidence(points, given.out / "evidence.png")
    draw_believed(lines, ends, given.out / "believed.png")
    for budget, each in points.items():
        share, used = (sum(column) / len(each) for column in zip(*each, strict=True))
        print(f"{budget:>6} allowed: {100 * share:5.1f} % of the rows that answer, in {used:.0f} tokens")
    counts = [sum(line.count(state) for _, line in lines) for state in range(len(STATES))]
    print("\n".join(f"{count:>6} {state}" for state, count in zip(STATES, counts, strict=True)))


if __name__ == "__main__":
    main()
