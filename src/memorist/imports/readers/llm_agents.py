"""Episodes of "LLM agents from scratch": the ``episodes.jsonl`` of its `JSONMemoryStore`."""

from memorist.imports.reader import Reader
from memorist.imports.readers.common import each_record, having
from memorist.imports.readers.episodes import episode

READER = Reader(
    "llm_agents", "LLM agents from scratch", having({"id_", "task"}, texts=['"instruction"']), each_record(episode)
)
