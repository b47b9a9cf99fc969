"""Limits of each token: how many requests, records and bytes of text it may send in a span of time.

Each is a bucket that holds the amount and is refilled evenly. The workers of a server count together; with several
servers, a token may send the limit to each.
"""

import asyncio
import json
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeVar

from memorist.engine.base import Engine, WrappedEngine
from memorist.errors import InvalidInputError, StoreBusyError, shown
from memorist.memory import Memory, around
from memorist.operations.calls import Call
from memorist.operations.requests import Rate, Remember, Request, Restore, Revise
from memorist.records.scope import Scope
from memorist.serve.auth import Grant
from memorist.serve.counts import Counts

T = TypeVar("T")
_FORM = re.compile(r"(requests|records|bytes)=([1-9]\d{0,14})(KiB|MiB|GiB)?/(s|min|h|day)")
_UNITS = {None: 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_BUCKETS = ("requests", "records", "bytes")
_TEXTS = ("content", "cue", "key", "source", "metadata", "payload")
"""The fields of a record that hold the caller's text."""
_SPANS = {"s": 1, "min": 60, "h": 3600, "day": 86_400}


class TooManyError(StoreBusyError):
    """A token has used up a limit for now; `seconds` is how long until it may send as much again."""

    def __init__(self, text: str, seconds: int) -> None:
        super().__init__(text)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class _Rate:
    amount: int
    seconds: int


def parse_limits(given: Iterable[str]) -> dict[str, str]:
    """Return limits by the name of what they limit, as ``{"requests": "600/min"}`` from ``requests=600/min``.

    What is limited is requests, records or bytes; the span of time s, min, h or day; bytes may have a unit: ``10MiB``.

    Raises:
        InvalidInputError: one is not of that form, or given twice.
    """
    limits: dict[str, str] = {}
    for text in given:
        found = _FORM.fullmatch(text)
        if found is None or (found[3] and found[1] != "bytes") or found[1] in limits:
            raise InvalidInputError(
                f"a limit is requests=600/min, records=10000/day or bytes=10MiB/h, each once, not {shown(text)}"
            )
        limits[found[1]] = text.partition("=")[2]
    return limits


@cache
def _rate(what: str, limit: str) -> _Rate:
    found = _FORM.fullmatch(f"{what}={limit}")
    assert found is not None
    return _Rate(int(found[2]) * _UNITS[found[3]], _SPANS[found[4]])


class Quotas:
    """The remaining quota of each token of one server.

    Args:
        limits: the limits of tokens that have none of their own, as `parse_limits` returns them.
        counts: what is left of each; by default counted in this process alone.
        clock: seconds that only grow, alike in all processes that share `counts`.
    """

    def __init__(
        self,
        limits: Mapping[str, str] | None = None,
        *,
        counts: Counts | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits or {}
        self._clock = clock
        self._counts = counts or Counts()

    def memory(self, root: Memory, grant: Grant, scope: Scope) -> Memory:
        """Return a memory in a scope that counts what the caller sends.

        Args:
            root: a memory that is bound to no tenant and no user.
            grant: the caller's.
            scope: what the caller names.
        """
        memory = root.scoped(tenant=scope.tenant, user=scope.user, agent=scope.agent, session=scope.session)
        limits = {**self._limits, **grant.limits}
        if not limits:
            return memory
        spend = partial(self.spend, grant.token or grant.name, limits)
        return around(memory, lambda engine: _LimitedEngine(engine, spend))

    def spend(self, token: str, limits: Mapping[str, str], sent: Mapping[str, int]) -> None:
        """Subtract what a token sends from what is left of its limits.

        Raises:
            TooManyError: not so much is left now; nothing was taken.
            InvalidInputError: it is more than the limit allows at once.
        """
        rates = {what: _rate(what, limit) for what, limit in limits.items()}
        with self._counts.slot(token) as slot:
            now = self._clock()
            left: list[float | None] = [None] * len(_BUCKETS)
            for bucket, what in enumerate(_BUCKETS):
                if (rate := rates.get(what)) is None:
                    continue
                amount, before = sent[what], slot.left[bucket]
                if amount > rate.amount:
                    raise InvalidInputError(
                        f"{amount:,} {what} at once are more than the {rate.amount:,} that this token may send; "
                        "send fewer"
                    )
                refilled = 0.0 if before is None else before + (now - slot.since) * rate.amount / rate.seconds
                here = rate.amount if before is None else min(rate.amount, refilled)
                if amount > here:
                    seconds = math.ceil((amount - here) * rate.seconds / rate.amount)
                    raise TooManyError(
                        f"this token may send {rate.amount:,} {what} in {rate.seconds:,} seconds; "
                        f"try again in {seconds:,} seconds",
                        seconds,
                    )
                left[bucket] = here - amount
            slot.write(now, left)


class _LimitedEngine(WrappedEngine):
    """Passes requests on to another engine, once they are counted."""

    def __init__(self, inner: Engine, spend: Callable[[Mapping[str, int]], None]) -> None:
        super().__init__(inner)
        self._spend = spend

    async def close(self) -> None:
        """Do nothing: the server closes its memory."""

    async def answer(self, call: Call, request: Request[T]) -> T:
        # In a thread, because a text may be long.
        records, size = await asyncio.to_thread(_written, request) if isinstance(request, _WRITES) else (0, 0)
        self._spend({"requests": 1, "records": records, "bytes": size})
        return await self._inner.answer(call, request)


_WRITES = (Remember, Restore, Revise, Rate)


def _written(request: Remember | Restore | Revise | Rate) -> tuple[int, int]:
    """Return how many records a request writes, and how many bytes of text and of JSON they hold."""
    written = request.records if isinstance(request, Remember | Restore) else (request,)
    size = 0
    for value in (getattr(each, name, None) for each in written for name in _TEXTS):
        if isinstance(value, Mapping) and value:
            value = json.dumps(value, ensure_ascii=False, default=str)
        size += len(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else 0
    return len(written), size
