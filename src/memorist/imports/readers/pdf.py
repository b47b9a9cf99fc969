"""PDF: each page becomes a note, a long one several."""

import logging
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

from memorist.errors import FormatError, needs
from memorist.imports.noted import time_of
from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import notes_of
from memorist.imports.sources import Part

_LARGEST = 200_000_000
"""In bytes."""


def recognise(part: Part) -> bool:
    """Whether a file begins as a PDF."""
    return part.head[:1024].lstrip().startswith(b"%PDF-")


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield the words of each page; no pictures, and no scanned pages.

    Raises:
        MissingExtraError: the library that reads it is not installed.
        FormatError: it is damaged, encrypted or too large.
    """
    with needs("pypdf", "imports"):
        from pypdf import PdfReader
    if part.size > _LARGEST:
        raise FormatError(f"it has more than {_LARGEST:,} bytes")
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of every oddity of a file
    with part.open() as stream:
        try:
            document = PdfReader(stream)
            if document.is_encrypted and not document.decrypt(""):
                raise FormatError("it is encrypted; save it without a password, and give that")
            number_of_pages = len(document.pages)
        except FormatError:
            raise
        except Exception as error:  # the library raises whatever a damaged file leads it to
            raise FormatError(f"it is a damaged PDF: {type(error).__name__}: {error}") from error
        when = time_of(part.title) or _made(document)
        for number in range(number_of_pages):
            yield from _page(part, document, number, when)


def _page(part: Part, document: Any, number: int, when: datetime | None) -> Iterator[Item | Bad | Left]:
    place = f"page {number + 1}"
    try:
        text = str(document.pages[number].extract_text() or "")
    except Exception as error:  # as above
        yield Bad(place, f"it is damaged: {type(error).__name__}: {error}")
        return
    if text.strip():
        yield from notes_of(part, [place], text, when=when, where=place)
    else:
        yield Left("pages without words")


def _made(document: Any) -> datetime | None:
    with suppress(Exception):  # as above
        found = document.metadata.creation_date
        return found if isinstance(found, datetime) else None
    return None


READER = Reader("pdf", "PDF", recognise, read)
