"""Records out to lines of JSON and back in, with nothing lost on the way."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from memorist.errors import (
    ConflictError,
    EmbedderError,
    EmbedderMismatchError,
    EmbedderUnavailableError,
    FormatError,
    InvalidInputError,
    MemoristError,
    ScopeError,
)
from memorist.records import Record
from memorist.scope import Wall

if TYPE_CHECKING:
    from memorist.memory import Memory

__all__ = ["BadLine", "LoadReport", "export_lines", "is_export", "load_lines", "read_object", "store_each"]

FORMAT = "memorist"
VERSION = 1
_PAGE = 1000
_BATCH = 500
_BOM = "\ufeff"
_BREAKS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""What some readers take for the end of a line, though JSON leaves it as it is."""
_Item = TypeVar("_Item")
_Done = TypeVar("_Done")


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that could not be loaded: its number, from 1, and why."""

    number: int
    reason: str


@dataclass(slots=True)
class LoadReport:
    """What came of a load: how many records are new, how many were there before, and the bad lines."""

    added: int = 0
    existing: int = 0
    bad: list[BadLine] = field(default_factory=list)


async def export_lines(memory: Memory, *, everyone: bool) -> AsyncIterator[str]:
    """Yield a header and then every record of the scope, superseded ones too, as lines without their end."""
    yield json.dumps({"format": FORMAT, "version": VERSION})
    cursor = None
    while True:
        page = await memory.browse(order="oldest", superseded=True, limit=_PAGE, everyone=everyone, cursor=cursor)
        for record in page.records:
            yield json.dumps(record.to_dict(), ensure_ascii=False).translate(_BREAKS)
        if (cursor := page.next) is None:
            return


async def load_lines(memory: Memory, lines: Iterable[str | bytes] | AsyncIterator[str | bytes]) -> LoadReport:
    """Store what `export_lines` wrote; `Memory.load` says how."""
    report = LoadReport()
    batch: list[tuple[int, Record]] = []
    number, begun = 0, False
    async for line in _each(lines):
        number += 1
        if not line.strip() or (begun and is_export(line)):  # exports may be joined, each with its header
            continue
        if not begun:
            _check_header(line)
            begun = True
            continue
        try:
            batch.append((number, _read_record(memory, line)))
        except InvalidInputError as error:
            report.bad.append(BadLine(number, str(error)))
        if len(batch) >= _BATCH:
            await _restore(memory, batch, report)
            batch = []
    if not begun:
        raise FormatError("there is nothing in it; an export has a header at least")
    await _restore(memory, batch, report)
    report.bad.sort(key=lambda each: each.number)
    return report


def is_export(line: str | bytes) -> bool:
    """Tell whether `line` is the header of an export, of this version or another."""
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
        value = json.loads(text.removeprefix(_BOM), parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8: {error.reason} at byte {error.start + 1}") from error
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg} at character {error.pos + 1}") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise FormatError(f"not a JSON object but {_name_of(value)}")
    return value


async def store_each(
    items: Sequence[_Item], store: Callable[[Sequence[_Item]], Awaitable[Sequence[_Done]]]
) -> list[_Done | MemoristError]:
    """Store all items at once, or, where one is refused, each by itself; return what came of each.

    Raises:
        EmbedderError: not one of them could be embedded.
        MemoristError: whatever is not the fault of an item.
    """
    refused = (InvalidInputError, ConflictError, EmbedderError)
    outcomes: list[_Done | MemoristError] = []
    try:
        return [*await store(items)]
    except (EmbedderUnavailableError, EmbedderMismatchError):
        raise
    except refused as error:
        if len(items) == 1 and not isinstance(error, EmbedderError):
            return [error]
        failure = error
    for item in items:
        try:
            outcomes.extend(await store([item]))
        except (EmbedderUnavailableError, EmbedderMismatchError):
            raise
        except refused as error:
            outcomes.append(error)
    if all(isinstance(each, EmbedderError) for each in outcomes):
        raise failure
    return outcomes


async def _each(lines: Iterable[str | bytes] | AsyncIterator[str | bytes]) -> AsyncIterator[str | bytes]:
    if isinstance(lines, str | bytes):
        raise InvalidInputError("give the lines one by one, not as one text")
    if isinstance(lines, AsyncIterator):
        async for line in lines:
            yield line
    else:
        for line in lines:
            yield line


def _check_header(line: str | bytes) -> None:
    expected = f'an export begins with {{"format": "{FORMAT}", "version": {VERSION}}}'
    try:
        header = read_object(line)
    except FormatError as error:
        raise FormatError(f"{expected}; the first line is {error}") from error
    if header.get("format") != FORMAT:
        if "text" in header or "content" in header:
            raise FormatError(f"{expected}; this looks like a chat file, which `memorist load` reads")
        raise FormatError(f"{expected}; found was {_shortened(line)}")
    version = header.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise FormatError(f"{expected}; its version is {version!r}")
    if version > VERSION:
        raise FormatError(
            f"this export is of version {version}, and this program reads {VERSION} at most; "
            "upgrade with: pip install -U memorist"
        )


def _read_record(memory: Memory, line: str | bytes) -> Record:
    record = Record.from_dict(read_object(line))
    scope = memory.scope
    if scope.user is not None and record.scope.user != scope.user:
        raise ScopeError(
            f"the export holds records of {_owner(record.scope.user)}, and this is the memory of user "
            f"{scope.user!r}; load them into a memory without a user"
        )
    return replace(record, scope=replace(record.scope, tenant=scope.tenant))


async def _restore(memory: Memory, batch: Sequence[tuple[int, Record]], report: LoadReport) -> None:
    engine = memory._engine.opened()
    walls: dict[Wall, list[tuple[int, Record]]] = {}
    for number, record in batch:
        walls.setdefault(record.scope.wall, []).append((number, record))
    for wall, part in walls.items():

        async def restore(records: Sequence[Record], wall: Wall = wall) -> Sequence[bool]:
            return await engine.restore(wall, records)

        outcomes = await store_each([record for _, record in part], restore)
        for (number, _), outcome in zip(part, outcomes, strict=True):
            if isinstance(outcome, MemoristError):
                report.bad.append(BadLine(number, str(outcome)))
            elif outcome:
                report.added += 1
            else:
                report.existing += 1


def _owner(user: str | None) -> str:
    return "no user (shared ones)" if user is None else f"user {user!r}"


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _name_of(value: object) -> str:
    names = {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


def _shortened(line: str | bytes) -> str:
    text = (line.decode("utf-8", "replace") if isinstance(line, bytes) else line).strip()
    return text if len(text) <= 80 else f"{text[:79]}…"
