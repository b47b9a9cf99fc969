"""Imports that were stored: each has an id, which its records carry, so that it can be listed and taken back whole."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memorist.errors import NotFoundError
from memorist.records.kind import Kind
from memorist.records.record import make_id

if TYPE_CHECKING:
    from memorist.memory import Memory

NAME = "import"
"""The field of a record's payload that holds the id of its import."""
_TIME = "%Y%m%d-%H%M%S"
_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class Import:
    """An import: its id, when it began, and how many of its records there are now, by source and by user.

    Only the records that the import added are its own: what it corrected belongs to an earlier one.
    """

    id: str
    at: datetime
    sources: Mapping[str, int]
    users: Mapping[str | None, int]

    @property
    def records(self) -> int:
        """How many records there are."""
        return sum(self.users.values())


def make_import_id(now: datetime) -> str:
    """Return the id of an import that begins now."""
    return f"{now:{_TIME}}-{make_id()[:6]}"


async def imports(memory: Memory, id: str | None = None) -> list[Import]:
    """Return the imports into a memory whose records are there, the newest first.

    Args:
        memory: a user's, or one without a user: then what was imported for any user counts.
        id: only the import with this id.
    """
    sources, users = defaultdict[str, Counter[str]](Counter), defaultdict[str, Counter[str | None]](Counter)
    own = {NAME: {"$exists": True} if id is None else id}
    everyone = memory.scope.user is None
    async for each in memory.iterate(payload=own, kind=tuple(Kind), superseded=True, everyone=everyone):
        if _ID.fullmatch(of := str(each.payload[NAME])):  # a program's own field may have the name
            sources[of][each.source or ""] += 1
            users[of][each.scope.user] += 1
    return [
        Import(id, datetime.strptime(id[:15], _TIME).replace(tzinfo=UTC), dict(sources[id]), dict(users[id]))
        for id in sorted(sources, reverse=True)
    ]


async def undo(memory: Memory, id: str) -> int:
    """Forget every record that an import added, with its history; return how many.

    Args:
        memory: as for `imports`.
        id: the import's.

    Raises:
        NotFoundError: there is no such import.
    """
    if not (found := await imports(memory, id)):
        raise NotFoundError(f"there is no import {id!r} here; list them with memorist imports")
    behind = [memory if user is None else memory.scoped(user=user) for user in found[0].users]
    return sum([await each.unlabelled().forget(payload={NAME: id}, kind=tuple(Kind)) for each in behind])
