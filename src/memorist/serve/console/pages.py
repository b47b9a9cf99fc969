"""Pages that only read: the records page by page, one record, topics, the status."""

from typing import Any

from starlette.responses import Response

from memorist.errors import InvalidInputError, NotFoundError, shown
from memorist.records.record import Kind
from memorist.serve.auth import Right
from memorist.serve.console.visits import Visit
from memorist.serve.console.zones import zone_names
from memorist.serve.rest.whole import lines_answer

_PAGE = 25
_DEEPEST = 12
"""The number of dots of a topic's name that make branches; the rest of the name is its leaf."""
_KINDS = [str(kind) for kind in Kind]


async def browse(visit: Visit) -> Response:
    """Page through the records that pass a filter."""
    chosen = {name: visit.value(name) for name in ("kind", "session", "since", "until")}
    order: Any = visit.value("order") or "newest"
    flags = {"everyone": visit.everyone, "superseded": visit.flag("superseded"), "order": order}
    narrowing: Any = {name: value for name, value in chosen.items() if value is not None}
    page = await visit.memory.browse(**narrowing, **flags, cursor=visit.value("cursor"), limit=_PAGE)
    more = None if page.next is None else visit.link("/browse", **chosen, **flags, cursor=page.next)
    values: Any = {"records": page.records, "more": more, "kinds": _KINDS, "chosen": chosen}
    return visit.page("browse.html", title="Records", **values, **flags)


async def record(visit: Visit) -> Response:
    """Show one record and its history."""
    id = visit.value("id")
    if id is None:
        raise InvalidInputError("name a record: /record?id=…")
    found = await visit.memory.get(id)
    changes = await visit.memory.history(id)
    if found is None and not changes:
        raise NotFoundError(f"there is no record {shown(id)} in this scope")
    return visit.page(
        "record.html", title="Record", record=found, id=id, changes=changes, why=await visit.memory.why(id)
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
    """Export every record of the scope as lines of JSON."""
    answer = await lines_answer(visit.memory.export())
    answer.headers["content-disposition"] = 'attachment; filename="memorist.jsonl"'
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
        retention=await tenant.admin.retention() if visit.may_see_all else None,
        may_purge=visit.grant.right.includes(Right.ADMIN),
    )
