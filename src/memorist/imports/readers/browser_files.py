"""Bookmarks in the files that browsers keep: Chrome's ``Bookmarks``, and Firefox's backups, in JSON."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memorist.errors import FormatError
from memorist.imports.reader import Bad
from memorist.imports.readers.common import attempt
from memorist.imports.sources import Part

_COMPRESSED = b"mozLz40\0"
_CHROMES_EPOCH = 11_644_473_600
"""Seconds from 1601, when Chrome's time begins, to 1970."""
_ROOTS = {
    "placesRoot": "", "bookmarksMenuFolder": "", "toolbarFolder": "Bookmarks Toolbar",
    "unfiledBookmarksFolder": "Other Bookmarks", "mobileFolder": "Mobile Bookmarks",
}  # fmt: skip
"""Firefox's own folders, as the page that it exports names them."""
_FOLDER, _PLACE = "text/x-moz-place-container", "text/x-moz-place"


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A bookmark: `added` is in seconds since 1970, `where` its place in the file."""

    address: str
    title: str
    folders: tuple[str, ...]
    where: str
    added: float | None = None
    tags: str = ""
    description: str = ""


def is_browsers(part: Part) -> bool:
    """Return whether a file is Chrome's ``Bookmarks`` or a backup of Firefox."""
    is_chromes = "roots" in part.keys and '"bookmark_bar"' in part.beginning
    is_firefoxs = {"guid", "children"} <= part.keys and _FOLDER in part.beginning
    return is_chromes or is_firefoxs or part.head.startswith(_COMPRESSED)


def bookmarks_in(part: Part, most: int) -> Iterator[Bookmark | Bad]:
    """Yield what is in such a file of at most so many characters.

    Raises:
        FormatError: it is no JSON, compressed, or too long.
    """
    if part.head.startswith(_COMPRESSED):
        raise FormatError(
            "Firefox's own backups are compressed; in Firefox choose Bookmarks, Manage bookmarks, Import and backup, "
            "and there Backup or Export, and give that file"
        )
    with part.text() as stream:
        text = stream.read(most + 1)
    if len(text) > most:
        raise FormatError(f"it has more than {most:,} characters")
    try:
        given = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"it is no JSON that can be read: {error}") from error
    waiting = [(each, tuple[str, ...]()) for each in reversed(_tops(given))]
    number = 0
    while waiting:
        entry, folders = waiting.pop()
        children = entry.get("children") if isinstance(entry, Mapping) else None
        if isinstance(children, list):
            inside = (*folders, *filter(None, (_folder(entry),)))
            waiting += [(each, inside) for each in reversed(children)]
            continue
        number += 1
        yield from attempt(f"bookmark {number}", _bookmark, entry, folders)


def _tops(given: Any) -> list[Any]:
    """Return the folders at the top: Chrome's other bookmarks stand in none in the page that it exports."""
    if not isinstance(given, Mapping) or not isinstance(given.get("roots"), Mapping):
        return [given]
    roots = [(name, root) for name, root in given["roots"].items() if isinstance(root, Mapping)]
    return [{**root, "name": ""} if name == "other" else root for name, root in roots]


def _folder(entry: Mapping[str, Any]) -> str:
    if "root" in entry:
        return _ROOTS.get(str(entry["root"]), "")
    return str(entry.get("title") or entry.get("name") or "")


def _bookmark(where: str, entry: Any, folders: tuple[str, ...]) -> Iterator[Bookmark]:
    if entry.get("type") not in ("url", _PLACE):
        return  # a line between others
    if "url" in entry:
        added = int(entry.get("date_added") or 0) / 1e6 - _CHROMES_EPOCH
        yield Bookmark(entry["url"], entry.get("name") or "", folders, where, added)
        return
    notes = (each.get("value") for each in entry.get("annos") or [] if str(each.get("name")).endswith("description"))
    yield Bookmark(
        entry["uri"],
        entry.get("title") or "",
        folders,
        where,
        int(entry.get("dateAdded") or 0) / 1e6,
        entry.get("tags") or "",
        str(next(notes, None) or ""),
    )
