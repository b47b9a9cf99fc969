"""The tables of one store, and what every call of this process on them shares."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from memorist.scope import Wall
from memorist.stores.base import Vector
from memorist.stores.logged.log import Commit, Log
from memorist.stores.logged.plans import Effects, Plan
from memorist.stores.logged.rows import row_id, row_of, token_of
from memorist.stores.logged.tables import Backend, Condition, Table, chunks
from memorist.stores.plain import Row, View
from memorist.times import now

__all__ = ["Database"]

_EVERY_WALL = "*"
_EMPTIED = "-"
"""Before a wall that was purged."""
_STATE = "state"
_MOST_ROWS = 300_000
"""Records that views hold together; beyond that the ones asked least lately are dropped."""
_WIPED_AT_ONCE = 200


class Database:
    """One store's tables, for every store of this process on them. Hold `lock` for every call.

    Args:
        backend: where the tables are.
        patience: how long another process may take for a write before it is taken for dead, in seconds.
    """

    def __init__(self, backend: Backend, patience: float) -> None:
        self.backend = backend
        self.lock = threading.RLock()
        self.users = 0
        self.state: dict[str, Any] = {}
        self._patience = 0.0 if backend.alone else patience
        self._views: OrderedDict[Wall, View] = OrderedDict()
        self._stale: set[Wall] = set()

    # --- opening and closing ---------------------------------------------------------------------------

    def open(self) -> None:
        """Connect, make what is missing, and finish what a killed process began."""
        backend = self.backend
        try:
            with backend.translated():
                backend.connect()
                self.records, self.changes = backend.table("records"), backend.table("changes")
                self._rows_of_log = backend.table("log")
                self._log = Log(self._rows_of_log, self._carry_out, self._patience)
                self._read_state()
                self._log.begin()
                if backend.alone:  # pieces of commits that never came to be
                    self._rows_of_log.delete_where(("piece", "=", 1))
                self._read_state()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the connection."""
        self._views.clear()
        with suppress(Exception):  # what was acknowledged is stored; a farewell that fails changes nothing
            self.backend.close()

    def points(self, number: int) -> Table:
        """Return the table with the vectors of this number."""
        return self.backend.points(f"vectors-{number}")

    def drop_points(self, number: int) -> None:
        """Delete the table with the vectors of this number, if there is one."""
        self.backend.drop(f"vectors-{number}")

    # --- following and committing ----------------------------------------------------------------------

    def catch_up(self) -> None:
        """Take in what other processes committed; where this one is alone there is nothing."""
        if self.backend.alone and not self._log.behind:
            return
        news = self._log.news()
        if news is None:
            self._views.clear()
            self._read_state()
            return
        if news:
            self._read_state()
        for commit in news:
            self._note(commit)

    def _note(self, commit: Commit) -> None:
        if _EVERY_WALL in commit.walls:
            self._views.clear()
        for wall in list(self._views):
            if f"{_EMPTIED}{token_of(wall)}" in commit.walls:
                del self._views[wall]
            elif token_of(wall) in commit.walls:
                self._stale.add(wall)

    @property
    def epoch(self) -> int:
        """The last epoch given."""
        return self._log.epoch

    def plan(self) -> Plan:
        """Return a plan that begins with what is stored now."""
        return Plan(self.epoch, self.state.get("dimensions"))

    def commit(self, plan: Plan) -> bool:
        """Carry out a plan whole; False, and nothing of it, where another process came between."""
        effects = plan.effects
        walls = {token_of(wall) for wall in plan.rows} | {f"{_EMPTIED}{token}" for token in effects.purged}
        if effects.terms or "vectors" in effects.state:
            walls = {_EVERY_WALL}
        try:
            if not self._log.append(effects, plan.epoch, frozenset(walls)):
                return False
        except BaseException:
            self._views.clear()  # what is stored by now is to be read, not guessed
            raise
        if self._log.behind:
            return True
        self._note(Commit(self._log.turn, "", plan.epoch, frozenset(walls), 0, None))
        for wall, view in self._views.items():
            for number, epoch in plan.gone.get(wall, ()):
                view.drop(number, epoch)
            for row in plan.rows.get(wall, {}).values():
                if row is not None:
                    view.put(row)
        self._stale.difference_update(plan.rows)
        return True

    def _carry_out(self, effects: Effects) -> None:
        """Do what a commit says; twice is the same as once."""
        if effects.state:
            self._rows_of_log.put({_STATE: {**self._stored_state(), **effects.state, "state": 1}})
            self._read_state()
        tables = (self.records, self.vectors, self.changes)
        for token in effects.purged:
            for table in tables:
                table.delete_where(("wall", "=", token))
        self.records.delete([id for id, fields in effects.records.items() if fields is None])
        self.vectors.delete([id for id, point in effects.vectors.items() if point is None])
        self.vectors.put_points(effects.points())
        self.records.put({id: fields for id, fields in effects.records.items() if fields is not None})
        for part in chunks(len(effects.wiped), _WIPED_AT_ONCE):
            texts = self.changes.scan(("record", "in", effects.wiped[part]))
            self.changes.update({id: {"before": None} for id in texts})
        self.changes.put(effects.changes)
        self.records.update({id: {"terms": terms} for id, terms in effects.terms.items()})

    def _stored_state(self) -> dict[str, Any]:
        return dict(self._rows_of_log.get([_STATE]).get(_STATE, {}))

    def _read_state(self) -> None:
        self.state = self._stored_state()
        self.vectors = self.points(self.state.get("vectors") or 0)

    # --- reading ---------------------------------------------------------------------------------------

    def view(self, wall: Wall) -> View:
        """Return what is behind a wall now."""
        view = self._views.get(wall)
        if view is None:
            view = self._views[wall] = View(
                wall, map(row_of, self.records.scan(("wall", "=", token_of(wall))).values())
            )
        elif wall in self._stale:
            self._refresh(view)
        self._stale.discard(wall)
        self._views.move_to_end(wall)
        self._bound()
        return view

    def _refresh(self, view: View) -> None:
        since: tuple[Condition, ...] = (("wall", "=", token_of(view.wall)), ("epoch", ">", view.epoch))
        gone = ("forgotten", "expired")
        for change in self.changes.scan(*since).values():
            if change["action"] in gone:
                view.drop(change["number"], change["epoch"])
        for fields in self.records.scan(*since).values():
            view.put(row_of(fields))

    def _bound(self) -> None:
        total = sum(len(view.rows) for view in self._views.values())
        while total > _MOST_ROWS and len(self._views) > 1:
            _, dropped = self._views.popitem(last=False)
            total -= len(dropped.rows)

    def views(self, tenant: str | None = None) -> list[View]:
        """Return what is behind every wall, or every wall of a tenant, read anew."""
        rows: dict[Wall, list[Row]] = {}
        for fields in (self.records.scan() if tenant is None else self.records.scan(("tenant", "=", tenant))).values():
            row = row_of(fields)
            rows.setdefault(row.record.scope.wall, []).append(row)
        return [View(wall, behind) for wall, behind in rows.items()]

    def expired(self, moment: int) -> list[Row]:
        """Return the rows whose time is over at `moment`, in microseconds since 1970."""
        return [row_of(fields) for fields in self.records.scan(("expires_at", "<=", moment)).values()]

    def vectors_of(self, rows: Sequence[Row]) -> dict[int, Vector]:
        """Return the vectors of rows, by their numbers."""
        places = {row_id(row.record.scope.wall, row.record.id): row.number for row in rows}
        return {places[id]: vector for id, vector in self.vectors.vectors(list(places)).items()}

    def every_row(self) -> dict[str, Row]:
        """Return all rows, by their ids."""
        return {id: row_of(fields) for id, fields in self.records.scan().items()}

    def findable(self) -> dict[str, Row]:
        """Return the rows that recall may find, by their ids."""
        moment = now()
        return {id: row for id, row in self.every_row().items() if row.terms is not None and row.alive(moment)}
