"""Notes in Markdown: a folder of them, such as an Obsidian vault, or one file.

Each section is a note: its text below the headings that lead to it, so that both are found. A long one is cut between
paragraphs. Front matter becomes metadata.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from typing import Any

from memorist.errors import InvalidInputError
from memorist.imports.extra_fields import KEPT, restored
from memorist.imports.noted import time_of
from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.code import Fences, Line, Segment, segments
from memorist.imports.readers.common import attempt, pieces
from memorist.imports.readers.properties import properties
from memorist.imports.sources import Part
from memorist.records.record import Kind
from memorist.records.times import read_time

_SUFFIXES = (".md", ".markdown", ".mdown")
_HEADING = re.compile(r"(#{1,6})\s++(.*)")
_LINK = re.compile(r"(!?)\[\[([^\[\]|#^]*)([#^][^\[\]|]*)?(?:\|([^\[\]]*))?\]\]")
_TAG = re.compile(r"(?<![\w#/&`])#([^\W\d][\w/-]*)")
_BLOCK_ID = re.compile(r"\^[\w-]+")
_LONGEST_FRONT = 10_000
"""The most lines of front matter; a longer block is ordinary text."""
_DATES = ("date", "created", "created_at", "creation date", "published")
_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_MANY_BLANK = re.compile(r"\n(?:[ \t]*\n){2,}")
_NO_TEXT = Left("headings without text")
FRONT = f"{KEPT}: export"
"""The front matter of a document that the writer of this name wrote."""
OURS = "<!-- ", " -->"
"""What stands around what such a document keeps of a record beside its text."""
_NUMBERED = re.compile(r"&#(\d+);")


@dataclass(slots=True)
class _Section:
    line: int
    headings: list[str]
    lines: list[Line] = field(default_factory=list)


def recognise(part: Part) -> bool:
    """Whether a file is named as Markdown and is not the copy of a chat that signal-export writes beside its data."""
    is_copy = part.pure.name == "chat.md" and part.source.part(str(part.pure.parent / "data.json")) is not None
    is_text = bool(part.beginning) or not part.size
    return part.pure.suffix.lower() in _SUFFIXES and is_text and not is_copy


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield each section of a file, or its properties where it has no text; no comments."""
    lines = part.lines()
    begun, front = _front_matter(lines)
    if front.get(KEPT) == "export":
        yield from _quoted(lines)
        return
    about = {name: value for name, value in front.items() if name.lower() not in _DATES}
    sections, empty = list[_Section](), 0
    for section in _sections(begun, lines, part.title):
        has_text = any(line.strip() for line, _ in section.lines)
        empty += not has_text and bool(section.headings)
        if has_text:
            sections.append(section)
    first = next((line for section in sections[:1] for line, _ in section.lines if line.strip()), "")
    note = _Note(part, about, _time(front, part.title, first))
    for section in sections:
        yield from note.items(section)
    if not sections and about:
        yield note.item(_Section(1, []), _told(about), about)
    elif not sections:
        yield Left("notes without words")
    if empty:
        yield Left(_NO_TEXT.what, empty)


@dataclass(slots=True)
class _Note:
    """A file: where its sections are from, its properties, and when it was written."""

    part: Part
    about: Mapping[str, Any]
    when: datetime | None
    _seen: Counter[str] = field(default_factory=Counter)

    def items(self, section: _Section) -> Iterator[Item | Left]:
        """Yield a section, in pieces where it is long."""
        parts = segments(section.lines)
        words = "\n".join(text for text, is_code in parts if not is_code)
        given = self.about.get("tags") or []
        tags = [*(given if isinstance(given, list) else str(given).replace(",", " ").split()), *_TAG.findall(words)]
        named = " ".join([*_texts(dict(self.about)), words])
        found = {
            **self.about,
            "tags": [*dict.fromkeys(str(tag).lstrip("#") for tag in tags)],
            "links": [*dict.fromkeys(target.strip() for _, target, _, _ in _LINK.findall(named) if target.strip())],
        }
        text = _plain(parts)
        if not text:
            yield _NO_TEXT
        for piece in pieces(text):
            yield self.item(section, piece, found)

    def item(self, section: _Section, text: str, about: Mapping[str, Any]) -> Item:
        place = "".join(f"#{each}" for each in section.headings)
        self._seen[place] += 1
        place = place if self._seen[place] == 1 else f"{place}/{self._seen[place]}"
        return Item(
            content=" › ".join([self.part.title, *section.headings]) + f"\n\n{text}",
            where=f"line {section.line}",
            kind=Kind.NOTE,
            conversation=self.part.source.title,
            id=self.part.name + place,
            in_file=place,
            happened_at=self.when,
            metadata={**about, "file": self.part.name},
        )


def _quoted(lines: Iterator[tuple[int, str]]) -> Iterator[Item | Bad]:
    """Yield the records of a document that the writer of this name wrote: each a heading, a comment and a quotation."""
    begun, kept, quoted = 0, "", list[str]()
    for number, line in chain(lines, [(0, "## ")]):
        if line.startswith("## "):
            text = _NUMBERED.sub(lambda found: chr(int(found[1])), "\n".join(quoted))
            yield from attempt(f"line {begun}", _record, text, kept)
            begun, kept, quoted = number, "", []
        elif line.startswith(OURS[0]):
            kept = line.removeprefix(OURS[0]).removesuffix(OURS[1])
        elif line.startswith(">"):
            quoted.append(line[1:].removeprefix(" "))


def _record(where: str, text: str, kept: str) -> Iterator[Item]:
    yield restored(Item(content=text, where=where, kind=Kind.NOTE), kept)


def _sections(begun: list[tuple[int, str]], lines: Iterator[tuple[int, str]], title: str) -> Iterator[_Section]:
    """Yield the sections, each with its headings; that of the file itself is left out."""
    above: list[tuple[int, str]] = []
    section, fences = _Section(1, []), Fences()
    for number, line in (*begun, *lines):
        is_code = fences.hold(line)
        heading = None if is_code else _HEADING.fullmatch(line)
        if heading is None:
            section.lines.append((line, is_code))
            continue
        yield section
        level = len(heading[1])
        title_of = _plain(segments([(heading[2], False)]))
        unclosed = title_of.rstrip("#")
        above = [
            *((depth, name) for depth, name in above if depth < level),
            (level, unclosed.rstrip() if unclosed.endswith((" ", "\t")) else title_of),
        ]
        section = _Section(number, [name for _, name in above if name != title])
    yield section


def _plain(segments: Iterable[Segment]) -> str:
    """Return a text with links as they are read, without ids of blocks; its code as it is."""
    texts = list[str]()
    parts = list(segments)
    for number, (text, is_code) in enumerate(parts, start=1):
        texts.append(text if is_code else _shown(text, whole=number == len(parts)))
    return _BLANK_LINES.sub("", "".join(texts)).rstrip()


def _shown(text: str, *, whole: bool) -> str:
    """Return a text without code as it is read; unless it is `whole`, code follows on its last line."""

    def shown(link: re.Match[str]) -> str:
        embedded, target, place, label = link.groups()
        return "" if embedded else label or (target or (place or "")[1:])

    lines = _MANY_BLANK.sub("\n\n", _LINK.sub(shown, text)).split("\n")
    last = lines.pop()
    return "\n".join([*map(_without_block_id, lines), _without_block_id(last) if whole else last])


def _without_block_id(line: str) -> str:
    line = line.rstrip(" \t")
    before, _, id = line.rpartition(" ")
    return before.rstrip(" \t") if _BLOCK_ID.fullmatch(id) else line


# --- front matter ----------------------------------------------------------------------------------------


def _front_matter(lines: Iterator[tuple[int, str]]) -> tuple[list[tuple[int, str]], dict[str, Any]]:
    """Return the lines that are not front matter, and the front matter's properties."""
    first = next(lines, None)
    if first is None or first[1].rstrip() != "---":
        return ([] if first is None else [first]), {}
    read = [first]
    for number, line in islice(lines, _LONGEST_FRONT):
        read.append((number, line))
        if line.rstrip() in ("---", "..."):
            return [], properties([line for _, line in read[1:-1]])
    return read, {}  # no closing line: the first line is a horizontal rule, not front matter


def _time(front: Mapping[str, Any], title: str, first_line: str) -> datetime | None:
    """Return the date that the properties name, or else the note's name or its first line."""
    named = (value for name, value in front.items() if name.lower() in _DATES)
    for value in named:
        text = value[0] if isinstance(value, list) else value
        if not isinstance(text, str):
            continue
        text = _plain([(text, False)])
        with suppress(InvalidInputError):
            return read_time(text)
        if (found := time_of(text)) is not None:
            return found
    return time_of(title, first_line)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a property, those of a list and of properties below it, too."""
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(each)


def _told(front: Mapping[str, Any]) -> str:
    """Return properties as lines of text, for a note that has no other."""
    return "\n".join(f"{name}: {_plain([(', '.join(_texts(value)), False)])}" for name, value in front.items())


READER = Reader("markdown", "Markdown", recognise, read)
