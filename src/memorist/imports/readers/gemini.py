"""Gemini's activity, as Google Takeout exports it: ``MyActivity.json`` or ``MyActivity.html``.

An activity is a prompt with its answer. Takeout names no conversations: the activities of one day count as one
conversation.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from memorist.errors import FormatError, InvalidInputError
from memorist.imports.html import html_text
from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import attempt, each
from memorist.imports.sources import Part
from memorist.records.times import parse_time, read_time

_PRODUCTS = ("Gemini", "Bard")
_PROMPT = re.compile(r"(?:Prompted(?: with:)?|Asked(?: Gemini:| Bard:)?|Said|Answered|Branched)\s+")
_NO_PROMPT = re.compile(r"(?:Created|Used|Added|Gave|Selected|Shared|Deleted)\s")
_ATTACHED = re.compile(r"Attached \d{1,9} files?\.?(?:\n.*)?\Z", re.DOTALL)
_CONVERSATION = re.compile(r"gemini\.google\.com/(?:\w+/\d+/)?app/(\w+)")
_OTHERS = Left("activities of other products")
_NOT_SAID = Left("activities that are no prompts")
_CELL = '<div class="outer-cell'
_CONTENT = '<div class="content-cell'
_LONGEST_CELL = 10_000_000
_BREAK = re.compile(r"<br\s*/?>")
_ZONE = re.compile(r"\s(?!UTC|GMT|AM|PM)[A-Z]{2,5}$")


def recognise(part: Part) -> bool:
    """Whether a file is a list of activities of Gemini's."""
    of_gemini = any(name in part.beginning for name in _PRODUCTS)
    return of_gemini and ({"header", "title", "time"} <= part.keys or 'class="outer-cell' in part.beginning)


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield each prompt and its answer."""
    if part.json[0]:
        yield from each(part, _activity)
        return
    with part.text() as stream:  # a page is read in pieces of one cell for each activity
        left, number = "", 0  # the part above the first cell is not an activity
        while chunk := stream.read(1 << 20):
            *whole, left = (left + chunk).split(_CELL)
            if len(left) > _LONGEST_CELL:
                raise FormatError(f"activity {number + len(whole)} has more than {_LONGEST_CELL:,} characters")
            for cell in whole:
                yield from attempt(f"activity {number}", _cell, cell)
                number += 1
        yield from attempt(f"activity {number}", _cell, left.partition("</body")[0])


def _activity(where: str, given: Any) -> Iterator[Item | Left]:
    if not any(name in given["header"] for name in _PRODUCTS):
        yield _OTHERS
        return
    answers = [each.get("html") or "" for each in given.get("safeHtmlItem") or ()]
    details = [text for each in given.get("details") or () for text in each.values() if isinstance(text, str)]
    conversation = _CONVERSATION.search("\n".join((given.get("titleUrl") or "", *details)))
    is_prompt = bool(answers) or conversation is not None or _PROMPT.match(given["title"])
    if not is_prompt or _NO_PROMPT.match(given["title"]):
        yield _NOT_SAID
        return
    attached = [str(each) for each in given.get("attachedFiles") or ()]
    answer = "\n\n".join(map(html_text, answers))
    when = parse_time(given["time"])
    yield from _turn(where, given["title"], answer, when, conversation[1] if conversation else None, attached)


def _turn(
    where: str,
    title: str,
    answer: str,
    when: datetime,
    conversation: str | None = None,
    attached: list[str] | None = None,
) -> Iterator[Item]:
    conversation = conversation or when.date().isoformat()
    prompt = _ATTACHED.sub("", _PROMPT.sub("", title, count=1)).rstrip()
    about = {"attachments": attached}
    yield Item(content=prompt, where=where, conversation=conversation, role="user", happened_at=when, metadata=about)
    if answer.strip():
        yield Item(content=answer, where=where, conversation=conversation, role="assistant", happened_at=when)


def _cell(where: str, cell: str) -> Iterator[Item | Left]:
    boxes = (box.partition('">') for box in cell.split(_CONTENT)[1:-1])  # the last has no text
    texts = (text for kind, _, text in boxes if kind.endswith("mdl-typography--body-1") and text.endswith("</div>"))
    if not any(name in cell for name in _PRODUCTS) or (content := next(texts, None)) is None:
        yield _OTHERS
        return
    pieces = _BREAK.split(content.removesuffix("</div>"))
    for place, piece in enumerate(pieces[1:], start=1):
        if (when := _time(html_text(piece))) is not None:
            title = html_text("<br>".join(pieces[:place]))
            if _NO_PROMPT.match(title):
                yield _NOT_SAID
            else:
                yield from _turn(where, title, html_text("<br>".join(pieces[place + 1 :])), when)
            return
    raise ValueError("no date in English; choose JSON where Takeout asks for the format of My Activity")


def _time(text: str) -> datetime | None:
    """Return the time that a text is, in local time where it names a zone that is not one everywhere."""
    text = " ".join(text.split())
    try:
        plain = _ZONE.sub("", text)
        moment = read_time(plain) if len(text) < 60 and re.search(r"\d:\d\d", text) else None
    except InvalidInputError:
        return None
    return moment.replace(tzinfo=None) if moment is not None and plain != text else moment


READER = Reader("gemini", "Gemini", recognise, read)
