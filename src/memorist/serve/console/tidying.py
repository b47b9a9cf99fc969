"""What may be taken out of the memory: archived where somebody says yes, and put back."""

from starlette.responses import Response

from memorist.errors import InvalidInputError, NotFoundError
from memorist.serve.console.visits import Visit

_LIMIT = 25


async def tidy(visit: Visit) -> Response:
    """Show what may be archived, and what was archived last."""
    found = await visit.memory.admin.tidy(limit=_LIMIT)
    return visit.page("tidy.html", title="Tidy", scripts=("inbox.js",), found=found, archived=len(_archived(visit)))


async def decide(visit: Visit) -> Response:
    """Archive what a proposal names, in favour of another record where there is one; or put back what was last."""
    do = visit.value("do")
    if do not in ("archive", "undo"):
        raise InvalidInputError("do is archive or undo")
    admin = visit.memory.admin
    if do == "undo":
        ids = _archived(visit)
        if not ids:
            raise NotFoundError("nothing was archived here lately; memorist tidy --undo puts back more")
        back = await admin.archive(*ids, undo=True, source="console")
        visit.session.archived = None
        return visit.redirect("/tidy", f"Put back {back:,} of {len(ids):,}.")
    id = visit.needed("id")
    found = next((each for each in (await admin.tidy(limit=_LIMIT)).suggestions if each.id == id), None)
    if found is None:
        return visit.redirect("/tidy", "This proposal does not hold any more: its records were changed.")
    keep = None if found.keep is None else found.keep.id
    await admin.archive(*found.records, by=keep, source="console")
    scope = visit.memory.scope
    visit.session.archived = scope.tenant, scope.user, tuple(each.id for each in found.records)
    return visit.redirect("/tidy")


def _archived(visit: Visit) -> tuple[str, ...]:
    """Return the ids of what was archived last in this scope, in this session."""
    scope, last = visit.memory.scope, visit.session.archived
    return last[2] if last is not None and last[:2] == (scope.tenant, scope.user) else ()
