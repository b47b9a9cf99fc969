"""LangGraph's checkpointer: the state of every thread, step by step, in the same memory."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from memorist.adapters.entries import first
from memorist.adapters.langgraph.checkpoints import (
    FIELD,
    Values,
    asked_of,
    channels_of,
    checkpoint_drafts,
    checkpoint_key,
    checkpoint_of,
    checkpoints_key,
    config_of,
    copied,
    metadata_of,
    piece_key,
    pieces_of,
    thread_key,
    values_of,
    write_draft,
    writes_key,
)
from memorist.adapters.opening import AnyMemory, behind
from memorist.blocking_client import blocking_method, run
from memorist.errors import NotFoundError
from memorist.memory import Memory
from memorist.records.record import Kind, Record

_PAGE = 100
_MOST_NOTED = 1000
"""Most checkpoints of which this process remembers where their values are stored."""
_MOST_LOADED = 500
"""Pieces that a list of checkpoints holds in memory, beyond those of the one that is read."""


class MemoristSaver(BaseCheckpointSaver[int]):
    """A LangGraph checkpointer that keeps checkpoints and pending writes as state in one memory.

    ```python
    async with Memory.open("agent.db") as memory:
        graph = builder.compile(checkpointer=MemoristSaver(memory.scoped(user="alice")))
        await graph.ainvoke({"messages": []}, {"configurable": {"thread_id": "monday"}})
    ```

    A thread is the label `session` of its records. All threads are behind the wall of the memory's scope. Make a
    checkpointer for each user, which costs nothing: calls that delete name only a thread, not a user. A checkpoint
    stores what has changed since the one before: of a long list, such as the messages, its last part. Recall never
    finds one.

    Args:
        memory: an open memory, asynchronous or blocking, or a path or URL. Both kinds of calls work with either.
        serde: how values become bytes; by default LangGraph's own.
        forget_threads: whether `delete_thread` also forgets the thread's messages, what was drawn from them, and the
            items that a `MemoristStore` was given in its runs.
    """

    def __init__(
        self, memory: AnyMemory, *, serde: SerializerProtocol | None = None, forget_threads: bool = False
    ) -> None:
        super().__init__(serde=serde)
        self._memory: Memory = behind(memory, "langgraph").unlabelled()
        self._forget_threads = forget_threads
        self._values: OrderedDict[str, Values] = OrderedDict()

    # --- writing ---------------------------------------------------------------------------------------

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint, and return the config that names it."""
        asked, parent = asked_of(config), None
        before: Values = {}
        if asked.get("checkpoint_id"):
            parent = checkpoint_key(asked["thread_id"], asked.get("checkpoint_ns", ""), asked["checkpoint_id"])
            before = self._values.get(parent, before)

        drafts = checkpoint_drafts(self.serde, config, checkpoint, metadata, new_versions, before)
        if parent and before:  # their pieces are there as long as that checkpoint is, also for another process
            drafts[0] = replace(drafts[0], derived_from=[parent])
        try:
            [record, *_] = await self._memory.remember(drafts, if_exists="replace")
        except NotFoundError:
            drafts = checkpoint_drafts(self.serde, config, checkpoint, metadata, new_versions, {})
            [record, *_] = await self._memory.remember(drafts, if_exists="replace")
        self._note(record)
        return config_of(record.payload[FIELD], checkpoint["id"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store a task's writes to a checkpoint. A stored one is replaced only on a special channel."""
        drafts = [write_draft(self.serde, config, task_id, task_path, at, write) for at, write in enumerate(writes)]
        await self._memory.remember([draft for draft, special in drafts if not special], if_exists="ignore")
        await self._memory.remember([draft for draft, special in drafts if special], if_exists="replace")

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints and writes of a thread, in every namespace; with `forget_threads`, all it left."""
        await self._memory.forget(key_prefix=thread_key(str(thread_id)), kind=Kind.STATE)
        if self._forget_threads:
            await self._memory.forget(session=str(thread_id), kind=tuple(Kind), derived=True)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made, with their writes."""
        chosen = {f"{FIELD}.run_id": {"$in": list(run_ids)}}
        await self._delete([each async for each in self._records(thread_key(None), chosen)])

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another."""
        records = [each async for each in self._records(thread_key(source_thread_id), {})]
        await self._memory.remember([copied(each, target_thread_id) for each in records], if_exists="replace")

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete the checkpoints of some threads, with their writes.

        Args:
            thread_ids: which threads.
            strategy: "keep_latest" keeps the latest of each namespace, and the earlier ones from which its
                delta channels are rebuilt; "delete" keeps none.

        Raises:
            ValueError: there is no such strategy.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"strategy must be 'keep_latest' or 'delete', not {strategy!r}")
        for thread_id in map(str, thread_ids):
            if strategy == "delete":
                await self.adelete_thread(thread_id)
                continue
            records = [each async for each in self._records(checkpoints_key(thread_id), {})]
            needed = self._needed(records)
            await self._delete([each for each in records if each.id not in needed])

    async def _delete(self, checkpoints: Sequence[Record]) -> None:
        """Delete checkpoints with their writes, and then the pieces that no other checkpoint of their threads has."""
        for record in checkpoints:
            self._values.pop(record.id, None)
            await self._memory.forget(key_prefix=writes_key(record.payload[FIELD]), kind=Kind.STATE)
        if not checkpoints:
            return
        await self._memory.forget(*(each.id for each in checkpoints))
        for thread_id in {each.payload[FIELD]["thread_id"] for each in checkpoints}:
            own = [each for each in checkpoints if each.payload[FIELD]["thread_id"] == thread_id]
            gone = {name for each in own for name in pieces_of(each)}
            async for each in self._records(checkpoints_key(thread_id), {}):
                gone.difference_update(pieces_of(each))
            if gone:
                await self._memory.forget(*(piece_key(thread_id, name) for name in gone))

    def _needed(self, records: Sequence[Record]) -> set[str]:
        """Return the ids of the latest record of each namespace and of those it is rebuilt from."""
        names = {(each.payload[FIELD]["checkpoint_ns"], each.payload[FIELD]["checkpoint_id"]): each for each in records}
        needed: set[str] = set()
        seen: set[str] = set()
        for record in records:  # the newest first
            namespace = record.payload[FIELD]["checkpoint_ns"]
            if namespace in seen:
                continue
            seen.add(namespace)
            open_channels = set(metadata_of(self.serde, record).get("counters_since_delta_snapshot") or ())
            current: Record | None = record
            while current is not None:
                needed.add(current.id)
                open_channels -= channels_of(self.serde, current)
                parent = (namespace, current.payload[FIELD]["parent_id"])
                current = names.get(parent) if open_channels else None
        return needed

    def _note(self, record: Record) -> None:
        """Remember where the values of a checkpoint are stored, for the next one of its thread."""
        self._values.pop(record.id, None)
        self._values[record.id] = values_of(record)
        while len(self._values) > _MOST_NOTED:
            self._values.popitem(last=False)

    # --- reading ---------------------------------------------------------------------------------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that the config names, by default its thread's latest; None where there is none."""
        namespaced = {**config["configurable"], "checkpoint_ns": config["configurable"].get("checkpoint_ns", "")}
        return await anext(self.alist({"configurable": namespaced}, limit=1), None)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, the newest first.

        Args:
            config: the thread, and optionally the namespace and the checkpoint; None for all threads.
            filter: values that the metadata must have.
            before: the config of a checkpoint; only earlier ones are returned.
            limit: the most checkpoints.
        """
        left, end = limit, before and get_checkpoint_id(before)
        pieces: dict[str, str] = {}
        async for record in self._checkpoints(config, _PAGE if limit is None or filter or before else limit):
            parts = record.payload[FIELD]
            if left is not None and left <= 0:
                return
            if end and parts["checkpoint_id"] >= end:
                continue
            metadata = metadata_of(self.serde, record) if filter else {}
            if not all(metadata.get(name) == wanted for name, wanted in (filter or {}).items()):
                continue
            if (found := await self._read(record, pieces)) is not None:
                yield found
                left = None if left is None else left - 1

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what each channel's value is rebuilt from: the writes since its nearest stored value, and that value.

        The ancestors of the checkpoint are read in one pass over its namespace.
        """
        pieces: dict[str, str] = {}
        found: dict[str, DeltaChannelHistory] = {channel: {"writes": []} for channel in channels}
        target = await self.aget_tuple(config) if channels else None
        if target is None or target.parent_config is None:
            return found
        asked, wanted = target.config["configurable"], get_checkpoint_id(target.parent_config)
        names = {"thread_id": asked["thread_id"], "checkpoint_ns": asked["checkpoint_ns"]}
        async for record in self._checkpoints({"configurable": names}, _PAGE):
            parts = record.payload[FIELD]
            if parts["checkpoint_id"] != wanted:
                continue
            if (held := await self._read(record, pieces)) is None:
                break
            for channel in [name for name, each in found.items() if "seed" not in each]:
                before = [write for write in held.pending_writes or () if write[1] == channel]
                found[channel]["writes"] = before + found[channel]["writes"]
                if channel in held.checkpoint["channel_values"]:
                    found[channel]["seed"] = held.checkpoint["channel_values"][channel]
            wanted = parts["parent_id"]
            if wanted is None or all("seed" in each for each in found.values()):
                break
        return found

    async def _read(self, record: Record, pieces: dict[str, str]) -> CheckpointTuple | None:
        """Return the checkpoint that a record holds; None if it was deleted meanwhile.

        Args:
            record: the checkpoint's.
            pieces: what was read for the checkpoints before; those of this one are added, and others may go.
        """
        thread_id, names = record.payload[FIELD]["thread_id"], pieces_of(record)
        for name in pieces.keys() - names if len(pieces) > _MOST_LOADED else ():
            del pieces[name]
        missing = {piece_key(thread_id, name): name for name in names if name not in pieces}
        found = await self._memory.find(list(missing)) if missing else []
        if len(found) < len(missing):
            return None
        pieces.update({missing[each.id]: each.content for each in found})
        self._note(record)
        writes = [each async for each in self._records(writes_key(record.payload[FIELD]), {})]
        return checkpoint_of(self.serde, record, pieces, writes)

    async def _checkpoints(self, config: RunnableConfig | None, size: int) -> AsyncIterator[Record]:
        if config is None:
            exists = {f"{FIELD}.checkpoint": {"$exists": True}}
            records = [each async for each in self._records(thread_key(None), exists)]
            for record in sorted(records, key=lambda each: each.payload[FIELD]["checkpoint_id"], reverse=True):
                yield record
            return
        asked = asked_of(config)
        thread_id = asked["thread_id"]
        namespace, id = asked.get("checkpoint_ns"), asked.get("checkpoint_id")
        if namespace is not None and id is not None:
            named = await self._memory.get(checkpoint_key(thread_id, namespace, id))
            if named is not None:
                yield named
            return
        names = {"checkpoint_ns": namespace, "checkpoint_id": id}
        chosen = {f"{FIELD}.{name}": value for name, value in names.items() if value is not None}
        async for record in self._records(checkpoints_key(thread_id), chosen, size):
            yield record

    async def _records(self, prefix: str, chosen: dict[str, Any], size: int = _PAGE) -> AsyncIterator[Record]:
        """Yield the records with this key prefix whose payload fits `chosen`, in the order of their keys."""
        if size > 0:
            async for record in self._memory.iterate(
                kind=Kind.STATE, key_prefix=prefix, payload=chosen or None, order="key", page=size
            ):
                yield record

    # --- the same, blocking ----------------------------------------------------------------------------

    put = blocking_method(aput)
    put_writes = blocking_method(aput_writes)
    get_tuple = blocking_method(aget_tuple)
    delete_thread = blocking_method(adelete_thread)
    delete_for_runs = blocking_method(adelete_for_runs)
    copy_thread = blocking_method(acopy_thread)
    get_delta_channel_history = blocking_method(aget_delta_channel_history)
    prune = blocking_method(aprune)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Do as `alist`, blocking; all are read before the first is returned."""
        return iter(run(lambda: first(self.alist(config, filter=filter, before=before, limit=limit), None)))
