"""A whole store as one file of lines of JSON, and back: every change of every record, as it was.

The first line names the format, the last one counts the lines between them and has their SHA-256. Each of these is one
change, in the order of the changes: whose record it is, what happened, when, by which source, and the record as it was
afterwards; null where its texts are forgotten. So records come back with their kinds, keys, ratings, origins and
histories, and so does what was superseded or archived, what waits in the inbox, the rules of retention, and that
something was forgotten. Traces and tokens stay behind: they are of the store that kept them.

A file is read to its end, and checked, before anything of it is stored. A change is stored once: an import that was
interrupted goes on where it ended. Texts are found by their words until they are embedded anew.
"""

import hashlib
import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, BinaryIO, NamedTuple

from memorist.errors import FormatError, InvalidInputError, MemoristError, shown, upgrade_advice
from memorist.files.regular import lines_of, opened
from memorist.operations.lines import read_object
from memorist.recall import marks_of, terms_of
from memorist.records.origins import Author, Origin
from memorist.records.record import Action, Change, Kind, Record
from memorist.records.scope import INBOX_PREFIX, SERVER_TENANT, TRACES_PREFIX, Scope, Wall
from memorist.records.times import parse_time, told
from memorist.stores.base import Put, Remove, Store, Write
from memorist.system.writing import new_file

FORMAT, VERSION = "memorist-bundle", 1
_AT_ONCE = 200
_KEPT_OF_SERVER = "retention/"
_GONE = (Action.FORGOTTEN, Action.EXPIRED)
_FIELDS = frozenset(("tenant", "user", "id", "number", "born", "last", "action", "at", "source", "record"))
_BLANK = "forgotten"
"""The text of a forgotten record's versions, while its history is stored again; it is removed in the same step."""


def before_all() -> datetime:
    """Return the earliest time: the clock of a store that takes a bundle in, so that nothing expires meanwhile."""
    return datetime(1, 1, 2, tzinfo=UTC)


class Line(NamedTuple):
    """A change of a bundle: the `number`th of its record, whose first change was at `born`; `last` if none follows."""

    wall: Wall
    number: int
    born: datetime
    last: bool
    change: Change


@dataclass(slots=True)
class BundleReport:
    """What a bundle held, in records and changes, and how many changes were stored already."""

    records: int = 0
    changes: int = 0
    existing: int = 0
    walls: set[Wall] = field(default_factory=set)


async def write_bundle(store: Store, path: str | os.PathLike[str]) -> BundleReport:
    """Write everything in a store to a new file, while the store is in use.

    Raises:
        InvalidInputError: something is at the path already, or the store cannot list its changes.
    """
    report, digest = BundleReport(), hashlib.sha256()
    with new_file(path) as stream:
        _put(stream, {"format": FORMAT, "version": VERSION})
        async for line in _lines(store):
            digest.update(_put(stream, _plain(line)))
            report.changes += 1
            report.records += line.number == 0
            report.walls.add(line.wall)
        _put(stream, {"end": report.changes, "sha256": digest.hexdigest()})
    return report


def _put(stream: BinaryIO, plain: Mapping[str, Any]) -> bytes:
    text = json.dumps(plain, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
    stream.write(text)
    return text


def _plain(line: Line) -> dict[str, Any]:
    change = line.change
    return {
        "tenant": line.wall.tenant,
        "user": line.wall.user,
        "id": change.id,
        "number": line.number,
        "born": told(line.born),
        "last": line.last,
        "action": str(change.action),
        "at": told(change.at),
        "source": change.source,
        "record": None if change.record is None else change.record.to_dict(),
    }


async def _lines(store: Store) -> AsyncIterator[Line]:
    for wall in sorted(await store.walls(), key=_order):
        if wall.tenant.startswith(TRACES_PREFIX):
            continue
        left = dict[str, list[Line]]()
        for id in await store.log(wall):
            if id not in left:
                history = await store.history(wall, id)
                left[id] = [] if _stays(wall, history) else _numbered(wall, history)
            if left[id]:
                yield left[id].pop(0)
        for lines in left.values():  # what was forgotten while this was written, or has expired
            for line in lines:
                yield line


def _order(wall: Wall) -> tuple[bool, str, str]:
    """Sort what waits in inboxes behind the records that it quotes."""
    return wall.tenant.startswith(INBOX_PREFIX), wall.tenant, wall.user or ""


def _stays(wall: Wall, history: Sequence[Change]) -> bool:
    """Whether a record is of the server alone, as a token is; of what is gone there, nobody can tell."""
    if wall.tenant != SERVER_TENANT:
        return False
    keys = [each.record.key or "" for each in history if each.record is not None]
    return not keys or not keys[-1].startswith(_KEPT_OF_SERVER)


def _numbered(wall: Wall, history: Sequence[Change]) -> list[Line]:
    changes = [*history]
    if changes and changes[-1].record is None and changes[-1].action not in _GONE:  # expired, and not swept yet
        end = changes[-1]
        changes.append(Change(end.id, Action.EXPIRED, end.at, None, None))
    return [
        Line(wall, number, changes[0].at, number == len(changes) - 1, change) for number, change in enumerate(changes)
    ]


# --- reading -------------------------------------------------------------------------------------------------


def check_bundle(path: str | os.PathLike[str]) -> BundleReport:
    """Read a bundle to its end, and return what it holds.

    Raises:
        FormatError: it is damaged, cut, changed or of a newer version; the text names the first bad line.
    """
    report = BundleReport()
    for line in _read(path):
        report.changes += 1
        report.records += line.number == 0
        report.walls.add(line.wall)
    return report


def _read(path: str | os.PathLike[str]) -> Iterator[Line]:
    digest, count, ended = hashlib.sha256(), 0, False
    with opened(path) as stream:
        for number, text in enumerate(lines_of(stream), start=1):
            plain = _object(number, text)
            if number == 1:
                _check_header(plain)
                continue
            if ended:
                raise FormatError(f"line {number}: something stands behind the end of the bundle")
            if "end" in plain:
                ended = True
                if plain != {"end": count, "sha256": digest.hexdigest()}:
                    raise FormatError(
                        f"the bundle is damaged: its {count:,} lines have not the checksum in its last line; "
                        "nothing was stored. Write it anew"
                    )
                continue
            digest.update(text)
            count += 1
            yield _line(number, plain)
    if not ended:
        raise FormatError("the bundle is cut: its last line is missing, so nothing was stored; write it anew")


def _object(number: int, text: bytes) -> dict[str, Any]:
    try:
        return read_object(text)
    except FormatError as error:
        raise FormatError(f"line {number}: {error}; nothing was stored") from error


def _check_header(plain: Mapping[str, Any]) -> None:
    version = plain.get("version")
    if plain.get("format") != FORMAT or type(version) is not int or version < 1:
        raise FormatError(f'a bundle begins with {{"format":"{FORMAT}","version":{VERSION}}}')
    if version > VERSION:
        raise FormatError(f"this bundle is of version {version}, and this program reads {VERSION}; {upgrade_advice()}")


def _line(number: int, plain: Mapping[str, Any]) -> Line:
    try:
        if plain.keys() != _FIELDS:
            raise InvalidInputError(f"a change has the fields {', '.join(sorted(_FIELDS))}")
        scope = Scope(plain["tenant"], plain["user"])
        record = None if plain["record"] is None else Record.from_dict(plain["record"])
        if record is not None and (record.id != plain["id"] or record.scope.wall != scope.wall):
            raise InvalidInputError("the record is another's")
        if not isinstance(plain["id"], str) or type(plain["number"]) is not int or type(plain["last"]) is not bool:
            raise InvalidInputError("id, number or last is wrong")
        change = Change(plain["id"], Action(plain["action"]), parse_time(plain["at"]), plain["source"], record)
        return Line(scope.wall, plain["number"], parse_time(plain["born"]), plain["last"], change)
    except (MemoristError, ValueError, TypeError) as error:
        raise FormatError(f"line {number}: {shown(str(error))}; nothing was stored") from error


async def read_bundle(store: Store, path: str | os.PathLike[str]) -> BundleReport:
    """Store what a bundle holds and the store does not have; what it has under the same id is left alone.

    Args:
        store: where to; opened with the clock `before_all`.
        path: the bundle.

    Raises:
        FormatError: it is damaged; nothing is stored.
        ConflictError: a record of the store has the key of one of the bundle's; those before it are stored.
    """
    report = check_bundle(path)
    batch = list[Line]()
    for line in _read(path):
        if batch and (batch[-1].wall != line.wall or len(batch) >= _AT_ONCE):
            report.existing += await _store(store, batch)
            batch = []
        batch.append(line)
    report.existing += await _store(store, batch) if batch else 0
    return report


async def _store(store: Store, batch: Sequence[Line]) -> int:
    """Store some changes behind one wall, all or none, and return how many were there already."""
    wall = batch[0].wall
    there = {id: await store.history(wall, id) for id in dict.fromkeys(each.change.id for each in batch)}
    counts = {id: _begun(there[id], batch) for id in there}
    versions = {each.id: each.version for each in await store.get(wall, list(there))}
    done, writes = 0, list[Write]()
    for line in batch:
        id = line.change.id
        if counts[id] != line.number:
            done += 1
            continue
        counts[id] += 1
        writes.append(_write(line, versions.get(id, 0)))
        versions[id] = 0 if isinstance(writes[-1], Remove) else _version(line)
    if writes:
        await store.write(wall, writes)
    return done


def _begun(history: Sequence[Change], batch: Sequence[Line]) -> int:
    """Return how many changes of a record are stored; -1 for another record of the same id."""
    if not history:
        return 0
    born = next(each.born for each in batch if each.change.id == history[0].id)
    return len(history) if history[0].at == born else -1


def _version(line: Line) -> int:
    return line.number + 1 if line.change.record is None else line.change.record.version


def _write(line: Line, expected: int) -> Write:
    change, wall = line.change, line.wall
    if change.record is None and change.action in _GONE:
        return Remove(change.id, change.action, change.at, change.source)
    record = change.record
    if record is None:
        record = Record(
            id=change.id, kind=Kind.NOTE, scope=Scope(wall.tenant, wall.user), content=_BLANK, created_at=change.at,
            updated_at=change.at, version=line.number + 1, origin=Origin(authors=Author.OPERATOR),
        )  # fmt: skip
        return Put(record, change.action, expected, source=change.source, relabels=True)
    quotes = frozenset[tuple[Wall, str]]()
    if line.last and wall.tenant.startswith(INBOX_PREFIX):
        told_wall = Wall(wall.tenant.removeprefix(INBOX_PREFIX), wall.user)
        quotes = frozenset((told_wall, str(id)) for id in record.payload.get("ids", ()))
    terms = terms_of(record) if line.last and record.kind.recallable else None
    marks = marks_of(record) if terms is not None else frozenset[str]()
    return Put(
        record, change.action, expected, None, terms, source=change.source, marks=marks, quotes=quotes, relabels=True
    )
