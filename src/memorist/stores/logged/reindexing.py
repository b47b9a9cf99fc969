"""New vectors for every record, gathered in a table of their own until it takes the old one's place."""

from collections.abc import Sequence

from memorist.records import Record
from memorist.stores.base import Staged
from memorist.stores.logged.database import Database
from memorist.stores.logged.rows import point_row, row_id, row_of
from memorist.stores.logged.tables import Point
from memorist.stores.plain import Row

__all__ = ["Reindexing"]


class Reindexing:
    """The reindexing of one database. Hold its lock for every call."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._to_do: list[str] = []

    @property
    def _number(self) -> int:
        return int(self.database.state.get("vectors", 0)) + 1

    def _begin(self, fingerprint: str) -> None:
        """Throw away what was staged for another embedder."""
        database = self.database
        while database.state.get("staged") != fingerprint:
            self._to_do = []
            plan = database.plan()
            plan.effects.state = {"staged": fingerprint}
            if database.commit(plan):
                database.drop_points(self._number)
            else:
                database.catch_up()

    def _staged(self, ids: Sequence[str] | None = None) -> dict[str, int]:
        """Return the versions of the staged records, by the ids of their rows."""
        table = self.database.points(self._number)
        found = table.scan() if ids is None else table.get(ids)
        return {id: each["version"] for id, each in found.items()}

    def missing(self, fingerprint: str, limit: int) -> list[tuple[int, int, Record]]:
        """Return records that have no staged vector yet, as (number, version, record)."""
        self._begin(fingerprint)
        for turn in range(2):
            while self._to_do and limit > 0:
                rows = self._still_missing(self._to_do[:limit])
                if rows:
                    return [(row.number, row.record.version, row.record) for row in rows]
                self._to_do = self._to_do[limit:]
            if turn == 0:  # what is new, or has changed meanwhile
                self._to_do = list(self._all_missing())
        return []

    def _all_missing(self) -> dict[str, Row]:
        staged = self._staged()
        return {id: row for id, row in self.database.findable().items() if staged.get(id) != row.record.version}

    def _still_missing(self, ids: list[str]) -> list[Row]:
        staged = self._staged(ids)
        rows = {id: row_of(each) for id, each in self.database.records.get(ids).items()}
        return [row for id, row in rows.items() if row.terms is not None and staged.get(id) != row.record.version]

    def count_missing(self, fingerprint: str) -> int:
        """Return how many records have no staged vector of `fingerprint` yet."""
        under_way = self.database.state.get("staged") == fingerprint
        return len(self._all_missing() if under_way else self.database.findable())

    def stage(self, fingerprint: str, rows: Sequence[Staged]) -> None:
        """Keep new vectors and terms aside. A record forgotten meanwhile is passed over."""
        self._begin(fingerprint)
        if not rows:
            return
        numbers = [number for number, *_ in rows]
        found = map(row_of, self.database.records.scan(("number", "in", numbers)).values())
        there = {row.number: row for row in found}
        points = {}
        for number, version, vector, terms, _ in rows:
            if number in there:
                record = there[number].record
                text, fields = point_row(there[number])
                place = row_id(record.scope.wall, record.id)
                points[place] = Point(vector, text, {**fields, "version": version, "terms": terms})
        self.database.points(self._number).put_points(points)

    def adopt(self, fingerprint: str, dimensions: int) -> bool:
        """Put the staged vectors in force, unless a record has none."""
        self._begin(fingerprint)
        if self._all_missing():
            return False
        database, number = self.database, self._number
        table = database.points(number)
        found, rows = table.scan(), database.findable()
        table.delete([id for id in found if id not in rows])
        terms = {id: each.get("terms") or "" for id, each in found.items()}
        plan = database.plan()
        plan.effects.terms = {id: new for id, new in terms.items() if id in rows and rows[id].terms != new}
        plan.effects.state = {
            "fingerprint": fingerprint, "dimensions": dimensions, "vectors": number, "staged": None,
        }  # fmt: skip
        if not database.commit(plan):
            return False
        database.drop_points(number - 1)
        return True
