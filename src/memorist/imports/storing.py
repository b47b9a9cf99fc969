"""Stores records that have ids of their own; those that exist already are left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, cast

from memorist.errors import InvalidInputError, MemoristError, ScopeError
from memorist.operations import requests
from memorist.operations.lines import store_each
from memorist.records.record import Draft, Record

if TYPE_CHECKING:
    from memorist.memory import Memory

_Batch = TypeVar("_Batch")
Embed: TypeAlias = Literal["now", "later"]


async def store_new(
    memory: Memory, drafts: Sequence[Draft | Record], *, embed: Embed = "now"
) -> list[tuple[Record | MemoristError, bool]]:
    """Store the drafts whose ids are not there; return the record or the error of each, and whether it is new.

    Of several drafts with one id, the first is stored. They are all drafts, or all records, which are stored as they
    are, with their own times, and embedded now in any case.

    Raises:
        EmbedderError: none of them could be embedded.
        StoreError: none of them was stored.
    """
    ids = [str(draft.id) for draft in drafts]
    # Looked up first, so that existing records are not embedded again.
    there = {record.id: record for record in await memory.unlabelled().find(ids)} if ids else {}
    new: dict[str, Draft | Record] = {}
    for id, draft in zip(ids, drafts, strict=True):
        if id not in there:
            new.setdefault(id, draft)

    async def store(some: Sequence[Draft | Record]) -> Sequence[Record]:
        if not (records := [each for each in some if isinstance(each, Record)]):
            given = tuple(cast(Sequence[Draft], some))
            if embed == "now":
                return await memory.remember(given, if_exists="ignore")
            stored: list[Record] = await memory.ask(requests.Remember(records=given, if_exists="ignore", embed=embed))
            return stored
        if bad := (await memory.restore(records)).bad:
            raise InvalidInputError(bad[0].reason)
        return records

    stored = dict(zip(new, await store_each([*new.values()], store), strict=True)) if new else {}
    outcomes: list[tuple[Record | MemoristError, bool]] = []
    for id in ids:
        if id in there:
            outcomes.append((there[id], False))
            continue
        outcomes.append((outcome := stored[id], True))
        if isinstance(outcome, Record):
            there[id] = outcome
    return outcomes


async def store_in_turn(
    read: Callable[[], Awaitable[_Batch | None]],
    parts_of: Callable[[_Batch], Iterable[tuple[Memory, Sequence[Draft | Record]]]],
    store: Callable[[_Batch], Awaitable[bool]],
) -> None:
    """Store batches in their order; while one is stored, the next is read, and embedded if no record of the earlier
    batches existed already.

    Args:
        read: returns the next batch, or None after the last.
        parts_of: returns the records of a batch, by the memory that each part goes to.
        store: stores a batch, and returns whether none of its records existed.
    """
    before, all_new = None, False

    async def prepare(batch: _Batch) -> None:
        for memory, drafts in parts_of(batch):
            new = tuple(draft for draft in drafts if isinstance(draft, Draft))
            with suppress(MemoristError):  # `store` raises the same error
                await memory.prepare(requests.Remember(records=new))

    embedding: asyncio.Task[None] | None = None
    reading = asyncio.ensure_future(read())
    try:
        while True:
            batch = await reading
            if embedding is not None:
                await embedding
            embedding = asyncio.create_task(prepare(batch)) if all_new and batch is not None else None
            if batch is not None:
                reading = asyncio.ensure_future(read())
            if before is not None:
                all_new = await store(before)
            if (before := batch) is None:
                return
    finally:
        for task in (reading, embedding):
            if task is not None:
                task.cancel()


def scoped_to(memory: Memory, user: str | None) -> Memory:
    """Return the memory of the user that a file names; the memory itself if the file names no user.

    Raises:
        ScopeError: it is another user's memory.
    """
    own = memory.scope.user
    if user in (None, own):
        return memory
    if own is not None:
        raise ScopeError(
            f"it is a record of user {user!r}, and this is the memory of user {own!r}; omit --user "
            f"to keep it theirs, or import it with --owner {user!r}"
        )
    return memory.scoped(user=user)
