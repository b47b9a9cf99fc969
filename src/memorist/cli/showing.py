"""Output of records: as tables for people, and as JSON for programs."""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from memorist.records.scope import is_hidden

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from memorist.operations.answers import Provenance

Cell: TypeAlias = str | list[tuple[str, str]]
"""A text, or its parts, each with a style."""
_LONGEST = 600
_MOST_BAD = 20
_LEAST_POINTS = 0.05
_UNFRAMED_WIDTH = 10_000
_LEAST_FRAMED = 72
"""The narrowest terminal with a frame; in a narrower one the text has all of the width, and the rest stands below."""
_PASSWORD = re.compile(r"(://[^/?#@:]*:).*(?=@)|([?&]\w*(?:password|key)=)[^&#]*")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e]")


def console(*, stderr: bool = False) -> "Console":
    """Return a console that uses colours only on a terminal."""
    from rich.console import Console

    out = Console(stderr=stderr, highlight=False)
    if not out.is_terminal and "COLUMNS" not in os.environ:
        out.width = _UNFRAMED_WIDTH
    return out


def print_table(
    titles: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: int = 0, none: str | None = None
) -> None:
    """Print a table: framed on a terminal, in a narrow one the last cell of each row with the others below it, and as
    bare columns into a pipe or a file.

    Args:
        titles: those of the columns.
        rows: the cells of each row.
        right: how many columns, from the first, are aligned to the right.
        none: what is printed in the place of a table without rows; by default its titles.
    """
    rows = list(rows)
    if not rows and none is not None:
        click.echo(none)
        return
    if not sys.stdout.isatty() and not os.environ.get("FORCE_COLOR"):
        _print_columns(titles, rows, right)
    elif console().width >= _LEAST_FRAMED:
        _print_framed(titles, rows, right)
    elif len(titles) > 2:
        _print_below(titles, rows)
    else:
        for each in rows:
            click.echo(": ".join(map(_text, each)))


def _print_columns(titles: Sequence[str], rows: Sequence[Sequence[Cell]], right: int) -> None:
    cells = [[_text(cell).split("\n") for cell in row] for row in (titles, *rows)]
    widths = [max(len(line) for lines in column for line in lines) for column in zip(*cells, strict=True)]
    for row in cells:
        for line in zip_longest(*row, fillvalue=""):
            aligned = (
                text.rjust(width) if number < right else text.ljust(width)
                for number, (text, width) in enumerate(zip(line, widths, strict=True))
            )
            click.echo(f" {'  '.join(aligned)}".rstrip())


def _print_below(titles: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    for *others, text in rows:
        below = "  ".join(f"{title} {_text(cell)}" for title, cell in zip(titles, others, strict=False))
        click.echo(f"{_text(text)}\n{click.style(below, dim=True)}\n")


def _print_framed(titles: Sequence[str], rows: Iterable[Sequence[Cell]], right: int) -> None:
    from rich.box import ROUNDED
    from rich.table import Table
    from rich.text import Text

    framed = Table(box=ROUNDED, header_style="bold", border_style="dim", show_lines=True)
    for number, title in enumerate(titles):
        last = number == len(titles) - 1
        framed.add_column(
            title,
            no_wrap=not last,
            overflow="fold" if last else "ellipsis",
            ratio=1 if last else None,
            justify="right" if number < right else "left",
        )
    for row in rows:
        framed.add_row(*(Text(cell) if isinstance(cell, str) else Text.assemble(*cell) for cell in row))
    console().print(framed)


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else "".join(text for text, _ in cell)


def print_json(value: Any) -> None:
    """Print a value as JSON, in ASCII where the output takes no other character, as many of Windows do not."""
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    click.echo(json.dumps(value, ensure_ascii=ascii_only, indent=2))


def print_bad(told: Iterable[str], total: int) -> None:
    """Print on stderr the parts that could not be read; of many, only the first ones."""
    for text in islice(told, _MOST_BAD):
        click.echo(clean(text), err=True)
    if total > _MOST_BAD:
        click.echo(f"… and {total - _MOST_BAD:,} more", err=True)


def print_hits(hits: Sequence[Mapping[str, Any]], *, explain: bool, whose: bool) -> None:
    """Print the hits of a recall, given in JSON; `whose` adds the owner of each."""
    rows = list[Sequence[Cell]]()
    for hit in hits:
        text = _with_later(_described(hit["record"], hit["matched"], whose=whose), hit)
        if explain:
            text.append((f"\n{_reasons(hit['signals'])}", "cyan"))
        rows.append((f"{hit['score']:.2f}", f"{hit['similarity']:.2f}", _when(hit["record"]), text))
    print_table(("Score", "Similarity", "When", "What"), rows, right=2, none="Nothing found.")


def _reasons(signals: Mapping[str, float]) -> str:
    """Return what raised and what lowered a hit, the most important first."""
    from memorist.recall.explaining import LABELS, contributions  # imported here, because it needs NumPy

    points = sorted(contributions(signals).items(), key=lambda each: -abs(each[1]))
    return ", ".join(f"{LABELS[name]} {value:+.1f}" for name, value in points if abs(value) >= _LEAST_POINTS)


def _with_later(text: list[tuple[str, str]], found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the description of a record that was found, in JSON, with what replaced it."""
    if (later := found["replaced"]) is None:
        return text
    said = f"\nchanged by {shown_time(later['at'], '%Y-%m-%d')}: see {later['by']} ({later['score']:.2f})"
    return [*text, (said, "yellow")]


def print_context(told: Mapping[str, Any], *, explain: bool) -> None:
    """Print what an agent is told, given in JSON, and below it, on request, the records that it contains."""
    click.echo(clean(told["text"]) or "No relevant records.")
    if explain:
        click.echo(f"\n{told['tokens']:,} tokens, confidence {told['confidence']:.2f}")
        if told["cut"]:
            click.echo(f"{told['cut']}.")
        shown = ((each, _with_later(_described(each["record"]), each)) for each in told["items"])
        rows = ((f"{each['why']}: {each['reason']}", f"{each['score']:.2f}", text) for each, text in shown)
        print_table(("Why", "Score", "What"), rows)


def print_records(records: Sequence[Mapping[str, Any]], *, whose: bool) -> None:
    """Print records, given in JSON, in their order; `whose` adds the owner of each."""
    rows = ((_when(record), record["kind"], _described(record, whose=whose)) for record in records)
    print_table(("When", "Kind", "What"), rows, none="No records yet.")


def print_record(record: Mapping[str, Any]) -> None:
    """Print one record, given in JSON, one field on each line."""
    rows = list[tuple[str, str]]()
    for name, value in record.items():
        if value is not None and value != {}:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
            rows.append((name, clean(text)))
    print_table(("Field", "Value"), rows)


def print_changes(changes: Sequence[Mapping[str, Any]]) -> None:
    """Print the history of a record, given in JSON, oldest change first."""
    rows = list[Sequence[Cell]]()
    for change in changes:
        after: Cell = [("gone", "dim")] if change["record"] is None else _described(change["record"])
        at = shown_time(change["at"], "%Y-%m-%d %H:%M:%S")
        rows.append((at, change["action"], clean(change["source"] or ""), after))
    print_table(("At", "What happened", "By", "Record after the change"), rows)


def print_replacements(page: Mapping[str, Any]) -> None:
    """Print a page of changes, given in JSON: each later record, and below it the one whose state it changed."""
    rows = list[Sequence[Cell]]()
    for change in page["changes"]:
        former, signs = change["former"], ", ".join(change["signs"])
        before = [(f"\nbefore, {_when(former)[:10]}: ", "yellow"), *_described(former)]
        how = [(f"\nit says: {clean(signs)}", "cyan")] if signs else []
        rows.append((f"{change['score']:.2f}", _when(change["record"]), [*_described(change["record"]), *before, *how]))
    more = page["next"] is not None
    print_table(("Score", "When", "What"), rows, right=1, none=f"Nothing changed{' so far' * more}.")
    if more:
        click.echo(f"More: --cursor {page['next']}")


def print_provenance(found: "Provenance") -> None:
    """Print a record and what it was derived from, one level further in for each derivation."""
    rows = list[Sequence[Cell]]()
    for source in found.sources:
        origin, pad = source.record.origin, "  " * source.depth
        what = [(text.replace("\n", f"\n{pad}"), style) for text, style in _described(source.record.to_dict())]
        rows.append((source.trust, ", ".join(origin.authors.names), clean(origin.door or ""), [(pad, ""), *what]))
    print_table(("Trust", "By", "Through", "What"), rows)
    if gone := len(found.missing) + sum(each.record.origin.lost for each in found.sources):
        click.echo(f"{counted(gone, 'source')} no longer exist")


def _marked(text: str, words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the parts of `text`, safe for a terminal: those that begin with one of `words` in another style."""
    text = clean(text)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    said = "|".join(map(re.escape, words))
    parts = re.split(rf"\b((?:{said})\w*)", text, flags=re.IGNORECASE) if said else [text]
    yield from ((part, "bold green" if number % 2 else "") for number, part in enumerate(parts))


def clean(text: str) -> str:
    """Return `text` without control characters of a terminal, and what has it show a text in another order."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def revealed(text: str) -> str:
    """Return `text` as `clean` does, with a sign such as ``<U+200B>`` for each character that cannot be seen."""
    shown = (
        f"<U+{ord(each):04X}>" if each not in "\t\r\n" and is_hidden(text, at) else each for at, each in enumerate(text)
    )
    return clean("".join(shown))


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, such as ``1,200 records``; `many` is the plural if it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shown_url(url: str) -> str:
    """Return a URL without its password."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}…", url)


def _described(record: Mapping[str, Any], words: Iterable[str] = (), *, whose: bool = False) -> list[tuple[str, str]]:
    """Return the speaker and the text, and below them the id, the conversation, and the owner if `whose` is set."""
    speaker = record["payload"].get("speaker") or record["payload"].get("role")
    head = record["key"] or (speaker if isinstance(speaker, str) else None)
    shown = [] if head is None else [(f"{clean(head)}:", "bold"), (" ", "")]
    if record["cue"] is not None:
        shown += [*_marked(record["cue"], words), ("\n→ ", "")]
        words = ()
    shown += _marked(record["content"], words)
    owner = (record["user"] or "(shared)") if whose else None
    parts = [record["id"], owner, record["session"], None if record["superseded_at"] is None else "superseded"]
    return [*shown, (f"\n{clean(' · '.join(part for part in parts if part))}", "dim")]


def shown_time(time: "datetime | str", form: str = "%Y-%m-%d %H:%M") -> str:
    """Return a time as the command's user reads it: in the offset that it brings, else in the zone of the options."""
    from memorist.records.times import parse_time
    from memorist.records.zones import read_in

    options = click.get_current_context().find_root().obj
    return f"{read_in(parse_time(time), options.home):{form}}"


def _when(record: Mapping[str, Any]) -> str:
    return shown_time(record["happened_at"] or record["created_at"])
