"""Lessons from what was done, found by when to use them."""

from typing import Unpack

from memorist.arguments import number
from memorist.kinds.common import check_text, delete, find, keep, search
from memorist.kinds.options import RecordFields, SearchOptions
from memorist.records import Hit, Kind, Record
from memorist.verbs import Verbs

__all__ = ["Experiences"]


class Experiences:
    """The experiences of one scope.

    The record's `content` is the lesson, its `cue` says when to use it and is what a search matches; the
    score is in the payload.

    ```python
    await memory.experiences.add(
        "A SQL query fails with an ambiguous column", "Qualify every column with its table", score=0.9
    )
    [hit] = await memory.experiences.search("error: ambiguous column name: id", limit=1)
    ```
    """

    def __init__(self, memory: Verbs) -> None:
        self._memory = memory

    async def add(
        self, when_to_use: str, experience: str, *, score: float = 1.0, **fields: Unpack[RecordFields]
    ) -> Record:
        """Keep a lesson, and return its record.

        Args:
            when_to_use: the situation it is for.
            experience: what to do, or not to do, then.
            score: how much it is worth to whoever judged it, by convention 0 to 1; it does not change the
                order of a search, `Memory.rate` does.
            **fields: what any record can have, as in `Memory.remember`.

        Raises:
            InvalidInputError: a text is blank, or a field is wrong.
            ConflictError: the id is taken and `if_exists` is "error".
        """
        return await keep(
            self._memory,
            Kind.EXPERIENCE,
            check_text("experience", experience),
            fields,
            cue=check_text("when_to_use", when_to_use),
            payload={"score": number("score", score)},
        )

    async def search(
        self,
        situation: str,
        *,
        limit: int = 5,
        at_least: float | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Hit]:
        """Find the experiences made for a situation like this one, best first.

        Args:
            situation: what one is about to do. A blank one finds nothing.
            limit: how many hits at most.
            at_least: only those whose score, as given to `add`, is this or more.
            **options: as in `Memory.recall`.

        Raises:
            InvalidInputError: an argument is wrong.
        """
        payload = None if at_least is None else {"score": {"$gte": number("at_least", at_least)}}
        return await search(self._memory, Kind.EXPERIENCE, situation, limit, options, payload)

    async def get(self, id: str) -> Record | None:
        """Return the experience with this id, or None."""
        return await find(self._memory, Kind.EXPERIENCE, id)

    async def delete(self, *ids: str) -> int:
        """Delete the experiences named, and return how many existed. Unknown ids are ignored."""
        return await delete(self._memory, Kind.EXPERIENCE, ids)
