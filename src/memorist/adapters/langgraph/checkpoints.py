"""Converts LangGraph's checkpoints and pending writes to records and back: state, found by exact keys only."""

from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from memorist.records.content import whole_name
from memorist.records.record import Draft, Kind, Record

FIELD = "langgraph_checkpoint"
"""Where the parts are in a record's payload."""
ALL_THREADS = "langgraph.thread:"
_DESCENDING = {code: 159 - code for code in range(33, 127)}


def asked_of(config: RunnableConfig) -> dict[str, Any]:
    """Return what a config asks for, with names as records keep them: one may hold half of a character."""
    asked = config["configurable"]
    given = {name: asked[name] for name in ("thread_id", "checkpoint_ns") if asked.get(name) is not None}
    return {**asked, **{name: whole_name(str(value)) for name, value in given.items()}}


def _digest(text: str) -> str:
    return sha256(whole_name(text).encode()).hexdigest()[:32]


def thread_key(thread_id: str | None) -> str:
    """Return the key prefix of all records of a thread; for None, of all threads."""
    return ALL_THREADS if thread_id is None else f"{ALL_THREADS}{_digest(thread_id)}:"


def checkpoints_key(thread_id: str) -> str:
    """Return the key prefix of a thread's checkpoints. In the order of their keys, the newest comes first."""
    return thread_key(thread_id) + "c:"


def checkpoint_key(thread_id: str, namespace: str, id: str) -> str:
    """Return the id and key of a checkpoint's record."""
    return f"{checkpoints_key(thread_id)}{id.translate(_DESCENDING)}~:{_digest(namespace)}"


def writes_key(parts: dict[str, Any]) -> str:
    """Return the key prefix of the pending writes of the checkpoint that a record's parts name."""
    return f"{thread_key(parts['thread_id'])}w:{_digest(parts['checkpoint_ns'])}:{parts['checkpoint_id']}:"


def _pack(serde: SerializerProtocol, value: Any) -> list[str]:
    form, data = serde.dumps_typed(value)
    return [form, b64encode(data).decode()]


def _unpack(serde: SerializerProtocol, packed: Sequence[str]) -> Any:
    return serde.loads_typed((packed[0], b64decode(packed[1])))


def _draft(key: str, parts: dict[str, Any], content: str | None = None) -> Draft:
    content = content or f"{parts['checkpoint_id']} of {parts['thread_id']}"
    return Draft(content=content, kind=Kind.STATE, id=key, key=key, session=parts["thread_id"], payload={FIELD: parts})


# --- checkpoints -----------------------------------------------------------------------------------------
#
# What a channel holds is stored apart, in pieces, and a checkpoint names the pieces. A piece that the checkpoint before
# has already is named again and not stored again: of a long list of messages only the last piece changes.

Values: TypeAlias = Mapping[str, Any]
"""By channel: its version, whether it is a list, and its pieces, each as its form and the end of its record's id."""
_LENGTH = 64
"""Elements of a list in one piece."""
_SMALL = 2048
"""Most characters of a value that stays in its checkpoint."""


def piece_key(thread_id: str, name: str) -> str:
    """Return the id and key of a piece's record."""
    return f"{thread_key(thread_id)}p:{name}"


def pieces_of(record: Record) -> list[str]:
    """Return the names of the pieces that a checkpoint is made of."""
    return [name for each in values_of(record).values() for _, name in each["pieces"]]


def values_of(record: Record) -> Values:
    """Return where the values of a checkpoint's channels are stored; those that are not named are in itself."""
    values: Values = record.payload[FIELD].get("values", {})
    return values


def checkpoint_drafts(
    serde: SerializerProtocol,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    changed: Collection[str],
    before: Values,
) -> list[Draft]:
    """Return the drafts of a checkpoint's record and of its new pieces.

    Args:
        serde: how values become bytes.
        config: the thread, the namespace, and the checkpoint before.
        checkpoint: what to store.
        metadata: its metadata.
        changed: the channels that have a new version.
        before: where the values of the checkpoint before are stored.
    """
    asked = asked_of(config)
    thread_id, namespace, id = asked["thread_id"], asked.get("checkpoint_ns", ""), checkpoint["id"]
    whole = get_checkpoint_metadata(config, metadata)
    parts = {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": id}
    inside, values, drafts = dict[str, Any](), dict[str, Any](), list[Draft]()
    for channel, value in checkpoint["channel_values"].items():
        version, old = checkpoint["channel_versions"].get(channel), before.get(channel)
        if old is not None and channel not in changed and old["version"] == version:
            values[channel] = old
            continue
        several = type(value) is list
        held = [value[at : at + _LENGTH] for at in range(0, len(value), _LENGTH)] if several else [value]
        packed = [_pack(serde, each) for each in held]
        if sum(len(data) for _, data in packed) <= _SMALL:
            inside[channel] = value
            continue
        known = {name.rpartition(":")[2]: name for _, name in old["pieces"]} if old else {}
        pieces = []
        for form, data in packed:
            digest = _digest(f"{channel} {form} {data}")
            if digest not in known:
                known[digest] = f"{_digest(namespace)}:{id}:{digest}"
                drafts.append(_draft(piece_key(thread_id, known[digest]), parts, data))
            pieces.append([form, known[digest]])
        values[channel] = {"version": version, "several": several, "pieces": pieces}
    more = {
        "parent_id": asked.get("checkpoint_id"),
        "run_id": whole.get("run_id"),
        "checkpoint": _pack(serde, {**checkpoint, "channel_values": inside}),
        "metadata": _pack(serde, whole),
        "values": values,
    }
    return [_draft(checkpoint_key(thread_id, namespace, id), {**parts, **more}), *drafts]


def config_of(parts: dict[str, Any], checkpoint_id: str) -> RunnableConfig:
    """Return the config of a checkpoint in the thread and namespace that `parts` name."""
    names = {"thread_id": parts["thread_id"], "checkpoint_ns": parts["checkpoint_ns"], "checkpoint_id": checkpoint_id}
    return {"configurable": names}


def metadata_of(serde: SerializerProtocol, record: Record) -> dict[str, Any]:
    """Return a checkpoint's metadata."""
    return dict(_unpack(serde, record.payload[FIELD]["metadata"]))


def channels_of(serde: SerializerProtocol, record: Record) -> set[str]:
    """Return the channels that have a value in a checkpoint."""
    return {*_unpack(serde, record.payload[FIELD]["checkpoint"])["channel_values"], *values_of(record)}


def checkpoint_of(
    serde: SerializerProtocol, record: Record, pieces: Mapping[str, str], writes: Iterable[Record]
) -> CheckpointTuple:
    """Return the checkpoint that a record holds, with its pending writes in the order in which they are applied.

    Args:
        serde: how bytes become values.
        record: the checkpoint's.
        pieces: what the pieces of the checkpoint hold, by name.
        writes: the records of its pending writes.
    """
    parts = record.payload[FIELD]
    checkpoint = _unpack(serde, parts["checkpoint"])
    for channel, stored in values_of(record).items():
        held = [_unpack(serde, (form, pieces[name])) for form, name in stored["pieces"]]
        checkpoint["channel_values"][channel] = list(chain.from_iterable(held)) if stored["several"] else held[0]
    pending = [write.payload[FIELD] for write in writes]
    pending.sort(key=lambda each: writes_sort_key(each["task_path"], each["task_id"], each["index"]))
    return CheckpointTuple(
        config=config_of(parts, parts["checkpoint_id"]),
        checkpoint=checkpoint,
        metadata=_unpack(serde, parts["metadata"]),
        parent_config=config_of(parts, parts["parent_id"]) if parts["parent_id"] else None,
        pending_writes=[(each["task_id"], each["channel"], _unpack(serde, each["value"])) for each in pending],
    )


# --- pending writes --------------------------------------------------------------------------------------


def write_draft(
    serde: SerializerProtocol,
    config: RunnableConfig,
    task_id: str,
    task_path: str,
    position: int,
    write: tuple[str, Any],
) -> tuple[Draft, bool]:
    """Return the draft of a pending write's record, and whether it replaces an earlier write at its position."""
    asked = asked_of(config)
    channel, value = write
    index = WRITES_IDX_MAP.get(channel, position)
    parts = {
        "thread_id": asked["thread_id"],
        "checkpoint_ns": asked.get("checkpoint_ns", ""),
        "checkpoint_id": asked["checkpoint_id"],
        "task_id": task_id,
        "task_path": task_path,
        "index": index,
        "channel": channel,
        "value": _pack(serde, value),
    }
    return _draft(f"{writes_key(parts)}{_digest(task_id)}:{index}", parts), index < 0


def copied(record: Record, thread_id: str) -> Draft:
    """Return the draft that copies a checkpoint, a piece of one or a write to another thread."""
    parts, thread_id = record.payload[FIELD], whole_name(thread_id)
    key = thread_key(thread_id) + str(record.key).removeprefix(thread_key(parts["thread_id"]))
    return _draft(
        key, {**parts, "thread_id": thread_id}, None if "checkpoint" in parts or "channel" in parts else record.content
    )
