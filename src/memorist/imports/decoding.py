"""Bytes of unknown encoding as text."""

import codecs
import io
import re
from contextlib import suppress
from functools import lru_cache
from typing import BinaryIO, TextIO

from memorist.errors import InvalidInputError

_LOOKED_AT = 1 << 16
_WESTERN = "cp1252"
_HIGH = re.compile(rb"[\x80-\xff]")
_TOGETHER = re.compile(rb"[\x80-\xff](?=.?[\x80-\xff])|(?<=[\x80-\xff])[\x80-\xff]", re.DOTALL)
_MOST_TOGETHER = 0.5
"""The share of bytes beyond ASCII beside another such byte, above which a text is in another script than Latin."""
_FEWEST = 10
"""The fewest such bytes by which a script is told: "Grüße" has two."""
_SEVEN_BITS = b"\x1b$", b"\x1b("
"""What begins Japanese in an encoding that has no bytes beyond ASCII."""

_IN_CHARACTERS = bytes(sorted({*range(256)} - {*b"\t\r !\"',."}))
"""The bytes that may be the first or last of a character, in any encoding that keeps ASCII."""


def text_of(stream: BinaryIO, head: bytes, encoding: str | None = None) -> TextIO:
    """Return a stream of text, by its encoding or, where none is given, as `encoding_of` finds it.

    Bytes that the encoding does not have stand as ``\\xff``; in UTF-8, they are Windows-1252.
    """
    found = encoding or encoding_of(head)
    return io.TextIOWrapper(stream, found, errors=_fallback(found), newline=None)


def decode(head: bytes, encoding: str | None = None) -> str:
    """Return the text that the first bytes of a file hold, without a character that is cut off at the end."""
    found = encoding or encoding_of(head)
    return codecs.getincrementaldecoder(found)(_fallback(found)).decode(head)


@lru_cache(maxsize=64)
def encoding_of(head: bytes) -> str:
    """Return the encoding of a text, from its first bytes: UTF-16, UTF-8, what a library detects, or Windows-1252."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if len(head) > 3 and b"\0" in (head[1:2], head[:1]) and head[:4].count(0) == 2:  # ASCII first, and no mark
        return "utf-16-le" if head[1] == 0 else "utf-16-be"
    if is_foreign(head):
        return _detected(_whole(head)) or _UTF_8
    return _UTF_8


def _whole(head: bytes) -> bytes:
    """Return what detection looks at, which does not end inside a character."""
    if len(head) < _LOOKED_AT:
        return head
    head = head[:_LOOKED_AT]
    return head[: head.rfind(b"\n") + 1] or head.rstrip(_IN_CHARACTERS) or head


def is_foreign(head: bytes) -> bool:
    """Return whether a text is in another encoding than UTF-8 and in another script than Latin."""
    head = head[:_LOOKED_AT]
    if any(each in head for each in _SEVEN_BITS):
        return b"\0" not in head
    if b"\0" in head:
        return False
    high = len(_HIGH.findall(head))
    text = codecs.getincrementaldecoder(_UTF_8)("replace").decode(head)
    wrong = text.count("\ufffd")
    right = sum(not letter.isascii() for letter in text) - wrong
    return high >= _FEWEST and wrong > right and len(_TOGETHER.findall(head)) > _MOST_TOGETHER * high


def detects() -> bool:
    """Return whether the library that detects encodings is installed."""
    with suppress(ImportError):
        import charset_normalizer  # noqa: F401

        return True
    return False


def checked_encoding(name: str) -> str:
    """Return an encoding that somebody names.

    Raises:
        InvalidInputError: there is none of that name.
    """
    try:
        "".encode(name)
    except (LookupError, ValueError) as error:
        raise InvalidInputError(f"there is no encoding {name!r}; use a name such as shift_jis or cp1251") from error
    return name


def _detected(head: bytes) -> str | None:
    """Return what the library detects; None where it is not installed or finds nothing."""
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return None
    best = from_bytes(head).best()
    return None if best is None else best.encoding


def _fallback(encoding: str) -> str:
    return _FALLBACK if encoding == _UTF_8 else "backslashreplace"


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode(_WESTERN, "replace"), error.end


_UTF_8 = "utf-8-sig"
_FALLBACK = "memorist-windows"
codecs.register_error(_FALLBACK, _as_windows)
