"""mem0's memories, as its `get_all` returns them: the mirror of the reader of the same name.

A memory has one time, so a message's is when it was said. Names that mem0 gives a meaning of its own cannot be metadata
there.
"""

import json
from collections.abc import Iterator

from memorist.adapters.mem0.shapes import item
from memorist.imports.extra_fields import metadata_with
from memorist.imports.readers.mem0 import OWN
from memorist.imports.writer import Output, Writer
from memorist.records.record import Record
from memorist.records.times import iso


class _Results(Output):
    begin = '{"results": ['
    _separator = "\n"

    def add(self, record: Record) -> Iterator[str]:
        shown = {
            **item(record, with_score=False),
            "metadata": metadata_with(record, "id", taken=OWN),
            "created_at": iso(record.at),
        }
        speaker = record.payload.get("speaker")
        shown |= {"actor_id": speaker} if isinstance(speaker, str) else {}
        yield self._separator + json.dumps(shown, ensure_ascii=False)
        self._separator = ",\n"

    def end(self) -> Iterator[str]:
        yield "\n]}\n"


WRITER = Writer("mem0", "mem0", "mem0.json", "application/json", _Results, names_users=True)
