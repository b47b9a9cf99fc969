"""Measure current values: is the present state ranked above former ones, and what is told of it?

    python bench/now/run.py [--data DATA] [--eval FOLDER] [--every N]

DATA is a folder like bench/data/now_dev: four memories of a year in which things change, and questions about the
current value, the one before, or that at a time. FOLDER holds eval_retrieval.py and eval_context.py. The evidence is
the share of the gold turns that a context tells, at the tokens that it used of those allowed; plot.py draws one
against the other, without the evaluators.
"""

import argparse
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "recall"))

import memorist_backend as recalling

_BENCH = Path(__file__).parents[1]
BUDGETS = (75, 150, 300, 600, 2000)


def ranking(results: Mapping[str, Any]) -> str:
    """Return the ranking's figures by kind of question, as a table in Markdown."""
    names = ("hit@1", "hit@5", "all@5", "nDCG@10", "current")
    rows = ["| questions | n | " + " | ".join(names) + " |", "|---|" + "---:|" * (len(names) + 1)]
    for kind, each in results.items():
        rows.append(f"| {kind} | {each['n']} | " + " | ".join(str(each.get(name, "")) for name in names) + " |")
    return "\n".join(rows)


def telling(budgets: Mapping[str, Any]) -> str:
    """Return what contexts told within each budget, as a table in Markdown."""
    names = ("tokens", "evidence", "answer", "told", "density")
    rows = ["| allowed | " + " | ".join(names) + " |", "|---:|" + "---:|" * len(names)]
    rows += [
        f"| {budget} | " + " | ".join(str(each[name]) for name in names) + " |" for budget, each in budgets.items()
    ]
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=_BENCH / "data" / "now_dev")
    parser.add_argument("--eval", type=Path, required=True, help="the folder of the two evaluators")
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    found, told = (_module(given.eval / f"eval_{what}.py") for what in ("retrieval", "context"))
    print(
        ranking(found.table(found.run(str(given.data), recalling, every=given.every, progress=False))), "\n", flush=True
    )
    result = told.run(str(given.data), _module(_BENCH / "context" / "memorist_backend.py"), BUDGETS, given.every)
    print(telling(result["budgets"]), "\n\nconfidence:", result["confidence"])


def _module(path: Path) -> Any:
    """Return the module in a file."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SystemExit(f"there is no {path}; name the folder of the evaluators with --eval")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
