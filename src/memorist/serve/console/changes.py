"""Handlers of forms: each calls one verb and redirects back to its page."""

import json
from typing import Any

from starlette.responses import Response

from memorist.errors import InvalidInputError, NotFoundError, shown
from memorist.operations.lines import FORMAT, VERSION
from memorist.serve.console.visits import Visit
from memorist.serve.console.zones import parse_zone
from memorist.serve.reading import number_of


def _needed(visit: Visit, name: str) -> str:
    value = visit.value(name)
    if value is None:
        raise InvalidInputError(f"{name} is missing")
    return value


async def remember(visit: Visit) -> Response:
    """Store a note."""
    record = await visit.memory.remember(visit.text("content") or "", source="console")
    return visit.redirect("/record", "Remembered.", id=record.id)


async def revise(visit: Visit) -> Response:
    """Change a record's text, cue or verification; unchanged fields are left alone."""
    id = _needed(visit, "id")
    old = await visit.memory.get(id)
    if old is None:
        raise NotFoundError(f"there is no record {shown(id)} in this scope")
    typed: dict[str, Any] = {"verified": visit.flag("verified")}
    if "content" in visit.values:
        typed["content"] = visit.text("content", old.content) or ""
    if "cue" in visit.values:
        typed["cue"] = visit.text("cue", old.cue)
    changed = {name: value for name, value in typed.items() if value != getattr(old, name)}
    if not changed:
        return visit.redirect("/record", "Nothing was changed.", id=id)
    await visit.memory.revise(id, source="console", **changed)
    return visit.redirect("/record", "Saved; what it was is in its history.", id=id)


async def rate(visit: Visit) -> Response:
    """Set or clear a record's rating."""
    id, rating = _needed(visit, "id"), _needed(visit, "rating")
    value: Any = None if rating == "none" else number_of(rating)
    await visit.memory.rate(id, value, source="console")
    return visit.redirect("/record", "Rated." if value is not None else "Rating taken back.", id=id)


async def forget(visit: Visit) -> Response:
    """Forget a record; this can be undone for two minutes."""
    id, memory = _needed(visit, "id"), visit.memory
    record = await memory.get(id)
    if record is None or not await memory.forget(id, source="console"):
        raise NotFoundError(f"there is no record {shown(id)} in this scope")
    visit.session.forgot(record)
    return visit.redirect("/browse", "Forgotten.")


async def undo(visit: Visit) -> Response:
    """Restore the record that was forgotten last."""
    record = visit.session.forgotten
    if record is None:
        raise NotFoundError("there is nothing to restore any more; a forgotten record can be restored for two minutes")
    header = json.dumps({"format": FORMAT, "version": VERSION})
    scope = visit.grant.scope(tenant=record.scope.tenant, user=record.scope.user)
    memory = visit.server.memory.scoped(tenant=scope.tenant, user=scope.user)
    if not await memory.history(record.id):
        visit.session.took_back()
        raise NotFoundError("everything of its user was deleted since; it cannot be restored")
    report = await memory.load([header, json.dumps(record.to_dict())])
    if report.bad:
        raise InvalidInputError(report.bad[0].reason)
    visit.session.took_back()
    return visit.redirect("/record", "Taken back; its history begins anew.", id=record.id)


async def set_topic(visit: Visit) -> Response:
    """Set a topic, or delete it if the value is blank."""
    topic = _needed(visit, "topic")
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
    visit.session.zone = parse_zone(_needed(visit, "zone"))
    return visit.redirect("/status", f"Times are shown in {visit.session.zone}.")
