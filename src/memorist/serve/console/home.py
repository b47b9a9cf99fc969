"""The first page, with the newest records, the page where a user is chosen, and two users side by side."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from itertools import groupby
from statistics import median
from typing import Any

from starlette.responses import Response

from memorist.errors import InvalidInputError, ScopeError, shown
from memorist.memory import Memory
from memorist.records.kind import MEMORIES
from memorist.records.record import Record
from memorist.records.times import iso
from memorist.serve.console.charts import Chart, drawn
from memorist.serve.console.visits import BACK_TO, Visit
from memorist.serve.console.zones import written_day

_LATELY, _BESIDE = 8, 5
"""The newest records that the first page shows, and each of two users."""
_MOST_USERS = 8
_PAGE = 100
_UNUSUAL, _ENOUGH = 10, 5
"""A user with so many times the records of the one in the middle is pointed out, among at least so many users."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a tally: a name, its number of records, and this number as a percentage of the largest one."""

    name: str
    count: int
    link: str
    share: float
    kind: str | None = None
    note: str | None = None


async def home(visit: Visit) -> Response:
    """Show the newest records, and how many there are of each kind and user."""
    memory, everyone = visit.memory, visit.may_show_everyone
    latest = (await memory.browse(limit=_LATELY, everyone=everyone)).records
    counts = {str(kind): await memory.count(kind=kind, everyone=everyone) for kind in MEMORIES} if latest else {}
    links = {kind: visit.link("/browse", kind=kind, everyone=everyone) for kind in counts}
    found = await memory.admin.users() if everyone else {}
    people = _people(visit, found, "/")
    return visit.page(
        "home.html",
        title="Home",
        count=sum(counts.values()),
        everyone=everyone,
        users=people[:_MOST_USERS],
        more_users=len(people) if len(people) > _MOST_USERS else 0,
        days=days_of(latest, visit.session.zone),
        kinds=rows_of(counts, links, kinds=True),
        drawn=await _over_time(visit, memory, latest, everyone=everyone) if latest else None,
    )


async def _over_time(visit: Visit, memory: Memory, latest: Sequence[Record], *, everyone: bool) -> Chart:
    [oldest] = (await memory.browse(limit=1, order="oldest", everyone=everyone)).records or latest[-1:]
    return await drawn(
        oldest.at,
        latest[0].at,
        visit.session.zone,
        lambda span: memory.count(since=span.since, until=span.until, everyone=everyone),
        lambda span: visit.link("/browse", since=iso(span.since), until=iso(span.until), everyone=everyone),
    )


def days_of(records: Iterable[Record], zone: tzinfo) -> list[tuple[str, list[Record]]]:
    """Return records under the days on which they happened, in their order."""
    return [(day, list(group)) for day, group in groupby(records, lambda each: written_day(each.at, zone))]


def rows_of(counts: Mapping[str, int], links: Mapping[str, str], *, kinds: bool = False) -> list[Row]:
    """Return a tally, the most first; names without a record are left out."""
    highest = max(counts.values(), default=0)
    return [
        Row(name, count, links[name], round(100 * count / highest, 1), name if kinds else None)
        for name, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        if count
    ]


async def users(visit: Visit) -> Response:
    """Show the users of a tenant to choose from, if the caller may list them."""
    tenant = visit.grant.scope(tenant=visit.value("tenant")).tenant
    memory = visit.server.memory.scoped(tenant=tenant)
    back = visit.value("back")
    back = back if back in BACK_TO else None
    name, sort = visit.value("name"), visit.value("sort")
    if sort not in (None, "name"):
        raise InvalidInputError(f"sort is name or left out, not {shown(sort)}")
    values: dict[str, Any] = {"rows": None, "more": None, "name": name, "sort": sort, "back": back}
    if visit.may_see_all:
        people = _people(visit, await memory.admin.users(), back or "/")
        rows = _chosen(people, name or "", by_name=sort == "name")
        start = visit.number("start")
        end = start + _PAGE
        values["rows"] = rows[start:end]
        if len(rows) > end:
            values["more"] = visit.link("/users", back=back, name=name, sort=sort, start=end)
    tenants = await _tenants(visit) if visit.grant.tenant is None else None
    return visit.page("users.html", title="Users", tenants=tenants, **values)


async def _tenants(visit: Visit) -> list[str]:
    """Return the tenants that tokens were made for."""
    tokens = await visit.server.tokens.list()
    return sorted({each.grant.tenant for each in tokens if each.grant.tenant is not None})


def _chosen(people: list[Row], name: str, *, by_name: bool) -> list[Row]:
    """Return the people whose names hold a text."""
    wanted = name.casefold()
    found = [row for row in people if wanted in row.name.casefold()]
    return sorted(found, key=lambda row: row.name.casefold()) if by_name else found


def _people(visit: Visit, found: Mapping[str | None, int], path: str) -> list[Row]:
    named = {user: count for user, count in found.items() if user is not None}
    links = {user: visit.with_user(path, user) for user in named}
    shared = found.get(None, 0)
    usual = _UNUSUAL * median(named.values()) if len(named) >= _ENOUGH else math.inf
    rows = [replace(row, note="unusually many" if row.count > usual else None) for row in rows_of(named, links)]
    if shared and named:
        highest = max(*named.values(), shared)
        rows.append(Row("Shared records", shared, visit.with_user(path, None), round(100 * shared / highest, 1)))
    return rows


async def compare(visit: Visit) -> Response:
    """Show two users of a tenant beside each other, and what an agent would be told of each for a question.

    Raises:
        ScopeError: the token does not allow reading every user.
    """
    if not visit.may_see_all:
        raise ScopeError("this token may not compare users; use an admin token that is not bound to a user")
    question, names = visit.value("q") or "", (visit.value("one"), visit.value("other"))
    sides = [(name, None if name is None else await _side(visit, name, question)) for name in names]
    return visit.page("compare.html", title="Two users", sides=sides, asked=question)


async def _side(visit: Visit, user: str, question: str) -> dict[str, Any]:
    """Return the numbers of a user's records by kind, the newest of them, and what is told for a question."""
    memory = visit.memory_of(user)
    counts = {str(kind): await memory.count(kind=kind) for kind in MEMORIES}
    links = {kind: visit.with_user("/browse", user, kind=kind) for kind in counts}
    latest = (await memory.browse(limit=_BESIDE)).records
    told = await memory.context(question) if question else None
    return {"kinds": rows_of(counts, links, kinds=True), "latest": latest, "told": told}
