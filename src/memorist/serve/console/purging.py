"""The page of a purge: what it would touch, a form to confirm it, and afterwards the receipt."""

import json
from urllib.parse import quote

from starlette.responses import Response

from memorist.errors import InvalidInputError
from memorist.operations.answers import Receipt
from memorist.records.scope import checked_name
from memorist.serve.console.visits import Visit
from memorist.serve.uploads import forget

_SHARED = "shared"
"""The word that is typed in place of a name to purge the shared records."""


async def preview(visit: Visit) -> Response:
    """Show what a purge of the user would touch."""
    return _page(visit, await visit.memory.purge(shared=visit.memory.scope.user is None, dry_run=True))


async def purge(visit: Visit) -> Response:
    """Purge the user whose name was typed, and show the receipt, which the console does not keep.

    Raises:
        InvalidInputError: another name was typed.
    """
    user = visit.memory.scope.user
    if checked_name("user", visit.value("typed")) != (user or _SHARED):  # in NFC, as names are kept
        raise InvalidInputError("the name does not match; nothing was deleted")
    receipt = await visit.memory.purge(shared=user is None)
    forget(visit.memory.scope.wall)
    if any(kept.scope.wall == visit.memory.scope.wall for kept in visit.session.forgotten):
        visit.session.took_back()
    return _page(visit, receipt)


def _page(visit: Visit, receipt: Receipt) -> Response:
    user = visit.memory.scope.user
    whose = user or "the shared records"
    return visit.page(
        "purge.html",
        title=f"Purge {whose}" if receipt.dry_run else f"Purged {whose}",
        receipt=receipt,
        said=receipt.statement,
        whose=whose,
        name=user or _SHARED,
        file=f"data:application/json,{quote(json.dumps(receipt.statement))}",
    )
