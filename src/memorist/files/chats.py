"""Chat files: one message per line, as JSON."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from memorist.errors import FormatError, InvalidInputError, MemoristError, ScopeError
from memorist.files.regular import lines_of, opened
from memorist.files.storing import scoped_to, store_in_turn, store_new
from memorist.operations.lines import BadLine, LoadReport, is_export, load_records, read_object
from memorist.records.record import MAX_ID, Draft, Kind, Record
from memorist.records.times import iso, parse_time
from memorist.system.places import expanded

if TYPE_CHECKING:
    from memorist.memory import Memory

__all__ = ["Progress", "load_chat", "load_file", "load_lines"]

Progress: TypeAlias = Callable[[int, int | None, int], None]
"""Called with the bytes read, the bytes there are (None where that is not known), and the lines read."""

_BATCH = 300
_BOM = b"\xef\xbb\xbf"
_NOT_TEXT = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x1f\x8b": "compressed"}
_FIELDS = frozenset(("id", "group", "session", "speaker", "role", "text", "content", "timestamp", "user", "metadata"))
_RECORD_FIELDS = frozenset(("kind", "tenant", "created_at", "updated_at", "version"))


async def load_file(memory: Memory, path: str | os.PathLike[str], *, progress: Progress | None = None) -> LoadReport:
    """Load a file: an export of this package, recognised by its first line, or a chat.

    Args:
        memory: where to; see `load_chat` and `Memory.load` for whose records they become.
        path: the file; ``-`` is the standard input.
        progress: called as the file is read.

    Raises:
        InvalidInputError: the file cannot be read.
        FormatError: the file is an export of a newer version, or not UTF-8 text.
        ScopeError: it is an export that holds another user's records.
    """
    with _opened(path) as stream:
        return await load_lines(memory, _lines_of(stream, progress), os.fspath(path))


async def load_lines(
    memory: Memory,
    lines: Iterable[bytes],
    name: str = "it",
    refused: Callable[[Record], str | None] = lambda record: None,
) -> LoadReport:
    """Load the lines of a file, named so in errors; see `load_file`, and of `refused` see `load_records`."""
    begun = iter(lines)
    seen: list[bytes] = []
    for line in begun:
        seen.append(line)
        if line.strip():
            break
    if seen and (form := _NOT_TEXT.get(seen[0][:2])):
        raise FormatError(f"{name} is {form}; give it as plain text in UTF-8")
    everything = chain(seen, begun)
    if seen and is_export(seen[-1]):
        return await load_records(everything, memory.restore, refused)
    return await load_chat(memory, everything)


async def load_chat(memory: Memory, lines: Iterable[str | bytes]) -> LoadReport:
    """Store messages, one JSON object a line; those already there are left alone.

    | field | becomes |
    |---|---|
    | `text` or `content` | the content; the only field that must be there |
    | `group`, `session` | the session: ``group/session``, or the one given |
    | `id` | the id, as ``group/id``: unique in its group, or else in its session |
    | `timestamp` | when it happened, in any form `parse_time` takes |
    | `speaker`, `role` | who said it, in the payload |
    | `user` | whose record it is; by default the scope's |
    | `metadata`, and every other field | the metadata |

    A line without an id is identified by its conversation, speaker, time and text, and by its occurrence number
    among the same lines of the file: "Thanks!" said twice is stored twice, and a file loaded twice is stored once.
    Blank lines are skipped.

    Returns:
        How many were added and were there before, and the lines that could not be read, by number.
    """
    report = LoadReport()
    batches = _batches(_Reader(memory), lines, report)

    async def read() -> list[_Line] | None:
        return next(batches, None)

    def parts_of(batch: Sequence[_Line]) -> Iterator[tuple[Memory, list[Draft]]]:
        return ((part[0].memory, [line.draft for line in part]) for part in _parts(batch))

    async def store(batch: Sequence[_Line]) -> bool:
        there = report.existing
        for part in _parts(batch):
            await _store_part(part[0].memory, part, report)
        return report.existing == there

    await store_in_turn(read, parts_of, store)
    report.bad.sort(key=lambda each: each.number)
    return report


def _batches(reader: _Reader, lines: Iterable[str | bytes], report: LoadReport) -> Iterator[list[_Line]]:
    """Yield the messages of a file, some at a time; note bad lines in `report`."""
    batch: list[_Line] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            batch.append(reader.read(number, line))
        except (InvalidInputError, ScopeError) as error:
            report.bad.append(BadLine(number, str(error)))
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    yield batch


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    memory: Memory
    draft: Draft


class _Reader:
    """Turns lines into drafts, and counts the occurrences of lines that have no id."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._scoped: dict[str | None, Memory] = {}
        self._times: Counter[str] = Counter()

    def read(self, number: int, line: str | bytes) -> _Line:
        fields = read_object(line)
        if fields.keys() >= _RECORD_FIELDS:
            raise FormatError("this is a record of an export, whose first line is missing")
        memory = self._memory_of(_name(fields, "user", blank=True))
        group, session, given = (_name(fields, name) for name in ("group", "session", "id"))
        voice = {name: who for name in ("speaker", "role") if (who := _text(fields, name)) is not None}
        happened_at = _time(fields.get("timestamp"))
        content = fields.get("content") if fields.get("text") is None else fields["text"]
        if content is None:
            raise InvalidInputError("neither text nor content is given")
        if given is not None:
            record_id = _own_id(group, session, given)
        else:
            moment = None if happened_at is None else iso(happened_at)
            record_id = self._counted(memory.scope.user, group, session, voice, moment, content)
        draft = Draft(
            content=content,
            kind=Kind.MESSAGE,
            id=record_id,
            session="/".join(each for each in (group, session) if each is not None) or None,
            happened_at=happened_at,
            payload=voice if given is None else {**voice, "id": given},
            metadata=_metadata(fields),
        )
        # Made here, so that a bad line is found before any line of its batch is stored.
        draft.to_record(memory.scope, memory.clock(), memory.door)
        return _Line(number, memory, draft)

    def _counted(self, user: str | None, *parts: object) -> str:
        same = _hash(user, *parts)
        self._times[same] += 1
        # The user is not part of the id: it is the wall that the id is unique behind.
        return _hash(*parts, self._times[same])

    def _memory_of(self, user: str | None) -> Memory:
        if user not in self._scoped:
            self._scoped[user] = scoped_to(self._memory, user)
        return self._scoped[user]


def _parts(batch: Sequence[_Line]) -> Iterable[list[_Line]]:
    parts: dict[int, list[_Line]] = {}
    for line in batch:
        parts.setdefault(id(line.memory), []).append(line)
    return parts.values()


async def _store_part(memory: Memory, lines: Sequence[_Line], report: LoadReport) -> None:
    outcomes = await store_new(memory, [line.draft for line in lines])
    for line, (outcome, new) in zip(lines, outcomes, strict=True):
        if isinstance(outcome, MemoristError):
            report.bad.append(BadLine(line.number, str(outcome)))
        elif outcome.content != line.draft.content and outcome.version == 1:
            report.bad.append(BadLine(line.number, f"the id {line.draft.id!r} is taken by a message with another text"))
        elif new:
            report.added += 1
        else:
            report.existing += 1


def _own_id(group: str | None, session: str | None, id: str) -> str:
    """Return the record's id: readable if no other group and id could read the same, else a hash."""
    if group is not None:
        readable, outer = f"{group}/{id}", group
    elif session is not None:
        readable, outer = f"/{session}/{id}", session
    else:
        readable, outer = id, id
    fits = len(readable) <= MAX_ID and "/" not in outer and "\0" not in readable
    return readable if fits else _hash(group, session if group is None else None, id)


def _hash(*parts: object) -> str:
    text = json.dumps(parts, sort_keys=True)
    return f"chat-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _name(fields: Mapping[str, Any], field: str, *, blank: bool = False) -> str | None:
    """Return a name from a field; whole numbers are names too. A blank one counts as missing, unless `blank`."""
    value = fields.get(field)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if blank and isinstance(value, str) else _text(fields, field)


def _text(fields: Mapping[str, Any], field: str) -> str | None:
    value = fields.get(field)
    if value is not None and not isinstance(value, str):
        raise InvalidInputError(f"{field} must be a string, not {json.dumps(value)[:40]}")
    return value if value is not None and value.strip() else None


def _time(value: Any) -> datetime | None:
    if isinstance(value, str):
        return _parsed(value) if value.strip() else None
    return None if value is None else parse_time(value)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> datetime:
    return parse_time(text)  # the messages of a session often share one time, in a form that is slow to read


def _metadata(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line's metadata, together with the line's unknown fields."""
    given = fields.get("metadata")
    if given is not None and not isinstance(given, dict):
        raise InvalidInputError(f"metadata must be an object, not {json.dumps(given)[:40]}")
    metadata = dict(given or {})
    for name, value in fields.items():
        unused = name == "content" and fields.get("text") is not None and value is not None
        if name not in _FIELDS or unused:
            while name in metadata:
                name += "_"
            metadata[name] = value
    return metadata


def _opened(path: str | os.PathLike[str]) -> AbstractContextManager[BinaryIO]:
    if os.fspath(path) == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return opened(expanded(path))
    except OSError as error:
        raise InvalidInputError(f"cannot read {os.fspath(path)}: {error.strerror}") from error


def _lines_of(stream: BinaryIO, progress: Progress | None) -> Iterator[bytes]:
    total = os.fstat(stream.fileno()).st_size or None if stream is not sys.stdin.buffer else None
    done = 0
    for number, line in enumerate(lines_of(stream), start=1):
        done += len(line)
        yield line.removeprefix(_BOM) if number == 1 else line
        if progress is not None:
            progress(done, total, number)
