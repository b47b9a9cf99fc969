"""Records as lines of JSON: the format of `Memory.export` and `Memory.load`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar

from memorist.errors import (
    ConflictError,
    EmbedderError,
    EmbedderMismatchError,
    EmbedderUnavailableError,
    FormatError,
    InvalidInputError,
    MemoristError,
    shown,
    upgrade_advice,
)
from memorist.records.codec import Plain
from memorist.records.former import as_today
from memorist.records.record import Record
from memorist.system.offload import offload

FORMAT = "memorist"
VERSION = 1
_BATCH, _BATCH_LENGTH = 500, 4 * 1024 * 1024
"""The most lines that are stored together, and the length from which on fewer are."""
_BOM = "\ufeff"
_BREAKS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""What some readers take for the end of a line, though JSON leaves it as it is."""
_encode = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps would make an encoder each time
Lines: TypeAlias = Iterable[str | bytes] | AsyncIterator[str | bytes]
_NAMES: Mapping[type, str] = {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
_Item = TypeVar("_Item")
_Done = TypeVar("_Done")


@dataclass(frozen=True, slots=True)
class BadLine(Plain):
    """A line that could not be loaded: its number, from 1, and why."""

    number: int
    reason: str


@dataclass(slots=True)
class LoadReport(Plain):
    """The result of a load: how many records were added, how many existed already, and the bad lines."""

    added: int = 0
    existing: int = 0
    bad: list[BadLine] = field(default_factory=list)


def header() -> str:
    """Return the first line of an export."""
    return json.dumps({"format": FORMAT, "version": VERSION})


def line_of(record: Record) -> str:
    """Return a record as one line, without its end."""
    line = _encode(record.to_dict())
    return line if line.isascii() else line.translate(_BREAKS)


async def read_lines(lines: Lines, report: LoadReport) -> AsyncIterator[list[tuple[int, Record]]]:
    """Yield the records of an export in batches, each with the number of its line; note bad lines in `report`.

    Raises:
        FormatError: the first line is not that of an export, or of a newer version.
    """
    some: list[tuple[int, str | bytes]] = []
    number, begun, held = 0, False, 0
    async for line in _each(lines):
        number += 1
        if not line.strip():
            continue
        if not begun:
            check_header(line)
            begun = True
            continue
        some.append((number, line))
        held += len(line)
        if len(some) >= _BATCH or held >= _BATCH_LENGTH:
            yield await offload(partial(_read, some, report), some)
            some, held = [], 0
    if not begun:
        raise FormatError("it is empty; an export has at least a header line")
    if some:
        yield await offload(partial(_read, some, report), some)


def _read(lines: Sequence[tuple[int, str | bytes]], report: LoadReport) -> list[tuple[int, Record]]:
    """Return the records of numbered lines; note bad lines in `report`."""
    found: list[tuple[int, Record]] = []
    for number, line in lines:
        try:
            plain = read_object(line)
            if plain.get("format") != FORMAT:  # exports may be joined, each with its header
                found.append((number, as_today(Record.from_dict(plain))))
        except InvalidInputError as error:
            report.bad.append(BadLine(number, str(error)))
    return found


async def load_records(
    lines: Lines,
    restore: Callable[[list[Record]], Awaitable[LoadReport]],
    refused: Callable[[Record], str | None] = lambda record: None,
) -> LoadReport:
    """Store the records of an export, batch by batch.

    Args:
        lines: the export.
        restore: stores records, and reports on them by their place in the list, from 1.
        refused: returns why a record is not to be stored, None where it is.

    Raises:
        FormatError: the first line is not that of an export, or of a newer version.
    """
    report = LoadReport()
    async for batch in read_lines(lines, report):
        reasons = [refused(record) for _, record in batch]
        report.bad += [BadLine(number, why) for (number, _), why in zip(batch, reasons, strict=True) if why is not None]
        taken = [each for each, why in zip(batch, reasons, strict=True) if why is None]
        part = await restore([record for _, record in taken])
        report.added += part.added
        report.existing += part.existing
        report.bad += [BadLine(taken[each.number - 1][0], each.reason) for each in part.bad]
    report.bad.sort(key=lambda each: each.number)
    return report


def is_export(line: str | bytes) -> bool:
    """Return whether `line` is the header of an export, of this version or another."""
    try:
        return read_object(line).get("format") == FORMAT
    except FormatError:
        return False


def read_object(line: str | bytes) -> dict[str, Any]:
    """Return the JSON object that a line holds.

    Raises:
        FormatError: it holds something else; the text says what.
    """
    try:
        text = line.decode("utf-8") if isinstance(line, bytes) else line
        value = json.loads(text.removeprefix(_BOM), parse_constant=refuse_constant)
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8: {error.reason} at byte {error.start + 1}") from error
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg} at character {error.pos + 1}") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise FormatError(f"not a JSON object but {_NAMES.get(type(value), 'a number')}")
    return value


async def store_each(
    items: Sequence[_Item], store: Callable[[Sequence[_Item]], Awaitable[Sequence[_Done]]]
) -> list[_Done | MemoristError]:
    """Store all items at once, or one by one if that fails; return the result or the error of each.

    Raises:
        EmbedderError: none of them could be embedded.
        MemoristError: an error that was not caused by a single item. If some items are stored by then, the error
            concerns the others.
    """
    refused = (InvalidInputError, ConflictError, EmbedderError)
    of_all = (EmbedderUnavailableError, EmbedderMismatchError)
    outcomes: list[_Done | MemoristError] = []
    try:
        return [*await store(items)]
    except of_all:
        raise
    except refused as error:
        if len(items) == 1 and not isinstance(error, EmbedderError):
            return [error]
        failure = error
    for item in items:
        try:
            outcomes.extend(await store([item]))
        except MemoristError as error:
            if not isinstance(error, refused) or isinstance(error, of_all):
                if all(isinstance(each, MemoristError) for each in outcomes):
                    raise
                return [*outcomes, *[error] * (len(items) - len(outcomes))]
            outcomes.append(error)
    if all(isinstance(each, EmbedderError) for each in outcomes):
        raise failure
    return outcomes


async def _each(lines: Lines) -> AsyncIterator[str | bytes]:
    if isinstance(lines, str | bytes | Mapping) or not isinstance(lines, Iterable | AsyncIterable):
        raise InvalidInputError(f"pass an iterable of lines, not a {type(lines).__name__}")
    number = 0
    async for line in lines if isinstance(lines, AsyncIterable) else _one_by_one(lines):
        number += 1
        if not isinstance(line, str | bytes):
            raise InvalidInputError(f"line {number} must be a string, not {type(line).__name__}")
        yield line


async def _one_by_one(lines: Iterable[str | bytes]) -> AsyncIterator[str | bytes]:
    for line in lines:
        yield line


def check_header(line: str | bytes) -> None:
    """Raise FormatError for a line that is not the header of an export, or of a newer version."""
    expected = f'an export begins with {{"format": "{FORMAT}", "version": {VERSION}}}'
    try:
        header = read_object(line)
    except FormatError as error:
        raise FormatError(f"{expected}; the first line is {error}") from error
    if header.get("format") != FORMAT:
        if "text" in header or "content" in header:
            raise FormatError(f"{expected}; this looks like a chat file, which `memorist load` reads")
        text = (line.decode("utf-8", "replace") if isinstance(line, bytes) else line).strip()
        raise FormatError(f"{expected}; found was {text if len(text) <= 80 else f'{text[:79]}…'}")
    version = header.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise FormatError(f"{expected}; its version is {shown(version)}")
    if version > VERSION:
        raise FormatError(
            f"this export is of version {version}, and this program reads {VERSION} at most; {upgrade_advice()}"
        )


def refuse_constant(constant: str) -> None:
    """Raise ValueError for a name that Python reads as a number and JSON does not have, such as NaN."""
    raise ValueError(f"{constant} is not a JSON number")
