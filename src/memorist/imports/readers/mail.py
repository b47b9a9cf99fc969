"""E-mail: mbox files, such as Takeout's of Gmail or Thunderbird's folders, and single messages (``.eml``)."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC
from email.message import Message
from email.utils import parseaddr, parsedate_to_datetime

from memorist.imports.decoding import decode
from memorist.imports.html import END_OF_OWN, mail_text
from memorist.imports.mime import headers as headers_of
from memorist.imports.mime import leaves, text_of_header
from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import attempt
from memorist.imports.sources import Part

_HEADERS = re.compile(rb"^(?:From|Date|Subject|Message-ID|Received|X-[\w-]+): ", re.IGNORECASE | re.MULTILINE)
_HEADERS_READ = frozenset("from to cc subject date message-id references in-reply-to x-gm-thrid x-gmail-labels".split())
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_ID = re.compile(r"<[^<>\s]+>")
_LONGEST = 10_000_000
"""Most bytes of a message that are read: the rest are attachments."""
_LONGEST_DATE = 200
_NOT_READ = {"spam", "trash", "drafts"}
_WROTE = re.compile(
    r"(?:On|Am|Le|El|Il|Op|Em|Den|W dniu) .{6,200}(?:wrote|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|skrev"
    r"|napisał\(a\))[^\n]{0,60}:|.{6,200}(?:wrote|schrieb|escribió):",
    re.DOTALL,
)
_LONGEST_INTRODUCTION = 1_000
_LOOKED_AT = 100_000
_FORWARD = re.compile(r"\s*(?:fwd?|wg|tr|rv|enc|i|vs|doorst)\s*:", re.IGNORECASE)
"""How the subject of a message that is passed on begins."""
_REPLY = re.compile(r"\s*(?:re|aw|sv|antw|odp|rif|res|ynt)(?:\[\d{1,3}\])?\s*:", re.IGNORECASE)
"""How the subject of a message that answers begins: what it passes on is what it answers."""
_FORWARDED = re.compile(
    r"^(?:[ \t]*-{3,} ?(?:Forwarded|Weitergeleitete|Mensaje reenviado|Message transféré|Messaggio inoltrato"
    r"|Doorgestuurd)[\w ]*-{3,}|>?[ \t]*Begin forwarded message:)",
    re.IGNORECASE | re.MULTILINE,
)
_HEAD = re.compile(
    r"\*?(?:From|Von|De|Da|Van|Från|Fra):\*? (?P<from>[^\n]+)\n\*?(?:(?:To|An|Para|À|A|Aan|Til):[^\n]+\n\*?)?"
    r"(?:Sent|Gesendet|Enviado|Envoyé|Inviato|Verzonden|Skickat|Sendt|(?P<date>Date|Datum)):"
)
"""The headers that Outlook writes above a message that is answered. A journey has a place from and a date, too."""
_LONGEST_HEAD = 1_000
_ORIGINAL = re.compile(r"_{20,}|-{3,} ?(?:Original|Forwarded|Ursprüngliche|Weitergeleitete)[\w ]*-{3,}", re.IGNORECASE)


def recognise(part: Part) -> bool:
    """Whether a file begins as a mailbox, or is named and begins as one message."""
    head = part.head[:20_000]
    begun = head.startswith(b"From ") or part.pure.suffix.lower() == ".eml"
    return begun and _HEADERS.search(head) is not None


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield the words of each message: no attachments, no quoted replies, no signature, no spam, trash and drafts."""
    for number, raw in enumerate(_messages(part), start=1):
        yield from attempt(f"message {number}", _message, raw)


def _messages(part: Part) -> Iterator[bytes]:
    """Yield each message of a mailbox; of a long one the beginning."""
    lines: list[bytes] = []
    size, blank = 0, True
    with part.open() as stream:
        while line := stream.readline(_LONGEST):
            if line.startswith(b"From ") and blank:
                if lines:
                    yield b"".join(lines)
                lines, size = [], 0
            elif size < _LONGEST:
                lines.append(line)
                size += len(line)
            blank = not line.strip()
    if lines:
        yield b"".join(lines)


def _message(where: str, raw: bytes) -> Iterator[Item | Left]:
    raw = _ESCAPED.sub(rb"\1", raw)
    headers = {
        name.lower(): text_of_header(value)
        for name, value in reversed(headers_of(raw)[0].items())
        if name.lower() in _HEADERS_READ
    }
    if _NOT_READ & {each.strip().lower() for each in headers.get("x-gmail-labels", "").split(",")}:
        yield Left("mails of spam, trash and drafts")
        return
    body = _body(raw)
    text = _unquoted(body) if _is_forward(headers.get("subject", ""), body) else _own_words(body)
    id, before = _ids(headers.get("message-id")), _ids(headers.get("references")) + _ids(headers.get("in-reply-to"))
    subject, when = headers.get("subject", "").strip(), None
    with suppress(ValueError):
        when = parsedate_to_datetime(headers.get("date", "")[:_LONGEST_DATE])
    name, address = parseaddr(headers.get("from", ""))
    yield Item(
        content=text if before or not subject else f"{subject}\n\n{text}".strip(),
        where=where,
        conversation=headers.get("x-gm-thrid") or next(iter(before or id), None) or subject or None,
        id=id[0] if id else None,
        speaker=name or address or None,
        happened_at=when if when is None or when.tzinfo is not None else when.replace(tzinfo=UTC),
        metadata={"subject": subject, "from": address, "to": headers.get("to"), "cc": headers.get("cc")},
    )


def _body(raw: bytes) -> str:
    """Return the text of a message and of those in it, that of its HTML where it has no other."""
    plain, html = list[str](), list[str]()
    for part in leaves(raw):
        if part.get_content_disposition() == "attachment":
            continue
        kind = part.get_content_type()
        if kind == "text/plain" and (text := _decoded(part)).strip():
            plain.append(text)
        elif kind == "text/html":
            html.append(_decoded(part))
    return "\n\n".join(plain or map(mail_text, html))


def _is_forward(subject: str, body: str) -> bool:
    if _FORWARD.match(subject) or _REPLY.match(subject):
        return _FORWARD.match(subject) is not None
    return _FORWARDED.search(body[:_LOOKED_AT]) is not None


def _unquoted(text: str) -> str:
    """Return the text of a message that passes another on, whole."""
    lines = (line.lstrip("> ") if line.startswith(">") else line for line in text.replace("\r\n", "\n").split("\n"))
    kept = (line.rstrip() for line in lines if line.strip() != END_OF_OWN)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _decoded(part: Message) -> str:
    payload = part.get_payload(decode=True)
    given = payload if isinstance(payload, bytes) else b""
    try:
        return given.decode(part.get_content_charset() or "utf-8")
    except (LookupError, UnicodeDecodeError):
        return decode(given)


def _own_words(text: str) -> str:
    """Return what the sender wrote: no quoted message, what introduces one, and no signature."""
    kept: list[str] = []
    lines = text.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines):
        if line == "-- " or _ORIGINAL.match(line) or _is_head("\n".join(lines[number : number + 3])[:_LONGEST_HEAD]):
            break
        if not line.startswith(">"):
            kept.append(line.rstrip())
            continue
        while kept and not kept[-1]:
            kept.pop()
        for count in (1, 2, 3):  # the last paragraph may say who wrote what is quoted, and be wrapped
            above = kept[-count:]
            short = len(above) == count and sum(map(len, above)) < _LONGEST_INTRODUCTION
            if short and _WROTE.fullmatch("\n".join(above)):
                del kept[-count:]
                break
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _is_head(text: str) -> bool:
    """Return whether a text begins with the headers of a message that is answered."""
    found = _HEAD.match(text)
    return found is not None and (found["date"] is None or "@" in found["from"])


def _ids(value: str | None) -> list[str]:
    return _ID.findall(value or "")


READER = Reader("mbox", "E-mail", recognise, read)
