"""The audit log in the file: one row for each entry, appended in the transaction of the change."""

import apsw

from memorist.audit.log import Act, AuditEntry, Counts, Mode, hash_of, text_of
from memorist.records.scope import Wall
from memorist.records.times import Clock
from memorist.stores.audit import AuditLog, entry_of
from memorist.stores.sqlite.rows import Run, query_all, query_one
from memorist.stores.sqlite.writes import find_wall

_MODE = "SELECT ifnull((SELECT value FROM meta WHERE name = 'audit'), 'off')"
_LAST = "SELECT number, entry, hash FROM audit ORDER BY number DESC LIMIT 1"


def append(
    connection: apsw.Connection, act: Act | None, clock: Clock, tenant: str, wall_id: int | None, counts: Counts | None
) -> None:
    """Append an entry to the chain, unless nothing is logged, or nothing happened (`counts` is empty, not None)."""
    if (counts is not None and not any(counts.values())) or connection.execute(_MODE).get == "off":
        return
    number, _, before = query_one(connection, _LAST, ()) or (0, "", "")
    text = text_of(act, clock(), tenant, wall_id, counts or Counts())
    row = (number + 1, text, hash_of(before, number + 1, text))
    connection.execute("INSERT INTO audit (number, entry, hash) VALUES (?, ?, ?)", row)


class SQLiteAudit(AuditLog):
    """The log of one file.

    Args:
        read: runs a read of the store.
        write: runs a write of the store, in a transaction.
        clock: returns the present.
    """

    def __init__(self, read: Run, write: Run, clock: Clock) -> None:
        self._read, self._write, self._clock = read, write, clock

    async def mode(self) -> Mode:
        return await self._read(lambda connection: connection.execute(_MODE).get)

    async def switch(self, mode: Mode, act: Act) -> None:
        def work(connection: apsw.Connection) -> None:
            if connection.execute(_MODE).get == mode:
                return
            append(connection, act, self._clock, "", None, None)  # the log is switched off
            noted = connection.execute(_MODE).get != "off"
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('audit', ?)", (mode,))
            if not noted:
                append(connection, act, self._clock, "", None, None)

        await self._write(work)

    async def note(self, wall: Wall, counts: Counts, act: Act) -> None:
        def work(connection: apsw.Connection) -> None:
            if connection.execute(_MODE).get == "reads":
                append(connection, act, self._clock, wall.tenant, find_wall(connection, wall), counts or None)

        await self._write(work)

    async def entries(self, after: int | None, limit: int, wall: Wall | None = None) -> list[AuditEntry]:
        query = "SELECT number, entry, hash FROM audit WHERE (?1 IS NULL OR number > ?1){} ORDER BY number LIMIT ?2"

        def work(connection: apsw.Connection) -> list[AuditEntry]:
            if wall is None:
                return [entry_of(row) for row in query_all(connection, query.format(""), (after, limit))]
            ours = query.format(" AND entry ->> '$.wall' = ?3")
            return [entry_of(row) for row in query_all(connection, ours, (after, limit, find_wall(connection, wall)))]

        return await self._read(work)

    async def last(self) -> AuditEntry | None:
        def work(connection: apsw.Connection) -> AuditEntry | None:
            row = query_one(connection, _LAST, ())
            return None if row is None else entry_of(row)

        return await self._read(work)
