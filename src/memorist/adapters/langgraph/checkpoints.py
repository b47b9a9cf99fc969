"""Converts LangGraph's checkpoints and pending writes to records and back: state, found by exact keys only."""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

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

from memorist.records.record import Draft, Kind, Record

FIELD = "langgraph_checkpoint"
"""Where the parts are in a record's payload."""
ALL_THREADS = "langgraph.thread:"
_DESCENDING = {code: 159 - code for code in range(33, 127)}


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]


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


def _unpack(serde: SerializerProtocol, packed: list[str]) -> Any:
    return serde.loads_typed((packed[0], b64decode(packed[1])))


def _draft(key: str, parts: dict[str, Any]) -> Draft:
    content = f"{parts['checkpoint_id']} of {parts['thread_id']}"
    return Draft(content=content, kind=Kind.STATE, id=key, key=key, session=parts["thread_id"], payload={FIELD: parts})


# --- checkpoints -----------------------------------------------------------------------------------------


def checkpoint_draft(
    serde: SerializerProtocol, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
) -> Draft:
    """Return the draft of a checkpoint's record."""
    asked = config["configurable"]
    thread_id, namespace, id = str(asked["thread_id"]), asked.get("checkpoint_ns", ""), checkpoint["id"]
    whole = get_checkpoint_metadata(config, metadata)
    parts = {
        "thread_id": thread_id,
        "checkpoint_ns": namespace,
        "checkpoint_id": id,
        "parent_id": asked.get("checkpoint_id"),
        "run_id": whole.get("run_id"),
        "checkpoint": _pack(serde, checkpoint),
        "metadata": _pack(serde, whole),
    }
    return _draft(checkpoint_key(thread_id, namespace, id), parts)


def config_of(parts: dict[str, Any], checkpoint_id: str) -> RunnableConfig:
    """Return the config of a checkpoint in the thread and namespace that `parts` name."""
    names = {"thread_id": parts["thread_id"], "checkpoint_ns": parts["checkpoint_ns"], "checkpoint_id": checkpoint_id}
    return {"configurable": names}


def metadata_of(serde: SerializerProtocol, record: Record) -> dict[str, Any]:
    """Return a checkpoint's metadata."""
    return dict(_unpack(serde, record.payload[FIELD]["metadata"]))


def checkpoint_of(serde: SerializerProtocol, record: Record, writes: Iterable[Record]) -> CheckpointTuple:
    """Return the checkpoint that a record holds, with its pending writes in the order in which they are applied."""
    parts = record.payload[FIELD]
    held = [write.payload[FIELD] for write in writes]
    held.sort(key=lambda each: writes_sort_key(each["task_path"], each["task_id"], each["index"]))
    return CheckpointTuple(
        config=config_of(parts, parts["checkpoint_id"]),
        checkpoint=_unpack(serde, parts["checkpoint"]),
        metadata=_unpack(serde, parts["metadata"]),
        parent_config=config_of(parts, parts["parent_id"]) if parts["parent_id"] else None,
        pending_writes=[(each["task_id"], each["channel"], _unpack(serde, each["value"])) for each in held],
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
    asked = config["configurable"]
    channel, value = write
    index = WRITES_IDX_MAP.get(channel, position)
    parts = {
        "thread_id": str(asked["thread_id"]),
        "checkpoint_ns": asked.get("checkpoint_ns", ""),
        "checkpoint_id": asked["checkpoint_id"],
        "task_id": task_id,
        "task_path": task_path,
        "index": index,
        "channel": channel,
        "value": _pack(serde, value),
    }
    return _draft(_write_key(parts), parts), index < 0


def _write_key(parts: dict[str, Any]) -> str:
    return f"{writes_key(parts)}{_digest(parts['task_id'])}:{parts['index']}"


def copied(record: Record, thread_id: str) -> Draft:
    """Return the draft that copies a checkpoint or a write to another thread."""
    parts = {**record.payload[FIELD], "thread_id": thread_id}
    if "channel" in parts:
        return _draft(_write_key(parts), parts)
    return _draft(checkpoint_key(thread_id, parts["checkpoint_ns"], parts["checkpoint_id"]), parts)
