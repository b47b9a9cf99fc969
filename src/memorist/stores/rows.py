"""Rows of the table of records, as SQLite and PostgreSQL both hold it, to records and back."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from memorist.records.origins import Author, Origin
from memorist.records.record import Kind, Record, read_later
from memorist.records.scope import Scope, Wall
from memorist.records.times import from_micros, to_micros
from memorist.records.zones import offset_of, with_offset
from memorist.stores.rules import Stored
from memorist.system.offload import LARGE

_KINDS = {str(each): each for each in Kind}
COLUMNS = (
    "id, kind, content, cue, key, agent, session, metadata, payload, source, verified, rating,"
    " created_at, updated_at, happened_at, expires_at, superseded_by, superseded_at, version,"
    " authors, door, derived_from, happened_offset"
)
NAMES = tuple(COLUMNS.split(", "))


def name_of(wall: Wall) -> tuple[str, str]:
    """Return the tenant and the user as tables have them: the user "" for the shared records."""
    return wall.tenant, wall.user or ""


def _micros(moment: datetime | None) -> int | None:
    """Return microseconds since 1970, or None for no time."""
    return None if moment is None else to_micros(moment)


def values_of(record: Record) -> tuple[Any, ...]:
    """Return the values of `COLUMNS`."""
    sources = [*record.origin.derived_from, *[None] * record.origin.lost]  # a lost source is null in the list
    return (
        record.id, str(record.kind), record.content, record.cue, record.key,
        record.scope.agent, record.scope.session, _json(record.metadata), _json(record.payload),
        record.source, int(record.verified), record.rating,
        to_micros(record.created_at), to_micros(record.updated_at), _micros(record.happened_at),
        _micros(record.expires_at), record.superseded_by, _micros(record.superseded_at), record.version,
        record.origin.authors.value, record.origin.door, _json(sources) if sources else None,
        None if record.happened_at is None else offset_of(record.happened_at),
    )  # fmt: skip


def record_of(row: Sequence[Any], wall: Wall) -> Record:
    """Return the record with the `COLUMNS` in `row`, which may have further values behind them."""
    id, kind, content, _, key, agent, session = row[:7]
    scope = _scope(wall.tenant, wall.user, agent, session)
    # Large JSON is read here, on the store's thread: whoever asks for it later may be on the event loop's.
    found = {name: _mapping(row[place]) for name, place in _JSON.items() if len(row[place]) >= LARGE}
    return read_later(_later, row, id=id, kind=_KINDS[kind], scope=scope, content=content, key=key, **found)


_JSON = {"metadata": NAMES.index("metadata"), "payload": NAMES.index("payload")}


def _later(name: str, row: Sequence[Any]) -> dict[str, Any]:
    """Return the JSON of one field of a record, or all other fields that `record_of` has not read."""
    if (place := _JSON.get(name)) is not None:
        return {name: _mapping(row[place])}
    (
        _, kind, _, cue, _, _, _, _, payload, source, verified, rating,
        created_at, updated_at, happened_at, expires_at, superseded_by, superseded_at, version, *rest,
    ) = row[: len(NAMES)]  # fmt: skip
    origin, [offset] = rest[:3], rest[3:] or [None]  # a row of an older history has less
    return {
        "cue": cue,
        "source": source,
        "verified": bool(verified),
        "rating": rating,
        "created_at": from_micros(created_at),
        "updated_at": from_micros(updated_at),
        "happened_at": _moment(happened_at, offset),
        "expires_at": _moment(expires_at),
        "superseded_by": superseded_by,
        "superseded_at": _moment(superseded_at),
        "version": version,
        "origin": _origin(*origin) if origin else Origin.assumed(kind, _mapping(payload), source),
    }


def parts_of(rows: Sequence[Sequence[Any]], fields: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return what rows that begin with the kind and these fields, of `VALUES`, stand for.

    The JSON of all rows is read at once.
    """
    if not rows:
        return []
    kinds, *columns = zip(*rows, strict=True)
    read = [_READ.get(name, list)(column) for name, column in zip(fields, columns, strict=False)]
    return list(zip(map(_KINDS.__getitem__, kinds), *read, strict=True))


_READ: Mapping[str, Callable[[Sequence[Any]], Iterable[Any]]] = {
    "metadata": lambda texts: json.loads(f"[{','.join(texts)}]"),
    "payload": lambda texts: json.loads(f"[{','.join(texts)}]"),
    "at": lambda moments: map(from_micros, moments),
}
_STORED = tuple(map(NAMES.index, Stored._fields[1:]))


def stored_of(number: int, row: Sequence[Any]) -> Stored:
    """Return the fields that the rules of a write need, of the record with the `COLUMNS` in `row`."""
    return Stored(number, *(row[place] for place in _STORED))


def dump_record(row: Sequence[Any]) -> str:
    """Return a row's values as text, for the history."""
    return _json(list(row))


@lru_cache(maxsize=1024)
def _origin(authors: int, door: str | None, derived_from: str | None) -> Origin:
    sources = json.loads(derived_from or "[]")
    kept = tuple(each for each in sources if each is not None)
    return Origin(authors=Author(authors), door=door, derived_from=kept, lost=len(sources) - len(kept))


_scope = lru_cache(maxsize=1024)(Scope)  # names are checked each time a scope is made


def _mapping(text: str) -> dict[str, Any]:
    return {} if text == "{}" else json.loads(text)


def _moment(value: int | None, offset: int | None = None) -> datetime | None:
    if value is None or offset is None:
        return None if value is None else from_micros(value)
    return with_offset(from_micros(value), offset)


# json.dumps would make an encoder each time
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _json(value: Any) -> str:
    return "{}" if value == {} else _encode(value)
