"""Traces: the calls that agents made, and one call with its results, what it just missed, and its duration."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from memorist.errors import NotFoundError, shown
from memorist.files.cases import KeptCases
from memorist.operations.answers import Trace, TracedHit
from memorist.records.record import Record
from memorist.serve.console.asking import pieces_of
from memorist.serve.console.charts import Share, shares_of
from memorist.serve.console.visits import Visit

_PAGE = 25
_FOUND = 5
_DOORS = {"python": "Python", "rest": "REST", "mcp": "MCP", "cli": "the command"}
_PARTS = {
    "index": "taking in what is new",
    "embedding": "embedding the question",
    "signals": "ranking",
    "fetch": "fetching records",
    "choosing": "choosing what is told",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A record of a trace as it is now, None if it is gone; `right` if it is the record that should be found."""

    hit: TracedHit
    record: Record | None
    right: bool


async def traces(visit: Visit) -> Response:
    """List the calls that pass a filter, newest first."""
    chosen = {name: visit.value(name) for name in ("since", "until", "session", "door")}
    narrowing: Any = {name: value for name, value in chosen.items() if name != "session"}
    flags = {"empty": visit.flag("empty"), "everyone": visit.everyone}
    page = await visit.memory.scoped(session=chosen["session"]).admin.traces(
        **narrowing, empty=flags["empty"] or None, everyone=flags["everyone"], limit=_PAGE, cursor=visit.value("cursor")
    )
    kept = page.traces or (await visit.memory.admin.traces(limit=1, everyone=visit.may_show_everyone)).traces
    return visit.page(
        "traces.html",
        title="Traces",
        traces=[(each, parts_of(each)) for each in page.traces if not each.error],
        failed=_failed(page.traces),
        kept=bool(kept),
        longest=max((each.seconds for each in page.traces), default=0.0),
        more=None if page.next is None else visit.link("/traces", **chosen, **flags, cursor=page.next),
        doors=_DOORS,
        chosen=chosen,
        narrowed=any((*chosen.values(), flags["empty"])),
        **flags,
    )


def _failed(traces: Iterable[Trace]) -> list[tuple[str, list[tuple[Trace, list[Share]]]]]:
    """Return the calls that failed, grouped by what they failed of, the most frequent first."""
    groups: dict[str, list[tuple[Trace, list[Share]]]] = {}
    for each in traces:
        if each.error:
            groups.setdefault(each.error, []).append((each, parts_of(each)))
    return sorted(groups.items(), key=lambda group: -len(group[1]))


async def trace(visit: Visit) -> Response:
    """Show one call, and let the visitor say which record was the right one; `q` searches for it."""
    found, wanted = await traced(visit), visit.value("q")
    case = (await KeptCases(visit.server.memory, found.scope).list()).get(found.id)
    right = set() if case is None else set(case.find)
    others = [] if wanted is None else await visit.memory.recall(wanted, limit=_FOUND, shared=True)
    ids = [hit.id for hit in (*found.hits, *found.missed)]
    known = {(each.scope.user is None, each.id): each for each in await records_of(visit, ids)}
    return visit.page(
        "trace.html",
        title="Trace",
        trace=found,
        given=_rows(found.hits, known, right),
        missed=_rows(found.missed, known, right),
        others=[Row(TracedHit(each.record.id, each.score), each.record, each.record.id in right) for each in others],
        wanted=wanted,
        right=right,
        answer=right or {max(found.hits, key=lambda hit: hit.score).id} if found.hits else right,
        parts=parts_of(found),
        text=pieces_of(found.text, [(hit.place, (hit, known.get((hit.shared, hit.id)))) for hit in found.hits]),
        door=_DOORS.get(found.door, found.door),
        again=_again(visit, found),
    )


async def traced(visit: Visit) -> Trace:
    """Return the trace that is asked for.

    Raises: NotFoundError: the trace does not exist, or has expired.
    """
    id = visit.needed("id", "name a trace: /trace?id=…")
    for each in (await visit.memory.admin.traces(id)).traces:
        return each
    raise NotFoundError(f"there is no trace {shown(id)} in this scope; it may have expired")


def parts_of(trace: Trace) -> list[Share]:
    """Return the parts of a call in the order in which they happen, each with its milliseconds."""
    return shares_of({name: 1000 * seconds for name, seconds in trace.parts.items()}, _PARTS)


def _rows(hits: Iterable[TracedHit], known: Mapping[tuple[bool, str], Record], right: set[str]) -> list[Row]:
    return [Row(hit, known.get((hit.shared, hit.id)), hit.id in right) for hit in hits]


async def records_of(visit: Visit, ids: Sequence[str], *, everyone: bool = False) -> list[Record]:
    """Return the records with these ids, the tenant's shared ones too, which any of its users may be told."""
    found = await visit.memory.find(ids, everyone=everyone)
    if (scope := visit.memory.scope).user is not None:
        found += await visit.server.memory.scoped(tenant=scope.tenant).find(ids)
    return found


def _again(visit: Visit, trace: Trace) -> str:
    """Return the address of the same question on the page Ask."""
    names: Sequence[str] = ("since", "until", "session", "as_of", "tokens", "limit")
    asked = {name: value for name in names if isinstance(value := trace.asked.get(name), str | int)}
    kind = trace.asked.get("kind")
    if isinstance(kind, list) and len(kind) == 1:
        asked["kind"] = kind[0]
    return visit.link("/ask", q=trace.question, **asked, shared=bool(trace.asked.get("shared")))
