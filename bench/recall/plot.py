"""Draw the results of run.py: quality against milliseconds, one panel a task.

python bench/recall/plot.py RESULTS.json IMAGE.png
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from run import BACKENDS, TASKS, Result

METRIC = "nDCG@10"
_COLORS = ("#c0392b", "#8e44ad", "#2471a3", "#7f8c8d", "#b9770e", "#d4ac0d", "#1e8449")


def draw(results: Sequence[Result], file: Path) -> None:
    """Write the picture."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter

    tasks = [task for task in TASKS if any(each["task"] == task.name for each in results)]
    figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
    colors = dict(
        zip(BACKENDS, ("#c0392b", "#8e44ad", "#2471a3", "#7f8c8d", "#b9770e", "#d4ac0d", "#1e8449"), strict=True)
    )
    for panel, task in zip(axes.flat, tasks, strict=False):
        shown = [each for each in results if each["task"] == task.name]
        most = max(each["questions"] for each in shown)
        for each in sorted(shown, key=lambda each: each["metrics"][METRIC]):
            name, mine, sampled = each["backend"], each["backend"] == "memorist", each["questions"] < most
            panel.scatter(
                each["milliseconds"], each["metrics"][METRIC], s=220 if mine else 70, marker="*" if mine else "o",
                edgecolor=colors[name], facecolor="white" if sampled else colors[name], zorder=3, label=BACKENDS[name],
            )  # fmt: skip
        panel.set_title(task.title, fontsize=11)
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.grid(alpha=0.3)
        panel.margins(0.15)
    for panel in axes.flat[len(tasks) :]:
        panel.set_visible(False)
    for panel in axes[:, 0]:
        panel.set_ylabel(f"{METRIC}, %")
    for panel in axes[-1]:
        panel.set_xlabel("ms a search, without embedding the question")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda place: list(BACKENDS.values()).index(labels[place]))
    figure.legend(
        [handles[place] for place in order], [labels[place] for place in order],
        loc="outside lower center", ncols=len(order), frameon=False,
    )  # fmt: skip
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]))
