"""The inbox: what agents ask for, to be approved, changed or rejected."""

from starlette.responses import Response

from memorist.errors import InvalidInputError, NotFoundError, shown
from memorist.serve.auth import Right
from memorist.serve.console.home import rows_of
from memorist.serve.console.visits import Visit


async def inbox(visit: Visit) -> Response:
    """Show the pending proposals, oldest first, and what was decided last; without a user, also who else has some."""
    memory = visit.memory
    waiting = await memory.admin.inbox()
    found = {each.id: each for each in await memory.find([id for each in waiting for id in each.ids])}
    pending = await memory.admin.users(waiting=True) if visit.may_show_everyone else {}
    users = {user: count for user, count in pending.items() if user is not None}
    return visit.page(
        "inbox.html",
        title="Inbox",
        scripts=("inbox.js",),
        waiting=[(each, [found[id] for id in each.ids if id in found]) for each in waiting],
        users=rows_of(users, {user: visit.with_user("/inbox", user) for user in users}),
        may_decide=visit.grant.right.includes(Right.ADMIN),
        approved=visit.value("approved"),
        rejected=visit.value("rejected"),
    )


async def decide(visit: Visit) -> Response:
    """Approve what waits, with the text that was typed, or reject it; or let it wait again."""
    memory, id, do = visit.memory, visit.value("id"), visit.value("do")
    if do in ("reject", "undo"):
        await memory.admin.reject(id or "", undo=do == "undo")
        notice, rejected = ("The proposal is pending again.", None) if do == "undo" else (None, id)
        return visit.redirect("/inbox", notice, rejected=rejected)
    if do != "approve":
        raise InvalidInputError("do is approve, reject or undo")
    asked = next((each for each in await memory.admin.inbox() if each.id == id), None)
    if asked is None:
        raise NotFoundError(f"nothing with the id {shown(id)} waits here")
    text, going = visit.text("content", asked.content), await memory.find(asked.ids)
    stored = await memory.admin.approve(asked.id, None if text == asked.content else text)
    if asked.verb == "forget":
        visit.session.forgot(going)
    return visit.redirect("/inbox", None if stored else "Forgotten.", approved=stored[0].id if stored else None)
