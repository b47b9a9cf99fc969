"""Lines of a context, and how they are laid out: a day, a session and a speaker are written once."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memorist.context.base import ContextItem, Why
from memorist.context.dates import day_of, since
from memorist.records import Kind, Record

__all__ = ["Line", "laid_out", "ordered"]

_SPACE = re.compile(r"\s+")
_BOUNDARY = "memory"


@dataclass(frozen=True, slots=True)
class Line:
    """What is shown of one record, on one line."""

    record: Record
    text: str
    why: Why
    score: float

    @property
    def standing(self) -> bool:
        """Whether it holds whatever is asked."""
        return self.why in ("topic", "pinned", "standing")

    @property
    def speaker(self) -> str | None:
        """Who says so, of a message."""
        if self.record.kind is not Kind.MESSAGE:
            return None
        who = self.record.payload.get("speaker") or self.record.payload.get("role")
        return _SPACE.sub(" ", str(who)).strip() if who else None

    @property
    def shown(self) -> str:
        """The text as it stands in the context: on one line, a topic after its key."""
        text = _SPACE.sub(" ", self.text).strip()
        return f"{self.record.key}: {text}" if self.record.kind is Kind.TOPIC else text

    @property
    def item(self) -> ContextItem:
        """What the context says of it."""
        return ContextItem(self.record, self.text, self.why, self.score)


def ordered(lines: Iterable[Line]) -> list[Line]:
    """Return what always holds in the order given, and then the rest in the order of time."""
    held = list(lines)
    told = [line for line in held if not line.standing]
    told.sort(key=lambda line: (line.record.at, line.record.created_at, line.record.id))
    return [line for line in held if line.standing] + told


def laid_out(lines: Sequence[Line], now: datetime | None = None) -> str:
    """Return ordered lines as a text; with `now`, days also say how long ago they were. "" for no lines."""
    if not lines:
        return ""
    rows: list[str] = []
    day = speaker = session = None
    for line in lines:
        if line.standing:
            rows.append(f"- {line.shown}")
            continue
        at, here = line.record.at, line.record.scope.session
        if at.date() != day:
            ago = since(at, now) if now is not None else ""
            rows.append(f"[{day_of(at.date())}, {ago}]" if ago else f"[{day_of(at.date())}]")
            speaker = None
        elif here != session:
            rows.append("--")
            speaker = None
        if line.speaker is None:
            rows.append(f"- {line.shown}")
        else:
            rows.append(line.shown if line.speaker == speaker else f"{line.speaker}: {line.shown}")
        day, session, speaker = at.date(), here, line.speaker
    return "\n".join([f"<{_BOUNDARY}>", *rows, f"</{_BOUNDARY}>"])
