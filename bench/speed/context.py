"""What a recall and a context cost beside the embedding of the question, before and after a change, in one run.

    python bench/speed/context.py DATA [--before SRC] [--questions 40] [--runs 3] [--out context.json]

The messages are those of DATA/locomo, in one scope; plain questions are LoCoMo's, those for a state are of
bench/data/now_dev. `--before` names the `src` folder of another version, whose process runs at the same time as this
one's, so that what else the machine does weighs on both alike. Milliseconds of processor time without that of
embedding: of each question the least of some runs, of these the mean.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "recall"))

import common
import shared

from memorist import sync
from memorist.embedders import Role, Vectors

_WARM = 20
_HERE = Path(__file__)
_STATES = _HERE.parents[1] / "data" / "now_dev" / "queries.jsonl"


class Clocked(shared.CachedEmbedder):
    """An embedder that knows how much processor time was spent in it."""

    spent = 0.0

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
        begin = time.thread_time()
        vectors = await super().embed(texts, role)
        self.spent += time.thread_time() - begin
        return vectors


def _rows(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def measure(data: Path, count: int, runs: int) -> dict[str, float]:
    """Return the milliseconds of each kind of call."""
    embedder = Clocked()
    plain = [row["question"] for row in _rows(data / "locomo" / "queries.jsonl")][::5]
    states = [row["question"] for row in _rows(_STATES)]
    with tempfile.TemporaryDirectory() as folder, sync.Memory.open(Path(folder) / "a.db", embedder=embedder) as memory:
        rows = shared.said(_rows(data / "locomo" / "corpus.jsonl"))
        memory.remember(
            [shared.draft_of({**row, "session": f"{row['group']}/{row['session']}", "id": None}) for row in rows]
        )
        calls: dict[str, tuple[Callable[[str], object], list[str]]] = {
            "recall": (memory.recall, plain[_WARM : _WARM + count]),
            "recall, state": (memory.recall, states[:count]),
            "context of 300": (lambda text: memory.context(text, tokens=300), plain[-2 * count : -count]),
            "context of 600": (lambda text: memory.context(text, tokens=600), plain[-count:]),
            "context of 600, state": (lambda text: memory.context(text, tokens=600), states[-count:]),
        }
        for text in plain[:_WARM]:
            memory.context(text, tokens=600)

        def clock(call: Callable[[str], object], text: str) -> float:
            embedder.spent, begin = 0.0, time.process_time()
            call(text)
            return (time.process_time() - begin - embedder.spent) * 1e3

        taken = {
            name: [[clock(call, text) for text in texts] for _ in range(runs)] for name, (call, texts) in calls.items()
        }
    return {name: sum(map(min, zip(*each, strict=True))) / len(each[0]) for name, each in taken.items()}


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--before", type=Path, help="the `src` folder of another version")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--child", action="store_true", help="of a child process: print what it measured")
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measure(given.data, given.questions, given.runs)))
        return
    versions = {"before": given.before, "after": _HERE.parents[2] / "src"}
    command = [sys.executable, _HERE, given.data, "--child", "--questions", given.questions, "--runs", given.runs]
    children = {
        name: subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(source.resolve())}
        )
        for name, source in versions.items()
        if source is not None
    }
    found = {name: json.loads(child.communicate()[0]) for name, child in children.items()}
    common.report(
        [{"ms": kind} | {name: each[kind] for name, each in found.items()} for kind in found["after"]], given.out
    )


if __name__ == "__main__":
    main()
