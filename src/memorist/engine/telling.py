"""Context for any engine: composed from the requests that the engine answers."""

from collections.abc import Awaitable, Callable, Set
from typing import Any, TypeVar

from memorist import requests
from memorist.context import MIN_CONFIDENCE, Context, tell
from memorist.origins import Trust
from memorist.records import Hit, Page, Record
from memorist.requests import Narrowing, Request
from memorist.times import Clock

T = TypeVar("T")
Answerer = Callable[[Request[Any]], Awaitable[Any]]
"""Answers a request in one scope."""
Standing = Callable[..., Awaitable[list[Record] | None]]
_STANDING_WORDS = "always never prefer preference remember instruction future rather vegetarian allergic"
_BY_WORDS = 16
"""Records read where only their words tell that they are standing."""


class _Reader:
    """The reads that a context needs, each one request; what an engine can read more directly, it gives."""

    def __init__(self, answer: Answerer, standing: Standing | None) -> None:
        self._answer = answer
        self._standing = standing

    async def recall(self, query: str, **options: Any) -> list[Hit]:
        hits: list[Hit] = await self._answer(requests.Recall(query=query, **options))
        return hits

    async def browse(self, **options: Any) -> Page:
        page: Page = await self._answer(requests.Browse(**options))
        return page

    async def lookup(self, key: str, **options: Any) -> Record | None:
        record: Record | None = await self._answer(requests.Lookup(key=key, **options))
        return record

    async def get(self, id: str) -> Record | None:
        record: Record | None = await self._answer(requests.Get(id=id))
        return record

    async def standing(self, wanted: Set[str], limit: int, *, shared: bool) -> list[Record]:
        found = None if self._standing is None else await self._standing(wanted, limit, shared=shared)
        if found is None:
            hits = await self.recall(_STANDING_WORDS, mode="lexical", limit=_BY_WORDS, shared=shared, min_trust="high")
            found = [hit.record for hit in hits]
        return found


async def told(
    answer: Answerer,
    request: requests.Context,
    clock: Clock,
    trust: Callable[[Record], Trust],
    standing: Standing | None = None,
) -> Context:
    """Return the context that a request asks for.

    Args:
        answer: the engine's, in the scope that asks.
        request: what is asked.
        clock: returns the present.
        trust: returns the trust in a record.
        standing: returns records marked as standing; by default, and where it returns None, their words find them.
    """
    least = request.min_confidence
    narrowing = {name: getattr(request, name) for name in Narrowing.__annotations__}
    return await tell(
        _Reader(answer, standing),
        request.query,
        clock=clock,
        tokens=request.tokens,
        count_tokens=request.count_tokens,
        min_confidence=MIN_CONFIDENCE if least is None else least,
        standing=request.standing,
        topics=request.topics,
        pinned=request.pinned,
        known=request.known,
        now=request.now,
        shared=request.shared,
        as_of=request.as_of,
        trust=trust,
        **narrowing,
    )
