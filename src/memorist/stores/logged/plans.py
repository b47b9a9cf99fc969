"""What a write comes to: checked against what is stored, and described whole before anything is done."""

import base64
import json
import zlib
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from memorist.errors import InvalidInputError
from memorist.records import Change, Record
from memorist.scope import Wall
from memorist.stores.base import Put, Vector
from memorist.stores.logged.rows import change_row, point_row, record_row, row_id, token_of
from memorist.stores.logged.tables import Fields, Point
from memorist.stores.plain import Row, View, Writer

__all__ = ["Effects", "Plan"]


@dataclass
class Effects:
    """Everything that a commit does to the tables: to do it twice is the same as to do it once.

    By the ids of rows: None stands for a deletion. `wiped` are records whose changes lose their texts,
    `purged` the walls of which nothing stays, `terms` new terms of records, `state` what is said of the whole.
    """

    records: dict[str, Fields | None] = field(default_factory=dict)
    vectors: dict[str, tuple[str, str, Fields] | None] = field(default_factory=dict)
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    wiped: list[str] = field(default_factory=list)
    purged: list[str] = field(default_factory=list)
    terms: dict[str, str] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any(asdict(self).values())

    def points(self) -> dict[str, Point]:
        """Return the points to be stored."""
        return {id: Point(_vector_of(row[0]), row[1], row[2]) for id, row in self.vectors.items() if row is not None}

    def dump(self) -> str:
        """Return them as text: compressed, for some back ends index what they are given."""
        return base64.b85encode(zlib.compress(json.dumps(asdict(self)).encode(), 1)).decode()

    @classmethod
    def load(cls, text: str) -> "Effects":
        """Return what `dump` wrote."""
        return cls(**json.loads(zlib.decompress(base64.b85decode(text))))


def _text_of(vector: Vector) -> str:
    """Return a vector as text, to the bit."""
    return base64.b85encode(np.asarray(vector, np.float32).tobytes()).decode()


def _vector_of(text: str) -> Vector:
    return np.frombuffer(base64.b85decode(text), np.float32)


class Plan(Writer):
    """Some writes, each seeing what the ones before it do; the views stay as they are.

    Args:
        epoch: the last one given so far; every change takes the next.
        dimensions: of the vectors stored; None before the first.
    """

    def __init__(self, epoch: int, dimensions: int | None) -> None:
        super().__init__(epoch)
        self.effects = Effects()
        self.rows: dict[Wall, dict[str, Row | None]] = {}
        self.gone: dict[Wall, list[tuple[int, int]]] = {}
        self._dimensions = dimensions

    def purge(self, view: View) -> None:
        """Take everything behind a wall out, its history and its name."""
        self.effects.purged.append(token_of(view.wall))

    def row(self, view: View, id: str) -> Row | None:
        planned = self.rows.get(view.wall, {})
        return planned[id] if id in planned else view.rows.get(id)

    def holder(self, view: View, record: Record) -> Row | None:
        planned = self.rows.get(view.wall, {})
        stored = view.holder(record)
        if stored is not None and stored.record.id not in planned:
            return stored
        if record.key is None or not record.current:
            return None
        for row in planned.values():
            if row is not None and row.record.id != record.id:
                other = row.record
                if (other.kind, other.key, other.current) == (record.kind, record.key, True):
                    return row
        return None

    def stored(self, view: View, row: Row, write: Put) -> None:
        place = row_id(view.wall, row.record.id)
        row = replace(row, vector=None)
        self.rows.setdefault(view.wall, {})[row.record.id] = row
        self.effects.records[place] = record_row(row)
        if write.keep_index:
            return
        if write.vector is None or write.terms is None:
            self.effects.vectors[place] = None
            return
        if self._dimensions is not None and write.vector.shape != (self._dimensions,):
            raise InvalidInputError(f"a vector here has {self._dimensions} dimensions, not {write.vector.shape}")
        self.effects.vectors[place] = (_text_of(write.vector), *point_row(row))

    def removed(self, view: View, row: Row) -> None:
        place = row_id(view.wall, row.record.id)
        self.rows.setdefault(view.wall, {})[row.record.id] = None
        self.gone.setdefault(view.wall, []).append((row.number, self.epoch))
        self.effects.records[place] = self.effects.vectors[place] = None
        self.effects.wiped.append(place)
        for change in self.effects.changes.values():  # and what this same batch was to keep of it
            if change["record"] == place:
                change["before"] = None

    def noted(self, view: View, row: Row, old: Row | None, change: Change) -> None:
        self.effects.changes[str(self.epoch)] = change_row(view.wall, row, self.epoch, old, change)
