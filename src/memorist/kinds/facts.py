"""Statements that hold until another takes their place."""

from collections.abc import Mapping
from typing import Any, Unpack

from memorist.errors import NotFoundError, shown
from memorist.kinds.common import RecordFields, SearchedView, check_text
from memorist.records.record import Kind, Record
from memorist.records.times import TimeLike


class Facts(SearchedView):
    """The facts of one scope. A fact that no longer holds is superseded, not lost.

    ```python
    lives = await memory.facts.add("Alice lives in Oslo", happened_at="2023-05-01")
    await memory.facts.supersede(lives.id, "Alice lives in Bergen", happened_at="2024-02-01")
    await memory.facts.search("where does Alice live?")                          # Bergen
    await memory.facts.search("where does Alice live?", as_of="2023-12-31")      # Oslo
    ```
    """

    _kind = Kind.FACT

    async def add(self, statement: str, *, supersedes: str | None = None, **fields: Unpack[RecordFields]) -> Record:
        """Keep a statement, and return its record.

        Args:
            statement: a sentence that can be understood alone.
            supersedes: the id of the fact whose place it takes.
            **fields: what any record can have, as in `Memory.remember`; `happened_at` is since when it holds.

        Raises:
            InvalidInputError: the statement is blank, or a field is wrong.
            NotFoundError: there is no fact `supersedes`.
            ConflictError: the id is taken and `if_exists` is "error".
        """
        payload: Mapping[str, Any] | None = None
        if supersedes is not None:
            if await self.get(supersedes) is None:
                raise NotFoundError(f"there is no fact {shown(supersedes)} in this scope")
            payload = {"supersedes": supersedes}
        return await self._keep(check_text("statement", statement), fields, payload=payload, supersedes=supersedes)

    async def supersede(self, old_id: str, statement: str, **fields: Unpack[RecordFields]) -> Record:
        """Replace the fact `old_id` with a new statement, in one step, and return the new record.

        Raises:
            NotFoundError: there is no such fact.
            InvalidInputError: the statement is blank, or a field is wrong.
        """
        return await self.add(statement, supersedes=old_id, **fields)

    async def all(self, *, as_of: TimeLike | None = None, where: Mapping[str, Any] | None = None) -> list[Record]:
        """Return every fact that holds, or that held `as_of` a time, newest first."""
        facts = self._memory.iterate(kind=Kind.FACT, as_of=as_of, where=where, order="newest")
        return [fact async for fact in facts]

    async def current(self, id: str) -> Record | None:
        """Return the current fact in the place of the fact `id`: itself, or the last one that superseded it.

        None where there is no such fact, or where the last has been deleted.
        """
        chain = await self.history(id)
        return chain[-1] if chain and chain[-1].current else None

    async def history(self, id: str) -> list[Record]:
        """Return the fact `id` with all it superseded and all that superseded it, oldest first.

        A deleted one ends the chain. [] where there is no such fact.
        """
        record = await self.get(id)
        if record is None:
            return []
        chain = {record.id: record}
        before = record
        while (earlier := await self._next(before.payload.get("supersedes"), chain)) is not None:
            chain = {earlier.id: earlier, **chain}
            before = earlier
        after = record
        while (later := await self._next(after.superseded_by, chain)) is not None:
            chain[later.id] = after = later
        return list(chain.values())

    async def _next(self, id: str | None, seen: Mapping[str, Record]) -> Record | None:
        return None if id is None or id in seen else await self.get(id)
