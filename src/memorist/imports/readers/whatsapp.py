"""WhatsApp's chat export: a text file, whose form depends on the phone, its language and its clock.

A message begins with its date and time, in brackets (iOS) or before a dash (Android). Which number is the day and
which the month is decided over the whole file.
"""

import re
from collections.abc import Iterator
from datetime import datetime, time

from memorist.imports.dates import Numbers, day_of, order_of
from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import BY_THE_PROGRAM, DELETED, groups
from memorist.imports.sources import Part

_HEADER = re.compile(
    r"(?P<open>\[)?(?P<one>\d{1,4})(?:[./-] ?|년 )(?P<two>\d{1,2})(?:[./-] ?|월 )(?P<three>\d{1,4})(?:일|\.)?"
    r"(?P<before>[^\d\n]{1,15}?)(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?"
    r"(?P<after> ?[^\d\[\]\n–—-]{0,12}?)(?(open)\] ?|(?: [-–—] |(?<=\d), ))"
)
_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"))
_SPACES = {0xA0: " ", 0x202F: " ", 0x2009: " ", ord("\r"): None}
_BY_THE_APP = "\u200e"
"""The mark before texts that iOS itself writes into a message: "image omitted", "You deleted this message"."""
_AFTERNOON = {"pm", "p", "下午", "晚上", "中午", "午後", "오후", "م", "μμ", "ip", "du", "em", "nachm", "ch", "nm"}
_MORNING = {"am", "a", "上午", "凌晨", "清晨", "早上", "午前", "오전", "ص", "πμ", "ap", "de", "fm", "vorm", "sa", "vm"}
_NO_NAME = re.compile('["“„«]')
_MISSING = "null"
"""What Android writes for a message that it has no text of, such as a picture to be seen once."""
_PLACEHOLDER = re.compile(r"<[^<>]{3,60}>")
_ATTACHED = re.compile(r"(?:<[^<>:]+: (?P<ios>[^<>]+)>|(?P<android>\S[^\n]*\.\w{2,5}) \([^()\n]+\))(?:\n|$)")
_EDITED = re.compile(
    r"<(?:This message was edited|Diese Nachricht wurde bearbeitet|Se editó este mensaje|Ce message a été modifié"
    r"|Mensagem editada|Questo messaggio è stato modificato|Dit bericht is bewerkt)\.?>$"
)
_DELETED = {
    "this message was deleted", "you deleted this message", "diese nachricht wurde gelöscht",
    "du hast diese nachricht gelöscht", "se eliminó este mensaje", "eliminaste este mensaje",
    "ce message a été supprimé", "vous avez supprimé ce message", "mensagem apagada", "você apagou esta mensagem",
    "questo messaggio è stato eliminato", "hai eliminato questo messaggio", "dit bericht is verwijderd",
    "u hebt dit bericht verwijderd",
}  # fmt: skip
_NAME = re.compile(r".*WhatsApp\S*(?: [Cc]hat)? (?:with|mit|con|avec|com|met|–|-) (?P<name>.+)")
_LOOKED_AT = 50
_LONGEST_NAME = 255
_LONGEST_HEADER = 100


def recognise(part: Part) -> bool:
    """Whether messages begin in a text file as WhatsApp writes them."""
    if part.pure.suffix.lower() != ".txt" and part.pure.suffix:
        return False
    lines = [line for line in part.beginning.splitlines()[:_LOOKED_AT] if line.strip()]
    begun = [line for line in map(_plain, lines) if _HEADER.match(line)]
    first = bool(lines) and _HEADER.match(_plain(lines[0])) is not None
    return (first or len(begun) > 1) and any(": " in line for line in begun)


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield what was said; no lines of the system, no placeholders for media, nothing deleted."""
    order = _order(part)
    conversation = conversation_of(part)
    for number, lines in groups(part.lines(), lambda line: _header(line) is not None):
        where, header = f"line {number}", _header(lines[0])
        if header is None:
            if lines[0].strip():
                yield Bad(where, "no message has begun yet")
            continue
        try:
            when = _moment(header, order)
        except ValueError as error:
            yield Bad(where, f"{header[0].strip(' -')} is not a date and time here: {error}")
            continue
        speaker, _, first = _behind(lines[0], header).partition(": ")
        speaker = _plain(speaker).removeprefix("~").strip()
        by_the_app = first.lstrip(" ").startswith(_BY_THE_APP)
        text, attached = _said("\n".join([first, *lines[1:]]).translate(_MARKS).strip())
        if not first or _NO_NAME.search(speaker) or (by_the_app and not attached and "http" not in text):
            yield BY_THE_PROGRAM
            continue
        if text.lower().rstrip(".") in _DELETED:
            yield DELETED
            continue
        metadata = {"attachment": attached}
        yield Item(
            content=text, where=where, conversation=conversation, speaker=speaker, happened_at=when, metadata=metadata
        )


def conversation_of(part: Part) -> str:
    """Return whom a chat is with: what the file is named after, or the zip or folder where it is ``_chat.txt``."""
    name = part.folder if part.title.startswith("_chat") else part.title
    name = re.sub(r" ?\(\d+\)$", "", name)
    found = _NAME.fullmatch(name) if len(name) <= _LONGEST_NAME else None
    return found["name"] if found else name


def _header(line: str) -> re.Match[str] | None:
    return _HEADER.match(_plain(line[:_LONGEST_HEADER]))


def _behind(line: str, header: re.Match[str]) -> str:
    """Return what follows the header in the line as it was, with the app's marks."""
    left = len(header[0])
    for place, letter in enumerate(line):
        left -= len(_plain(letter))
        if left == 0:
            return line[place + 1 :].translate(_SPACES)
    return ""


def _plain(line: str) -> str:
    """Return a line without invisible marks, with plain spaces and ASCII digits."""
    line = line.translate(_MARKS).translate(_SPACES)
    if line.isascii():
        return line
    return "".join(str(int(each)) if each.isdecimal() else each for each in line)


def _said(text: str) -> tuple[str, str | None]:
    """Return what someone wrote, and the name of the file attached."""
    attached = _ATTACHED.match(text)
    if attached is not None:
        return text[attached.end() :].strip(), (attached["ios"] or attached["android"]).strip()
    text = _EDITED.sub("", text).rstrip()
    return ("" if text == _MISSING or _PLACEHOLDER.fullmatch(text) else text), None


# --- times -----------------------------------------------------------------------------------------------


def _order(part: Part) -> str:
    """Return which number of a date is which, as "dmy", "mdy" or "ymd", by all dates of the file."""
    dates: dict[Numbers, None] = {}
    american = dotted = False
    for _, line in part.lines():
        if (header := _header(line)) is not None:
            dates[_numbers(header)] = None
            dotted = dotted or "." in header[0][: header.start("three") - header.start()]
            american = american or (_half(header) is not None and "/" in header[0] and len(header["three"]) == 2)
    return order_of(dates, american=american, dotted=dotted)


def _numbers(header: re.Match[str]) -> Numbers:
    return int(header["one"]), int(header["two"]), int(header["three"])


def _moment(header: re.Match[str], order: str) -> datetime:
    numbers = _numbers(header)
    year, month, day = (numbers[order.index(unit)] for unit in "ymd")
    hour, half = int(header["hour"]), _half(header)
    if half is not None:
        hour = hour % 12 + (12 if half else 0)
    return datetime.combine(day_of(year, month, day), time(hour, int(header["minute"]), int(header["second"] or 0)))


def _half(header: re.Match[str]) -> bool | None:
    """Return whether a time of twelve hours is after noon, None for one of twenty-four."""
    for text in (header["after"], header["before"]):
        word = "".join(each for each in text.lower() if each.isalpha())
        if word in _AFTERNOON or word in _MORNING:
            return word in _AFTERNOON
    return None


READER = Reader("whatsapp", "WhatsApp", recognise, read)
