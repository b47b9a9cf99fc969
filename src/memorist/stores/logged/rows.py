"""Rows of the tables: what a record, a change and a vector look like in a back end."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from memorist.records import Change, Record
from memorist.scope import Wall
from memorist.stores.logged.tables import Fields
from memorist.stores.plain import Row
from memorist.stores.sqlite.rows import dump_record, load_record, micros, values_of
from memorist.times import to_micros

__all__ = ["change_row", "dump", "load", "point_row", "record_row", "row_id", "row_of", "token_of"]


def token_of(wall: Wall) -> str:
    """Return what stands for a wall in the rows: of a length that no name can make too long."""
    return _digest([wall.tenant, wall.user])


def row_id(wall: Wall, id: str) -> str:
    """Return the id of a record's row: the ids of records are unique behind their wall alone."""
    return _digest([wall.tenant, wall.user, id])


def _digest(names: list[str | None]) -> str:
    return hashlib.blake2b(json.dumps(names).encode(), digest_size=16).hexdigest()


def dump(record: Record) -> str:
    """Return a record as text."""
    return dump_record(values_of(record))


def load(text: str | None, wall: Wall) -> Record | None:
    """Return the record that `dump` wrote; None for none."""
    return load_record(text, wall)


def record_row(row: Row) -> dict[str, Any]:
    """Return the fields of a record's row."""
    record = row.record
    return {
        "wall": token_of(record.scope.wall), "tenant": record.scope.tenant, "user": record.scope.user,
        "id": record.id, "kind": str(record.kind), "number": row.number, "epoch": row.epoch,
        "expires_at": micros(record.expires_at), "terms": row.terms, "marks": " ".join(sorted(row.marks)),
        "record": dump(record),
    }  # fmt: skip


def row_of(fields: Mapping[str, Any]) -> Row:
    """Return the row that `record_row` described."""
    record = load(fields["record"], Wall(fields["tenant"], fields.get("user")))
    assert record is not None
    marks = frozenset((fields.get("marks") or "").split())
    return Row(record, fields["number"], fields["epoch"], fields.get("terms"), marks=marks)


def point_row(row: Row) -> tuple[str, Fields]:
    """Return text and fields of a vector's row."""
    scope = row.record.scope
    fields = {
        "wall": token_of(scope.wall), "tenant": scope.tenant, "user": scope.user, "id": row.record.id,
        "kind": str(row.record.kind), "agent": scope.agent, "session": scope.session, "version": row.record.version,
    }  # fmt: skip
    return row.record.text.replace("\0", " "), fields


def change_row(wall: Wall, row: Row, epoch: int, old: Row | None, change: Change) -> dict[str, Any]:
    """Return the fields of a change's row; `old` is what was there before it, where its text is to be kept."""
    return {
        "wall": token_of(wall), "tenant": wall.tenant, "user": wall.user, "record": row_id(wall, change.id),
        "id": change.id, "number": row.number, "epoch": epoch, "action": str(change.action),
        "at": to_micros(change.at), "source": change.source, "before": None if old is None else dump(old.record),
    }  # fmt: skip
