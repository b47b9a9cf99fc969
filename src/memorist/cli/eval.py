"""The command that asks a memory the questions of a file, and reports which answers got worse."""

import json as jsons
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.options import AsJson, User
from memorist.cli.running import opened
from memorist.cli.showing import clean, counted, print_json
from memorist.system.handles import read_file

if TYPE_CHECKING:
    from memorist.files.cases import Outcome, Report


@command()
async def eval_(
    context: click.Context,
    cases: Annotated[Path, Argument(metavar="FILE", help='Lines of {"question": …, "find": [ids or texts]}.')],
    user: User = None,
    tokens: Annotated[int, Option(help="The budget of a context, in tokens.")] = 600,
    against: Annotated[
        str | None, Option(metavar="NAME", help="Compare with mem0, chroma … or a FILE.py, on the same records.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Ask the questions of a file, and print hit rates, tokens, and what got worse since the last run.

    The results are kept beside the file, as FILE.last.json. With --against, another memory is given the same records,
    with the same embedder, and asked the same; what it knows is removed afterwards.
    """
    from memorist.embedders import open_embedder
    from memorist.files.against import evaluate_against, load_system
    from memorist.files.cases import evaluate as ask
    from memorist.files.cases import read_cases, report_of

    kept = cases.with_name(f"{cases.name}.last.json")
    asked = read_cases(read_file(cases))
    before = report_of(read_file(kept)) if kept.exists() else None
    other, system = None, None if against is None else load_system(against)
    async with opened(context, user) as memory:
        report = await ask(memory, asked, tokens=tokens)
        if system is not None:
            embedder = open_embedder(context.obj.settings().embedder)
            other = await evaluate_against(memory, asked, system, embedder, tokens=tokens)
    kept.write_text(jsons.dumps(report.to_dict(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    worse, better = report.changed(before) if before is not None else ([], [])
    if json:
        changed = {"worse": [two.question for _, two in worse], "better": [two.question for _, two in better]}
        compared = {} if other is None else {"against": {"name": against, **other.to_dict()}}
        print_json({**report.to_dict(), **changed, **compared})
        return
    _tell(report, before, other, against)
    for title, pairs in (("Worse", worse), ("Better", better)):
        for one, two in pairs:
            click.echo(f"{title}: {clean(two.question)}  {_placed(one)} → {_placed(two)}")
    for each in report.outcomes:
        if each.place is None:
            click.echo(f"Not found: {clean(each.question)}")


def _tell(report: "Report", before: "Report | None", other: "Report | None", against: str | None) -> None:
    from memorist.files.cases import PLACES

    click.echo(counted(len(report.outcomes), "case"))
    rates = {f"hit@{places}": methodcaller("hit_rate", places) for places in PLACES} | {"told": attrgetter("told")}
    for name, read in rates.items():
        change = "" if before is None else f"   {100 * (read(report) - read(before)):+.1f} points"
        beside = "" if other is None else f"   {clean(against or '')} {read(other):.1%}"
        click.echo(f"{name:8}{read(report):7.1%}{change}{beside}")
    change = "" if before is None else f"   {report.tokens - before.tokens:+.0f}"
    beside = "" if other is None else f"   {clean(against or '')} {other.tokens:.0f}"
    click.echo(f"{'tokens':8}{report.tokens:7.0f}{change}{beside}")


def _placed(outcome: "Outcome") -> str:
    place = "not found" if outcome.place is None else f"place {outcome.place}"
    return place if outcome.told else f"{place}, not told"
