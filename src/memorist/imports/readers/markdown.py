"""Notes in Markdown: a folder of them, such as an Obsidian vault, or one file.

Each section is a note: its text below the headings that lead to it, so that both are found. A long one is cut between
paragraphs. Front matter becomes metadata.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from memorist.errors import InvalidInputError
from memorist.imports.keeping import KEPT, restored
from memorist.imports.reader import Bad, Item, Options, Reader
from memorist.imports.readers.common import attempt, pieces
from memorist.imports.sources import Part
from memorist.records.record import Kind
from memorist.records.times import read_time

_SUFFIXES = (".md", ".markdown", ".mdown")
_HEADING = re.compile(r"(#{1,6})\s++(.*)")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_LINK = re.compile(r"(!?)\[\[([^\[\]|#^]*)([#^][^\[\]|]*)?(?:\|([^\[\]]*))?\]\]")
_TAG = re.compile(r"(?<![\w#/&`])#([^\W\d][\w/-]*)")
_COMMENTS = {"%%": "%%", "<!--": "-->"}
_COMMENT = re.compile("|".join(_COMMENTS))
_BLOCK_ID = re.compile(r"\^[\w-]+")
_FIELD = re.compile(r"\w[\w .-]*")
_LONGEST_FRONT = 10_000
"""The most lines of front matter; a longer block is ordinary text."""
_DATES = ("date", "created", "created_at", "creation date", "published")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
FRONT = f"{KEPT}: export"
"""The front matter of a document that the writer of this name wrote."""
OURS = "<!-- ", " -->"
"""What stands around what such a document keeps of a record beside its text."""
_NUMBERED = re.compile(r"&#(\d+);")


@dataclass(slots=True)
class _Section:
    line: int
    headings: list[str]
    lines: list[str] = field(default_factory=list)


def recognise(part: Part) -> bool:
    """Whether a file is named as Markdown and is not the copy of a chat that signal-export writes beside its data."""
    is_copy = part.pure.name == "chat.md" and part.source.part(str(part.pure.parent / "data.json")) is not None
    is_text = bool(part.beginning) or not part.size
    return part.pure.suffix.lower() in _SUFFIXES and is_text and not is_copy


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield each section of a file."""
    lines = part.lines()
    begun, front = _front_matter(lines)
    if ": ".join(next(iter(front.items()), ())) == FRONT:
        yield from _quoted(lines)
        return
    about = {name: value for name, value in front.items() if name.lower() not in _DATES}
    when, given = _time(front, part.title), about.get("tags") or []
    seen: Counter[str] = Counter()
    for section in _sections(begun, lines, part.title):
        text = _without_comments("\n".join(section.lines))
        tags = [*(given if isinstance(given, list) else str(given).replace(",", " ").split()), *_TAG.findall(text)]
        named = {
            "tags": [*dict.fromkeys(str(tag).lstrip("#") for tag in tags)],
            "links": [*dict.fromkeys(target.strip() for _, target, _, _ in _LINK.findall(text) if target.strip())],
        }
        found = {**about, "file": part.name, **named}
        for piece in pieces(_plain(text)):
            place = "#".join([part.name, *section.headings])
            seen[place] += 1
            yield Item(
                content=" › ".join([part.title, *section.headings]) + f"\n\n{piece}",
                where=f"line {section.line}",
                kind=Kind.NOTE,
                conversation=part.source.title,
                id=place if seen[place] == 1 else f"{place}/{seen[place]}",
                happened_at=when,
                metadata=found,
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
    """Yield the sections that have a text, each with its headings; that of the file itself is left out."""
    above: list[tuple[int, str]] = []
    section, fence = _Section(1, []), ""
    for number, line in (*begun, *lines):
        mark = _FENCE.match(line)
        if mark is not None and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        heading = None if fence or mark else _HEADING.fullmatch(line)
        if heading is None:
            section.lines.append(line)
            continue
        if any(map(str.strip, section.lines)):
            yield section
        level = len(heading[1])
        title_of = _plain(heading[2])
        unclosed = title_of.rstrip("#")
        above = [
            *((depth, name) for depth, name in above if depth < level),
            (level, unclosed.rstrip() if unclosed.endswith((" ", "\t")) else title_of),
        ]
        section = _Section(number, [name for _, name in above if name != title])
    if any(map(str.strip, section.lines)):
        yield section


def _plain(text: str) -> str:
    """Return a text with links as they are read, without ids of blocks."""

    def shown(link: re.Match[str]) -> str:
        embedded, target, place, label = link.groups()
        return "" if embedded else label or (target or (place or "")[1:])

    lines = [line.rstrip(" \t") for line in _LINK.sub(shown, text).split("\n")]
    parted = [(line, *line.rpartition(" ")) for line in lines]
    return "\n".join(text.rstrip(" \t") if _BLOCK_ID.fullmatch(id) else line for line, text, _, id in parted).strip()


def _without_comments(text: str) -> str:
    """Return a text without its comments; an unclosed comment is text."""
    kept: list[str] = []
    at, endless = 0, set[str]()
    while (mark := _COMMENT.search(text, at)) is not None:
        closing = _COMMENTS[mark[0]]
        end = -1 if closing in endless else text.find(closing, mark.end())
        kept.append(text[at : mark.end() if end < 0 else mark.start()])
        at = mark.end() if end < 0 else end + len(closing)
        if end < 0:
            endless.add(closing)
    return "".join([*kept, text[at:]])


# --- front matter ----------------------------------------------------------------------------------------


def _front_matter(lines: Iterator[tuple[int, str]]) -> tuple[list[tuple[int, str]], dict[str, Any]]:
    """Return the lines that are not front matter, and the front matter's fields: texts, and lists of texts."""
    first = next(lines, None)
    if first is None or first[1].rstrip() != "---":
        return ([] if first is None else [first]), {}
    read = [first]
    for number, line in islice(lines, _LONGEST_FRONT):
        read.append((number, line))
        if line.rstrip() in ("---", "..."):
            return [], _fields([line for _, line in read[1:-1]])
    return read, {}  # no closing line: the first line is a horizontal rule, not front matter


def _fields(lines: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    name = ""
    for line in lines:
        inner = line.strip()
        if inner.startswith("- ") and name:
            if not isinstance(found.get(name), list):
                found[name] = []
            found[name].append(_scalar(inner[2:]))
            continue
        named, colon, value = line.partition(":")
        if colon and _FIELD.fullmatch(named.rstrip()) and value[:1] in ("", " ", "\t"):
            name, value = named.rstrip(), value.strip()
            is_list = value.startswith("[") and value.endswith("]")
            found[name] = (
                [_scalar(each) for each in value[1:-1].split(",") if each.strip()] if is_list else _scalar(value)
            )
    return {name: value for name, value in found.items() if value not in ("", [])}


def _scalar(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _time(front: dict[str, Any], title: str) -> Any:
    """Return the date that the front matter names, or that the file is named after."""
    given = next((value for name, value in front.items() if name.lower() in _DATES), None)
    day = _DAY.match(title)
    for text in (given, day and day[0]):
        try:
            if isinstance(text, str):
                return read_time(text)
        except InvalidInputError:
            continue
    return None


READER = Reader("markdown", "Markdown", recognise, read)
