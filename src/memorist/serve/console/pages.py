"""Pages that only read: the records page by page, one record, topics, the status."""

from typing import Any

from starlette.responses import Response

from memorist.errors import InvalidInputError, NotFoundError, shown
from memorist.imports import writers
from memorist.records.origins import Author
from memorist.records.record import Kind, Record
from memorist.serve.auth import Right
from memorist.serve.console.visits import Visit
from memorist.serve.console.zones import zone_names
from memorist.serve.rest.whole import LEFT_OUT, export_answer

PARAMETERS = ("text", "kind", "session", "since", "until", "order", "superseded", "everyone", "cursor")
_PAGE = 25
_WITH_WORDS = 100
_DEEPEST = 12
"""The number of dots of a topic's name that make branches; the rest of the name is its leaf."""
_REPLACEABLE = (Kind.FACT, Kind.NOTE)
"""The kinds of which a record may be superseded by hand: what was said stays said, and a key keeps its own history."""
_KINDS = [str(kind) for kind in Kind]


async def browse(visit: Visit) -> Response:
    """Page through the records that pass a filter."""
    chosen = {name: visit.value(name) for name in ("text", "kind", "session", "since", "until")}
    flags: dict[str, Any] = {
        "everyone": visit.everyone,
        "superseded": visit.flag("superseded"),
        "order": visit.value("order") or "newest",
    }
    records, more, problem = list[Record](), None, None
    try:
        records, cursor = await _found(visit, **{name: value for name, value in {**chosen, **flags}.items() if value})
        more = None if cursor is None else visit.link("/browse", **chosen, **flags, cursor=cursor)
    except InvalidInputError as error:
        problem = str(error)
    values: Any = {"records": records, "more": more, "kinds": _KINDS, "chosen": chosen, "problem": problem}
    return visit.page("browse.html", 200 if problem is None else 422, title="Records", **values, **flags)


async def _found(visit: Visit, text: str | None = None, **how: Any) -> tuple[list[Record], str | None]:
    """Return a page of the records that pass a filter, or all that hold some words, and where the next page begins."""
    if text is None:
        page = await visit.memory.browse(**how, cursor=visit.value("cursor"), limit=_PAGE)
        return page.records, page.next
    how.pop("order")
    if how.keys() & {"everyone", "superseded"}:
        raise InvalidInputError("a text search covers the current records of one user; choose a user")
    hits = await visit.memory.recall(text, mode="lexical", limit=_WITH_WORDS, **how)
    return [hit.record for hit in hits], None


async def record(visit: Visit) -> Response:
    """Show one record and its history."""
    id, memory = visit.needed("id", "name a record: /record?id=…"), visit.memory
    found, changes = await memory.get(id), await memory.history(id)
    if found is None and not changes:
        raise NotFoundError(f"there is no record {shown(id)} in this scope")
    links = {} if found is None else {"Replaces": found.payload.get("supersedes"), "Replaced by": found.superseded_by}
    return visit.page(
        "record.html",
        title="Record",
        record=found,
        id=id,
        changes=changes,
        why=await memory.why(id),
        beside={name: (other, await memory.get(other)) for name, other in links.items() if isinstance(other, str)},
        authors=[each.names[0] for each in Author if each in visit.door.claims],
        may_replace=found is not None and found.kind in _REPLACEABLE and found.current,
    )


async def topics(visit: Visit) -> Response:
    """Show the topics as a tree: a dot in a name is a branch."""
    found = await visit.memory.topics.list()
    tree: dict[str, Any] = {}
    for name, value in found.items():
        branch = tree
        *parents, leaf = name.split(".", _DEEPEST)
        for part in parents:
            branch = branch.setdefault(part, {"topics": {}, "below": {}})["below"]
        branch.setdefault(leaf, {"topics": {}, "below": {}})["topics"][name] = value
    return visit.page("topics.html", title="Topics", tree=tree, count=len(found))


async def export(visit: Visit) -> Response:
    """Export the records of the scope in the format chosen; the next page says what the format has no place for."""
    answer = await export_answer(visit.memory, visit.value("to") or "memorist")
    if losses := answer.headers.get(LEFT_OUT):
        visit.session.notice = f"Not included in the file: {losses}"
    return answer


async def status(visit: Visit) -> Response:
    """Show the status: what is stored, the zone of times, the rules of retention, and the server's settings."""
    memory = visit.memory
    tenant = visit.server.memory.scoped(tenant=memory.scope.tenant)
    kinds = {kind: await memory.count(kind=kind) for kind in _KINDS}
    return visit.page(
        "status.html",
        title="Status",
        kinds={kind: count for kind, count in kinds.items() if count},
        count=await memory.count(),
        all_versions=await memory.count(superseded=True),
        open=visit.server.open,
        settings=visit.server.settings if visit.may_see_all and visit.grant.tenant is None else {},
        zones=zone_names(),
        formats=[(writer.name, writer.title) for writer in writers()],
        retention=await tenant.admin.retention() if visit.may_see_all else None,
        may_purge=visit.grant.right.includes(Right.ADMIN),
    )
