"""Plain text: a file becomes a note, a long one several."""

from collections.abc import Iterator

from memorist.errors import FormatError
from memorist.imports.noted import time_of
from memorist.imports.reader import Item, Options, Reader
from memorist.imports.readers.common import notes_of
from memorist.imports.sources import Part

_SUFFIXES = (".txt", ".text")
_LONGEST = 20_000_000
"""Most characters of a text that are read."""


def recognise(part: Part) -> bool:
    """Whether a file is named as plain text, and is text."""
    return part.pure.suffix.lower() in _SUFFIXES and bool(part.beginning.strip())


def read(part: Part, options: Options) -> Iterator[Item]:
    """Yield the text in pieces of whole paragraphs, each below the file's name.

    Raises:
        FormatError: it is too long.
    """
    with part.text() as stream:
        text = stream.read(_LONGEST + 1)
    if len(text) > _LONGEST:
        raise FormatError(f"it has more than {_LONGEST:,} characters; split it")
    first = next((line for line in text.splitlines() if line.strip()), "")
    yield from notes_of(part, [], text, when=time_of(part.title, first))


READER = Reader("text", "Plain text", recognise, read)
