"""Contacts (``.vcf``): each card becomes a note."""

from collections.abc import Iterator
from typing import Any

from memorist.errors import FormatError, InvalidInputError, needs
from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import attempt
from memorist.imports.sources import Part
from memorist.records.record import Kind

_BEGIN, _END = "BEGIN:VCARD", "END:VCARD"
_LONGEST = 10_000_000
"""Most characters of one card: a photo is in it."""
_FIELDS = (
    ("nickname", "Nickname"), ("org", "Works at"), ("title", "As"), ("role", "Role"), ("tel", "Telephone"),
    ("email", "E-mail"), ("adr", "Address"), ("bday", "Born"), ("anniversary", "Anniversary"), ("url", "Page"),
    ("categories", "Groups"), ("note", "Note"),
)  # fmt: skip


def recognise(part: Part) -> bool:
    """Whether a file begins as a card."""
    return part.beginning.lstrip()[: len(_BEGIN)].upper() == _BEGIN


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield each card: names, addresses, birthdays and notes; no photos.

    Raises:
        MissingExtraError: the library that reads it is not installed.
    """
    with needs("vobject", "imports"):
        import vobject  # noqa: F401
    for number, card in enumerate(_cards(part), start=1):
        yield from attempt(f"card {number}", _card, card)


def _cards(part: Part) -> Iterator[str]:
    lines, length = list[str](), 0
    for _, line in part.lines():
        length += len(line)
        if length > _LONGEST:
            raise FormatError(f"a card has more than {_LONGEST:,} characters")
        lines.append(line)
        if line.strip().upper() == _END:
            yield "\n".join(lines).strip() + "\n"
            lines, length = [], 0


def _card(where: str, text: str) -> Iterator[Item]:
    import vobject

    try:
        card = vobject.readOne(text, allowQP=True)
    except Exception as error:  # the library raises whatever a damaged card leads it to
        raise InvalidInputError(f"it is damaged: {error}") from error
    found: dict[str, list[str]] = {}
    for field in card.getChildren():
        if isinstance(field.value, bytes):
            continue  # a photo
        value = _told(field.value)
        if value:
            found.setdefault(field.name.lower(), []).append(value)
    name = next(iter(found.get("fn") or found.get("n") or found.get("org") or [""]))
    lines = [f"{title}: {', '.join(found[field])}" for field, title in _FIELDS if field in found]
    yield Item(
        content="\n".join([name, *lines]) if name or lines else "",
        where=where,
        kind=Kind.NOTE,
        id=next(iter(found.get("uid", [])), None),
        metadata={"name": name},
    )


def _told(value: Any) -> str:
    """Return a value of a card on one line: the parts of a name or an address are parted by commas."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(_told, value)))
    return ", ".join(" ".join(line.split()) for line in str(value).splitlines() if line.strip(" ,"))


READER = Reader("contacts", "Contacts", recognise, read)
