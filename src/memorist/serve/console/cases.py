"""Cases in the console: a file of questions is asked, and compared with the run before."""

from typing import Any

from starlette.datastructures import UploadFile
from starlette.responses import Response

from memorist.errors import FormatError, InvalidInputError
from memorist.files.cases import MOST_CASES, PLACES, KeptCases, Report, evaluate, read_cases
from memorist.serve.console.traces import records_of, traced
from memorist.serve.console.visits import Visit


async def cases(visit: Visit) -> Response:
    """Show the cases that were made of traces, and a form to upload a file of cases."""
    return await _page(visit, None)


async def run(visit: Visit) -> Response:
    """Ask the questions of a file, or those made of traces, and show the outcome of each."""
    [file, *_] = visit.values.get("files") or [None]
    if visit.flag("kept"):
        asked = list((await _kept(visit).list()).values())
    elif isinstance(file, UploadFile) and file.filename:
        asked = read_cases(await file.read())
    else:
        raise FormatError("choose a file of cases")
    if len(asked) > MOST_CASES:
        raise InvalidInputError(
            f"the file has {len(asked):,} cases; the limit here is {MOST_CASES}; use memorist eval FILE"
        )
    before = visit.session.evaluated
    report = visit.session.evaluated = await evaluate(visit.memory, asked)
    worse, better = report.changed(before) if before is not None else ([], [])
    return await _page(
        visit,
        report,
        rates=_rates(report, before),
        tokens=report.tokens - before.tokens if before is not None else None,
        worse=worse,
        better=better,
        outcomes=sorted(report.outcomes, key=lambda each: (each.place is not None, -(each.place or 0), each.told)),
    )


async def keep(visit: Visit) -> Response:
    """Make a case of a trace: this record was the right one."""
    trace, right = await traced(visit), visit.needed("right", "name the right record")
    await KeptCases(visit.server.memory, trace.scope).add(trace, right)
    return visit.redirect("/trace", "Saved as a case; run it on the page Cases.", id=trace.id)


async def remove(visit: Visit) -> Response:
    """Remove a case that was made of a trace."""
    await _kept(visit, everyone=False).remove(visit.value("id") or "")
    return visit.redirect("/cases", "Removed.")


async def download(visit: Visit) -> Response:
    """Return the cases that were made of traces as a file for `memorist eval`."""
    lines = "".join(f"{each.line()}\n" for each in (await _kept(visit).list()).values())
    headers = {"content-disposition": 'attachment; filename="cases.jsonl"'}
    return Response(lines, media_type="application/x-ndjson", headers=headers)


def _kept(visit: Visit, *, everyone: bool = True) -> KeptCases:
    return KeptCases(visit.server.memory, visit.memory.scope, everyone=everyone and visit.may_show_everyone)


async def _page(visit: Visit, report: Report | None, **values: Any) -> Response:
    kept = await _kept(visit).list()
    ids = [id for case in kept.values() for id in case.find]
    found = await records_of(visit, ids, everyone=visit.may_show_everyone) if ids else []
    records = {(each.scope.user, each.id): each for each in found}
    return visit.page("cases.html", title="Cases", report=report, kept=kept, records=records, **values)


def _rates(report: Report, before: Report | None) -> list[tuple[str, float, float | None]]:
    """Return each rate by name, in percent, and its change in points."""
    now = {f"found at place 1 to {each}": report.hit_rate(each) for each in PLACES} | {"told": report.told}
    then = None if before is None else [*(before.hit_rate(each) for each in PLACES), before.told]
    return [
        (name, 100 * rate, None if then is None else 100 * (rate - then[number]))
        for number, (name, rate) in enumerate(now.items())
    ]
