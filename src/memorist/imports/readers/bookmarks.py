"""Bookmarks as browsers export or keep them: links in folders, each with the day on which it was added."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace

from memorist.errors import FormatError
from memorist.imports.html import html_text
from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.browser_files import Bookmark, bookmarks_in, is_browsers
from memorist.imports.sources import Part
from memorist.records.record import Kind

_MARK = "netscape-bookmark-file"
_LONGEST = 200_000_000
_TAG = re.compile(r"<(/?)(dl|h3|a|dd)\b([^<>]*)>([^<]*)", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w-]{1,30})\s{0,5}=\s{0,5}(?:"([^"]*)"|'([^']*)')""")
_WEB = ("http:", "https:", "ftp:", "mailto:")


def recognise(part: Part) -> bool:
    """Whether a file is the page that a browser exports, or what it keeps itself."""
    return _MARK in part.beginning[:500].lower() or is_browsers(part)


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield each bookmark with its title, address, folder, tags and description; no scripts and searches."""
    if is_browsers(part):
        for each in bookmarks_in(part, _LONGEST):
            yield each if isinstance(each, Bad) else _item(each)
    else:
        yield from _of_page(part)


def _of_page(part: Part) -> Iterator[Item | Left]:
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
            waiting = _bookmark(given, text, [folder for folder in folders if folder], found.start())
    if waiting is not None:
        yield waiting


def _bookmark(given: str, title: str, folders: list[str], place: int) -> Item | Left:
    attributes = {name.lower(): html.unescape(one or other) for name, one, other in _ATTRIBUTE.findall(given)}
    added = attributes.get("add_date", "")
    return _item(
        Bookmark(
            attributes.get("href", ""),
            title,
            tuple(folders),
            f"character {place + 1}",
            int(added[:20]) if added.isdigit() else None,
            attributes.get("tags", ""),
        )
    )


def _item(given: Bookmark) -> Item | Left:
    address, folders = given.address, given.folders
    if not address.lower().startswith(_WEB):
        return Left("bookmarks that are no addresses of pages")
    is_time = given.added is not None and 0 < given.added < 1 << 40
    item = Item(
        content=f"{given.title}\n{address}" if given.title else address,
        where=given.where,
        kind=Kind.NOTE,
        id="/".join([*folders, address]),
        happened_at=given.added if is_time else None,
        metadata={
            "url": address,
            "folder": " / ".join(folders),
            "tags": [tag.strip() for tag in given.tags.split(",") if tag.strip()],
        },
    )
    return _described(item, given.description) if given.description else item


def _described(item: Item, text: str) -> Item:
    return replace(item, content=f"{item.content}\n{text}")


READER = Reader("bookmarks", "Bookmarks", recognise, read)
