"""Draw recall latency against the rows, from what `recall.py --out` wrote.

python bench/speed/plot.py recall.json [more.json ...] [--image docs/images/recall-latency.png]
"""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import common

LINES = (
    ("Qdrant local", "one", "Qdrant local mode, one user's 1 %", "#b07aa1", "--", "v"),
    ("Chroma", "one", "Chroma, one user's 1 %", "#e15759", "--", "s"),
    ("numpy float32 scan", "whole", "NumPy scan, all rows", "#9c9c9c", "-", "x"),
    ("Chroma", "whole", "Chroma, all rows (approximate)", "#e15759", "-", "s"),
    ("memorist", "whole", "Memorist, all rows (exact)", "#1f6f8b", "-", "o"),
    ("memorist", "one", "Memorist, one user's 1 %", "#1f6f8b", "--", "o"),
)


def main() -> None:
    parser = ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--image", type=Path, default=Path(__file__).parents[2] / "docs/images/recall-latency.png")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = [row for file in given.results for row in json.loads(file.read_text())["rows"]]
    lines = [
        (
            [(row["rows"], row[f"{scope} p50_ms"]) for row in rows if row["engine"] == engine],
            common.look(*look),
        )
        for engine, scope, *look in LINES
    ]
    title = "Vector recall of ten records with their texts, 384 dimensions"
    common.draw(lines, given.image, title=title, x="rows in the store", y="median latency, ms")


if __name__ == "__main__":
    main()
