"""Lines of a context, and how they are laid out: a day and a speaker are written once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memorist.context.dates import since
from memorist.framing.frame import frame
from memorist.languages.writing import day_of
from memorist.operations.answers import ContextItem, Why
from memorist.records.record import Kind, Record, Replaced

_NOTE = "recalled data"
OVERHEAD = f"<memory-000000> {_NOTE}\n</memory-000000>"
"""An empty frame, whose tokens always count."""
LINE = "| \n"
"""The text that the frame adds to a line."""
_BREAK = "--"
"""Stands between two conversations of one day."""
_REASONS: Mapping[Why, str] = {
    "topic": "a topic that was asked for", "pinned": "it is pinned", "standing": "it holds for every question",
    "asked": "the question that the record after it answers", "earlier": "what held before",
    "later": "it changed a record that is told",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """The part of one record that is shown.

    Attributes:
        item: the record, and why it was chosen.
        speaker: the speaker of a message.
        shown: the text as it stands in the context, on one line.
    """

    item: ContextItem
    speaker: str | None
    shown: str

    @property
    def record(self) -> Record:
        """The record that is shown."""
        return self.item.record

    @property
    def standing(self) -> bool:
        """Whether the line holds for every question."""
        return self.item.why in ("topic", "pinned", "standing")


def line_of(
    record: Record, text: str, why: Why, score: float, reason: str = "", replaced: Replaced | None = None
) -> Line:
    """Return the line that shows `text` of a record; a topic stands after its key."""
    speaker = None
    if record.kind is Kind.MESSAGE:
        speaker = _on_one_line(str(record.payload.get("speaker") or record.payload.get("role") or "")) or None
    shown = _on_one_line(text)
    if record.kind is Kind.TOPIC:
        shown = f"{record.key}: {shown}"
    item = ContextItem(record, text, why, score, reason=reason or _REASONS.get(why, ""), replaced=replaced)
    return Line(item, speaker, shown)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def ordered(lines: Iterable[Line]) -> list[Line]:
    """Return standing lines in the order given, then the best one with what explains it, and then the rest.

    Each part but the first is in the order of time.

    Args:
        lines: best first, what explains a line right after it.
    """
    held = list(lines)
    told = [line for line in held if not line.standing]
    ends = (place for place, line in enumerate(told) if place and line.item.why == "recalled")
    end = next(ends, len(told))
    return [line for line in held if line.standing] + sorted(told[:end], key=_when) + sorted(told[end:], key=_when)


def _when(line: Line) -> tuple[datetime, datetime, str]:
    return line.record.at, line.record.created_at, line.record.id


def header_of(at: datetime, now: datetime | None) -> str:
    """Return what stands before the first line of a day; with `now`, it says how long ago that was."""
    ago = since(at, now) if now is not None else ""
    return f"[{day_of(at)}, {ago}] " if ago else f"[{day_of(at)}] "


def laid_out(lines: Sequence[Line], now: datetime | None = None) -> str:
    """Return ordered lines as a framed text, "" for no lines; `now` as in `header_of`.

    A day and a speaker are written once, and the day again where the lines after it go back.
    """
    rows: list[str] = []
    day = talk = speaker = last = None
    for line in lines:
        if line.standing:
            rows.append(f"- {line.shown}")
            continue
        at, here = line.record.at, line.record.scope.session
        header = "" if at.date() == day and (last is None or last <= at) else header_of(at, now)
        if header:
            speaker = None
        elif here != talk and line.speaker is not None:
            rows.append(_BREAK)
            speaker = None
        if line.speaker is None:
            row = line.shown if speaker is None else f"- {line.shown}"
        else:
            row = line.shown if line.speaker == speaker else f"{line.speaker}: {line.shown}"
        rows.append(header + row)
        day, talk, speaker, last = at.date(), here, line.speaker, at
    return frame("\n".join(rows), note=_NOTE)
