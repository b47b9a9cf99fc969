"""The longer queries of the store: pages, what changed, words, and the nearest vectors."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from memorist.records.scope import Reach, Wall
from memorist.stores.base import Cursor, Entries, Order, Vector
from memorist.stores.postgres.connections import Query, Rows
from memorist.stores.postgres.rows import BEHIND, SELECTED, entry_of, queries_of
from memorist.stores.rows import name_of
from memorist.stores.sql import Sql

_ENTRIES_AT_ONCE = 4000
_ORDERS = {"newest": ("at", "DESC", "<"), "oldest": ("at", "ASC", ">"), "key": ("key", "ASC", ">")}
MOST_EXACT = 10_000
"""The most vectors that are compared one by one, in some 25 ms. If more pass the filter, the vector index is read; for
few, a scan of the index would take long to find them."""
BY_INDEX = (
    "SET LOCAL hnsw.iterative_scan = strict_order",
    "SET LOCAL hnsw.ef_search = 400",
    "SET LOCAL hnsw.max_scan_tuples = 200000",
    "SET LOCAL hnsw.scan_mem_multiplier = 8",
    "SET LOCAL enable_sort = off",  # behind a policy the planner underestimates the size of walls
)
_K1, _B = 1.2, 0.75
"""BM25's parameters, as SQLite's text index has them."""
FOUND = (
    "found AS MATERIALIZED (SELECT term, number, length,"
    " 1 + (terms @@ twice)::int + (terms @@ thrice)::int + (terms @@ often)::int AS times"
    " FROM unnest(%s::tsquery[], %s::tsquery[], %s::tsquery[], %s::tsquery[])"
    " WITH ORDINALITY AS asked (once, twice, thrice, often, term)"
    " CROSS JOIN LATERAL (SELECT number, length, terms FROM {s}.words_of_wall"
    f" WHERE {BEHIND} AND terms @@ once) AS held)"
)
"""The entries that hold each term, and how often: what words are searched in."""
SCORE = f"sum(information * times * ({_K1} + 1) / (times + {_K1} * (1 - {_B} + {_B} * found.length / {{average}})))"
"""The score of the rows of an entry in `FOUND`, by the average length of the wall's texts."""
PURGED = ("indexed", "words", "staged", "changes", "records", "quotes", "walls")
PARTS = """
SELECT part.relname, key.relname FROM pg_class AS part JOIN pg_namespace AS space ON space.oid = part.relnamespace
JOIN pg_index AS index ON index.indrelid = part.oid AND index.indisprimary
JOIN pg_class AS key ON key.oid = index.indexrelid
LEFT JOIN pg_inherits AS child ON child.inhrelid = part.oid LEFT JOIN pg_class AS whole ON whole.oid = child.inhparent
WHERE space.nspname = %s AND part.relkind = 'r' AND coalesce(whole.relname, part.relname) = ANY(%s)
AND (whole.oid IS NULL OR satisfies_hash_partition(
    whole.oid, (SELECT count(*)::int FROM pg_inherits WHERE inhparent = whole.oid),
    substring(part.relname FROM '[0-9]+$')::int, %s::text))
"""
"""The tables that hold a tenant's rows, of a partitioned table the tenant's part; and the indexes of their keys."""
ANALYZED = """
SELECT whole.relname FROM pg_class AS whole JOIN pg_namespace AS space ON space.oid = whole.relnamespace
WHERE space.nspname = %s AND whole.relname = ANY(%s) AND whole.relkind = 'p' AND whole.reltuples >= 0
"""
"""The partitioned tables of which the planner has statistics of their own, with values from all parts."""


def behind(reach: Reach) -> tuple[str, list[Any]]:
    """Return the condition that rows lie within reach, and its values."""
    if reach.users is None:
        return "tenant = %s", [reach.tenant]
    return "tenant = %s AND user_name = ANY(%s)", [reach.tenant, [user or "" for user in reach.users]]


def selecting(schema: str, reach: Reach, passing: Sql, *, order: Order, limit: int, after: Cursor | None) -> Query:
    """Return the query for a page. If users are named, each user's index is read, and the pages are merged."""
    column, direction, beyond = _ORDERS[order]
    condition, bindings = passing
    if order == "key":
        condition += " AND key IS NOT NULL"
    if after is not None:
        condition += f" AND ({column}, created_at, id, user_name) {beyond} (%s, %s, %s, %s)"
        bindings = [*bindings, *after[:3], after[3] or ""]
    ordered = ", ".join(f"{name} {direction}" for name in ("1", "2", "3", "4")) + f" LIMIT {limit}"

    def page(behind: str) -> str:
        columns = f"{column}, created_at, id, user_name, {SELECTED}"
        return f"SELECT {columns} FROM {schema}.records WHERE {behind} AND {condition} ORDER BY {ordered}"

    if reach.users is None:
        return page("tenant = %s"), [reach.tenant, *bindings]
    pages = " UNION ALL ".join(f"({page(BEHIND)})" for _ in reach.users)
    values = [value for user in reach.users for value in (reach.tenant, user or "", *bindings)]
    return (pages if len(reach.users) == 1 else f"{pages} ORDER BY {ordered}"), values


def state(schema: str, wall: Wall) -> Query:
    """Return the query for a wall's id, the count of adopted embedders, and the wall's last epoch."""
    return (
        f"SELECT (SELECT id FROM {schema}.walls WHERE {BEHIND}), "
        f" (SELECT value FROM {schema}.meta WHERE name = 'vectors'),"
        f" coalesce((SELECT epoch FROM {schema}.walls WHERE {BEHIND}), 0)",
        name_of(wall) * 2,
    )


def changed(schema: str, wall: Wall, since: int) -> tuple[Query, Query]:
    """Return the queries for the entries that changed after an epoch, and for those that are gone since."""
    name = name_of(wall)
    entries = (  # LATERAL, so that missing statistics of a new table cannot lead to a join other than by the key
        "SELECT epoch, i.terms IS NOT NULL, r.number, id, kind, agent, session, speaker, at, expires_at,"
        " superseded_at, rating, authors, i.terms, vector_send(i.vector), i.marks"
        " FROM (SELECT epoch, number, id, kind, agent, session, at, expires_at, superseded_at, rating, authors,"
        f" coalesce(payload ->> 'speaker', payload ->> 'role') AS speaker FROM {schema}.records"
        f" WHERE {BEHIND} AND epoch > %s ORDER BY epoch LIMIT {_ENTRIES_AT_ONCE}) AS r"
        f" LEFT JOIN LATERAL (SELECT terms, vector, marks FROM {schema}.indexed"
        f" WHERE {BEHIND} AND number = r.number OFFSET 0) AS i ON true ORDER BY epoch"
    )
    gone = (
        f"SELECT epoch, number FROM {schema}.changes WHERE {BEHIND} AND epoch > %s"
        " AND action IN ('forgotten', 'expired')"
    )
    return (entries, (*name, since, *name)), (gone, (*name, since))


def entries_of(rows: Sequence[Rows], *, asked: str, since: int) -> Entries:
    """Return what `state` and `changed` found in one snapshot; `asked` is the generation to which `since` belongs."""
    [[(wall_id, vectors, latest)], entries, gone] = rows
    current = f"{wall_id}.{vectors}"
    more = len(entries) == _ENTRIES_AT_ONCE
    if current != asked and since:  # purged or reindexed since the last call: the caller starts again
        return Entries(current, 0, [], [], more=True)
    reached = entries[-1][0] if more else latest
    # The record that replaced it may be of a kind that recall does not find: then its entry is removed too.
    unfindable = [row[2] for row in entries if not row[1]]
    numbers = [number for epoch, number in gone if epoch <= reached]
    return Entries(current, reached, [entry_of(row[2:]) for row in entries if row[1]], [*unfindable, *numbers], more)


def searching_words(schema: str, wall: Wall, terms: Sequence[str], limit: int) -> Query | None:
    """Return the query for the entries that hold any of the terms, with their BM25 score; None if none can."""
    asked = queries_of(wall, terms)
    if not asked:
        return None
    name = name_of(wall)
    return (
        f"WITH {FOUND.format(s=schema)},"
        " whole AS (SELECT entries AS rows, greatest(length::float8 / greatest(entries, 1), 1) AS length"
        f" FROM {schema}.walls WHERE {BEHIND}),"
        " known AS (SELECT term, ln(1 + (greatest(max(whole.rows), count(*)) - count(*) + 0.5)"
        " / (count(*) + 0.5))::float8 AS information"
        " FROM found, whole GROUP BY term)"
        f" SELECT number, {SCORE.format(average='whole.length::float8')} AS score"
        " FROM found JOIN known USING (term), whole GROUP BY number ORDER BY score DESC, number DESC LIMIT %s",
        (*map(list, zip(*asked, strict=True)), *name, *name, limit),
    )


def nearest(schema: str, wall: Wall, vector: Vector, passing: Sql, limit: int, *, by_index: bool) -> Query:
    """Return the query for the entries nearest to a vector of unit length."""
    condition, bindings = passing
    form = f"vector({len(vector)})"
    given = np.asarray(vector / (math.sqrt(float(vector @ vector)) or 1.0), np.float32)
    distance = f"near.vector::{form} <#> %s::{form}"
    return (
        f"SELECT number, -({distance}) FROM {schema}.indexed AS near"
        f" JOIN {schema}.records USING (tenant, user_name, number)"
        f" WHERE {BEHIND} AND near.vector IS NOT NULL AND {condition}"
        # Only exactly the index's expression makes PostgreSQL read the index in its order.
        f" ORDER BY {distance if by_index else f'({distance}) + 0'} LIMIT %s",
        (given, *name_of(wall), *bindings, given, limit),
    )
