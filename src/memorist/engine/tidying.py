"""Handlers of `tidy` and `archive`: what may be taken out of a memory, and taking it out so that it comes back.

Nothing is decided here: what is found is proposed. What is archived is superseded, by a record or by none: no recall,
no context and no list shows it, and nothing of it is lost.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeAlias

import numpy as np

from memorist.engine.core import Core
from memorist.engine.reading import changes
from memorist.engine.writing import ATTEMPTS, written
from memorist.errors import InvalidInputError, NotFoundError, shown
from memorist.operations import requests
from memorist.operations.answers import Suggestion, TidyReport
from memorist.operations.calls import Call
from memorist.recall.alike import alike
from memorist.recall.index import WallIndex
from memorist.records.filters import Filter, make_filter
from memorist.records.fingerprints import digest
from memorist.records.origins import MAX_SOURCES, joined
from memorist.records.record import Action, Kind, Record
from memorist.records.times import to_micros
from memorist.stores.base import Write
from memorist.system.offload import offload

_Found: TypeAlias = list[Suggestion] | str
"""What was found, or why it was not looked for."""
_COMPARED = (Kind.NOTE, Kind.FACT, Kind.EXPERIENCE)
"""The kinds of which two may be one: in a conversation people say the same twice."""
_UNUSED = (*_COMPARED, Kind.EPISODE)
_SURE = 0.7
"""The least score of a change that is proposed."""
_MOST_CHANGES = 200
_UNUSED_FOR = timedelta(days=30)
_MOST_TRACES = 20_000
_MOST_READ = 100_000
_OFTEN = 10
"""How often imported records must have the same text for the rest of them to be proposed."""
_LETTER = re.compile(r"\w")
_NOTICE = re.compile(
    r"<?(?:media|image|video|audio|sticker|gif|document|contact card) omitted>?|<attached: .*>"
    r"|(?:this message was|you) deleted(?: this message)?|this message was edited"
    r"|messages and calls are end-to-end encrypted.*|missed (?:voice|video) call.*"
    r"|.{1,60} (?:joined using this group's invite link|left the group|changed the (?:subject|group).*)"
    r"|\[(?:deleted|removed|sticker|photo|video|voice message)\]|null|none|undefined|n/a",
    re.IGNORECASE | re.DOTALL,
)
"""What programs write into a conversation in the place of what somebody says."""


async def tidy(core: Core, call: Call, request: requests.Tidy) -> TidyReport:
    """Return what may be taken out, each kind of it up to the limit."""
    suggestions, more, untried = list[Suggestion](), list[str](), dict[str, str]()
    for what, look in _LOOKS.items():
        if request.what not in (None, what):
            continue
        found = await look(core, call)
        if isinstance(found, str):
            untried[what] = found
            continue
        suggestions += found[: request.limit]
        if len(found) > request.limit:
            more.append(what)
    return TidyReport(tuple(suggestions), tuple(more), untried)


async def _duplicates(core: Core, call: Call) -> _Found:
    try:
        index, _ = await core.recaller.whole(call.scope.wall)
    except InvalidInputError as error:
        return str(error)
    if not index.rows:
        return []
    chosen = Filter(kinds=frozenset(_COMPARED), agent=call.scope.agent, session=call.scope.session)
    found = list[Suggestion]()
    for numbers, near in await asyncio.to_thread(_groups, index, chosen, to_micros(core.clock())):
        records = await core.store.fetch(call.scope.wall, numbers)
        best, *others = sorted(records.values(), key=_worth, reverse=True)
        if others:
            why = "says the same" if near < 0.9999 else "the same words"
            found.append(_suggested("duplicate", others, why, near, best))
    return found


def _groups(index: WallIndex, chosen: Filter, now: int) -> list[tuple[list[int], float]]:
    """Return the numbers of records that say the same as one of them, and how like it the least alike is."""
    with index.lock:
        rows = np.flatnonzero(index.allowed(chosen, now))
        pairs = alike(index, rows)
        number = index.column("number").copy()
    near = defaultdict[int, dict[int, float]](dict)
    for one, other, cosine in pairs:
        near[one][other] = near[other][one] = cosine
    taken, groups = set[int](), list[tuple[list[int], float]]()
    for row in sorted(near, key=lambda each: (-len(near[each]), each)):
        others = [each for each in near[row] if each not in taken]
        if row in taken or not others:
            continue
        taken.update(others, [row])
        groups.append(([int(number[each]) for each in (row, *others)], min(near[row][each] for each in others)))
    return sorted(groups, key=lambda each: -each[1])


def _worth(record: Record) -> tuple[bool, float, int, datetime]:
    """Return what a record is kept for among those that say the same."""
    return record.verified, record.rating or 0.0, len(record.content), record.at


async def _contradictions(core: Core, call: Call) -> _Found:
    """Return what a later record most likely replaces, of what is not certain already."""
    asked = requests.Changes(min_score=_SURE, limit=_MOST_CHANGES, kind=(Kind.NOTE, Kind.FACT))
    try:
        page = await changes(core, call, asked)
    except InvalidInputError as error:
        return str(error)
    pairs = [each for each in page.changes if each.former.current and each.former.kind in (Kind.NOTE, Kind.FACT)]
    return [
        _suggested("contradiction", [each.former], ", ".join(each.signs) or "a later state", each.score, each.record)
        for each in pairs
    ]


async def _unused(core: Core, call: Call) -> _Found:
    """Return what no call has recalled since traces are kept, of what was there before."""
    used, first, count = set[str](), core.clock(), 0
    async for page in core.pages(call.scope.wall.traces.reach, make_filter(payload={"verb": {"$exists": True}})):
        for trace in page:
            used.update(str(each["id"]) for each in trace.payload.get("hits", ()))
            first = min(first, trace.at)
        count += len(page)
        if count >= _MOST_TRACES:
            break
    if core.clock() - first < _UNUSED_FOR:
        return f"this needs traces of {_UNUSED_FOR.days} days at least; keep them with MEMORIST_KEEP_TRACES=90d"
    found = list[Suggestion]()
    chosen = make_filter(kind=_UNUSED, agent=call.scope.agent, session=call.scope.session)
    async for page in core.pages(call.scope.reach(), chosen):
        for record in page:
            if record.id not in used and record.created_at < first and not record.verified and not record.rating:
                found.append(_suggested("unused", [record], f"not recalled since {first:%Y-%m-%d}", 0.5))
    return found


async def _junk(core: Core, call: Call) -> _Found:
    """Return what imports brought along that nobody has said."""
    notices, same, count = list[Record](), defaultdict[str, list[Record]](list), 0
    chosen = make_filter(source="import", agent=call.scope.agent, session=call.scope.session)

    def sort(page: Sequence[Record]) -> None:
        for record in page:
            text = record.content.strip()
            if not _LETTER.search(text) or _NOTICE.fullmatch(text[:300]):
                notices.append(record)
            elif len(text) > _OFTEN:
                same[digest(text)].append(record)

    async for page in core.pages(call.scope.reach(), chosen):
        await offload(partial(sort, page), page)
        count += len(page)
        if count >= _MOST_READ:
            break
    found = [_suggested("junk", [each], "a program's own notice, or no word", 0.9) for each in notices]
    for records in same.values():
        if len(records) >= _OFTEN:
            kept, *others = sorted(records, key=lambda each: each.at)
            found.append(_suggested("junk", others, f"the same text {len(records)} times", 0.6, kept))
    return found


_LOOKS: Mapping[str, Callable[[Core, Call], Awaitable[_Found]]] = {
    "duplicate": _duplicates,
    "contradiction": _contradictions,
    "unused": _unused,
    "junk": _junk,
}


def _suggested(what: str, records: Sequence[Record], why: str, score: float, keep: Record | None = None) -> Suggestion:
    versions = sorted((each.id, each.version) for each in records)
    id = digest(what, versions, None if keep is None else keep.id)
    return Suggestion(id, what, tuple(records), keep, why, score)


# --- archiving ---------------------------------------------------------------------------------------------


async def archive(core: Core, call: Call, request: requests.Archive) -> int:
    """Take records out of what is recalled, all or none, or put them back; return how many that changed."""
    prepare = partial(_restored if request.undo else _archived, core, call, request)
    return await written(core, call, prepare, 20 * ATTEMPTS)


async def _archived(core: Core, call: Call, request: requests.Archive) -> tuple[list[Write], int]:
    going = [each for each in await _seen(core, call, request.ids) if each.current and each.id != request.by]
    writes = list[Write]()
    if request.by is not None and going:
        [kept] = await _seen(core, call, [request.by], needed=True)
        if not kept.current:
            raise InvalidInputError(f"the record {shown(kept.id)} is superseded itself; name one that is current")
        writes += await _joined(core, kept, going, request.source)
    now = core.clock()
    for old in going:
        ended = core.changed(old, replace(old, superseded_by=request.by, superseded_at=max(now, old.at)))
        writes.append(await core.put(ended, Action.SUPERSEDED, None, keep_index=True, source=request.source))
    return writes, len(going)


async def _joined(core: Core, kept: Record, others: Iterable[Record], source: str | None) -> list[Write]:
    """Return the write that gives a record the origins of those whose place it takes; none if it has them all."""
    origins = [kept.origin, *(each.origin for each in others)]
    sources = tuple(dict.fromkeys(id for each in origins for id in each.derived_from if id != kept.id))
    authors = joined(each.authors for each in origins)
    if authors == kept.origin.authors and len(sources) == len(kept.origin.derived_from):
        return []
    sources = sources[: MAX_SOURCES - kept.origin.lost]
    new = core.changed(kept, replace(kept, origin=replace(kept.origin, authors=authors, derived_from=sources)))
    return [await core.put(new, Action.REVISED, None, keep_index=True, source=source)]


async def _restored(core: Core, call: Call, request: requests.Archive) -> tuple[list[Write], int]:
    back = [each for each in await _seen(core, call, request.ids) if not each.current]
    writes = list[Write]()
    for old in back:
        new = core.changed(old, replace(old, superseded_by=None, superseded_at=None))
        writes.append(await core.put(new, Action.REVISED, None, keep_index=True, source=request.source))
    return writes, len(back)


async def _seen(core: Core, call: Call, ids: Sequence[str], *, needed: bool = False) -> list[Record]:
    found = [each for each in await core.store.get(call.scope.wall, ids) if call.scope.sees(each.scope)]
    if needed and not found:
        raise NotFoundError(f"there is no record {shown(ids[0])} in this scope")
    return found
