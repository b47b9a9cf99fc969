"""Queries of recall about a wall that is too large to be read whole: its outline, and candidates."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from memorist.records.record import Kind
from memorist.records.scope import Wall
from memorist.stores.base import Candidates, Outline, Wanted
from memorist.stores.postgres.connections import Rows
from memorist.stores.postgres.queries import FOUND, SCORE
from memorist.stores.postgres.rows import BEHIND, entry_of, queries_of, unescaped
from memorist.stores.rows import name_of
from memorist.stores.sql import BESIDE, FIRST_LINES, MOST_SPEAKERS, Sql

Read: TypeAlias = Callable[..., Awaitable[list[Rows]]]
"""Returns the rows of queries within reach, from one snapshot."""
_SPEAKER = "coalesce(payload ->> 'speaker', payload ->> 'role')"
_NEXT_YEAR = (
    "(extract(epoch FROM date_trunc('year', timestamp '1970-01-01' + div(at, 1000000) * interval '1 second')"
    " + interval '1 year'))::bigint * 1000000"
)


async def outline_of(read: Read, schema: str, wall: Wall, largest: int) -> Outline | None:
    """Return the outline of a wall; None for a wall of at most `largest` entries.

    Speakers and years are read from the indexes, one step for each name and year.
    """
    name = name_of(wall)
    rows = f"FROM {schema}.records WHERE {BEHIND}"
    query = (
        "SELECT id, entries, length, (SELECT value FROM {s}.meta WHERE name = 'vectors'),"
        " ARRAY(WITH RECURSIVE step (speaker) AS"
        f" ((SELECT speaker {rows} AND speaker IS NOT NULL ORDER BY speaker LIMIT 1)"
        f" UNION ALL SELECT (SELECT speaker {rows} AND speaker > step.speaker ORDER BY speaker LIMIT 1)"
        f" FROM step WHERE step.speaker IS NOT NULL) SELECT speaker FROM step LIMIT {MOST_SPEAKERS}),"
        " ARRAY(WITH RECURSIVE step (at) AS"
        f" ((SELECT at {rows} ORDER BY at LIMIT 1)"
        f" UNION ALL SELECT (SELECT at {rows} AND at >= {_NEXT_YEAR.replace('(at,', '(step.at,')} ORDER BY at LIMIT 1)"
        " FROM step WHERE step.at IS NOT NULL) SELECT at FROM step)"
        " FROM {s}.walls WHERE {b} AND entries > %s".format(s=schema, b=BEHIND),
        (*name * 4, *name, largest),
    )
    [found] = await read(wall.reach, query)
    if not found:
        return None
    [(wall_id, entries, length, vectors, speakers, moments)] = found
    return Outline(
        generation=f"{wall_id}.{vectors}",
        rows=entries,
        length=length / max(entries, 1),
        speakers=[unescaped(name) for name in speakers if name is not None],
        years=[
            1970 + int(np.datetime64(moment, "us").astype("datetime64[Y]").astype(int))
            for moment in moments
            if moment is not None
        ],
    )


async def by_words(
    read: Read, schema: str, wall: Wall, wanted: Wanted, passing: Sql
) -> tuple[list[int], dict[str, int]]:
    """Return the best entries by words that pass the filter, and the number of entries that hold each term."""
    asked = queries_of(wall, wanted.terms)
    if not asked:
        return [], {}
    name, whole = name_of(wall), (wanted.outline.rows, max(wanted.outline.length, 1.0))
    condition, bindings = passing
    score = SCORE.format(average="%s::float8")
    query = (
        f"WITH {FOUND.format(s=schema)}, known AS MATERIALIZED (SELECT term, count(*) AS holders,"
        " ln(1 + (greatest(%s, count(*)) - count(*) + 0.5) / (count(*) + 0.5))::float8 AS information"
        " FROM found GROUP BY term),"
        f" scored AS (SELECT number, {score} AS score FROM found JOIN known USING (term) GROUP BY number)"
        " SELECT 0 AS term, number AS value FROM (SELECT number FROM"
        " (SELECT number, score FROM scored ORDER BY score DESC, number DESC) AS ordered CROSS JOIN LATERAL"
        # Checked one after the other, best first, until there are enough.
        f" (SELECT 1 FROM {schema}.records WHERE {BEHIND} AND number = ordered.number AND {condition} OFFSET 0)"
        " AS passing ORDER BY score DESC, number DESC LIMIT %s) AS best"
        " UNION ALL SELECT term, holders FROM known",
        (*map(list, zip(*asked, strict=True)), *name, *whole, *name, *bindings, wanted.limit),
    )
    [rows] = await read(wall.reach, query)
    terms = [term for term in dict.fromkeys(wanted.terms) if queries_of(wall, [term])]
    return [number for term, number in rows if not term], {terms[term - 1]: count for term, count in rows if term}


async def gathered(
    read: Read, schema: str, wall: Wall, numbers: Sequence[int], passing: Sql, holders: Mapping[str, int]
) -> Candidates:
    """Return entries with their neighbours, and the sessions among theirs that are dialogues."""
    name = name_of(wall)
    condition, bindings = passing
    records = f"FROM {schema}.records WHERE {BEHIND}"
    talk = f"{records} AND kind = '{Kind.MESSAGE}' AND session = asked.session"
    found = (
        f"SELECT r.* FROM unnest(%s::bigint[]) AS given (number) CROSS JOIN LATERAL"
        f" (SELECT number, kind, session, at, {condition} AS passing {records} AND number = given.number OFFSET 0) AS r"
    )
    beside = (
        f"SELECT near.number, near.passing AND far <= {BESIDE} FROM (SELECT * FROM asked"
        f" WHERE kind = '{Kind.MESSAGE}' AND session IS NOT NULL AND passing) AS asked CROSS JOIN LATERAL ("
        f"(SELECT number, {condition} AS passing, row_number() OVER (ORDER BY at DESC, number DESC) AS far"
        f" {talk} AND at <= asked.at AND (at < asked.at OR number < asked.number)"
        f" ORDER BY at DESC, number DESC LIMIT {2 * BESIDE}) UNION ALL"
        f" (SELECT number, {condition} AS passing, row_number() OVER (ORDER BY at, number) AS far"
        f" {talk} AND at >= asked.at AND (at > asked.at OR number > asked.number)"
        f" ORDER BY at, number LIMIT {2 * BESIDE})) AS near"
    )
    entries = (
        f"WITH asked AS MATERIALIZED ({found}), wanted AS (SELECT number, bool_or(passing) AS passing FROM"
        f" (SELECT number, passing FROM asked WHERE passing UNION ALL {beside}) AS each GROUP BY number)"
        " SELECT wanted.passing, r.*, i.terms, vector_send(i.vector), i.marks FROM wanted CROSS JOIN LATERAL"
        f" (SELECT number, id, kind, agent, session, {_SPEAKER}, at, expires_at, superseded_at, rating, authors"
        f" {records} AND number = wanted.number OFFSET 0) AS r CROSS JOIN LATERAL"
        f" (SELECT terms, vector, marks FROM {schema}.indexed WHERE {BEHIND} AND number = wanted.number OFFSET 0) AS i"
    )
    dialogues = (
        f"SELECT session FROM (SELECT session, min(number) AS number {records} AND number = ANY(%s::bigint[])"
        f" AND kind = '{Kind.MESSAGE}' AND session IS NOT NULL GROUP BY session) AS asked CROSS JOIN LATERAL"
        f" (SELECT {_SPEAKER} AS name {records} AND number = asked.number OFFSET 0) AS own WHERE EXISTS"
        f" (SELECT 1 FROM (SELECT {_SPEAKER} AS name {talk} ORDER BY at LIMIT {FIRST_LINES}) AS voice"
        " WHERE voice.name IS DISTINCT FROM own.name)"
    )
    given: list[Any] = list(numbers)
    read_entries, sessions = await read(
        wall.reach,
        (entries, (given, *bindings, *name, *(*bindings, *name) * 2, *name * 2)),
        (dialogues, (*name, given, *name * 2)),
    )
    return Candidates(
        entries=[entry_of(row[1:]) for row in read_entries],
        chosen=[row[1] for row in read_entries if row[0]],
        holders=holders,
        dialogues=[session for (session,) in sessions],
    )
