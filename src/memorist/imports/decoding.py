"""Bytes of unknown encoding as text."""

import codecs
import io
from typing import BinaryIO, TextIO


def text_of(stream: BinaryIO, head: bytes) -> TextIO:
    """Return a stream of text: UTF-16 where the first bytes say so, else UTF-8, with invalid bytes as Windows-1252."""
    return io.TextIOWrapper(stream, _encoding(head), errors=_FALLBACK, newline=None)


def decode(head: bytes) -> str:
    """Return the text that the first bytes of a file hold, without a character that is cut off at the end."""
    decoder = codecs.getincrementaldecoder(_encoding(head))(_FALLBACK)
    return decoder.decode(head)


def _encoding(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if len(head) > 3 and b"\0" in (head[1:2], head[:1]) and head[:4].count(0) == 2:  # ASCII first, and no mark
        return "utf-16-le" if head[1] == 0 else "utf-16-be"
    return "utf-8-sig"


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


_FALLBACK = "memorist-windows"
codecs.register_error(_FALLBACK, _as_windows)
