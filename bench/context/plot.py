"""Draw the results of run.py and fit.py.

python bench/context/plot.py RESULTS.json IMAGE.png
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from run import BACKENDS, BUDGETS, TITLES, Result

_COLORS = {"memorist": "#c0392b", "embedder": "#7f8c8d", "bm25": "#b9770e", "mem0": "#2471a3"}


def draw_budgets(results: Sequence[Result], file: Path) -> None:
    """Draw evidence against tokens, one panel a data set."""
    plt = _pyplot()
    sets = [name for name in BUDGETS if any(each["data"] == name for each in results)]
    figure, axes = plt.subplots(1, len(sets), figsize=(3.6 * len(sets), 3.8), layout="constrained", squeeze=False)
    for panel, name in zip(axes[0], sets, strict=True):
        for each in (each for each in results if each["data"] == name):
            backend = each["backend"]
            shares = [each["budgets"][str(budget)]["evidence"] for budget in BUDGETS[name]]
            panel.plot(
                BUDGETS[name], shares, marker="o", color=_COLORS[backend], label=BACKENDS[backend],
                linewidth=2.4 if backend == "memorist" else 1.2,
            )  # fmt: skip
        panel.set_title(TITLES[name], fontsize=10)
        panel.set_xscale("log", base=2)
        panel.set_xticks(BUDGETS[name], [str(budget) for budget in BUDGETS[name]])
        panel.set_xlabel("tokens")
        panel.grid(alpha=0.3)
    axes[0][0].set_ylabel("share of the evidence, %")
    _legend(figure, axes[0])
    _save(figure, file)


def draw_calibration(bins: Mapping[str, Sequence[tuple[float, float, int]]], file: Path) -> None:
    """Draw for each data set how often the memory held the answer, against the confidence it had."""
    plt = _pyplot()
    figure, panel = plt.subplots(figsize=(5, 4.6), layout="constrained")
    panel.plot([0, 1], [0, 1], color="#bbbbbb", linestyle="--", linewidth=1)
    for name, points in bins.items():
        panel.plot([point[0] for point in points], [point[1] for point in points], alpha=0.6, label=TITLES[name])
        panel.scatter(
            [point[0] for point in points],
            [point[1] for point in points],
            s=[8 + point[2] ** 0.5 * 4 for point in points],
        )
    panel.set_xlabel("confidence, fitted without this data set")
    panel.set_ylabel("share of questions that the memory could answer")
    panel.grid(alpha=0.3)
    panel.legend(frameon=False, fontsize=8)
    _save(figure, file)


def _pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _legend(figure: Any, panels: Sequence[Any]) -> None:
    shown = {
        label: handle for panel in panels for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=len(shown), frameon=False)


def _save(figure: Any, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    draw_budgets(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]))
