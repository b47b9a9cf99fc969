"""Queries of recall about a wall that is too large to be read whole: its outline, and candidates."""

import heapq
import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import apsw
import numpy as np

from memorist.records.record import Kind
from memorist.stores.base import Candidates, Outline, Vector, Wanted
from memorist.stores.sql import BESIDE, FIRST_LINES, MOST_SPEAKERS, Sql
from memorist.stores.sqlite.entries import SPEAKER, entries_where
from memorist.stores.sqlite.rows import query_all
from memorist.stores.sqlite.writes import token

_AT_ONCE = 1000
"""Vectors compared at once."""
_TALK = f"kind = '{Kind.MESSAGE}' AND session IS NOT NULL"


def has_more(connection: apsw.Connection, wall_id: int | None, count: int) -> bool:
    """Return whether there are more records behind a wall; read from an index."""
    query = "SELECT count(*) FROM (SELECT 1 FROM records INDEXED BY records_by_epoch WHERE wall = ? LIMIT ?)"
    return bool(connection.execute(query, (wall_id, count + 1)).get > count)


def outline_of(connection: apsw.Connection, wall_id: int | None, generation: str) -> Outline:
    """Return the outline of a wall; this reads all of it."""
    words = "length(terms) - length(replace(terms, ' ', '')) + (terms <> '')"
    [(rows, length)] = query_all(
        connection, f"SELECT count(*), ifnull(avg({words}), 0.0) FROM indexed WHERE wall = ?", (wall_id,)
    )
    speakers = query_all(
        connection,
        f"SELECT DISTINCT {SPEAKER} AS speaker FROM records WHERE wall = ? AND speaker IS NOT NULL LIMIT ?",
        (wall_id, MOST_SPEAKERS),
    )
    years = query_all(
        connection,
        "SELECT DISTINCT CAST(strftime('%Y', at / 1000000, 'unixepoch') AS INTEGER)"
        " FROM records WHERE wall = ? ORDER BY 1",
        (wall_id,),
    )
    return Outline(generation, rows, length, [str(name) for (name,) in speakers], [year for (year,) in years])


def search_words(
    connection: apsw.Connection, wall_id: int | None, terms: Sequence[str], limit: int, passing: Sql | None = None
) -> list[tuple[int, float]]:
    """Return the entries that hold any of the terms, and pass if asked, with their BM25 score, best first."""
    if wall_id is None or not terms:
        return []
    chosen, bindings = "", list[Any]()
    if passing is not None:
        condition, bindings = passing
        chosen = f" AND EXISTS (SELECT 1 FROM records WHERE wall = ? AND number = words.rowid AND {condition})"
        bindings = [wall_id, *bindings]
    rows = connection.execute(
        f"SELECT rowid, bm25(words, 0, 1) AS score FROM words WHERE words MATCH ?{chosen} ORDER BY score LIMIT ?",
        (_holding(wall_id, dict.fromkeys(terms)), *bindings, limit),
    )
    return [(number, -score) for number, score in rows]


def _holding(wall_id: int | None, terms: Iterable[str]) -> str:
    """Return the text query for the entries behind a wall that hold any of the terms."""
    quoted = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
    return f"wall : {token(wall_id)} AND terms : ({quoted})"


def candidates_of(connection: apsw.Connection, wall_id: int | None, wanted: Wanted, passing: Sql) -> Candidates:
    """Return the candidates of a wall; `passing` is the wanted filter."""
    near, terms, limit = wanted.near, wanted.terms, wanted.limit
    if near is None:
        near = [] if wanted.vector is None else _nearest(connection, wall_id, wanted.vector, passing, limit)
    best = [number for number, _ in search_words(connection, wall_id, terms, limit, passing)]
    count = "SELECT count(*) FROM words WHERE words MATCH ?"
    holders = {term: connection.execute(count, (_holding(wall_id, [term]),)).get for term in dict.fromkeys(terms)}
    chosen, read = _with_neighbours(connection, wall_id, {*near, *best}, passing)
    numbered = "r.number IN (SELECT value FROM json_each(?))"
    entries = entries_where(connection, wall_id, numbered, json.dumps(list(read)))
    sessions = {each.session for each in entries if each.kind is Kind.MESSAGE and each.session is not None}
    return Candidates(
        entries=entries,
        chosen=sorted(chosen),
        holders={term: count for term, count in holders.items() if count},
        dialogues=[session for session in sorted(sessions) if _is_dialogue(connection, wall_id, session)],
    )


def _nearest(connection: apsw.Connection, wall_id: int | None, vector: Vector, passing: Sql, limit: int) -> list[int]:
    """Return the entries nearest to a vector that pass, by comparing each."""
    condition, bindings = passing
    cursor = connection.execute(
        "SELECT i.number, vector FROM records AS r JOIN indexed AS i ON i.wall = r.wall AND i.number = r.number"
        f" WHERE r.wall = ? AND vector IS NOT NULL AND {condition}",
        (wall_id, *bindings),
    )
    best: list[tuple[float, int]] = []
    while rows := list(islice(cursor, _AT_ONCE)):
        cosines = np.stack([np.frombuffer(blob, np.float32) for _, blob in rows]) @ vector
        best = heapq.nlargest(limit, [*best, *zip(cosines.tolist(), (number for number, _ in rows), strict=True)])
    return [number for _, number in best]


def _with_neighbours(
    connection: apsw.Connection, wall_id: int | None, numbers: set[int], passing: Sql
) -> tuple[set[int], set[int]]:
    """Return the candidates: those of the numbers that pass, and messages beside them; and what to read for them."""
    condition, bindings = passing
    chosen: set[int] = set()
    read: set[int] = set()
    for number in numbers:
        query = f"SELECT session, at, {_TALK} FROM records WHERE wall = ? AND number = ? AND {condition}"
        for session, at, is_talk in query_all(connection, query, (wall_id, number, *bindings)):
            chosen.add(number)
            for sign, order in (("<", "DESC"), (">", "ASC")) if is_talk else ():  # the messages before, and after
                rows = query_all(
                    connection,
                    f"SELECT number, {condition} FROM records WHERE wall = ? AND session = ? AND {_TALK}"
                    f" AND (at, number) {sign} (?, ?) ORDER BY at {order}, number {order} LIMIT {2 * BESIDE}",
                    (*bindings, wall_id, session, at, number),
                )
                read.update(beside for beside, _ in rows)
                chosen.update(beside for beside, passes in rows[:BESIDE] if passes)
    return chosen, read | chosen


def _is_dialogue(connection: apsw.Connection, wall_id: int | None, session: str) -> bool:
    """Return whether more than one speaker speaks in a conversation."""
    speakers = (
        f"SELECT {SPEAKER} AS speaker FROM records WHERE wall = ? AND session = ? AND {_TALK}"
        f" ORDER BY at LIMIT {FIRST_LINES}"
    )
    query = f"SELECT count(*) FROM (SELECT DISTINCT speaker FROM ({speakers}) LIMIT 2)"
    return bool(connection.execute(query, (wall_id, session)).get > 1)
