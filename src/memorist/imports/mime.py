"""A mail's parts, found in one pass over its bytes for each level: no mail costs more than its length.

Python's own parser asks each line for the boundary of each part that is open, and goes deeper with each, so that a
mail of a few megabytes keeps it busy for minutes.
"""

import re
from collections.abc import Iterator
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesHeaderParser
from itertools import islice

from memorist.errors import InvalidInputError

_DEEPEST = 20
_MOST_PARTS = 1_000
_LONGEST_HEADERS = 256_000
"""In bytes, for all headers of one part together."""
_LONGEST_HEADER = 10_000
"""Characters of a header that are read: the time to decode a header grows with the square of its length."""
_LONGEST_PARAMETERS = 2_000
"""Characters of a header that says what a part is."""
_END = re.compile(rb"\r?\n\r?\n|\A\r?\n")


def leaves(raw: bytes) -> Iterator[Message]:
    """Yield the parts of a mail that have no parts themselves, in order, each with its own content.

    Raises:
        InvalidInputError: it has too many parts, they are nested too deeply, or their headers are too long.
    """
    waiting, seen = [(0, raw)], 0
    while waiting:
        depth, part = waiting.pop()
        seen += 1
        if depth > _DEEPEST or seen > _MOST_PARTS:
            raise InvalidInputError(f"it has more than {_MOST_PARTS:,} parts, or some more than {_DEEPEST} deep")
        head, body = headers(part)
        boundary = head.get_boundary() if head.get_content_maintype() == "multipart" else None
        if boundary:
            inner = islice(_parts(body, boundary.encode("ascii", "replace")), _MOST_PARTS)
            waiting += [(depth + 1, each) for each in inner][::-1]
        elif head.get_content_type() == "message/rfc822":
            waiting.append((depth + 1, body))
        else:
            head.set_payload(body.decode("ascii", "surrogateescape"))
            yield head


def headers(raw: bytes) -> tuple[Message, bytes]:
    """Return the headers of a mail or of a part of it, each cut where it is too long, and what follows them.

    Raises:
        InvalidInputError: they are too long.
    """
    end = _END.search(raw)
    begun, body = (raw, b"") if end is None else (raw[: end.start()], raw[end.end() :])
    if len(begun) > _LONGEST_HEADERS:
        raise InvalidInputError(f"its headers have more than {_LONGEST_HEADERS:,} bytes")
    head = Message()
    for name, value in BytesHeaderParser().parsebytes(begun + b"\n\n").items():
        longest = _LONGEST_PARAMETERS if name.lower().startswith("content-") else _LONGEST_HEADER
        head[name] = str(value)[:longest]
    return head, body


def text_of_header(value: object) -> str:
    """Return a header's text; if it is wrongly encoded, the readable part."""
    text = " ".join(str(value)[:_LONGEST_HEADER].split())
    try:
        return str(make_header(decode_header(text)))
    except (LookupError, UnicodeError, ValueError):
        return text


def _parts(body: bytes, boundary: bytes) -> Iterator[bytes]:
    """Yield the parts between the lines of a boundary, up to the last boundary line."""
    line = re.compile(rb"^--" + re.escape(boundary) + rb"(--)?[ \t]*\r?$\n?", re.MULTILINE)
    begun: int | None = None
    for found in line.finditer(body):
        if begun is not None:
            yield body[begun : found.start()].removesuffix(b"\n").removesuffix(b"\r")
        if found[1]:
            return
        begun = found.end()
    if begun is not None:
        yield body[begun:]
