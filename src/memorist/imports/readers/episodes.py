"""An episode of "LLM agents from scratch": a task, what was done for it, and how it ended.

It becomes the record that `memorist.adapters.llm_agents.MemoristMemoryStore` keeps of it, which can go on using it.
"""

from collections.abc import Iterator
from typing import Any

from memorist.imports.reader import Item
from memorist.imports.readers.common import when_of
from memorist.kinds import Episode
from memorist.records.record import Kind


def episode(where: str, given: Any) -> Iterator[Item]:
    """Yield the episode that an object holds."""
    task, result = given["task"], given.get("result")
    said = Episode(
        task=task["instruction"],
        rollout=given.get("rollout") or "",
        result=None if result is None else result["content"],
        error=given.get("error"),
    )
    metadata = dict(given.get("metadata") or {})
    ids = {"task_id": task.get("id_"), "result_task_id": None if result is None else result.get("task_id")}
    yield Item(
        content=said.text,
        where=where,
        kind=Kind.EPISODE,
        id=given["id_"],
        shared_id=True,
        cue=_matched(said, metadata),
        happened_at=when_of(given.get("completed_at")),
        metadata=metadata,
        payload={**said.parts(), **ids, "completed_at": given.get("completed_at")},
    )


def _matched(said: Episode, metadata: dict[str, Any]) -> str:
    """Return the text that a search matches: the parts without the rollout, and the notes on it, a line each."""
    parts = {"task": said.task, "result": said.result, "error": said.error, **metadata}
    return "\n".join(f"{name}: {part}" for name, part in parts.items() if part).replace("\0", " ")
