"""Two users side by side: what is stored for each, and what each is told for one question."""

from dataclasses import dataclass

from starlette.responses import Response

from memorist.errors import ScopeError
from memorist.operations.answers import Context
from memorist.records.kind import MEMORIES
from memorist.records.record import Record
from memorist.serve.console.asking import linked
from memorist.serve.console.home import Row, rows_of
from memorist.serve.console.visits import Visit

_LATELY = 5


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two users: the numbers of records by kind, the newest records, and a context."""

    user: str
    kinds: list[Row]
    latest: list[Record]
    told: Context | None


async def compare(visit: Visit) -> Response:
    """Show two users of a tenant beside each other, and what an agent would be told of each for a question.

    Raises:
        ScopeError: the token does not allow reading every user.
    """
    if not visit.may_see_all:
        raise ScopeError("this token may not compare users; it takes an admin token that is bound to no user")
    question, names = visit.value("q") or "", (visit.value("one"), visit.value("other"))
    sides = [None if name is None else await _side(visit, name, question) for name in names]
    told = [[] if side is None or side.told is None else linked(side.told) for side in sides]
    return visit.page(
        "compare.html", title="Two users", sides=list(zip(names, sides, told, strict=True)), asked=question
    )


async def _side(visit: Visit, user: str, question: str) -> Side:
    memory = visit.memory_of(user)
    counts = {str(kind): await memory.count(kind=kind) for kind in MEMORIES}
    links = {kind: visit.with_user("/browse", user, kind=kind) for kind in counts}
    latest = (await memory.browse(limit=_LATELY)).records
    return Side(
        user,
        rows_of(counts, links, kinds=True),
        latest,
        await memory.context(question) if question else None,
    )
