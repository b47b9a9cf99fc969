"""Tables, plot and one line of what the arena measured."""

import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from measure import BUDGETS, CROSS, Cell, Data, cell
from systems_of import ALWAYS, System

BEGIN, END = "<!-- written by run.py: begin -->", "<!-- written by run.py: end -->"
LANGUAGES = 2
"""A data set whose memories are so many languages or more gets a table by language: their names have two letters."""

Cells = Mapping[tuple[str, str], Any]


class Report:
    """What a run found.

    Args:
        results: each system's cells, by variant and name.
        data: what was asked.
        size: how much was measured.
        seconds: how long it took, cells that were kept not included.
    """

    def __init__(
        self, results: Mapping[str, tuple[System, Cells]], data: Sequence[Data], size: Any, seconds: float
    ) -> None:
        self._data, self._size, self._seconds = data, size, seconds
        self._systems = {name: system for name, (system, _) in results.items()}
        self._cells = {
            (name, variant): {cell: result for (of, cell), result in cells.items() if of in (variant, "")}
            for name, (system, cells) in results.items()
            for variant in system.variants
        }

    def tables(self) -> str:
        """Return everything as Markdown."""
        parts = [part for data in self._data for part in self._of(data)]
        return "\n\n".join([*parts, self._costs(), self._notes()])

    def _of(self, data: Data) -> Iterable[str]:
        """Return a data set's tables: what is told and found, and by language where there are several."""
        every = {who: result for who in self._cells if (result := self._questions(who, data))}
        ours = every.get((ALWAYS, "own"), {})
        names = [f"evidence@{budget}" for budget in BUDGETS] + [
            "tokens@300",
            "density@300",
            "told@300",
            "hit@5",
            "all@5",
            "nDCG@10",
        ]
        asked = {each["key"] for each in data.asked()}
        names += [name for name in ("current", "silent") if any(name in ours.get(key, {}) for key in asked)]
        order = sorted(every, key=lambda who: (who[0] != ALWAYS, -_mean(every[who], "evidence@300")))
        rows = [[self._title(who), *(_shown(_cell(every[who], ours, name), name) for name in names)] for who in order]
        yield f"### {data.name}: {sum('hit@5' in each for each in ours.values())} questions\n\n" + _table(
            ["", *names], rows
        )
        languages = sorted(name for name in data.groups if len(name) == LANGUAGES and name.isalpha())
        if len(languages) < LANGUAGES:
            return
        of = {each["id"]: ("in English" if each["category"] == CROSS else each["group"]) for each in data.questions}
        columns = [*languages, "in English"]
        rows = []
        for who in order:
            beside = {} if who == order[0] else ours
            cells = (_cell(_only(every[who], of, column), beside, "hit@5") for column in columns)
            rows.append([self._title(who), *(_shown(each, "hit@5") for each in cells)])
        yield "hit@5 by language, and of questions in English about the others:\n\n" + _table(["", *columns], rows)

    def _costs(self) -> str:
        columns = {
            "CPU s to store 1,000": lambda of: _per(of.get("cost"), "cpu", 1000),
            "MB for 1,000": lambda of: _per(of.get("cost"), "bytes", 1e-3) if of["keeps"] else "in memory",
            f"ms to ask, of {self._size.rows:,}": lambda of: _plain(of.get("cost"), "ms", ".1f"),
            "packages": lambda of: _plain(of.get("install"), "packages", "d"),
            "MB installed": lambda of: _plain(of.get("install"), "MB", ".0f"),
            "s to the first answer": lambda of: _plain(of.get("install"), "seconds", ".1f"),
            f"lost in {self._size.kills} kills": lambda of: _lost(of.get("kills"), of["keeps"]),
            "left after a delete": lambda of: _left(of.get("delete")),
        }
        if self._size.many:
            columns[f"ms to ask, of {self._size.many:,}"] = lambda of: _plain(of.get("many"), "ms", ".1f")
        rows = []
        for who, cells in self._cells.items():
            of = {**cells, "keeps": self._systems[who[0]].keeps}
            if not all(isinstance(each, dict) and "error" in each for name, each in cells.items() if name != "install"):
                rows.append([self._title(who), *(show(of) for show in columns.values())])
        return "### What it takes and what it keeps\n\n" + _table(["", *columns], rows)

    def _notes(self) -> str:
        lines = [
            f"- **{name}**, its own default: {system.wants}." for name, system in self._systems.items() if system.wants
        ]
        for (name, variant), cells in self._cells.items():
            wrong: dict[str, list[str]] = {}
            for of, each in cells.items():
                if isinstance(each, dict) and "error" in each:
                    wrong.setdefault(each["error"], []).append(of)
            lines += [f"- {name}, {_VARIANTS[variant]}, {', '.join(of)}: `{error}`" for error, of in wrong.items()]
        return "### What could not be had here\n\n" + "\n".join(lines or ["Nothing."])

    def _questions(self, who: tuple[str, str], data: Data) -> dict[str, dict[str, float]]:
        result = self._cells[who].get(f"answer {data.name}") or {"error": ""}
        return {} if "error" in result else result

    def _title(self, who: tuple[str, str]) -> str:
        name, variant = who
        if name.startswith(ALWAYS):
            return "**Memorist**" if name == ALWAYS else f"**Memorist, {name.removeprefix(ALWAYS).strip('_')} alone**"
        both = len(self._systems[name].variants) > 1 or self._systems[name].wants
        return f"{name}, {_VARIANTS[variant]}" if both else name

    def summary(self) -> str:
        """Return one line: how much evidence Memorist and the next best tell at 300 tokens."""
        lines = []
        for data in self._data:
            means = {who: _mean(each, "evidence@300") for who in self._cells if (each := self._questions(who, data))}
            ours = means.pop((ALWAYS, "own"), float("nan"))
            best = max(
                (who for who in means if not who[0].startswith(ALWAYS)), key=lambda who: means[who], default=None
            )
            other = f"; next {self._title(best)} {100 * means[best]:.0f} %" if best else ""
            lines.append(f"{data.name} {100 * ours:.0f} %{other}")
        return f"arena: evidence in 300 tokens, Memorist: {'. '.join(lines)}. ({self._seconds:.0f} s)"

    def write(self, readme: Path, image: Path) -> None:
        """Put the tables between the marks of a README, and draw the plot."""
        text = readme.read_text(encoding="utf-8")
        before, rest = text.split(BEGIN)
        machine = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
        body = f"{BEGIN}\n{machine}.\n\n{self.tables()}\n{END}"
        readme.write_text(before + body + rest.split(END)[1], encoding="utf-8")
        self.draw(image)

    def draw(self, image: Path) -> None:
        """Draw the evidence told against the tokens used, a line a system, of the first data set."""
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(8.5, 4.2))
        axes.set_prop_cycle(color=mpl.colormaps["tab20"].colors)
        data = self._data[0]
        for who in self._cells:
            if not (each := self._questions(who, data)):
                continue
            tokens = [_mean(each, f"tokens@{budget}") for budget in BUDGETS]
            evidence = [100 * _mean(each, f"evidence@{budget}") for budget in BUDGETS]
            name = who[0]
            style = {"linewidth": 2.5, "color": "#1f6f8b", "linestyle": "-" if name == ALWAYS else "--", "zorder": 3}
            look = style if name.startswith(ALWAYS) else {"alpha": 0.7}
            axes.plot(tokens, evidence, marker="o", markersize=4, label=self._title(who).strip("*"), **look)
        axes.set(xlabel="tokens used", ylabel="evidence told, percent", title=f"{data.name}: what reaches the prompt")
        axes.set_ylim(0, 100)
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        figure.tight_layout()
        figure.savefig(image, dpi=110)
        plt.close(figure)


_VARIANTS = {"own": "its default", "ours": "our embedder"}


def _cell(values: Mapping[str, Mapping[str, float]], ours: Mapping[str, Mapping[str, float]], name: str) -> Cell | None:
    scale = 1.0 if name.startswith("tokens") else 100.0
    mine = {key: each[name] for key, each in ours.items() if name in each}
    others = {key: each[name] for key, each in values.items() if name in each}
    return cell(others, mine if values is not ours else None, scale)


def _only(values: Mapping[str, Any], of: Mapping[str, str], column: str) -> dict[str, Any]:
    return {key: each for key, each in values.items() if of.get(key) == column}


def _mean(values: Mapping[str, Mapping[str, float]], name: str) -> float:
    found = [each[name] for each in values.values() if name in each]
    return sum(found) / len(found) if found else float("nan")


def _shown(cell: Cell | None, name: str) -> str:
    """Return a mean with its interval; `+` or `-`: above or below Memorist's; `=`: no difference is shown."""
    if cell is None:
        return ""
    if name.startswith("tokens"):
        return f"{cell.mean:.0f}"
    sign = "" if cell.differs is None else f" {'=+-'[cell.differs]}"
    return f"{cell.mean:.1f} ±{(cell.high - cell.low) / 2:.0f}{sign}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(result: Any, name: str, form: str) -> str:
    return format(result[name], form) if result and name in result else ""


def _per(result: Any, name: str, scale: float) -> str:
    return f"{scale * result[name] / result['rows']:.2f}" if result and name in result else ""


def _lost(result: Any, keeps: bool) -> str:
    if not keeps:
        return "all, in memory"
    return f"{result['lost']} of {result['acknowledged']}" if result and "lost" in result else ""


def _left(result: Any) -> str:
    if not result or "left" not in result:
        return ""
    return "in memory" if result["left"] is None else f"{result['left']} of {result['deleted']}"
