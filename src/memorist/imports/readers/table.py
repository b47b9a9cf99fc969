"""Tables: CSV and TSV, with a column for the text, and others for its time, speaker, conversation and id.

Columns are known by their usual names, or named. Rows with a speaker or a conversation are messages, others notes; what
the other columns hold becomes metadata.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TextIO, TypeAlias

from memorist.errors import FormatError
from memorist.imports.dates import is_dotted, numbers_of, order_of, with_year_first
from memorist.imports.reader import Bad, ColumnsError, Item, Options, Reader
from memorist.imports.sources import Part
from memorist.records.record import Kind

_SUFFIXES = (".csv", ".tsv", ".tab")
_USUAL: Mapping[str, str] = {
    "text": "text content message body note memory comment description",
    "time": "time timestamp date datetime created_at created sent_at when",
    "speaker": "speaker author from sender name role",
    "conversation": "conversation conversation_id session session_id thread channel chat chat_id",
    "id": "id message_id uuid",
}
"""These names decide which record a row is, so that none is ever added here."""
_ALSO: Mapping[str, str] = {
    "text": "texto texte testo tekst nachricht nachrichten mensaje mensagem messaggio bericht",
    "time": "opened opened_at updated_at datum uhrzeit zeit zeitpunkt fecha hora data heure дата 日期 日時",
    "speaker": "person user autor auteur autore absender remitente mittente afzender",
    "conversation": "conversación conversa conversazione gesprek kanal",
    "id": "",
}
_Orders: TypeAlias = Mapping[tuple[str, bool], str]
"""Which number of a date is which, by the column and whether dots stand between the numbers."""
_LONGEST = 10_000_000
_QUOTED = re.compile(r'"[^"]*"')
_SAID = re.compile(r"sep=(.)")
"""What Excel writes above a table."""


def recognise(part: Part) -> bool:
    """Whether a text is named as a table."""
    return part.pure.suffix.lower() in _SUFFIXES and bool(part.beginning)


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield each row.

    Raises:
        ColumnsError: the column of the text is not known, or a named column does not exist.
    """
    header, columns = _used(part, options)
    usual = _columns(part, header, Options(columns={"text": columns["text"]}), {})
    times = {each["time"] for each in (columns, usual) if "time" in each}
    orders = {(column, dotted): _order(part, column, dotted) for column in times for dotted in (False, True)}
    with part.text() as stream:
        _, rows = _opened(part, stream)
        for line, row in rows:
            if len(row) > len(header):
                yield Bad(f"line {line}", f"it has {len(row)} columns, and the header {len(header)}")
                continue
            item = _item(part, line, header, row, columns, orders)
            yield item if columns == usual else replace(item, known_as=_item(part, line, header, row, usual, orders))


def uses(part: Part, options: Options) -> dict[str, str]:
    """Return what each column becomes: "text", "time", "speaker", "conversation", "id" or "metadata".

    Raises:
        ColumnsError: as `read` does.
    """
    header, columns = _used(part, options)
    named = {column: name for name, column in columns.items()}
    return {column: named.get(column, "metadata") for column in header}


def _used(part: Part, options: Options) -> tuple[list[str], dict[str, str]]:
    """Return the header of a table, and which column is what."""
    with part.text() as stream:
        header, _ = _opened(part, stream)
    return header, _columns(part, header, options)


def _item(
    part: Part, line: int, header: list[str], row: list[str], columns: Mapping[str, str], orders: _Orders
) -> Item:
    fields = dict(zip(header, row, strict=False))
    named = {name: value for name, column in columns.items() if (value := fields.pop(column, "").strip())}
    when = named.get("time")
    return Item(
        content=named.get("text", ""),
        where=f"line {line}",
        kind=Kind.MESSAGE if columns.keys() & {"speaker", "conversation"} else Kind.NOTE,
        conversation=named.get("conversation") or part.title,
        id=named.get("id"),
        in_file=None if "conversation" in named else named.get("id"),
        speaker=named.get("speaker"),
        happened_at=None if when is None else with_year_first(when, orders[columns["time"], is_dotted(when)]),
        metadata=fields,
    )


def _columns(part: Part, header: list[str], options: Options, also: Mapping[str, str] = _ALSO) -> dict[str, str]:
    """Return which column is what: as the options say, or by its usual name."""
    by_name = {column.strip().lower(): column for column in reversed(header)}
    found: dict[str, str] = {}
    for name, usual in _USUAL.items():
        given = options.columns.get(name)
        if given is not None and given.strip().lower() not in by_name:
            raise ColumnsError(part.name, f"there is no column {given!r}", header)
        wanted = [given.strip().lower()] if given else f"{usual} {also.get(name, '')}".split()
        column = next((by_name[each] for each in wanted if each in by_name), None)
        if column is not None and column not in found.values():
            found[name] = column
    if "text" not in found:
        raise ColumnsError(part.name, "could not identify the text column", header)
    return found


def _opened(part: Part, stream: TextIO) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the header, and the rows with the numbers of their lines."""
    first = stream.readline(_LONGEST)
    above = 0
    if said := _SAID.fullmatch(first.strip()):
        first, above = stream.readline(_LONGEST), 1
    tabs = part.pure.suffix.lower() in _SUFFIXES[1:]
    unquoted = _QUOTED.sub("", first)
    delimiter = said[1] if said else "\t" if tabs else max(",;\t|", key=unquoted.count)
    csv.field_size_limit(_LONGEST)
    ended = False

    def lines() -> Iterator[str]:
        nonlocal ended
        yield first
        while line := stream.readline(_LONGEST):
            yield line
        ended = True

    reader = csv.reader(lines(), delimiter=delimiter)
    header = _distinct(next(reader, []))

    def rows() -> Iterator[tuple[int, list[str]]]:
        begun = reader.line_num + 1
        try:
            for row in reader:
                if ended:  # a row that needs a line after the last one has an unclosed quote
                    raise FormatError(f"not a table from line {above + begun} on: a quote opened there is never closed")
                if any(map(str.strip, row)):
                    yield above + reader.line_num, row
                begun = reader.line_num + 1
        except csv.Error as error:
            raise FormatError(f"not a table at line {above + reader.line_num}: {error}") from error

    return header, rows()


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names of columns, with a number behind one that is not the first of its name, or has none."""
    seen, distinct = Counter[str](), list[str]()
    for place, name in enumerate(names, start=1):
        name = name if name.strip() else f"column {place}"
        seen[name] += 1
        while seen[name] > 1 and f"{name} ({seen[name]})" in names:
            seen[name] += 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return distinct


def _order(part: Part, column: str, dotted: bool) -> str:
    return order_of((numbers for text in _dates(part, column, dotted) if (numbers := numbers_of(text))), dotted=dotted)


def _dates(part: Part, column: str, dotted: bool) -> Iterator[str]:
    """Yield the dates in a column that have dots between their numbers, or those that have none."""
    with part.text() as stream:
        header, rows = _opened(part, stream)
        place = header.index(column)
        with suppress(FormatError):  # reported when the rows are read
            for _, row in rows:
                text = row[place].strip() if len(row) > place else ""
                if numbers_of(text) is not None and is_dotted(text) == dotted:
                    yield text


READER = Reader("table", "Table", recognise, read)
