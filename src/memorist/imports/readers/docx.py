"""Word's documents (``.docx``): each section becomes a note, below the headings that lead to it."""

import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any, BinaryIO

from memorist.errors import FormatError, needs
from memorist.imports.noted import time_of
from memorist.imports.reader import Item, Left, Options, Reader
from memorist.imports.readers.common import notes_of
from memorist.imports.sources import Part

_LARGEST = 100_000_000
"""In bytes, of all that is in one."""
_HEADING = "Heading "
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DELETED = tuple(_W + name for name in ("del", "moveFrom"))
_AROUND = tuple(_W + name for name in ("ins", "moveTo", "sdt", "customXml", "smartTag"))
"""What stands around text in which the library finds none: tracked insertions, and what marks a text as a field."""
_CONTENT = f"{_W}sdtContent"
_PLACEHOLDER = f"{_W}sdtPr/{_W}showingPlcHdr"
_GALLERY = f"{_W}sdtPr/{_W}docPartObj/{_W}docPartGallery"


_BOX = f"{_W}txbxContent"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""What older programs show in the place of a drawing: a text box once more."""


def recognise(part: Part) -> bool:
    """Whether a file is named as such a document, and begins as one."""
    return part.pure.suffix.lower() == ".docx" and part.head.startswith(b"PK\x03\x04")


def read(part: Part, options: Options) -> Iterator[Item | Left]:
    """Yield each section, its tables and text boxes included, as its tracked changes leave it.

    No comments, headers, footers and pictures, no table of contents, and no field that nobody filled in.

    Raises:
        MissingExtraError: the library that reads it is not installed.
        FormatError: it is damaged or too large.
    """
    with needs("python-docx", "imports"):
        from docx import Document
    with part.open() as stream:
        _check(stream)
        try:
            document = Document(stream)
            _unwrap(document.element.body)
            _unbox(document.element.body)
            sections = [*_sections(document)]
        except Exception as error:  # the library raises whatever a damaged file leads it to
            raise FormatError(f"it is a damaged document: {type(error).__name__}: {error}") from error
    first = next((line for _, text in sections for line in text.splitlines() if line.strip()), "")
    when = time_of(part.title, first) or _made(document)
    seen = Counter[tuple[str, ...]]()
    for headings, text in sections:
        if not text.strip():
            yield Left("headings without text")
            continue
        seen[tuple(headings)] += 1
        place = "" if seen[tuple(headings)] == 1 else str(seen[tuple(headings)])
        yield from notes_of(part, headings, text, when=when, where=" › ".join(headings), place=place)


def _check(stream: BinaryIO) -> None:
    try:
        with zipfile.ZipFile(stream) as archive:
            if sum(each.file_size for each in archive.infolist()) > _LARGEST:
                raise FormatError(f"it holds more than {_LARGEST:,} bytes")
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"it is a damaged document: {error}") from error
    stream.seek(0)


def _unwrap(body: Any) -> None:
    """Take what was deleted out of a document, and put the text of insertions and fields where the library reads it."""
    for element in [*body.iter(*_DELETED)]:
        element.getparent().remove(element)
    for element in [*body.iter(*_AROUND)]:
        content = element if element.find(_CONTENT) is None else element.find(_CONTENT)
        for child in [] if _is_no_text(element) else [*content]:
            element.addprevious(child)
        element.getparent().remove(element)


def _unbox(body: Any) -> None:
    """Put what stands in a text box behind the paragraph that the box is anchored to."""
    for element in [*body.iter(_FALLBACK)]:
        if any(True for _ in element.getparent().iter(_BOX)) and len(element.getparent()) > 1:
            element.getparent().remove(element)
    for box in [*body.iter(_BOX)]:
        before = next(box.iterancestors(f"{_W}p"))
        for child in [*box]:
            before.addnext(child)
            before = child


def _is_no_text(field: Any) -> bool:
    gallery = field.find(_GALLERY)
    is_contents = gallery is not None and gallery.get(f"{_W}val") == "Table of Contents"
    return is_contents or field.find(_PLACEHOLDER) is not None


def _sections(document: Any) -> Iterator[tuple[list[str], str]]:
    """Yield the text of each section and the headings above it."""
    above: list[tuple[int, str]] = []
    lines: list[str] = []
    for block in document.iter_inner_content():
        if not hasattr(block, "rows"):
            style = block.style.name if block.style is not None else ""
            level = style.removeprefix(_HEADING)
            if not (style.startswith(_HEADING) and level.isdigit() and block.text.strip()):
                lines.append(block.text)
                continue
            if lines or above:
                yield [name for _, name in above], "\n\n".join(filter(None, lines))
            above = [*((depth, name) for depth, name in above if depth < int(level)), (int(level), block.text.strip())]
            lines = []
            continue
        lines.append(_text(block))
    yield [name for _, name in above], "\n\n".join(filter(None, lines))


def _text(block: Any) -> str:
    """Return the text of a paragraph, or of a table and those in it."""
    return "\n".join(map(_row, block.rows)) if hasattr(block, "rows") else str(block.text)


def _row(row: Any) -> str:
    cells = {cell._tc: cell for cell in row.cells}  # a merged one comes once for each of its columns
    texts = (filter(None, map(_text, cell.iter_inner_content())) for cell in cells.values())
    return " | ".join("\n".join(each).strip() for each in texts)


def _made(document: Any) -> datetime | None:
    with suppress(Exception):  # as above
        found = document.core_properties.created
        return found if isinstance(found, datetime) else None
    return None


READER = Reader("docx", "Word", recognise, read)
