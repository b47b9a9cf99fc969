"""Reads of records: pages and counts within reach, and rows of one wall by their ids or numbers."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import Any

import apsw

from memorist.records.filters import Filter
from memorist.records.record import Kind, Order, Record
from memorist.records.scope import Reach, Wall
from memorist.records.times import to_micros
from memorist.stores.base import Cursor
from memorist.stores.rows import COLUMNS, name_of, parts_of, record_of
from memorist.stores.sql import Sql, alive
from memorist.stores.sqlite.conditions import sql_of
from memorist.stores.sqlite.rows import query_all
from memorist.stores.sqlite.writes import EXPIRING, find_wall

ALIVE = alive("?")
_VARIABLES = 30_000
"""The most parameters in one statement; SQLite allows 32,766."""
_MOST_WALKED = 100
"""The most walls for which each wall's index is read and the results merged; of more, sorting all records is
faster."""
_ORDERS: dict[str, tuple[str, str]] = {
    "newest": ("at", "DESC"),
    "oldest": ("at", "ASC"),
    "key": ("key", "ASC"),
}


def page(
    connection: apsw.Connection, reach: Reach, passing: Sql, order: Order, limit: int, after: Cursor | None
) -> list[Record]:
    """Return the first records that pass, after a cursor if one is given."""
    walls = _walls(connection, reach)
    rows = _ordered(connection, reach, walls, passing, COLUMNS, order, limit, after)
    return [record_of(row, walls[row[-1]]) for row in rows]


def values(
    connection: apsw.Connection, reach: Reach, passing: Sql, fields: Sequence[str], order: Order, limit: int
) -> list[tuple[Any, ...]]:
    """Return the kind and some fields of the first records that pass."""
    columns = ", ".join(["kind", *fields])
    rows = _ordered(connection, reach, _walls(connection, reach), passing, columns, order, limit, None)
    return parts_of(list(rows), fields)


def _ordered(
    connection: apsw.Connection,
    reach: Reach,
    walls: Mapping[int, Wall],
    passing: Sql,
    columns: str,
    order: Order,
    limit: int,
    after: Cursor | None,
) -> Iterable[tuple[Any, ...]]:
    """Return columns of the first rows that pass, in order, and behind them what the order goes by."""
    column, direction = _ORDERS[order]
    condition, bindings = passing
    cursor = tuple[Any, ...]()
    if order == "key":
        condition += " AND key IS NOT NULL"
    if after is not None:
        beyond = "<" if direction == "DESC" else ">"
        condition += f" AND ({column}, created_at, id, wall) {beyond} (?, ?, ?, ?)"
        cursor = (*after[:3], find_wall(connection, Wall(reach.tenant, after[3])) or 0)
    query = (
        f"SELECT {columns}, {column}, created_at, id, wall FROM records WHERE {{}} AND {condition} ORDER BY"
        f" {column} {direction}, created_at {direction}, id {direction}, wall {direction} LIMIT {limit}"
    )
    pages = [
        connection.execute(query.format(behind), (*values, *bindings, *cursor))
        for behind, values in _behind(walls, reach)
    ]
    rows: Iterable[tuple[Any, ...]] = pages[0] if len(pages) == 1 else _merged(pages, direction)
    return islice(rows, limit)


def _merged(pages: Iterable[Iterable[tuple[Any, ...]]], direction: str) -> Iterable[tuple[Any, ...]]:
    return merge(*pages, key=lambda row: row[-4:], reverse=direction == "DESC")


def count(connection: apsw.Connection, reach: Reach, filter: Filter, now: datetime) -> int:
    """Return how many records pass at a time."""
    walls = _behind(_walls(connection, reach), reach)
    if filter == Filter(kinds=filter.kinds, superseded=filter.superseded, expired=filter.expired):
        return sum(_counted(connection, behind, values, filter, now) for behind, values in walls)
    condition, bindings = sql_of(filter, now)
    return sum(
        connection.execute(f"SELECT count(*) FROM records WHERE {behind} AND {condition}", (*values, *bindings)).get
        for behind, values in walls
    )


def _counted(connection: apsw.Connection, behind: str, values: tuple[Any, ...], filter: Filter, now: datetime) -> int:
    """Return how many records are of some kinds: those that are counted, without those that have expired since."""
    kinds = [str(kind) for kind in Kind if filter.kinds is None or kind in filter.kinds]
    if not kinds:
        return 0
    named = f"kind IN ({','.join('?' * len(kinds))})"
    counts = f"SELECT ifnull(sum(records), 0) FROM counts WHERE {behind} AND {named}"
    expired = f"SELECT count(*) FROM {EXPIRING} WHERE {behind} AND {named} AND expires_at <= ?"
    if not filter.superseded:
        counts += " AND current = 1"
        expired += " AND superseded_at IS NULL"
    held: int = connection.execute(counts, (*values, *kinds)).get
    gone: int = connection.execute(expired, (*values, *kinds, to_micros(filter.expired_by(now)))).get
    return held - gone


def users(connection: apsw.Connection, tenant: str, now: datetime) -> dict[str | None, int]:
    """Return the number of memories of each user of a tenant, without state."""
    told = f"kind <> '{Kind.STATE}'"
    held = query_all(
        connection,
        f"SELECT user, sum(records), ifnull(sum(records) FILTER (WHERE current = 1 AND {told}), 0)"
        " FROM walls JOIN counts ON wall = walls.id WHERE tenant = ? GROUP BY user ORDER BY user",
        (tenant,),
    )
    expired = query_all(
        connection,
        f"SELECT user, count(*), count(*) FILTER (WHERE superseded_at IS NULL AND {told})"
        f" FROM {EXPIRING} JOIN walls ON walls.id = wall WHERE expires_at <= ? AND tenant = ? GROUP BY user",
        (to_micros(now), tenant),
    )
    gone = {user: (of_all, of_told) for user, of_all, of_told in expired}
    found: dict[str | None, int] = {}
    for user, of_all, of_told in held:
        all_gone, told_gone = gone.get(user, (0, 0))
        if of_all > all_gone:
            found[user or None] = of_told - told_gone
    return found


def _walls(connection: apsw.Connection, reach: Reach) -> dict[int, Wall]:
    """Return the walls within reach that hold anything, by their id in the file."""
    query, names = "SELECT id, user FROM walls WHERE tenant = ?", [reach.tenant]
    if reach.users is not None:
        query += f" AND user IN ({', '.join('?' * len(reach.users))})"
        names += (user or "" for user in reach.users)
    return {id: Wall(reach.tenant, user or None) for id, user in connection.execute(query, names)}


def _behind(walls: Mapping[int, Wall], reach: Reach) -> list[tuple[str, tuple[Any, ...]]]:
    """Return conditions on `wall`: one for each wall, so that each walks its index; for very many one for all."""
    if reach.users is None and len(walls) > _MOST_WALKED:
        return [("wall IN (SELECT id FROM walls WHERE tenant = ?)", (reach.tenant,))]
    return [("wall = ?", (id,)) for id in walls]


def rows_in(
    connection: apsw.Connection,
    wall: Wall,
    column: str,
    columns: str,
    values: Sequence[Any],
    alive_at: int | None = None,
    *,
    table: str = "records",
) -> list[tuple[Any, ...]]:
    """Return `columns` of a wall's rows with `column` in `values`; of records, those that live at a time."""
    behind = "wall = (SELECT id FROM walls WHERE tenant = ? AND user = ?)"
    condition, bindings = ("", ()) if alive_at is None else (f" AND {ALIVE}", (alive_at,))
    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(values), _VARIABLES):
        some = values[start : start + _VARIABLES]
        rows += connection.execute(
            f"SELECT {columns} FROM {table} WHERE {behind} AND {column} IN ({','.join('?' * len(some))}){condition}",
            (*name_of(wall), *some, *bindings),
        )
    return rows
