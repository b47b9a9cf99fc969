"""Handlers of forms: each calls one verb and redirects back to its page."""

from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response

from memorist.errors import InvalidInputError, NotFoundError, shown
from memorist.records.record import Record
from memorist.records.zones import zone_of
from memorist.serve.console.visits import Visit
from memorist.serve.reading import number_of

REVISABLE = ("content", "cue", "metadata", "payload", "verified", "happened_at", "expires_at")
"""The fields of a record that a form changes."""


async def remember(visit: Visit) -> Response:
    """Store a note."""
    record = await visit.memory.remember(visit.text("content") or "", source="console")
    return visit.redirect("/record", "Remembered.", id=record.id)


async def _named(visit: Visit) -> Record:
    id = visit.needed("id")
    if (record := await visit.memory.get(id)) is None:
        raise NotFoundError(f"there is no record {shown(id)} in this scope")
    return record


async def revise(visit: Visit) -> Response:
    """Change a record's fields to what was typed; a field that was not sent, or sent as it was, is left alone."""
    old = await _named(visit)
    readers: Mapping[str, Callable[[], Any]] = {
        "content": lambda: visit.text("content", old.content) or "",
        "cue": lambda: visit.text("cue", old.cue),
        "happened_at": lambda: visit.moment("happened_at", old.happened_at),
        "expires_at": lambda: visit.moment("expires_at", old.expires_at),
        "metadata": lambda: visit.mapping("metadata"),
        "payload": lambda: visit.mapping("payload"),
    }
    typed = {name: read() for name, read in readers.items() if name in visit.values}
    return await _revised(visit, old, {**typed, "verified": visit.flag("verified")}, author=visit.value("author"))


async def revert(visit: Visit) -> Response:
    """Give a record the fields of one of its earlier versions, as a new version."""
    record, version = await _named(visit), visit.number("version")
    for change in await visit.memory.history(record.id):
        if change.record is not None and change.record.version == version:
            return await _revised(visit, record, {name: getattr(change.record, name) for name in REVISABLE})
    raise NotFoundError(f"the record has no version {version}")


async def _revised(visit: Visit, old: Record, fields: Mapping[str, Any], author: str | None = None) -> Response:
    changed = {name: value for name, value in fields.items() if value != getattr(old, name)}
    if not changed:
        return visit.redirect("/record", "Nothing was changed.", id=old.id)
    await visit.memory.revise(old.id, source="console", author=author, **changed)
    return visit.redirect("/record", "Saved; the earlier version is in its history.", id=old.id)


async def supersede(visit: Visit) -> Response:
    """Store the current value in the place of a record, which stays known as of earlier times."""
    old, since = await _named(visit), visit.moment("happened_at", None)
    record = await visit.memory.remember(
        visit.text("content") or "",
        kind=old.kind,
        supersedes=old.id,
        payload={"supersedes": old.id},
        happened_at=since,
        source="console",
    )
    return visit.redirect(
        "/record", "Stored as the current value; the earlier record is kept as superseded.", id=record.id
    )


async def rate(visit: Visit) -> Response:
    """Set or clear a record's rating."""
    id, rating = visit.needed("id"), visit.needed("rating")
    value: Any = None if rating == "none" else number_of(rating)
    await visit.memory.rate(id, value, source="console")
    return visit.redirect("/record", "Rated." if value is not None else "Rating removed.", id=id)


async def forget(visit: Visit) -> Response:
    """Forget a record, or those that are ticked; this can be undone for two minutes."""
    sent, memory = visit.values.get("ids") or visit.value("id") or [], visit.memory
    ids = list(dict.fromkeys([sent] if isinstance(sent, str) else sent))
    if not ids:
        raise InvalidInputError("select a record first")
    records = await memory.find(ids)
    if missing := set(ids) - {record.id for record in records}:
        raise NotFoundError(f"there is no record {shown(min(missing))} in this scope")
    gone = await memory.forget(*ids, source="console")
    visit.session.forgot(records)
    return visit.redirect("/browse", "Forgotten." if gone == 1 else f"{gone} records are forgotten.")


async def undo(visit: Visit) -> Response:
    """Restore the records that were forgotten last."""
    records = visit.session.forgotten
    if not records:
        raise NotFoundError("nothing to restore; a forgotten record can be restored for two minutes")
    scope = visit.grant.scope(tenant=records[0].scope.tenant, user=records[0].scope.user)
    memory = visit.server.memory.scoped(tenant=scope.tenant, user=scope.user)
    for record in records:
        if not await memory.history(record.id):
            visit.session.took_back()
            raise NotFoundError("its user was purged since, so it cannot be restored")
    report = await memory.restore(records)
    if report.bad:
        raise InvalidInputError(report.bad[0].reason)
    visit.session.took_back()
    if len(records) > 1:
        return visit.redirect("/browse", f"{len(records)} records were restored; their history starts over.")
    return visit.redirect("/record", "Restored; its history starts over.", id=records[0].id)


async def set_topic(visit: Visit) -> Response:
    """Set a topic, or delete it if the value is blank."""
    topic = visit.needed("topic")
    old = await visit.memory.topics.get(topic)
    value = visit.text("value", old)
    if value is not None and value == old:
        return visit.redirect("/topics", "Nothing was changed.")
    if value is None:
        gone = await visit.memory.topics.delete(topic)
        return visit.redirect("/topics", f"Deleted {topic}." if gone else f"There is no topic {topic}.")
    await visit.memory.topics.set(topic, value, source="console")
    return visit.redirect("/topics", f"Saved {topic}.")


async def set_zone(visit: Visit) -> Response:
    """Set the zone in which this browser is shown times."""
    visit.session.zone = zone_of(visit.needed("zone"))
    return visit.redirect("/status", f"Times are shown in {visit.session.zone}.")
