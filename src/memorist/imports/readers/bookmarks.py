"""Bookmarks as browsers export them: a page of links in folders, each with the day on which it was added."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace

from memorist.errors import FormatError
from memorist.imports.html import html_text
from memorist.imports.reader import Item, Left, Options, Reader
from memorist.imports.sources import Part
from memorist.records.record import Kind

_MARK = "netscape-bookmark-file"
_LONGEST = 200_000_000
_TAG = re.compile(r"<(/?)(dl|h3|a|dd)\b([^<>]*)>([^<]*)", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w-]{1,30})\s{0,5}=\s{0,5}(?:"([^"]*)"|'([^']*)')""")
_WEB = ("http:", "https:", "ftp:", "mailto:")


def recognise(part: Part) -> bool:
    """Whether a file is such a page."""
    return _MARK in part.beginning[:500].lower()


def read(part: Part, options: Options) -> Iterator[Item | Left]:
    """Yield each bookmark with its title, address, folder, tags and description; no scripts and searches."""
    with part.text() as stream:
        page = stream.read(_LONGEST + 1)
    if len(page) > _LONGEST:
        raise FormatError(f"it has more than {_LONGEST:,} characters")
    folders, named = list[str](), ""
    waiting: Item | Left | None = None
    for found in _TAG.finditer(page):
        closing, tag, given, text = found[1], found[2].lower(), found[3], html_text(found[4])
        if tag == "dd" and isinstance(waiting, Item) and text:
            waiting = _described(waiting, text)
            continue
        if waiting is not None and tag != "a":
            yield waiting
            waiting = None
        if tag == "h3" and not closing:
            named = text
        elif tag == "dl" and not closing:
            folders.append(named)
            named = ""
        elif tag == "dl" and folders:
            folders.pop()
        elif tag == "a" and not closing:
            if waiting is not None:
                yield waiting
            waiting = _bookmark(part, given, text, [folder for folder in folders if folder], found.start())
    if waiting is not None:
        yield waiting


def _bookmark(part: Part, given: str, title: str, folders: list[str], place: int) -> Item | Left:
    attributes = {name.lower(): html.unescape(one or other) for name, one, other in _ATTRIBUTE.findall(given)}
    address = attributes.get("href", "")
    if not address.lower().startswith(_WEB):
        return Left("bookmarks that are no addresses of pages")
    added = attributes.get("add_date", "")
    return Item(
        content=f"{title}\n{address}" if title else address,
        where=f"character {place + 1}",
        kind=Kind.NOTE,
        id="/".join([*folders, address]),
        happened_at=int(added) if added.isdigit() and 0 < int(added[:20]) < 1 << 40 else None,
        metadata={"url": address, "folder": " / ".join(folders), "tags": list(filter(None, _tags(attributes)))},
    )


def _tags(attributes: dict[str, str]) -> list[str]:
    return [tag.strip() for tag in attributes.get("tags", "").split(",")]


def _described(item: Item, text: str) -> Item:
    return replace(item, content=f"{item.content}\n{text}")


READER = Reader("bookmarks", "Bookmarks", recognise, read)
