"""Cases in the console: a file of questions is asked, and compared with the run before."""

from typing import Any

from starlette.datastructures import UploadFile
from starlette.responses import Response

from memorist.errors import FormatError, InvalidInputError
from memorist.files.cases import PLACES, Outcome, Report, evaluate, read_cases
from memorist.serve.console.visits import Visit

__all__ = ["cases", "run"]

_MOST = 500


async def cases(visit: Visit) -> Response:
    """Show where a file of cases is given."""
    return visit.page("cases.html", title="Cases", report=None)


async def run(visit: Visit) -> Response:
    """Ask the questions of a file, and show what came of each."""
    [file, *_] = visit.values.get("files") or [None]
    if not isinstance(file, UploadFile) or not file.filename:
        raise FormatError("choose a file of cases")
    asked = read_cases(await file.read())
    if len(asked) > _MOST:
        raise InvalidInputError(f"these are {len(asked):,} cases, the most here is {_MOST}; use memorist eval FILE")
    before = visit.session.evaluated
    report = visit.session.evaluated = await evaluate(visit.memory, asked)
    worse, better = report.changed(before) if before is not None else ([], [])
    return visit.page(
        "cases.html",
        title="Cases",
        report=report,
        rates=_rates(report, before),
        tokens=report.tokens - before.tokens if before is not None else None,
        worse=worse,
        better=better,
        outcomes=sorted(report.outcomes, key=_hardest),
    )


def _hardest(outcome: Outcome) -> tuple[Any, ...]:
    return outcome.place is not None, -(outcome.place or 0), outcome.told


def _rates(report: Report, before: Report | None) -> list[tuple[str, float, float | None]]:
    """Return each rate by name, in percent, and its change in points."""
    now = {f"found at place 1 to {each}": report.hit_rate(each) for each in PLACES} | {"told": report.told}
    then = None if before is None else [*(before.hit_rate(each) for each in PLACES), before.told]
    return [
        (name, 100 * rate, None if then is None else 100 * (rate - then[number]))
        for number, (name, rate) in enumerate(now.items())
    ]
