"""What mem0 has stored, out of its files: Qdrant's local folder, or else the history alone."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorist.adapters.mem0.checks import owner_of
from memorist.adapters.mem0.shapes import BESIDE, LABELS
from memorist.errors import FormatError, InvalidInputError, ScopeError, missing_extra
from memorist.lines import BadLine, LoadReport
from memorist.records import Kind, Record, check_fields
from memorist.scope import Scope
from memorist.times import now, parse_time

if TYPE_CHECKING:
    from memorist.memory import Memory

__all__ = ["Progress", "StoredMemory", "has_history", "load_mem0", "points", "read_mem0"]

Progress = Callable[[int, int], None]
"""Called with the memories read, and those there are."""

_BATCH = 300
_STORAGE = "storage.sqlite"
_OWN = frozenset((*LABELS, *BESIDE, "data", "hash", "created_at", "updated_at", "text_lemmatized", "id"))
_CURRENT = (
    "SELECT memory_id, new_memory, event, created_at, updated_at, actor_id, role FROM history"
    " ORDER BY rowid"  # as they were written: not every row has its time, and mem0 wrote some in local time
)


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """One memory as it lies in a file: its id, and its fields side by side."""

    id: object
    fields: Mapping[str, Any]


async def load_mem0(memory: Memory, path: str | Path, *, progress: Progress | None = None) -> LoadReport:
    """Load what mem0 stored; memories that are there already are left alone.

    Args:
        memory: where to. Each memory goes behind the wall of its own `user_id`; those without one become the
            scope's own. A scope with a user takes no other user's.
        path: the folder of mem0's Qdrant store, a folder it is in, or the file of its history. The history knows
            no users and no metadata, so it is read only where it is all there is.
        progress: called as memories are stored.

    Returns:
        How many were added and were there before, and those that could not be read, by number, with their id.

    Raises:
        InvalidInputError: there is nothing of mem0's at `path`.
        FormatError: what is there is damaged.
        MissingExtraError: a Qdrant folder, and qdrant-client is not installed.
    """
    place = Path(path).expanduser()
    found = await asyncio.to_thread(lambda: list(read_mem0(place)))
    report = LoadReport()
    for start in range(0, len(found), _BATCH):
        await _store(memory, start, found[start : start + _BATCH], report)
        if progress is not None:
            progress(min(start + _BATCH, len(found)), len(found))
    report.bad.sort(key=lambda each: each.number)
    return report


# --- finding and reading the files -----------------------------------------------------------------------


def read_mem0(path: Path) -> Iterator[StoredMemory]:
    """Yield the memories in mem0's files; see `load_mem0`."""
    if not path.exists():
        raise InvalidInputError(f"there is no {path}")
    if path.is_file():
        if path.name == _STORAGE and (path.parent.parent.parent / "meta.json").is_file():
            yield from _memories(path.parent.parent.parent)
        else:
            yield from _history(path)
        return
    stores = [meta.parent for meta in (path / "meta.json", *sorted(path.glob("*/meta.json"))) if meta.is_file()]
    stores = [store for store in stores if (store / "collection").is_dir()]
    for store in stores:
        yield from _memories(store)
    if stores:
        return
    histories = [file for file in sorted(path.glob("*.db")) if has_history(file)]
    if not histories:
        raise InvalidInputError(f"{path} holds neither a Qdrant store nor a history of mem0's")
    for file in histories:
        yield from _history(file)


def _memories(store: Path) -> Iterator[StoredMemory]:
    for collection, found in points(store):
        if not collection.endswith("_entities") and collection != "mem0migrations":  # those are not memories
            yield found


def points(store: Path) -> Iterator[tuple[str, StoredMemory]]:
    """Yield the points of a Qdrant folder, each with its collection.

    A copy is opened: the client locks a folder, and tidies it up.

    Raises:
        FormatError: it cannot be read.
        MissingExtraError: qdrant-client is not installed.
    """
    try:
        from qdrant_client import QdrantClient
    except ImportError as error:
        raise missing_extra("qdrant-client", "qdrant") from error

    with tempfile.TemporaryDirectory(prefix="memorist-mem0-") as copy:
        _copy(store, Path(copy))
        try:
            client = QdrantClient(path=copy)
        except Exception as error:  # the client raises what reading happens to raise
            raise FormatError(f"the Qdrant store in {store} cannot be read: {error}") from error
        with closing(client):
            for collection in sorted(each.name for each in client.get_collections().collections):
                cursor: Any = None
                while True:
                    some, cursor = client.scroll(collection, limit=1000, offset=cursor, with_vectors=False)
                    yield from ((collection, StoredMemory(point.id, point.payload or {})) for point in some)
                    if cursor is None:
                        break


def _copy(store: Path, target: Path) -> None:
    (target / "meta.json").write_bytes((store / "meta.json").read_bytes())
    for file in sorted(store.glob(f"collection/*/{_STORAGE}")):
        folder = target / "collection" / file.parent.name
        folder.mkdir(parents=True)
        try:
            with closing(_opened(file)) as source, closing(sqlite3.connect(folder / _STORAGE)) as copy:
                source.backup(copy)
        except sqlite3.Error as error:
            raise FormatError(f"{file} cannot be read: {error}") from error


def _opened(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)


def has_history(file: Path) -> bool:
    """Whether a file is a history of mem0's."""
    try:
        with closing(_opened(file)) as connection:
            columns = {row[1] for row in connection.execute("PRAGMA table_info(history)")}
    except sqlite3.Error:
        return False
    return columns >= {"memory_id", "new_memory", "event", "created_at", "updated_at", "actor_id", "role"}


def _history(file: Path) -> Iterator[StoredMemory]:
    """Yield the memories that a history leaves: the last text of each, unless it was deleted."""
    if not has_history(file):
        raise InvalidInputError(f"{file} is no history of mem0's, nor a Qdrant store")
    last: dict[str, dict[str, Any]] = {}
    try:
        with closing(_opened(file)) as connection:
            for id, text, event, created_at, updated_at, actor, role in connection.execute(_CURRENT):
                if event == "DELETE":
                    last.pop(id, None)
                    continue
                given = {
                    "data": text,
                    "created_at": created_at,
                    "updated_at": updated_at,
                    "actor_id": actor,
                    "role": role,
                }
                last[id] = {name: value for name, value in given.items() if value is not None}
    except sqlite3.Error as error:
        raise FormatError(f"{file} cannot be read: {error}") from error
    yield from (StoredMemory(id, fields) for id, fields in last.items())


# --- storing ---------------------------------------------------------------------------------------------


async def _store(memory: Memory, start: int, batch: list[StoredMemory], report: LoadReport) -> None:
    records: list[tuple[int, Record]] = []
    for number, found in enumerate(batch, start + 1):
        try:
            records.append((number, _record(memory.scope, found)))
        except (InvalidInputError, ScopeError) as error:
            report.bad.append(BadLine(number, f"{found.id}: {error}"))
    part = await memory.restore([record for _, record in records])
    report.added += part.added
    report.existing += part.existing
    for bad in part.bad:
        number, record = records[bad.number - 1]
        report.bad.append(BadLine(number, f"{record.id}: {bad.reason}"))


def _record(scope: Scope, found: StoredMemory) -> Record:
    """Return the record that a memory becomes: a note where somebody said it, else a fact."""
    fields = found.fields
    if not isinstance(text := fields.get("data"), str):
        raise InvalidInputError("it has no text")
    owner = owner_of({name: fields.get(name) for name in LABELS})
    if scope.user is not None and owner.user not in (None, scope.user):
        raise ScopeError(f"it is a memory of user {owner.user!r}, and this is the memory of user {scope.user!r}")
    created_at = now() if fields.get("created_at") is None else parse_time(fields["created_at"])
    updated_at = created_at if fields.get("updated_at") is None else parse_time(fields["updated_at"])
    record = Record(
        id=str(found.id),
        kind=Kind.FACT if fields.get("role") is None else Kind.NOTE,
        scope=Scope(scope.tenant, owner.user or scope.user, owner.agent or scope.agent, owner.session or scope.session),
        content=text,
        metadata={name: value for name, value in fields.items() if name not in _OWN},
        payload={name: fields[name] for name in BESIDE if fields.get(name) is not None},
        created_at=created_at,
        updated_at=max(created_at, updated_at),
    )
    check_fields(record)
    return record
