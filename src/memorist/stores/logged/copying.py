"""A backup: everything as one SQLite file, which `Memory.open` opens like any other."""

import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from tempfile import mkdtemp

from memorist.errors import InvalidInputError
from memorist.records import Action, Kind, Record
from memorist.scope import Scope, Wall
from memorist.stores.base import Put, Remove, Vector, Write
from memorist.stores.logged.database import Database
from memorist.stores.logged.rows import load
from memorist.stores.logged.tables import Fields
from memorist.stores.sqlite import SQLiteStore
from memorist.times import from_micros, now

__all__ = ["copy_to"]

_Run = Callable[[Callable[[Database], "_Whole"]], Awaitable["_Whole"]]
_WRITES_AT_ONCE = 500
_REMOVALS = (Action.FORGOTTEN, Action.EXPIRED)


class _Whole:
    """Everything that a database holds at one moment."""

    def __init__(self, database: Database) -> None:
        self.state = dict(database.state)
        self.rows = database.every_row()
        self.vectors = database.vectors.vectors(list(self.rows))
        self.changes = sorted(database.changes.scan().values(), key=lambda each: each["epoch"])


async def copy_to(target: Path, run: _Run) -> None:
    """Copy everything that `run` shows to a new file, which appears whole or not at all.

    Raises:
        InvalidInputError: the file exists.
    """
    if target.exists():
        raise InvalidInputError(f"{target} exists; choose another path for the backup")
    whole = await run(_Whole)
    folder = Path(mkdtemp(prefix="memorist-backup-"))
    try:
        copy = SQLiteStore(folder / "copy.db")
        await copy.open()
        try:
            if whole.state.get("fingerprint") is not None:
                await copy.bind(whole.state["fingerprint"], whole.state["dimensions"])
            for wall, writes in _batches(whole):
                await copy.write(wall, writes)
            await copy.backup(target)
        finally:
            await copy.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _batches(whole: _Whole) -> Iterator[tuple[Wall, Sequence[Write]]]:
    """Yield the writes that give the same records with the same histories."""
    waiting: dict[Wall, list[Write]] = {}
    for wall, write in _writes(whole):
        batch = waiting.setdefault(wall, [])
        batch.append(write)
        if len(batch) == _WRITES_AT_ONCE:
            yield wall, waiting.pop(wall)
    yield from waiting.items()


def _writes(whole: _Whole) -> Iterator[tuple[Wall, Write]]:
    outcomes = _outcomes(whole)
    versions: dict[str, int] = {}
    for change in whole.changes:
        place, action = change["record"], Action(change["action"])
        wall, at = Wall(change["tenant"], change.get("user")), from_micros(change["at"])
        if action in _REMOVALS:
            versions.pop(place, None)
            yield wall, Remove(change["id"], action, at, change.get("source"))
            continue
        version = versions.get(place, 0)
        record = outcomes.get(change["epoch"]) or _without_text(wall, change, version + 1)
        versions[place] = record.version
        row = whole.rows.get(place)
        last = row is not None and row.epoch == change["epoch"]
        vector: Vector | None = whole.vectors.get(place) if last else None
        terms, marks = (row.terms, row.marks) if last and row is not None else (None, frozenset[str]())
        yield wall, Put(record, action, version, vector, terms, source=change.get("source"), marks=marks)
    moment = now()
    for row in whole.rows.values():  # what is over and not yet taken out must not come back with the clock
        if not row.alive(moment):
            yield row.record.scope.wall, Remove(row.record.id, Action.EXPIRED, moment)


def _outcomes(whole: _Whole) -> dict[int, Record]:
    """Return what came of each change, by its epoch, where that is still known."""
    latest: dict[str, Fields] = {}
    outcomes: dict[int, Record] = {}
    for change in whole.changes:
        earlier = latest.get(change["record"])
        record = load(change.get("before"), Wall(change["tenant"], change.get("user")))
        if earlier is not None and record is not None:
            outcomes[earlier["epoch"]] = record
        latest[change["record"]] = change
    for row in whole.rows.values():
        outcomes[row.epoch] = row.record
    return outcomes


def _without_text(wall: Wall, change: Fields, version: int) -> Record:
    """Return a record that stands for one whose text is gone; its removal follows."""
    at = from_micros(change["at"])
    return Record(
        id=change["id"], kind=Kind.TOPIC, scope=Scope(wall.tenant, wall.user), content="-", created_at=at,
        updated_at=at, version=version,
    )  # fmt: skip
