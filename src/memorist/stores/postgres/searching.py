"""Searches the tables for texts that a purge should have removed, and names the copies of the server's pages."""

from collections.abc import Sequence

from memorist.records.scope import Wall
from memorist.stores.postgres.libpq import Connection, fetched
from memorist.stores.postgres.options import PostgresOptions
from memorist.stores.postgres.queries import PURGED
from memorist.stores.postgres.rows import BEHIND
from memorist.stores.rows import name_of
from memorist.stores.searching import Place, Search

_HOLDERS = """
SELECT 'standby ' || coalesce(nullif(application_name, ''), 'without a name')
    || coalesce(' at ' || client_addr::text, '') || coalesce(', ' || state, '') FROM pg_stat_replication
UNION ALL SELECT 'replication slot ' || slot_name || ', which keeps the write-ahead log' FROM pg_replication_slots
UNION ALL SELECT 'archive of the write-ahead log (archive_mode is ' || setting || ')'
    FROM pg_settings WHERE name = 'archive_mode' AND setting <> 'off'
"""
_LOG = "write-ahead log of the server, until its segments are recycled; this program cannot read the server's files"
_SAMPLES = "planner's statistics of tables that are empty now, until they are analyzed with rows in them"
_DELETED = "tables' files and statistics, until they are vacuumed and analyzed: the URL says purge=delete"


async def search(connection: Connection, options: PostgresOptions, wall: Wall, texts: Sequence[str]) -> Search:
    """Count the rows behind a wall, and the texts that rows of others hold; name the copies that the server knows."""
    done, schema = Search(), options.schema
    for table in PURGED:
        query = f"SELECT count(*) FROM {schema}.{table} WHERE {BEHIND}"
        [(rows,)] = await fetched(connection, query, name_of(wall))
        done.places.append(Place(f"table {schema}.{table}", rows))
    query = (
        "SELECT count(*) FROM unnest(%s::text[]) AS text WHERE EXISTS"
        f" (SELECT FROM {schema}.records AS r WHERE strpos(r::text, text) > 0)"
        f" OR EXISTS (SELECT FROM {schema}.changes AS c WHERE strpos(c::text, text) > 0)"
    )
    given = [text for text in texts if "\0" not in text]
    [(others,)] = await fetched(connection, query, (given,))
    done.places.append(Place(f"rows of others in {schema}.records and {schema}.changes", 0, others))
    done.copies.extend(f"{holder} of {options.shown}" for (holder,) in await fetched(connection, _HOLDERS))
    done.copies.extend((_LOG, _SAMPLES))
    if options.purge == "delete":
        done.copies.append(_DELETED)
    return done
