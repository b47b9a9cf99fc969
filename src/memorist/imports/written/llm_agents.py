"""The ``episodes.jsonl`` of "LLM agents from scratch": an episode a line, as its `JSONMemoryStore` reads it.

A question with its answer is a task with its result. The file has a place for notes on an episode that are texts, and
for nothing else.
"""

import json
from collections.abc import Iterator

from memorist.imports.writer import Output, Writer, count
from memorist.kinds import Episode
from memorist.records.kind import Kind
from memorist.records.record import Record


class _Episodes(Output):
    def add(self, record: Record) -> Iterator[str]:
        said, payload = Episode.of(record), record.payload
        task = payload.get("task_id") or record.id
        result = said.answer if said.result is None else said.result
        notes = {name: note for name, note in record.metadata.items() if isinstance(note, str)}
        count(self.left, {"metadata field that is no text": len(record.metadata) - len(notes)})
        line = {
            "id_": payload.get("id") or record.id,
            "task": {"id_": task, "instruction": said.question if said.task is None else said.task},
            "rollout": said.rollout or "",
            "result": None if result is None else {"task_id": payload.get("result_task_id") or task, "content": result},
            "error": said.error,
            "metadata": notes,
            "completed_at": payload.get("completed_at") or record.at.isoformat(),
        }
        yield json.dumps(line, ensure_ascii=False) + "\n"


def _is_episode(record: Record) -> bool:
    parts = record.payload
    return record.kind is Kind.EPISODE and bool(parts.get("task") or parts.get("question"))


WRITER = Writer(
    "llm_agents", "LLM agents from scratch", "episodes.jsonl", "application/x-ndjson", _Episodes, takes=_is_episode
)
