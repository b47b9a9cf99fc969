"""Opening a database: what is required of a server and a role, and tables of this version."""

from memorist.errors import SchemaError, StoreUnavailableError, upgrade_advice
from memorist.stores.postgres.libpq import Connection, fetched, first_of
from memorist.stores.postgres.options import PostgresOptions
from memorist.stores.postgres.schema import MIGRATIONS, TABLES, lock_key, put_meta, read_meta

OLDEST = 130_000
"""The oldest supported server, as PostgreSQL's version number."""
_OLDEST_FOR_HNSW = (0, 8)
"""The first pgvector with iterative scans, which continue if a filter leaves too few of the nearest."""


async def prepare(connection: Connection, options: PostgresOptions) -> None:
    """Check the server, and bring its tables to this version, under an advisory lock.

    Raises:
        StoreUnavailableError: it is too old, lacks pgvector, or the role may not do what must be done.
        SchemaError: a newer version of this package made the tables, or something else did.
    """
    version = connection.info.server_version
    if version < OLDEST:
        raise StoreUnavailableError(
            f"{options.shown} is PostgreSQL {version // 10_000}; it takes {OLDEST // 10_000} or later: upgrade it"
        )
    [(reads_only,)] = await fetched(connection, "SHOW transaction_read_only")
    if reads_only == "on":
        raise StoreUnavailableError(
            f"{options.shown} is read-only: it is a replica, or configured so; use the primary server"
        )
    if await _version(connection, options) != len(MIGRATIONS):
        async with connection.transaction():
            for what in ("version", "migrate"):  # in the order of a write, which holds the first from its beginning
                await connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(options.schema, what),))
            await _ensure_vector(connection, options)
            found = await _version(connection, options)  # another process may have been faster
            if found == 0:
                [(there,)] = await fetched(connection, "SELECT to_regnamespace(%s) IS NOT NULL", (options.schema,))
                if not there:
                    await connection.execute(f"CREATE SCHEMA {options.schema}".encode())
            for step in MIGRATIONS[found:]:
                await step(connection, options)
            await put_meta(connection, options.schema, "version", str(len(MIGRATIONS)))
    await _ensure_vector(connection, options)
    await _ensure_rights(connection, options)


async def _ensure_rights(connection: Connection, options: PostgresOptions) -> None:
    """Make sure that the role may do what every verb needs."""
    found = await fetched(
        connection,
        "SELECT name || ': ' || need FROM unnest(%s::text[]) AS name, unnest(%s::text[]) AS need"
        " WHERE NOT has_table_privilege(name, need)"
        " UNION ALL SELECT %s || ': ' || need FROM unnest(ARRAY['SELECT', 'INSERT']) AS need"
        " WHERE NOT has_table_privilege(%s, need)"
        " UNION ALL SELECT %s || ': SELECT' WHERE NOT has_table_privilege(%s, 'SELECT')"
        " UNION ALL SELECT %s || ': USAGE' WHERE NOT has_sequence_privilege(%s, 'USAGE')",
        (
            [f"{options.schema}.{table}" for table in (*TABLES, "quotes", "meta")],
            ["SELECT", "INSERT", "UPDATE", "DELETE"],
            *[f"{options.schema}.audit"] * 2,
            *[f"{options.schema}.words_of_wall"] * 2,
            *[f"{options.schema}.numbers"] * 2,
        ),
    )
    if lacking := [name for (name,) in found]:
        raise StoreUnavailableError(
            f"the role lacks privileges in {options.shown}: {', '.join(lacking[:3])}"
            f"{' …' if len(lacking) > 3 else ''}; grant them as docs/postgres.md says"
        )


async def _version(connection: Connection, options: PostgresOptions) -> int:
    schema = options.schema
    there = "SELECT to_regclass(%s) IS NOT NULL, to_regclass(%s) IS NOT NULL"
    [(ours, theirs)] = await fetched(connection, there, (f"{schema}.meta", f"{schema}.records"))
    if not ours:
        if theirs:
            raise SchemaError(f"the schema {schema!r} holds another program's tables; choose one with ?schema=NAME")
        return 0
    found = int(await read_meta(connection, schema, "version") or 0)
    if found > len(MIGRATIONS):
        raise SchemaError(
            f"the tables in {options.shown} were made by a newer Memorist (schema {found}, this one knows "
            f"{len(MIGRATIONS)}); {upgrade_advice()}"
        )
    return found


async def _ensure_vector(connection: Connection, options: PostgresOptions) -> None:
    """Make sure that the database has pgvector, and that its type is found without its schema's name."""
    import psycopg

    query = "SELECT extversion, to_regtype('vector') IS NOT NULL FROM pg_extension WHERE extname = 'vector'"
    row = await first_of(connection, query)
    if row is None:
        try:
            async with connection.transaction():  # one lock for all schemas: the extension is the database's
                await connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key("", "extension"),))
                await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except psycopg.errors.InsufficientPrivilege as error:
            raise StoreUnavailableError(
                f"{options.shown} lacks the extension pgvector, and this role may not add it; "
                "let an administrator run in this database: CREATE EXTENSION vector"
            ) from error
        except psycopg.Error as error:
            raise StoreUnavailableError(
                f"{options.shown} lacks the extension pgvector ({str(error).splitlines()[0]}); install it on the "
                "server (the package postgresql-NN-pgvector, or your provider's list of extensions)"
            ) from error
        row = await first_of(connection, query)
    assert row is not None
    version, found = row
    if not found:
        raise StoreUnavailableError(
            f"{options.shown} has pgvector in a schema that is not searched; run: ALTER ROLE … SET search_path = …"
        )
    if options.hnsw and tuple(map(int, version.split(".")[:2])) < _OLDEST_FOR_HNSW:
        raise StoreUnavailableError(
            f"{options.shown} has pgvector {version}; hnsw=on takes 0.8 or later: ALTER EXTENSION vector UPDATE"
        )
