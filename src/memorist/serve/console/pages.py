"""Pages that only read: find, browse, a record, topics, the picture, the status."""

from typing import Any

from starlette.responses import HTMLResponse, Response, StreamingResponse

from memorist.errors import InvalidInputError, NotFoundError, shown
from memorist.memory import Memory
from memorist.records import Kind
from memorist.serve.auth import Right
from memorist.serve.console.pictures import by_time, embedding_map
from memorist.serve.console.rendering import render
from memorist.serve.console.visits import Visit
from memorist.serve.reading import number_of

__all__ = ["browse", "context", "export", "find", "picture", "record", "status", "topics"]

_PAGE = 25
_HITS = 10
_DEEPEST = 12
"""The number of dots of a topic's name that make branches; the rest of the name is its leaf."""
_MOST_DRAWN = 1500
_KINDS = [str(kind) for kind in Kind]


async def find(visit: Visit) -> Response:
    """Show the page that finds records while typing. The script requests only the hits; without it, the form works."""
    question, kind, shared = visit.value("q") or "", visit.value("kind"), visit.flag("shared")
    hits = await visit.memory.recall(question, limit=_HITS, kind=kind, shared=shared, explain=True)
    if visit.flag("fragment"):
        return HTMLResponse(render("hits.html", hits=hits, question=question, visit=visit))
    return visit.page("find.html", title="Find", question=question, hits=hits, kinds=_KINDS, kind=kind, shared=shared)


async def context(visit: Visit) -> Response:
    """Show what an agent would be told for a question, within a budget of tokens."""
    question = visit.value("q") or ""
    tokens: Any = number_of(visit.value("tokens") or "600")
    shared = visit.flag("shared")
    told = await visit.memory.context(question, tokens=tokens, shared=shared) if "q" in visit.values else None
    return visit.page(
        "context.html",
        title="What the agent would be told",
        question=question,
        tokens=tokens,
        told=told,
        shared=shared,
    )


async def browse(visit: Visit) -> Response:
    """Page through the records that pass a filter."""
    names = ("kind", "session", "since", "until")
    chosen = {name: visit.value(name) for name in names}
    everyone = visit.flag("everyone") and visit.memory.scope.user is None
    if everyone:
        visit.grant.check(Right.ADMIN)
    superseded = visit.flag("superseded")
    order: Any = visit.value("order") or "newest"
    page = await visit.memory.browse(
        **{name: value for name, value in chosen.items() if value is not None},  # type: ignore[arg-type]
        superseded=superseded,
        everyone=everyone,
        order=order,
        cursor=visit.value("cursor"),
        limit=_PAGE,
    )
    flags = {"everyone": everyone or None, "superseded": superseded or None, "order": order}
    more = None if page.next is None else visit.link("/browse", **chosen, **flags, cursor=page.next)
    return visit.page(
        "browse.html", title="Browse", records=page.records, more=more, kinds=_KINDS, kind=chosen["kind"],
        label=chosen["session"], since=chosen["since"], until=chosen["until"], everyone=everyone,
        superseded=superseded, order=order,
    )  # fmt: skip


async def record(visit: Visit) -> Response:
    """Show one record and its history."""
    id = visit.value("id")
    if id is None:
        raise InvalidInputError("name a record: /record?id=…")
    found = await visit.memory.get(id)
    changes = await visit.memory.history(id)
    if found is None and not changes:
        raise NotFoundError(f"there is no record {shown(id)} in this scope")
    return visit.page("record.html", title="Record", record=found, id=id, changes=changes)


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


async def picture(visit: Visit) -> Response:
    """Draw the memory: a map of similar records, and the number of records over time."""
    memory = visit.memory
    newest = await memory.recent(_MOST_DRAWN)
    vectors = await memory.vectors([each.id for each in newest])
    drawn = [each for each in newest if each.id in vectors]
    points = embedding_map(drawn, [vectors[each.id] for each in drawn])
    return visit.page(
        "picture.html",
        title="Picture",
        points=points,
        bars=by_time(newest),
        count=len(newest),
        kinds=sorted({str(each.kind) for each in drawn}),
    )


async def export(visit: Visit) -> Response:
    """Export every record of the scope as lines of JSON."""
    lines = visit.memory.export()

    async def encoded() -> Any:
        async for line in lines:
            yield f"{line}\n".encode()

    headers = {"content-disposition": 'attachment; filename="memorist.jsonl"'}
    return StreamingResponse(encoded(), media_type="application/x-ndjson", headers=headers)


async def status(visit: Visit) -> Response:
    """Show the status: what is stored, and the server's settings."""
    memory = visit.memory
    kinds = {kind: await memory.count(kind=kind) for kind in _KINDS}
    users = await _users(memory) if visit.may_see_all and memory.scope.user is None else None
    return visit.page(
        "status.html",
        title="Status",
        kinds={kind: count for kind, count in kinds.items() if count},
        users=users,
        count=await memory.count(),
        all_versions=await memory.count(superseded=True),
        open=visit.server.open,
        settings=visit.server.settings if visit.may_see_all and visit.grant.tenant is None else {},
    )


async def _users(memory: Memory) -> dict[str, int]:
    found = await memory.users()
    return {user: count for user, count in sorted(found.items(), key=lambda each: -each[1]) if user is not None}
