"""What a context needs of a memory: reads in one scope, each one request."""

from collections.abc import Awaitable, Callable, Set
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import Any, TypeAlias

from memorist.languages import tables_of
from memorist.operations import requests
from memorist.operations.requests import Request
from memorist.records.record import Hit, Page, Record
from memorist.records.zones import moved

Answerer: TypeAlias = Callable[[Request[Any]], Awaitable[Any]]
"""Answers a request in one scope."""
Standing: TypeAlias = Callable[..., Awaitable[list[Record] | None]]
"""Returns records marked as standing; None if the marks cannot be read."""
_BY_WORDS = 16
"""The number of records read if standing records can be found only by their words."""


class Reader:
    """Reads the records of one scope.

    Args:
        answer: the engine's, in that scope.
        standing: returns records marked as standing; by default, and if it returns None, they are found by their words.
        user: whose records they are.
        zone: the zone in which they are told; the records that it returns have their times in it.
    """

    def __init__(
        self, answer: Answerer, standing: Standing | None = None, user: str | None = None, zone: tzinfo = UTC
    ) -> None:
        self.user = user
        self.zone = zone
        self._answer = answer
        self._standing = standing

    async def recall(self, query: str, **options: Any) -> list[Hit]:
        """Return the hits of a query, best first."""
        return [self.read(hit) for hit in await self.found(query, **options)]

    async def found(self, query: str, **options: Any) -> list[Hit]:
        """Return the same hits with their times as they are stored: most of many are not told, and `read` reads one."""
        hits: list[Hit] = await self._answer(requests.Recall(query=query, **options))
        return hits

    async def browse(self, **options: Any) -> Page:
        """Return one page of the records that pass a filter."""
        page: Page = await self._answer(requests.Browse(**options))
        return replace(page, records=[each.read_in(self.zone) for each in page.records])

    async def lookup(self, key: str, **options: Any) -> Record | None:
        """Return the topic with exactly this name, or None."""
        record: Record | None = await self._answer(requests.Lookup(key=key, **options))
        return record and record.read_in(self.zone)

    async def get(self, id: str) -> Record | None:
        """Return the record with this id, or None."""
        record: Record | None = await self._answer(requests.Get(id=id))
        return record and record.read_in(self.zone)

    async def standing(self, wanted: Set[str], limit: int, *, shared: bool) -> list[Record]:
        """Return what may be standing instructions: the best by the terms of a question, and how many at most."""
        found = None if self._standing is None else await self._standing(wanted, limit, shared=shared)
        if found is None:
            words = " ".join(each.table["standing_words"] for each in tables_of(" ".join(wanted)))
            hits = await self.recall(words, mode="lexical", limit=_BY_WORDS, shared=shared, min_trust="high")
            return [hit.record for hit in hits]
        return [each.read_in(self.zone) for each in found]

    def read(self, hit: Hit) -> Hit:
        """Return a hit with its times in the zone; one that was read stays as it is."""
        record, later = hit.record.read_in(self.zone), hit.replaced
        if later is not None:
            later = replace(later, at=moved(later.at, self.zone))
        elif record is hit.record:
            return hit
        return replace(hit, record=record, replaced=later)
