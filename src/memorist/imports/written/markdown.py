"""A Markdown document to be read by people, and to be read again by the reader of the same name.

Each record is a heading, a comment with what is not its text, and its text as a quotation, which no text can end.
"""

import html
import re
from collections.abc import Iterator

from memorist.imports.extra_fields import kept
from memorist.imports.readers.markdown import FRONT, OURS
from memorist.imports.writer import Output, Writer
from memorist.records.record import Record

_APART = re.compile(r"[\0-\x08\x0b-\x1f\x7f]|&(?=#\d+;)")
"""What would not come back as it is: control characters, and what looks like the way in which they are written."""
_LONGEST_NAME = 100


class _Document(Output):
    begin = f"---\n{FRONT}\n---\n"

    def add(self, record: Record) -> Iterator[str]:
        named = record.payload.get("speaker") or record.payload.get("role") or record.key or record.kind
        name = html.escape(" ".join(str(named).split())[:_LONGEST_NAME], quote=False)
        rest = kept(record).replace(">", "\\u003e")  # the end of a comment
        text = _APART.sub(lambda found: f"&#{ord(found[0])};", record.content)
        quoted = "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))
        yield f"\n## {record.at:%Y-%m-%d %H:%M} · {name}\n\n{OURS[0]}{rest}{OURS[1]}\n\n{quoted}\n"


WRITER = Writer("markdown", "Markdown", "memorist.md", "text/markdown", _Document)
