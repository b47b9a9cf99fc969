"""Output of records: as tables for people, and as JSON for programs."""

import json
import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from memorist.records import Change, Hit, Record
from memorist.results import Context, Provenance

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

__all__ = [
    "clean",
    "console",
    "counted",
    "marked",
    "print_changes",
    "print_context",
    "print_hits",
    "print_json",
    "print_record",
    "print_records",
    "print_table",
    "shown_url",
    "table",
]

_LONGEST = 600
_UNFRAMED_WIDTH = 10_000
_PASSWORD = re.compile(r"(://[^/?#]*?:)[^/?#]*(?=@)|([?&]\w*(?:password|key)=)[^&#]*")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def console(*, stderr: bool = False) -> "Console":
    """Return a console that uses colours only on a terminal."""
    from rich.console import Console

    out = Console(stderr=stderr, highlight=False)
    if not out.is_terminal and "COLUMNS" not in os.environ:
        out.width = _UNFRAMED_WIDTH
    return out


def print_table(shown: "Table") -> None:
    """Print a table: framed on a terminal, as bare columns of whatever width into a pipe or a file."""
    out = console()
    if out.is_terminal:
        out.print(shown)
        return
    shown.box, shown.show_lines = None, False
    with out.capture() as captured:
        out.print(shown)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_hits(hits: Sequence[Hit], *, as_json: bool, explain: bool, whose: bool) -> None:
    """Print the hits of a recall; `whose` adds the owner of each."""
    if as_json:
        print_json([hit.to_dict() for hit in hits])
        return
    if not hits:
        click.echo("Nothing found.")
        return
    shown = table("Score", "Similarity", "When", "What")
    shown.columns[0].justify = shown.columns[1].justify = "right"
    for hit in hits:
        text = _described(hit.record, hit.matched, whose=whose)
        if explain:
            signals = ", ".join(f"{name} {value:.3g}" for name, value in hit.signals.items())
            text.append(f"\n{signals}", style="cyan")
        shown.add_row(f"{hit.score:.2f}", f"{hit.similarity:.2f}", _when(hit.record), text)
    print_table(shown)


def print_context(told: Context, *, as_json: bool, explain: bool) -> None:
    """Print a context and, if asked for, the records that it is made of."""
    if as_json:
        print_json(told.to_dict())
        return
    click.echo(clean(told.text) or "Nothing to tell.")
    if explain:
        click.echo(f"\n{told.tokens:,} tokens, confidence {told.confidence:.2f}")
        shown = table("Why", "Score", "What")
        for item in told.items:
            shown.add_row(item.why, f"{item.score:.2f}", _described(item.record))
        print_table(shown)


def print_records(records: Sequence[Record], *, whose: bool) -> None:
    """Print records in the given order; `whose` adds the owner of each."""
    if not records:
        click.echo("Nothing here yet.")
        return
    shown = table("When", "Kind", "What")
    for record in records:
        shown.add_row(_when(record), str(record.kind), _described(record, whose=whose))
    print_table(shown)


def print_record(record: Record) -> None:
    """Print one record, one field on each line."""
    shown = table("Field", "Value")
    for name, value in record.to_dict().items():
        if value is not None and value != {}:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
            shown.add_row(name, clean(text))
    print_table(shown)


def print_changes(changes: Sequence[Change], *, as_json: bool) -> None:
    """Print the history of a record, oldest change first."""
    from rich.text import Text

    if as_json:
        print_json([change.to_dict() for change in changes])
        return
    shown = table("At", "What happened", "By", "The record after it")
    for change in changes:
        after = Text("gone", style="dim") if change.record is None else _described(change.record)
        shown.add_row(f"{change.at:%Y-%m-%d %H:%M:%S}", str(change.action), clean(change.source or ""), after)
    print_table(shown)


def print_provenance(found: Provenance) -> None:
    """Print a record and what it was derived from, one level further in for each derivation."""
    shown = table("Trust", "By", "Through", "What")
    for source in found.sources:
        origin, what = source.record.origin, _described(source.record)
        what.pad_left(2 * source.depth)
        shown.add_row(source.trust, ", ".join(origin.authors.names), clean(origin.door or ""), what)
    print_table(shown)
    if gone := len(found.missing) + sum(each.record.origin.lost for each in found.sources):
        click.echo(f"{counted(gone, 'source')} no longer there")


def table(*columns: str) -> "Table":
    """Return an empty table with the look of this program."""
    from rich.box import ROUNDED
    from rich.table import Table

    empty = Table(box=ROUNDED, header_style="bold", border_style="dim", show_lines=True)
    for number, title in enumerate(columns, start=1):
        last = number == len(columns)
        empty.add_column(title, no_wrap=not last, overflow="fold" if last else "ellipsis", ratio=1 if last else None)
    return empty


def marked(text: str, words: Iterable[str], style: str = "bold green") -> "Text":
    """Return `text`, safe for a terminal, with `words` in another style."""
    from rich.text import Text

    text = clean(text)
    shown = Text(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
    for word in words:
        shown.highlight_regex(rf"(?i)\b{re.escape(word)}\w*", style)
    return shown


def clean(text: str) -> str:
    """Return `text` without control characters of a terminal."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, such as ``1,200 records``; `many` is the plural if it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shown_url(url: str) -> str:
    """Return a URL without its password."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}…", url)


def _described(record: Record, words: Iterable[str] = (), *, whose: bool = False) -> "Text":
    """Return the speaker and the text, and below them the id, the conversation, and the owner if `whose` is set."""
    shown = marked(record.content, words)
    if record.cue is not None:
        shown = marked(record.cue, words).append("\n→ ").append_text(marked(record.content, ()))
    speaker = record.payload.get("speaker") or record.payload.get("role")
    head = record.key or (speaker if isinstance(speaker, str) else None)
    if head is not None:
        shown = marked(head, (), "").append(": ").append_text(shown)
        shown.stylize("bold", 0, len(clean(head)) + 1)
    owner = (record.scope.user or "(shared)") if whose else None
    parts = [record.id, owner, record.scope.session, "superseded" if not record.current else None]
    shown.append(f"\n{clean(' · '.join(part for part in parts if part))}", style="dim")
    return shown


def _when(record: Record) -> str:
    return f"{record.at:%Y-%m-%d %H:%M}"
