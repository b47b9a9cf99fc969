"""Pages that only read: the records page by page, one record, topics, the status."""

from typing import Any

from starlette.responses import Response, StreamingResponse

from memorist.errors import InvalidInputError, NotFoundError, shown
from memorist.records import Kind
from memorist.serve.auth import Right
from memorist.serve.console.visits import Visit
from memorist.serve.console.zones import zone_names

_PAGE = 25
_DEEPEST = 12
"""The number of dots of a topic's name that make branches; the rest of the name is its leaf."""
_KINDS = [str(kind) for kind in Kind]


async def browse(visit: Visit) -> Response:
    """Page through the records that pass a filter."""
    names = ("kind", "session", "since", "until")
    chosen = {name: visit.value(name) for name in names}
    everyone, superseded = visit.everyone, visit.flag("superseded")
    order: Any = visit.value("order") or "newest"
    page = await visit.memory.browse(
        **{name: value for name, value in chosen.items() if value is not None},  # type: ignore[arg-type]
        superseded=superseded,
        everyone=everyone,
        order=order,
        cursor=visit.value("cursor"),
        limit=_PAGE,
    )
    flags = {"everyone": everyone, "superseded": superseded, "order": order}
    more = None if page.next is None else visit.link("/browse", **chosen, **flags, cursor=page.next)
    return visit.page(
        "browse.html",
        title="Records",
        records=page.records,
        more=more,
        kinds=_KINDS,
        kind=chosen["kind"],
        label=chosen["session"],
        since=chosen["since"],
        until=chosen["until"],
        everyone=everyone,
        superseded=superseded,
        order=order,
    )


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
    lines = visit.memory.export()

    async def encoded() -> Any:
        async for line in lines:
            yield f"{line}\n".encode()

    headers = {"content-disposition": 'attachment; filename="memorist.jsonl"'}
    return StreamingResponse(encoded(), media_type="application/x-ndjson", headers=headers)


async def status(visit: Visit) -> Response:
    """Show the status: what is stored, the zone of times, and the server's settings."""
    memory = visit.memory
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
        may_purge=visit.grant.right.includes(Right.ADMIN),
    )
