"""Traces: the questions and the results of calls, kept for a while if the settings say so.

The traces of a wall's user are records behind a wall of their own, `Wall.traces`, whose tenant no request can name. So
traces expire, are swept, backed up and purged like other records, in every store, and no read of the user's records
returns one. A trace that quotes a record is removed together with that record; see `memorist.stores.base.Put`.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from memorist.engine.base import Engine
from memorist.engine.core import Core, Layer
from memorist.errors import ConflictError
from memorist.operations import cursors, requests
from memorist.operations.answers import Context, ContextItem, Trace, TracedHit, TracePage
from memorist.operations.calls import BEYOND, Call, Notes
from memorist.operations.requests import Request
from memorist.records.record import Action, Draft, Hit, Kind
from memorist.records.scope import TRACES_PREFIX, Reach
from memorist.records.times import iso

T = TypeVar("T")
log = logging.getLogger("memorist.traces")
_MOST_PENDING = 256
"""The most traces that wait to be written; further ones are not kept."""
_LONGEST = 4000
"""The characters of a question that are kept: recall itself reads no more."""
_UNTOLD = frozenset(("query", "vector", "known", "count_tokens"))
"""Arguments that are not kept: the question has a field of its own; the others may be long, or are not JSON."""


@dataclass(slots=True)
class _Ended:
    """A call that has ended; `given` is its answer, None where an error ended it."""

    call: Call
    notes: Notes
    request: requests.Recall | requests.Context
    at: datetime
    given: list[Hit] | Context | None = None
    seconds: float = 0.0
    error: str | None = None


class TraceKeepingEngine(Layer):
    """Keeps a trace of each recall and context, written once the call has been answered.

    A trace that cannot be written is logged, and changes nothing for the call."""

    def __init__(self, inner: Engine, core: Core) -> None:
        super().__init__(inner, core)
        self._pending: set[asyncio.Task[None]] = set()

    async def answer(self, call: Call, request: Request[T]) -> T:
        if isinstance(request, requests.Recall | requests.Context) and call.door.traced:
            given: T = await self._traced(call, request)
            return given
        if isinstance(request, requests.Traces | requests.Secrets):
            await self._settled()
        return await self._inner.answer(call, request)

    async def close(self) -> None:
        await self._settled()
        await self._inner.close()

    async def _traced(self, call: Call, request: Any) -> Any:
        """Return the answer to a request, and keep a trace of it."""
        notes = Notes(request.query)
        ended = _Ended(call.at(request.scope(call.scope)), notes, request, self._core.clock())
        begun = time.perf_counter()
        try:
            ended.given = await self._inner.answer(replace(call, notes=notes), request)
            return ended.given
        except BaseException as error:
            ended.error = type(error).__name__
            raise
        finally:
            ended.seconds = time.perf_counter() - begun
            if len(self._pending) < _MOST_PENDING:
                task = asyncio.get_running_loop().create_task(self._kept(ended))
                self._pending.add(task)
                task.add_done_callback(self._pending.discard)
            else:
                log.warning("a trace was dropped: %d others are waiting to be written", _MOST_PENDING)

    async def _settled(self) -> None:
        """Wait for the traces that this event loop is writing."""
        loop = asyncio.get_running_loop()
        while tasks := [task for task in self._pending if task.get_loop() is loop]:
            await asyncio.wait(tasks)

    async def _kept(self, ended: _Ended) -> None:
        core, call = self._core, ended.call
        try:
            until = ended.at + timedelta(seconds=float(core.settings.keep_traces))
            scope = replace(call.scope, tenant=call.scope.wall.traces.tenant)
            [trace] = core.stamp([_draft_of(ended, until)], call.at(scope))
            quoted = ended.given.items if isinstance(ended.given, Context) else ()
            quotes = frozenset((each.record.scope.wall, each.record.id) for each in quoted)
            put = await core.put(trace, Action.REMEMBERED, None, quotes=quotes)
            with suppress(ConflictError):  # a quoted record was forgotten meanwhile
                await core.store.write(scope.wall, [put], act=call.act)
        except Exception as error:  # the call has its answer, and nobody waits for this
            log.warning("a trace was not stored: %s", error)


def _draft_of(ended: _Ended, until: datetime) -> Draft:
    """Return the record of a trace. It contains no text of the records, except what a context quotes."""
    given = ended.given
    shown: Sequence[Hit | ContextItem] = (given.items if isinstance(given, Context) else given) or ()
    places = given.places() if isinstance(given, Context) else [None] * len(shown)
    parts = dict(ended.notes.parts)
    parts["choosing"] = max(ended.seconds - sum(parts.values()), 0.0)
    payload: dict[str, Any] = {
        "verb": ended.request.verb,
        "door": ended.call.door.name,
        "question": ended.request.query[:_LONGEST],
        "asked": _asked(ended.request),
        "hits": [asdict(_traced(*each)) for each in zip(shown, places, strict=True)],
        "missed": [asdict(_traced(each)) for each in _missed(ended.notes, shown)],
        "empty": not shown,
        "seconds": ended.seconds,
        "parts": parts,
        "error": ended.error,
    }
    if isinstance(given, Context):
        payload |= {"text": given.text, "confidence": given.confidence, "tokens": given.tokens}
        for item in given.items:
            until = min(until, item.record.expires_at or until)
    return Draft(
        content=payload["question"].strip() or ended.request.verb,
        kind=Kind.TOPIC,
        payload=payload,
        happened_at=ended.at,
        expires_at=until,
    )


def _asked(request: requests.Recall | requests.Context) -> dict[str, Any]:
    """Return the arguments that differ from their defaults and are kept."""
    fields = request.__dataclass_fields__
    given = request.given().items()
    return {name: value for name, value in given if name not in _UNTOLD and value != fields[name].default}


def _missed(notes: Notes, shown: Sequence[Hit | ContextItem]) -> list[Hit]:
    """Return the best hits that were not shown."""
    told = {(each.record.scope.user, each.record.id) for each in shown}
    ranked = sorted(notes.ranked, key=lambda hit: (-hit.score, -hit.similarity))
    return [hit for hit in ranked if (hit.record.scope.user, hit.record.id) not in told][:BEYOND]


def _traced(each: Hit | ContextItem, place: tuple[int, int] | None = None) -> TracedHit:
    why = each.why if isinstance(each, ContextItem) else "recalled"
    return TracedHit(each.record.id, each.score, why, each.record.scope.user is None, place)


async def traces(core: Core, call: Call, request: requests.Traces) -> TracePage:
    """Return one page of traces."""
    reach = call.scope.reach(everyone=request.everyone)
    after = cursors.decode(request.cursor, "newest")
    chosen, size = request.filter(call.scope, core.clock(), core.zone(call)), request.limit
    kept = Reach(call.scope.wall.traces.tenant, reach.users)
    found = await core.store.select(kept, chosen, order="newest", limit=size + 1, after=after)
    page = cursors.make_page(found, size, "newest")
    shown = []
    for record in page.records:
        scope = replace(record.scope, tenant=record.scope.tenant.removeprefix(TRACES_PREFIX))
        shown.append(Trace.from_dict({**record.payload, **asdict(scope), "id": record.id, "at": iso(record.at)}))
    return TracePage(shown, page.next)
