"""Lessons from what was done, found by when to use them."""

from typing import Unpack

from memorist.kinds.common import RecordFields, View, check_text
from memorist.kinds.options import SearchOptions
from memorist.operations.arguments import number
from memorist.records.record import Hit, Kind, Record


class Experiences(View):
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

    _kind = Kind.EXPERIENCE

    async def add(
        self, when_to_use: str, experience: str, *, score: float = 1.0, **fields: Unpack[RecordFields]
    ) -> Record:
        """Keep a lesson, and return its record.

        Args:
            when_to_use: the situation it is for.
            experience: what to do, or not to do, then.
            score: the worth that the caller gives it, by convention 0 to 1. It does not change the order of a search;
                `Memory.rate` does.
            **fields: what any record can have, as in `Memory.remember`.

        Raises:
            InvalidInputError: a text is blank, or a field is wrong.
            ConflictError: the id is taken and `if_exists` is "error".
        """
        return await self._keep(
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
        return await self._search(situation, limit, options, payload)
