"""The inbox: what agents ask for waits, where the settings say `confirm`, until the user approves or rejects it.

A proposal is a request that was not carried out: a record behind a wall of its own, `Wall.inbox`, whose tenant no
request can name. So it is swept, backed up, encrypted and purged like other records, in every store, and no verb on the
user's records sees it. It quotes the records that it would change, and is removed together with the first of them.

Its `state` is decided by one write, of which the store lets one of several succeed: from "waiting" to "approving" or
"rejected". What is "approving" is carried out, which twice does no more than once, and then removed. So a process that
is killed in between leaves a proposal that can be approved again. A rejected one leaves a hash of what was asked, by
which the same is refused later.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from shlex import quote
from typing import Any, TypeAlias, TypeGuard, TypeVar

from memorist.engine.core import Core
from memorist.engine.writing import ATTEMPTS, Done, forget, remember, revise, written
from memorist.errors import (
    ConflictError,
    InvalidInputError,
    MemoristError,
    NotFoundError,
    ScopeError,
    WaitingError,
    shown,
)
from memorist.operations import requests
from memorist.operations.answers import Proposal
from memorist.operations.calls import Call
from memorist.operations.requests import Request
from memorist.records.codec import plain
from memorist.records.filters import Filter, make_filter
from memorist.records.origins import NOBODY, Author, Door, joined, parse_authors
from memorist.records.record import Action, Draft, Kind, Record
from memorist.records.scope import INBOX_PREFIX, Scope, Wall
from memorist.records.times import iso, parse_expiry
from memorist.stores.base import Remove, Write
from memorist.system.offload import offload

_T = TypeVar("_T")
Change: TypeAlias = requests.Remember | requests.Revise | requests.Forget
_VERBS: Mapping[str, type[Change]] = {each.verb: each for each in (requests.Remember, requests.Revise, requests.Forget)}
_MOST = 100
_LONGEST = 20_000
"""Characters of a proposal, as JSON: what people are asked to read."""
_EXCERPT = 200
_KEPT = timedelta(days=90)
_UNDOABLE = timedelta(minutes=2)
_WAITING, _APPROVING, _REJECTED = "waiting", "keeping", "dropped"
"""The states, as files have them."""
_STATES: Mapping[str, Any] = {_WAITING: "waiting", _APPROVING: "approving", _REJECTED: "rejected"}
"""The states as a proposal shows them, by those of files."""
_UNDECIDED: Mapping[str, Any] = {"state": {"$in": [_WAITING, _APPROVING]}}
_MARK = "dropped/"
_REFUSED = "the user rejected this proposal, so nothing was done; do not propose it again"


def waits(request: Request[Any], core: Core, call: Call) -> TypeGuard[Change]:
    """Return whether a request waits for the user's yes."""
    return core.settings.confirm and isinstance(request, Change) and (request.proposed or call.door.proposes)


async def propose(core: Core, call: Call, request: Change) -> Any:
    """Store a request, to be carried out when the user says yes; answer one that changes nothing.

    Raises:
        WaitingError: it waits.
        InvalidInputError: it is wrong, or too long to be read by people; the user rejected the same; too much waits.
        ConflictError: an id is taken.
    """
    asked, content, authors, about = await _SETTLE[type(request)](core, call, replace(request, proposed=False))
    if not content:
        return [] if isinstance(asked, requests.Remember) else 0
    payload = {"verb": request.verb, "asked": asked.given(), "ids": about, "door": call.door.name, "state": _WAITING}
    if (size := len(json.dumps(payload, ensure_ascii=False))) > _LONGEST:
        raise InvalidInputError(f"a proposal has {_LONGEST:,} characters at most; this has {size:,}")
    scope, id = _inbox(call.scope), _fingerprint(call.scope, request)
    draft = Draft(
        content=content, kind=Kind.TOPIC, id=id, payload=payload, author=authors, expires_at=_KEPT.total_seconds()
    )
    [record] = await offload(lambda: core.stamp([draft], replace(call, scope=scope, door=Door(call.door.name))), draft)
    there = await core.store.get(scope.wall, [id, _MARK + id])
    if any(each.payload["state"] == _REJECTED for each in there):
        raise InvalidInputError(_REFUSED)
    if not there:
        if await core.store.count(scope.wall.reach, make_filter(payload=_UNDECIDED)) >= _MOST:
            raise InvalidInputError(f"{_MOST} proposals are pending already; the user must decide some of them first")
        quotes = frozenset((call.scope.wall, each) for each in about)
        put = await core.put(record, Action.REMEMBERED, None, quotes=quotes)
        try:
            await core.store.write(scope.wall, [put], act=call.act)
        except ConflictError:
            if not await core.store.get(scope.wall, [id]):  # else the same was asked for at the same time
                raise
    whose = "" if scope.user is None else f" --user {quote(scope.user)}"
    waiting = WaitingError(
        f"not done yet: it is pending approval, as {id}. The user decides, with `memorist inbox{whose}`"
    )
    waiting.proposal = id
    raise waiting


_Settled: TypeAlias = tuple[Change, str, Author, list[str]]
"""A request that means the same later, its text for people, its authors, and the ids that it is about."""


async def _to_remember(core: Core, call: Call, asked: requests.Remember) -> _Settled:
    records = await offload(lambda: core.stamp(asked.records, call), asked.records)
    drafts = tuple(_as_stamped(draft, each) for draft, each in zip(asked.records, records, strict=True))
    named = [id for draft in drafts for id in (draft.supersedes, *draft.derived_from) if isinstance(id, str)]
    for id in dict.fromkeys(named):
        await _seen(core, call, id)
    taken = await core.store.get(call.scope.wall, [str(each.id) for each in drafts])
    if taken and asked.if_exists == "error":
        raise ConflictError(f"the id {shown(taken[0].id)} is taken in this scope; choose another")
    going = await core.store.get(call.scope.wall, asked.forgetting)
    replaced = await _with_keys(core, call, drafts) if asked.if_exists == "replace" else []
    about = dict.fromkeys([*named, *(each.id for each in (*taken, *going, *replaced))])
    authors = joined(each.origin.authors for each in records) or Author.ASSISTANT
    text = "\n\n".join(each.content for each in records) or _excerpts(going)
    return replace(asked, records=drafts), text, authors, list(about)


def _as_stamped(draft: Draft, record: Record) -> Draft:
    """Return a draft that makes the same record later."""
    return replace(
        draft,
        id=record.id,
        vector=None,
        happened_at=record.happened_at,
        expires_at=record.expires_at,
        author=record.origin.authors or None,
    )


async def _with_keys(core: Core, call: Call, drafts: Iterable[Draft]) -> list[Record]:
    """Return the records that have the keys of drafts."""
    found = list[Record]()
    for draft in drafts:
        if draft.key is not None:
            chosen = make_filter(kind=draft.kind, key=draft.key)
            found += await core.store.select(call.scope.reach(), chosen, order="newest", limit=1)
    return found


async def _to_revise(core: Core, call: Call, asked: requests.Revise) -> _Settled:
    old, changes = await _seen(core, call, str(asked.id)), core.dated(asked.changes(), call)
    own = NOBODY if call.door.is_open else call.door.author
    authors = own | (NOBODY if asked.author is None else call.door.named(asked.author)) or Author.ASSISTANT
    asked = replace(asked, **{name: changes[name] for name in ("happened_at", "expires_at") if name in changes})
    new = await offload(lambda: core.changed(old, replace(old, **changes)), old, changes)
    told = {name: plain(value) for name, value in changes.items()}
    text = new.content if new.content != old.content else json.dumps(told, ensure_ascii=False, default=dict)
    return replace(asked, author=authors), text, authors, [old.id]


async def _to_forget(core: Core, call: Call, asked: requests.Forget) -> _Settled:
    chosen = core.filter(asked, call)
    found = await core.store.select(call.scope.reach(), chosen, order="newest", limit=_MOST + 1)
    if len(found) > _MOST:
        raise InvalidInputError(f"an agent may propose to forget {_MOST} records at most; narrow what you name")
    if found:  # those that the user is shown, whatever passes later
        ids = tuple(each.id for each in found)
        asked = requests.Forget(ids=ids, source=asked.source, derived=asked.derived)
    return asked, _excerpts(found), Author.ASSISTANT, list(asked.ids)


def _excerpts(records: Sequence[Record]) -> str:
    return "\n".join(each.content[:_EXCERPT] for each in records)


_SETTLE: Mapping[type[Change], Callable[[Core, Call, Any], Awaitable[_Settled]]] = {
    requests.Remember: _to_remember,
    requests.Revise: _to_revise,
    requests.Forget: _to_forget,
}


async def _seen(core: Core, call: Call, id: str) -> Record:
    for found in await core.store.get(call.scope.wall, [id]):
        if call.scope.sees(found.scope):
            return found
    raise NotFoundError(f"there is no record {shown(id)} in this scope")


def _fingerprint(scope: Scope, request: Change) -> str:
    """Return a hash that is the same for the same request, whatever ids its caller makes up."""
    given = request.given()
    drafts = [
        {name: each for name, each in draft.items() if name not in ("id", "vector")}
        for draft in given.pop("records", ())
    ]
    asked = [request.verb, scope.agent, scope.session, drafts, {**given, "proposed": True}]
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=dict).encode()).hexdigest()[:32]


def _inbox(scope: Scope) -> Scope:
    return replace(scope, tenant=scope.wall.inbox.tenant)


# --- what the user decides -----------------------------------------------------------------------------


async def inbox(core: Core, call: Call, request: requests.Inbox) -> list[Proposal]:
    """Return what waits, oldest first."""
    return [_shown(each) for each in await _waiting(core, call)]


async def waiting(core: Core, call: Call) -> dict[str | None, int]:
    """Return how many proposals wait for each user of the tenant for whom any does."""
    walls = [Wall(call.scope.tenant, user).inbox for user in await core.store.users(call.scope.wall.inbox.tenant)]
    counts = {each.user: await core.store.count(each.reach, _undecided_in(call.scope)) for each in walls}
    return {user: count for user, count in counts.items() if count}


async def _waiting(core: Core, call: Call) -> list[Record]:
    chosen, reach = _undecided_in(call.scope), call.scope.wall.inbox.reach
    return await core.store.select(reach, chosen, order="oldest", limit=2 * _MOST)


def _undecided_in(scope: Scope) -> Filter:
    return make_filter(payload=_UNDECIDED, agent=scope.agent, session=scope.session)


def _shown(record: Record) -> Proposal:
    payload = record.payload
    return Proposal(
        id=record.id, at=record.at, expires_at=record.expires_at, scope=_outside(record.scope), verb=payload["verb"],
        door=payload["door"], authors=tuple(record.origin.authors.names), content=record.content,
        asked=payload["asked"], ids=tuple(payload["ids"]), state=_STATES[payload["state"]],
    )  # fmt: skip


def _outside(scope: Scope) -> Scope:
    return replace(scope, tenant=scope.tenant.removeprefix(INBOX_PREFIX))


async def approve(core: Core, call: Call, request: requests.Approve) -> list[Record]:
    """Carry out what waits, and return the records that it stored or changed."""
    _refuse_agents(call)

    async def claim() -> tuple[list[Write], Record]:
        found = await _undecided(core, call, request.id)
        if found.payload["state"] == _APPROVING:  # by another process, or one that was killed
            if request.content not in (None, found.content):
                raise ConflictError(
                    f"approving {shown(request.id)} has begun; approve it again unchanged, then edit the stored record"
                )
            return [], found
        return await _moved(core, _reworded(found, request.content, call.door.author), _APPROVING)

    claimed = await written(core, call.at(_inbox(call.scope)), claim, 20 * ATTEMPTS)
    try:
        records = await _carried_out(core, call, claimed)
    except MemoristError:
        writes, _ = await _moved(core, claimed, _WAITING)
        with suppress(ConflictError):  # it went with a record that was forgotten
            await core.store.write(call.scope.wall.inbox, writes, act=call.act)
        raise
    done = Remove(claimed.id, Action.FORGOTTEN, core.clock(), version=claimed.version)
    await core.store.write(call.scope.wall.inbox, [done], act=call.act)
    return records


async def reject(core: Core, call: Call, request: requests.Reject) -> Proposal:
    """Refuse what waits, and the same later; or take that back."""
    _refuse_agents(call)
    mark = Draft(
        content="dropped", kind=Kind.TOPIC, id=_MARK + request.id, payload={"state": _REJECTED}, author=Author.USER,
        expires_at=_KEPT.total_seconds(),
    )  # fmt: skip
    there = call.at(_inbox(call.scope))

    async def decide() -> tuple[list[Write], Record]:
        found = await _undecided(core, call, request.id, rejected=request.undo)
        if found.payload["state"] == _APPROVING:
            raise ConflictError(
                f"approving {shown(request.id)} has begun; approve it again, then forget the stored record"
            )
        if request.undo:
            writes, moved = await _moved(core, found, _WAITING)
            return [*writes, Remove(_MARK + request.id, Action.FORGOTTEN, core.clock())], moved
        writes, moved = await _moved(core, found, _REJECTED)
        return [*writes, await core.put(core.stamp([mark], there)[0], Action.REMEMBERED, None)], moved

    return _shown(await written(core, there, decide, 20 * ATTEMPTS))


def _refuse_agents(call: Call) -> None:
    if call.door.proposes:
        raise ScopeError("only the user may decide proposals, with `memorist inbox`")


async def _undecided(core: Core, call: Call, id: str, *, rejected: bool = False) -> Record:
    """Return what waits, or what was rejected just now.

    Raises:
        NotFoundError: there is no such proposal, or it is decided.
    """
    for found in await core.store.get(call.scope.wall.inbox, [id]):
        if (
            call.scope.sees(found.scope)
            and "verb" in found.payload
            and (found.payload["state"] == _REJECTED) == rejected
        ):
            return found
    raise NotFoundError(f"nothing with the id {shown(id)} {'was rejected just now' if rejected else 'waits'} here")


async def _moved(core: Core, old: Record, state: str) -> tuple[list[Write], Record]:
    """Return the write that gives a proposal another state, and the proposal as it is then."""
    until = core.clock() + _UNDOABLE if state == _REJECTED else old.created_at + _KEPT
    new = core.changed(old, replace(old, payload={**old.payload, "state": state}, expires_at=until))
    return [await core.put(new, Action.REVISED, None, keep_index=True)], new


def _reworded(proposal: Record, content: str | None, by: Author) -> Record:
    """Return a proposal with another text, whose authors are the agent and who changed it; with None, as it is."""
    if content is None:
        return proposal
    asked = dict(proposal.payload["asked"])
    drafts = asked.get("records", ())
    if not content.strip():
        raise InvalidInputError("content must not be blank; to discard the proposal, reject it")
    if len(drafts) == 1:
        asked["records"] = [_by({**drafts[0], "content": content}, by)]
    elif "content" in asked:
        asked = _by({**asked, "content": content}, by)
    else:
        raise InvalidInputError("this proposal has no single text to edit; approve it or reject it as it is")
    return replace(proposal, content=content, payload={**proposal.payload, "asked": asked})


def _by(fields: dict[str, Any], author: Author) -> dict[str, Any]:
    return {**fields, "author": (parse_authors(fields.get("author") or author) | author).names}


async def _carried_out(core: Core, call: Call, proposal: Record) -> list[Record]:
    """Do what was asked, as whoever asked, unless it is done already."""
    payload = proposal.payload
    request = _VERBS[payload["verb"]].of(payload["asked"])
    call = replace(call, scope=_outside(proposal.scope), door=Door(payload["door"]))
    if isinstance(request, requests.Forget):
        await forget(core, call, request)
        return []
    _refuse_expired(core, proposal)
    if isinstance(request, requests.Revise):
        revision = replace(request, verified=True)
        revised = partial(_revised, core, call, proposal, revision)
        return [await _once(revised, lambda: revise(core, call, revision, revised))]
    drafts = [replace(each, verified=True, happened_at=each.happened_at or proposal.at) for each in request.records]
    storing = replace(request, records=tuple(drafts), embed="now")
    stored = partial(_stored, core, call, proposal, storing)
    return await _once(stored, lambda: remember(core, call, storing, stored))


async def _once(done: Done[_T], work: Callable[[], Awaitable[_T]]) -> _T:
    """Return what is done already, or do it."""
    if (there := await done()) is not None:
        return there
    try:
        return await work()
    except MemoristError:
        if (there := await done()) is None:  # else by another process, just now
            raise
        return there


async def _stored(core: Core, call: Call, proposal: Record, request: requests.Remember) -> list[Record] | None:
    """Return the records that approving this has stored already; None if it has not."""
    since = None if request.if_exists == "error" else proposal.updated_at  # the same may have been there before
    found = list[Record]()
    for draft in request.records:
        ids = [str(draft.id)]
        if since is not None and draft.key is not None:  # it may have become the next version of what had the key
            held = make_filter(kind=draft.kind, key=draft.key)
            ids += [each.id for each in await core.store.select(call.scope.reach(), held, order="newest", limit=1)]
        there = [each for id in ids for each in await _versions(core, call, id, since)]
        if not (same := [each for each in there if each.content == draft.content]):
            return None
        found.append(same[0])
    return found or None


async def _revised(core: Core, call: Call, proposal: Record, request: requests.Revise) -> Record | None:
    """Return the record as approving this has changed it already; None if it has not."""
    changes = request.changes().items()
    there = await _versions(core, call, str(request.id), proposal.updated_at)
    return next((each for each in there if all(getattr(each, name) == value for name, value in changes)), None)


async def _versions(core: Core, call: Call, id: str, since: datetime | None) -> list[Record]:
    """Return the versions of a record from a time on, newest first."""
    there = [each.record for each in reversed(await core.store.history(call.scope.wall, id)) if each.record is not None]
    return [each for each in there if since is None or each.updated_at >= since]


def _refuse_expired(core: Core, proposal: Record) -> None:
    """Raise InvalidInputError if anything that would be stored has expired while the proposal waited."""
    asked = proposal.payload["asked"]
    ends = [each["expires_at"] for each in (asked, *asked.get("records", ())) if each.get("expires_at") is not None]
    if ends and (first := min(parse_expiry(each, proposal.at) for each in ends)) <= core.clock():
        raise InvalidInputError(
            f"the proposed record expired at {iso(first)}, so nothing was stored. Reject the proposal, and "
            "store what is still true yourself"
        )


async def forget_all(core: Core, call: Call, request: requests.Forget) -> int:
    """Forget the records that pass, and what waits to become such a record."""
    passing, now, gone = core.filter(request, call), core.clock(), list[Write]()
    for each in await _waiting(core, call):
        drafts = requests.Remember.of(each.payload["asked"]).records if each.payload["verb"] == "remember" else ()
        scope, through = _outside(each.scope), Door(each.payload["door"])
        if any(passing.matches(draft.to_record(scope, each.created_at, through), now) for draft in drafts):
            gone.append(Remove(each.id, Action.FORGOTTEN, now))
    if gone:
        await core.store.write(call.scope.wall.inbox, gone, act=call.act)
    return len(gone) + await forget(core, call, request)
