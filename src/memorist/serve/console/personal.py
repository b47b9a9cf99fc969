"""The page of preferences and standing instructions: which hold in all projects, and which in one project alone."""

from collections.abc import Sequence

from starlette.responses import Response

from memorist.agents.personal import PERSON, make_personal, make_projects
from memorist.errors import InvalidInputError, NotFoundError, shown
from memorist.records.record import Record
from memorist.serve.console.visits import Visit

_TOKENS, _MOST = 4000, 200


async def personal(visit: Visit) -> Response:
    """Show the preferences and standing instructions, and whose each is."""
    memory = visit.memory.unlabelled()
    found = [item.record for item in (await memory.context("", tokens=_TOKENS)).items]
    found += (await memory.browse(agent=PERSON, limit=_MOST)).records
    return visit.page("personal.html", title="Preferences", scripts=("inbox.js",), records=_once(found), person=PERSON)


def _once(records: Sequence[Record]) -> list[Record]:
    """Return each record once, without the messages of which a note of the person's is among them."""
    by_id = {each.id: each for each in records}
    drawn = {id for each in records if each.scope.agent == PERSON for id in each.origin.derived_from}
    return [each for id, each in by_id.items() if id not in drawn]


async def decide(visit: Visit) -> Response:
    """Make a record the person's, or its project's again."""
    memory, id, do = visit.memory.unlabelled(), visit.needed("id"), visit.value("do")
    if do not in ("person", "project"):
        raise InvalidInputError("do is person or project")
    if (record := await memory.get(id)) is None:
        raise NotFoundError(f"there is no record {shown(id)} in this scope")
    if do == "person":
        await make_personal(memory, record)
        return visit.redirect("/personal", "This holds in all projects now.")
    found = await make_projects(memory, record)
    return visit.redirect("/personal", f"This holds in {found.scope.agent or 'no project'} alone now.")
