"""Our own format: every record as it is, a JSON object a line."""

from collections.abc import Iterator

from memorist.imports.writer import Output, Writer
from memorist.operations import lines
from memorist.records.record import Record


class _Lines(Output):
    begin = f"{lines.header()}\n"

    def add(self, record: Record) -> Iterator[str]:
        yield f"{lines.line_of(record)}\n"


WRITER = Writer("memorist", "Memorist", "memorist.jsonl", "application/x-ndjson", _Lines, names_users=True, whole=True)
