"""Fit what tells that two records speak of the same thing: write `pairs` of `ranking.json`.

    python bench/fit_pairs.py [--write]

A pair are a record that answers a question and one that answered it before something changed, of the sets below. They
are told from the pairs of the former with the records that are nearest to it and answer nothing of the same. Weights
are drawn to `bench/ranking_prior.json`, each by its own effect. Printed are, for the prior, for all sets and with the
set's family left out, the area under the ROC curve and the log loss in bits. Nothing is written where the log loss of a
set that is left out is worse than the prior's.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).parent / "recall"))

import fit
import shared

from memorist.recall import artefact
from memorist.recall.replaced import compared
from memorist.recall.scale import Scale, measure

Table: TypeAlias = NDArray[np.float64]
NAMES = ("nearer", "shared", "numbers", "constant")
FAMILIES: Sequence[Sequence[str]] = (("now_dev", "now_more"), ("lived_dev", "lived_more"))
NEAREST = 10
"""The records that are told from each answer's former ones."""
PULL = 0.01
"""How strongly a weight is drawn to its prior for each of its effect."""


async def pairs_of(data: Path, scale: Scale) -> tuple[Table, NDArray[np.bool_]]:
    """Return what is compared of each pair, the constant last, and whether the two speak of the same."""
    rows, questions = (
        [json.loads(line) for line in (data / f"{name}.jsonl").read_text("utf-8").splitlines()]
        for name in ("corpus", "queries")
    )
    tables, same = list[Table](), list[NDArray[np.bool_]]()
    for group in dict.fromkeys(row["group"] for row in rows):
        memory = fit.Memory()
        await memory.add([row for row in rows if row["group"] == group])
        every = np.arange(memory.index.rows)
        place = {
            id: int(row) for id, row in zip(memory.numbers, memory.index.rows_of(memory.numbers.values()), strict=True)
        }
        for question in questions:
            if question["group"] != group or not question.get("stale") or not question["gold"]:
                continue
            now, former = ([place[id] for id in question[what] if id in place] for what in ("gold", "stale"))
            known = {*now, *former, *(place[id] for id in question.get("also", ()) if id in place)}
            told = compared(memory.index, every, np.array(now), scale)
            table = np.stack([*(told[name] for name in NAMES[:-1]), np.ones_like(told["nearer"])], 2).astype(np.float64)
            for column in range(len(now)):
                order = np.argsort(-table[:, column, 0], kind="stable")
                others = [row for row in order if int(row) not in known][:NEAREST]
                tables.append(table[[*former, *others], column])
                same.append(np.arange(len(former) + len(others)) < len(former))
    return np.concatenate(tables), np.concatenate(same)


def loss_of(odds: Table, same: NDArray[np.bool_]) -> float:
    """Return the log loss in bits."""
    return float(np.mean(np.logaddexp(0, np.where(same, -odds, odds))) / np.log(2))


def area_of(odds: Table, same: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve."""
    ranks = np.argsort(np.argsort(odds, kind="stable"), kind="stable") + 1
    positive = int(same.sum())
    return float((ranks[same].sum() - positive * (positive + 1) / 2) / (positive * (len(same) - positive)))


def fitted(sets: Sequence[tuple[Table, NDArray[np.bool_]]], start: Table) -> Table:
    """Return the weights that make what the pairs are likeliest; each set counts alike."""
    effect = np.mean([np.mean(table**2, 0) for table, _ in sets], 0)

    def loss(weights: Table) -> float:
        told = np.mean([loss_of(table @ weights, same) for table, same in sets])
        return float(told + PULL * (effect @ (weights - start) ** 2))

    weights: Table = minimize(loss, start, method="L-BFGS-B").x
    return weights


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the artefact")
    given = parser.parse_args()
    bench = Path(__file__).parent
    prior: Mapping[str, float] = json.loads((bench / "ranking_prior.json").read_text("utf-8"))["pairs"]
    start = np.array([prior[name] for name in NAMES])
    await shared.EMBEDDER.ready()
    await fit.EMBEDDER.embed(["A text"])  # from then on it knows its dimensions
    scale = await measure(fit.EMBEDDER)
    folders = {name: bench / "data" / name for family in FAMILIES for name in family}
    sets = {name: await pairs_of(folder, scale) for name, folder in folders.items()}
    weights = fitted(list(sets.values()), start)
    worse, measured = list[str](), dict[str, Any]()
    print("| set | pairs | prior: AUROC, bits | all | left out |\n|---|---:|---|---|---|")
    for name, (table, same) in sets.items():
        family = next(each for each in FAMILIES if name in each)
        others = fitted([each for other, each in sets.items() if other not in family], start)
        tried = [(area_of(table @ each, same), loss_of(table @ each, same)) for each in (start, weights, others)]
        print(f"| {name} | {same.sum()} of {len(same)} | " + " | ".join(f"{a:.3f}, {b:.3f}" for a, b in tried) + " |")
        measured[name] = {"prior": tried[0], "all": tried[1], "left out": tried[2]}
        if tried[2][1] > tried[0][1]:
            worse.append(name)
    found = {name: round(float(value), 2) for name, value in zip(NAMES, weights, strict=True)}
    print(found)
    if worse:
        print(f"worse than the prior where left out: {', '.join(worse)}", file=sys.stderr)
    if given.write and not worse:
        provenance = {
            "command": "python bench/fit_pairs.py --write",
            "data": {name: {"sha256": fit.sha256_of(folder)} for name, folder in folders.items()},
            "results": measured,
        }
        shared.put(pairs=found, provenance={**artefact.artefact()["provenance"], "pairs": provenance})
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
