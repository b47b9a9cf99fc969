"""Limits of each token: how many requests, records and bytes of text it may send in a span of time.

Each is a bucket that holds the amount and is refilled evenly. A server counts for itself: several, or several workers
of one, allow that many times as much.
"""

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from memorist.engine.base import Engine
from memorist.errors import InvalidInputError, StoreBusyError, shown
from memorist.memory import Memory
from memorist.requests import Remember, Request, Restore, Revise
from memorist.scope import Scope
from memorist.serve.auth import Grant
from memorist.times import Clock

T = TypeVar("T")
_FORM = re.compile(r"(requests|records|bytes)=([1-9]\d{0,14})(KiB|MiB|GiB)?/(s|min|h|day)")
_UNITS = {None: 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
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
    """Return limits by what they limit, as ``{"requests": "600/min"}`` from ``requests=600/min``.

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
        clock: seconds that only grow.
    """

    def __init__(self, limits: Mapping[str, str] | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits or {}
        self._clock = clock
        self._left: dict[tuple[str, str], tuple[float, float]] = {}

    def memory(self, root: Memory, grant: Grant, scope: Scope) -> Memory:
        """Return a memory in a scope that counts what the caller sends.

        Args:
            root: a memory that is bound to no tenant and no user.
            grant: the caller's.
            scope: what the caller names.
        """
        limits = {**self._limits, **grant.limits}
        if not limits:
            return _scoped(root, scope)
        rates = {what: _rate(what, limit) for what, limit in limits.items()}
        return Memory(_LimitedEngine(root, lambda sent: self._spend(grant.token or grant.name, rates, sent)), scope)

    def _spend(self, token: str, rates: Mapping[str, _Rate], sent: Mapping[str, int]) -> None:
        """Subtract what is sent from what is left.

        Raises:
            TooManyError: not so much is left now; nothing was taken.
            InvalidInputError: it is more than the limit allows at once.
        """
        now = self._clock()
        left: dict[tuple[str, str], tuple[float, float]] = {}
        for what, rate in rates.items():
            amount = sent[what]
            if amount > rate.amount:
                raise InvalidInputError(
                    f"{amount:,} {what} at once are more than the {rate.amount:,} that this token may send; send fewer"
                )
            before, since = self._left.get((token, what), (float(rate.amount), now))
            here = min(rate.amount, before + (now - since) * rate.amount / rate.seconds)
            if amount > here:
                seconds = math.ceil((amount - here) * rate.seconds / rate.amount)
                raise TooManyError(
                    f"this token may send {rate.amount:,} {what} in {rate.seconds:,} seconds; "
                    f"try again in {seconds:,} seconds",
                    seconds,
                )
            left[token, what] = here - amount, now
        self._left.update(left)


class _LimitedEngine(Engine):
    """Passes requests on to another memory, once they are counted."""

    def __init__(self, root: Memory, spend: Callable[[Mapping[str, int]], None]) -> None:
        self._root = root
        self._spend = spend

    @property
    def clock(self) -> Clock:
        return self._root.clock

    async def open(self, scope: Scope) -> Scope:
        return scope

    async def close(self) -> None:
        """Do nothing: the server closes its memory."""

    async def answer(self, scope: Scope, request: Request[T]) -> T:
        texts, records = _written(request)
        self._spend({"requests": 1, "records": records, "bytes": texts})
        return await _scoped(self._root, scope).ask(request)


def _scoped(root: Memory, scope: Scope) -> Memory:
    return root.scoped(tenant=scope.tenant, user=scope.user, agent=scope.agent, session=scope.session)


def _written(request: Request[Any]) -> tuple[int, int]:
    """Return how many bytes of text a request writes, and how many records."""
    if isinstance(request, Remember | Restore):
        contents = [each.content for each in request.records]
    elif isinstance(request, Revise):
        contents = [request.content or ""]
    else:
        return 0, 0
    return sum(len(each.encode("utf-8", "surrogatepass")) for each in contents), len(contents)
