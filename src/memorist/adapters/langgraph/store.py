"""LangGraph's long-term store: items under namespaces, found by key, by filter and by meaning."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import takewhile
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from memorist.adapters.entries import enough, first
from memorist.adapters.langgraph.items import (
    FIELD,
    draft_of,
    found_item,
    item_of,
    make_id,
    matches,
    namespace_of,
    path_of,
)
from memorist.adapters.opening import AnyMemory, behind
from memorist.blocking_client import run
from memorist.errors import NotFoundError
from memorist.memory import Memory
from memorist.records.record import Hit, Kind, Record

_KINDS = (Kind.NOTE, Kind.STATE)
_PAGE = 1000
_RENEWED_EVERY = 0.01
"""A read renews an item whose expiry would move by this share of its time to live at least: each renewal is a write."""


class MemoristStore(BaseStore):
    """A LangGraph store that keeps its items as records of one memory.

    ```python
    async with Memory.open("agent.db") as memory:
        store = MemoristStore(memory, user_at=1)
        await store.aput(("memories", "alice"), "lodging", {"text": "Prefers homestays when she travels"})
        [found] = await store.asearch(("memories", "alice"), query="where does she like to stay?", limit=1)
    ```

    An item with a text to index is a note, which `Memory.recall` finds too; any other is state, found by its key
    alone. The record's history keeps an item's earlier values until it is deleted. The labels of the memory's scope
    have no effect.

    Args:
        memory: an open memory, asynchronous or blocking, or a path or URL. Both kinds of calls work with either.
        fields: which parts of a value are indexed where `put` does not say: paths as in LangGraph's
            `IndexConfig`, "$" for all of it. Texts of several paths make one text.
        ttl: how long items live where `put` does not say, and whether reads renew them. An expired item is
            never returned.
        user_at: the position in a namespace of the user's name. That user's items are behind their wall,
            and a call whose namespace is too short to name a user sees only items without a user. By
            default all items are in the memory's own scope.

    Raises (from every call):
        InvalidNamespaceError: a label is empty, no string, or holds a dot.
        InvalidInputError: a value is not JSON, or namespace and key have more than 500 characters together.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: AnyMemory,
        *,
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
        user_at: int | None = None,
    ) -> None:
        self._memory: Memory = behind(memory, "langgraph").unlabelled()
        self._fields = tuple(fields)
        self._user_at = user_at
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Return the results of the operations in their order; see `abatch`."""
        return run(lambda: self.abatch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Return the results of the operations in their order.

        Reads see what was stored before the batch. Of several puts to one item the last counts. All puts behind one
        wall take effect together or not at all.
        """
        ops = list(ops)
        for op in ops:
            validate_op_namespace(op)
        results = await asyncio.gather(*map(self._read, ops))
        await self._write({(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}.values())
        return list(results)

    def _behind(self, namespace: Sequence[str]) -> Memory:
        """Return the memory, seen by the user that a namespace names."""
        if self._user_at is None or len(namespace) <= self._user_at:
            return self._memory
        return self._memory.scoped(user=namespace[self._user_at])

    # --- writing ---------------------------------------------------------------------------------------

    async def _write(self, puts: Iterable[PutOp]) -> None:
        by_user: dict[str | None, list[PutOp]] = {}
        for op in puts:
            by_user.setdefault(self._behind(op.namespace).scope.user, []).append(op)
        for some in by_user.values():
            await self._behind(some[0].namespace).remember(
                [draft_of(op, self._fields, self._memory.clock()) for op in some if op.value is not None],
                if_exists="replace",
                forgetting=[make_id(op.namespace, op.key) for op in some if op.value is None],
            )

    async def _renew(self, memory: Memory, records: Iterable[Record]) -> None:
        """Move the expiry of records that have just been read."""
        for record in records:
            minutes = record.payload[FIELD]["ttl"]
            if minutes is None or record.expires_at is None:
                continue
            life = timedelta(minutes=minutes)
            if memory.clock() + life - record.expires_at >= _RENEWED_EVERY * life:
                with suppress(NotFoundError):  # deleted meanwhile
                    await memory.revise(record.id, expires_at=life.total_seconds())

    # --- reading ---------------------------------------------------------------------------------------

    async def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                return await self._get(op)
            case SearchOp():
                return await self._search(op)
            case ListNamespacesOp():
                return await self._namespaces(op)
            case PutOp():
                return None
        raise ValueError(f"unknown operation {type(op).__name__}")

    async def _get(self, op: GetOp) -> Item | None:
        memory = self._behind(op.namespace)
        record = await memory.get(make_id(op.namespace, op.key))
        if record is None:
            return None
        if op.refresh_ttl:
            await self._renew(memory, [record])
        return item_of(record)

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        memory, wanted = self._behind(op.namespace_prefix), op.offset + op.limit
        prefix, payload = path_of(op.namespace_prefix), _conditions(op)

        def passes(record: Record) -> bool:
            return matches(record.payload[FIELD]["value"], op.filter or {})

        async def recall(count: int) -> list[Hit]:
            return await memory.recall(str(op.query), limit=count, kind=Kind.NOTE, key_prefix=prefix, payload=payload)

        found: list[tuple[Record, float | None]]
        if op.query:
            found = [(hit.record, hit.score) for hit in await enough(recall, wanted, passes)]
        else:
            records = _every(memory, prefix, payload, _PAGE if op.filter else min(wanted, _PAGE))
            found = [(each, None) for each in await first((each async for each in records if passes(each)), wanted)]
        chosen = found[op.offset :]
        if op.refresh_ttl:
            await self._renew(memory, [record for record, _ in chosen])
        return [found_item(record, score) for record, score in chosen]

    async def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        prefix = next((each.path for each in conditions if each.match_type == "prefix"), ())
        fixed = tuple(takewhile(lambda label: label != "*", prefix))
        namespaces = {namespace_of(record) async for record in _every(self._behind(fixed), path_of(fixed), None, _PAGE)}
        found = {each[: op.max_depth] for each in namespaces if all(_fits(each, condition) for condition in conditions)}
        return sorted(found)[op.offset : op.offset + op.limit]


def _conditions(op: SearchOp) -> dict[str, Any] | None:
    """Return the part of a search's filter that the store can apply; None if there is none."""
    texts = {
        name: wanted for name, wanted in (op.filter or {}).items() if name.isidentifier() and isinstance(wanted, str)
    }
    return {f"{FIELD}.value.{name}": wanted for name, wanted in texts.items()} or None


async def _every(memory: Memory, prefix: str, payload: dict[str, Any] | None, size: int) -> AsyncIterator[Record]:
    """Yield the records of all items with this key prefix, newest first."""
    if size < 1:
        return
    # One stream for each kind: a key's index goes by kind.
    chosen: dict[str, Any] = {"key_prefix": prefix, "payload": payload}
    streams = [memory.iterate(kind=kind, order="newest", page=size, **chosen) for kind in _KINDS]
    heads = [await anext(stream, None) for stream in streams]
    while found := [
        (head.at, head.created_at, head.id, position) for position, head in enumerate(heads) if head is not None
    ]:
        position = max(found)[-1]
        if (record := heads[position]) is not None:
            yield record
        heads[position] = await anext(streams[position], None)


def _fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
