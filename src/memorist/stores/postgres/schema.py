"""The tables in PostgreSQL, and the way from one version of them to the next.

Every key and every index begins with tenant and user, or holds them; the tables are split by tenant. Row-level
security is a second line of defence behind the queries' conditions. It reads settings that each transaction makes.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence

from memorist.errors import SchemaError, upgrade_advice
from memorist.records.former import FIELDS, FORMS, FORMS_BEGIN, SUMMARIES, SUMMARIES_DOOR, summary_today
from memorist.stores.postgres.libpq import Connection, Cursor, fetched, first_of
from memorist.stores.postgres.options import PostgresOptions

TABLES = {
    # One row for each wall: its lock, and the epoch of its last change. An id is never reused.
    "walls": "id bigint NOT NULL, epoch bigint NOT NULL, PRIMARY KEY (tenant, user_name)",
    # Times are microseconds since 1970; `at` is when it happened, or else when it was stored.
    "records": """
        number bigint NOT NULL, id text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, content text NOT NULL,
        cue text, key text COLLATE "C", agent text, session text, metadata json NOT NULL, payload json NOT NULL,
        source text, verified boolean NOT NULL, rating double precision, created_at bigint NOT NULL,
        updated_at bigint NOT NULL, happened_at bigint, expires_at bigint, superseded_by text, superseded_at bigint,
        version bigint NOT NULL, at bigint NOT NULL, epoch bigint NOT NULL, PRIMARY KEY (tenant, user_name, number)""",
    # Read by ranking: the analysed terms and the vector of every record that recall can find.
    "indexed": "number bigint NOT NULL, terms text NOT NULL, vector vector, PRIMARY KEY (tenant, user_name, number)",
    # The same terms, inverted, for walls too large to rank in memory.
    "words": """
        number bigint NOT NULL, length integer NOT NULL, terms tsvector NOT NULL,
        PRIMARY KEY (tenant, user_name, number) INCLUDE (length)""",
    # Append-only. `before` is the record as it stood before the change; blanked when it is forgotten.
    "changes": """
        epoch bigint NOT NULL, number bigint NOT NULL, id text COLLATE "C" NOT NULL, action text NOT NULL,
        at bigint NOT NULL, source text, before text, PRIMARY KEY (tenant, user_name, epoch)""",
    # Vectors of the next embedder, while a reindex is under way.
    "staged": """
        number bigint NOT NULL, version bigint NOT NULL, vector vector NOT NULL, terms text NOT NULL,
        length integer NOT NULL, words tsvector NOT NULL, PRIMARY KEY (tenant, user_name, number)""",
}
_INDEXES = (
    "CREATE UNIQUE INDEX records_by_id ON {s}.records (tenant, user_name, id)",
    "CREATE UNIQUE INDEX records_by_key ON {s}.records (tenant, user_name, kind, key)"
    " WHERE key IS NOT NULL AND superseded_at IS NULL",
    "CREATE INDEX records_by_time ON {s}.records (tenant, user_name, at, created_at, id)",
    "CREATE INDEX records_by_kind ON {s}.records (tenant, user_name, kind, at, created_at, id)",
    "CREATE INDEX records_by_session ON {s}.records (tenant, user_name, session, at, created_at, id)"
    " WHERE session IS NOT NULL",
    "CREATE INDEX records_by_epoch ON {s}.records (tenant, user_name, epoch)",
    "CREATE INDEX records_by_expiry ON {s}.records (expires_at, tenant, user_name) WHERE expires_at IS NOT NULL",
    "CREATE INDEX changes_by_record ON {s}.changes (tenant, user_name, id, epoch)",
    "CREATE INDEX changes_gone ON {s}.changes (tenant, user_name, epoch) WHERE action IN ('forgotten', 'expired')",
    "CREATE INDEX words_by_term ON {s}.words USING gin (terms)",  # a lexeme of each text stands for its wall
)
_SEEING = "SELECT set_config('memorist.everything', '{}', true)"
_GUARDED = ("walls", "records", "indexed", "changes", "staged")
"""The tables with a policy from the first version; `words` got its own later."""
_POLICY = """
CREATE POLICY walls ON {table} USING (
    (SELECT current_setting('memorist.everything', true)) = 'on'
    OR tenant = (SELECT current_setting('memorist.tenant', true)) AND (
        (SELECT current_setting('memorist.users', true)) = 'null'
        OR (SELECT nullif(current_setting('memorist.users', true), '')::jsonb) ? user_name))
"""


_POLICY_OF_QUOTING = (
    _POLICY.replace("POLICY walls", "POLICY quoting")
    .replace("OR tenant =", "OR by_tenant =")
    .replace("user_name", "by_user")
)
"""The quoting record is behind a wall, too. A row is visible if either policy allows it."""


def lock_key(schema: str, what: str) -> int:
    """Return the number of an advisory lock: 64 bits, the same in every process."""
    digest = hashlib.blake2b(f"memorist {schema} {what}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


async def asked_version(connection: Connection, schema: str) -> Cursor:
    """Ask for the tables' version, which no other process changes until the commit; see `check_version`."""
    await connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (lock_key(schema, "version"),))
    # after the lock, so in a statement that sees what a migration has committed while it was waited for
    return await connection.execute(f"SELECT value FROM {schema}.meta WHERE name = 'version'".encode())


async def check_version(asked: Cursor, database: str) -> None:
    """Refuse a write to tables that another process has brought to another version since they were opened.

    Raises:
        SchemaError: this process would leave out what that version wants to be noted.
    """
    found = await asked.fetchone()
    if found is None or found[0] != str(len(MIGRATIONS)):
        raise SchemaError(
            f"the tables in {database} were brought to schema {found and found[0]} by another Memorist while they were "
            f"open here, and this version supports {len(MIGRATIONS)}: writes are refused. Stop this process, "
            f"then start it with the newer Memorist; {upgrade_advice()}"
        )


async def read_meta(connection: Connection, schema: str, name: str) -> str | None:
    """Return the value stored under a name in the table of settings."""
    row = await first_of(connection, f"SELECT value FROM {schema}.meta WHERE name = %s", (name,))
    return None if row is None else row[0]


async def put_meta(connection: Connection, schema: str, name: str, value: str, *, replace: bool = True) -> None:
    """Store a value under a name; an existing value is kept unless it may be replaced."""
    then = "DO UPDATE SET value = excluded.value" if replace else "DO NOTHING"
    query = f"INSERT INTO {schema}.meta VALUES (%s, %s) ON CONFLICT (name) {then}"
    await connection.execute(query.encode(), (name, value))


async def _create(connection: Connection, options: PostgresOptions) -> None:
    schema = options.schema
    statements = [f"CREATE TABLE {schema}.meta (name text PRIMARY KEY, value text NOT NULL)"]
    statements.append(f"CREATE SEQUENCE {schema}.numbers")
    for table, columns in TABLES.items():
        name = f"{schema}.{table}"
        names = [name]
        owner = 'tenant text COLLATE "C" NOT NULL, user_name text COLLATE "C" NOT NULL'
        split = " PARTITION BY HASH (tenant)" if options.partitions else ""
        statements.append(f"CREATE TABLE {name} ({owner}, {columns}){split}")
        for part in range(options.partitions):
            names.append(f"{name}_{part}")
            modulus = f"MODULUS {options.partitions}, REMAINDER {part}"
            statements.append(f"CREATE TABLE {names[-1]} PARTITION OF {name} FOR VALUES WITH ({modulus})")
        if options.rls and table in _GUARDED:
            for each in names:  # a partition can be asked without its parent
                statements.append(f"ALTER TABLE {each} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
                statements.append(_POLICY.format(table=each))
    statements += [statement.format(s=schema) for statement in _INDEXES]
    statements.append(f"INSERT INTO {schema}.meta VALUES ('vectors', '1')")
    for statement in statements:
        await connection.execute(statement.encode())


async def _everywhere(connection: Connection, *statements: str) -> None:
    """Run statements on the rows of every tenant, whatever the policies."""
    for statement in (_SEEING.format("on"), *statements, _SEEING.format("off")):
        await connection.execute(statement.encode())


async def _outline_walls(connection: Connection, options: PostgresOptions) -> None:
    """Keep by hand what recall must know of walls too large to read: how many entries and terms, and who speaks."""
    schema = options.schema
    await _everywhere(
        connection,
        f"ALTER TABLE {schema}.walls ADD COLUMN entries bigint NOT NULL DEFAULT 0,"
        " ADD COLUMN length bigint NOT NULL DEFAULT 0",
        f"UPDATE {schema}.walls AS w SET entries = counted.entries, length = counted.length FROM"
        " (SELECT tenant, user_name, count(*) AS entries, sum(length) AS length"
        f" FROM {schema}.words GROUP BY tenant, user_name) AS counted"
        " WHERE w.tenant = counted.tenant AND w.user_name = counted.user_name",
        # Names of speakers are short; longer ones do not fit into an index.
        f'ALTER TABLE {schema}.records ADD COLUMN speaker text COLLATE "C" GENERATED ALWAYS AS'
        " (left(coalesce(payload ->> 'speaker', payload ->> 'role'), 200)) STORED",
        f"CREATE INDEX records_by_speaker ON {schema}.records (tenant, user_name, speaker) WHERE speaker IS NOT NULL",
    )


async def _part_marks(connection: Connection, options: PostgresOptions) -> None:
    """Give marks a column of their own: they stood behind the terms, as `?`, `!`, `~` and `@` with a number of days."""
    schema = options.schema
    marks = "substring(terms FROM '(?:(?:^| )(?:[?!~]|@-?[0-9]+))+$')"
    old = f"(SELECT tenant, user_name, number, terms, {marks} AS marks FROM {schema}.indexed) AS old"
    same = "t.tenant = old.tenant AND t.user_name = old.user_name AND t.number = old.number AND old.marks IS NOT NULL"
    named = "replace(replace(replace(replace(trim(old.marks), '?', 'asks'), '!', 'tells'), '~', 'timed'), '@', 'day:')"
    await _everywhere(
        connection,
        f"ALTER TABLE {schema}.indexed ADD COLUMN marks text NOT NULL DEFAULT ''",
        f"ALTER TABLE {schema}.staged ADD COLUMN marks text NOT NULL DEFAULT ''",
        f"DELETE FROM {schema}.staged",  # a reindex under way begins anew
        f"UPDATE {schema}.words AS t SET terms = ts_delete(t.terms, string_to_array(trim(old.marks), ' ')),"
        f" length = t.length - cardinality(string_to_array(trim(old.marks), ' ')) FROM {old} WHERE {same}",
        f"UPDATE {schema}.indexed AS t SET terms = left(t.terms, length(t.terms) - length(old.marks)),"
        f" marks = {named} FROM {old} WHERE {same}",
        f"UPDATE {schema}.walls AS t SET length = old.length FROM (SELECT tenant, user_name, sum(length) AS length"
        f" FROM {schema}.words GROUP BY tenant, user_name) AS old"
        " WHERE t.tenant = old.tenant AND t.user_name = old.user_name",
    )


async def _note_origins(connection: Connection, options: PostgresOptions) -> None:
    """Note where records come from; `authors` are the bits of `memorist.records.origins.Author`.

    `derived_from` is a JSON list of ids, null for one that is forgotten. Stored records get the origin that their kind,
    role and source suggest.
    """
    schema = options.schema
    await _everywhere(
        connection,
        f"ALTER TABLE {schema}.records ADD COLUMN authors integer NOT NULL DEFAULT 1,"
        " ADD COLUMN door text, ADD COLUMN derived_from text",
        f"CREATE INDEX records_derived ON {schema}.records (tenant, user_name) WHERE derived_from IS NOT NULL",
        f"UPDATE {schema}.records SET authors = CASE WHEN source LIKE 'import:%' THEN 16"
        " WHEN kind IN ('tool_use', 'tool_guideline') THEN 4"
        " WHEN kind = 'message' THEN CASE lower(coalesce(payload ->> 'role', 'user'))"
        " WHEN 'user' THEN 1 WHEN 'human' THEN 1 WHEN 'assistant' THEN 2 WHEN 'ai' THEN 2 WHEN 'model' THEN 2"
        " WHEN 'tool' THEN 4 WHEN 'function' THEN 4 WHEN 'system' THEN 64 WHEN 'developer' THEN 64 ELSE 32 END"
        " ELSE 1 END",
        f"UPDATE {schema}.records SET authors = authors | 128 WHERE authors <> 64 AND user_name = ''",
    )


async def _log_audit(connection: Connection, options: PostgresOptions) -> None:
    """Make room for the audit log; see `memorist.audit.log`. The role needs no right to change or delete its rows."""
    columns = "number bigint PRIMARY KEY, entry text NOT NULL, hash text NOT NULL"
    await connection.execute(f"CREATE TABLE {options.schema}.audit ({columns})".encode())


async def _guard_words(connection: Connection, options: PostgresOptions) -> None:
    """Give `words` a policy, and searches a view of the words behind the wall that the transaction names.

    Behind a policy PostgreSQL cannot use an index on words. The view reads the table as its owner, whom the policy
    exempts. Its conditions are equalities like those of the queries, so the server checks them once, not for each row.
    """
    schema, words = options.schema, f"{options.schema}.words"
    tables = await fetched(
        connection,
        "SELECT %s::regclass::text, relrowsecurity FROM pg_class WHERE oid = %s::regclass"
        " UNION ALL SELECT inhrelid::regclass::text, NULL FROM pg_inherits WHERE inhparent = %s::regclass",
        (words, f"{schema}.records", words),
    )
    [(_, guarded), *_] = tables
    condition = ""
    if guarded:
        for table, _ in tables:
            await connection.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY".encode())
            await connection.execute(_POLICY.format(table=table).encode())
        condition = (
            " WHERE tenant = (SELECT current_setting('memorist.tenant', true)) AND"
            " user_name = (SELECT nullif(current_setting('memorist.users', true), '')::jsonb ->> 0)"
        )
    await connection.execute(f"CREATE VIEW {schema}.words_of_wall AS SELECT * FROM {words}{condition}".encode())


async def _note_quotes(connection: Connection, options: PostgresOptions) -> None:
    """Note which records a record quotes; it is removed together with them. Traces had this in metadata."""
    schema, quotes = options.schema, f"{options.schema}.quotes"
    texts = ", ".join(
        f'{name} text COLLATE "C" NOT NULL' for name in ("tenant", "user_name", "id", "by_tenant", "by_user")
    )
    statements = [
        f"CREATE TABLE {quotes} ({texts}, number bigint NOT NULL,"
        " PRIMARY KEY (tenant, user_name, id, by_tenant, by_user, number))",
        f"CREATE INDEX quotes_by ON {quotes} (by_tenant, by_user, number)",
    ]
    statements += _linking(schema)
    [(guarded,)] = await fetched(
        connection, "SELECT relrowsecurity FROM pg_class WHERE oid = %s::regclass", (f"{schema}.records",)
    )
    if guarded:
        statements.append(f"ALTER TABLE {quotes} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
        statements.append(_POLICY.format(table=quotes))
        statements.append(_POLICY_OF_QUOTING.format(table=quotes))
    await _everywhere(connection, *statements)


def _linking(schema: str) -> list[str]:
    """Return the statements that note what traces quote that have it in their metadata."""
    return [
        f"INSERT INTO {schema}.quotes"
        f" SELECT substr(tenant, {len(_TRACES) + 1}), {user}, quoted, tenant, user_name, number"
        f" FROM {schema}.records, json_array_elements_text(CASE WHEN starts_with(tenant, '{_TRACES}')"
        f" AND json_typeof(metadata -> '{name}') = 'array' THEN metadata -> '{name}' ELSE '[]' END) AS quoted"
        " ON CONFLICT DO NOTHING"
        for name, user in (("own", "user_name"), ("shared", "''"))
    ]


async def _drop_left_over(connection: Connection, options: PostgresOptions) -> None:
    """Remove what quotes a record that is gone: a process of an older version did not know of the table of quotes.

    It was running while a newer one brought the tables to this version, forgot or purged records, and left what quotes
    them. The traces that it kept name what they quote in their metadata.
    """
    schema = options.schema
    there = f"SELECT 1 FROM {schema}.records AS r WHERE r.tenant = {{}} AND r.user_name = {{}} AND r.id = {{}}"
    quoting = [
        f"SELECT by_tenant AS tenant, by_user AS user_name, number FROM {schema}.quotes AS q"
        f" WHERE NOT EXISTS ({there.format('q.tenant', 'q.user_name', 'q.id')})"
    ]
    quoting += [
        f"SELECT t.tenant, t.user_name, t.number FROM {schema}.records AS t, json_array_elements_text("
        f"CASE WHEN starts_with(t.tenant, '{_TRACES}') AND json_typeof(t.metadata -> '{name}') = 'array'"
        f" THEN t.metadata -> '{name}' ELSE '[]' END) AS quoted"
        f" WHERE NOT EXISTS ({there.format(f'substr(t.tenant, {len(_TRACES) + 1})', user, 'quoted')})"
        for name, user in (("own", "t.user_name"), ("shared", "''"))
    ]
    same = "t.tenant = gone.tenant AND t.user_name = gone.user_name AND t.number = gone.number"
    deleted = ", ".join(
        f"of_{table} AS (DELETE FROM {schema}.{table} AS t USING gone WHERE {same})"
        for table in ("records", "indexed", "staged", "changes")
    )
    by = "t.by_tenant = gone.tenant AND t.by_user = gone.user_name AND t.number = gone.number"
    await _everywhere(
        connection,
        f"WITH gone AS MATERIALIZED ({' UNION '.join(quoting)}), {deleted},"
        f" of_quotes AS (DELETE FROM {schema}.quotes AS t USING gone WHERE {by}),"
        f" of_words AS (DELETE FROM {schema}.words AS t USING gone WHERE {same}"
        " RETURNING t.tenant, t.user_name, t.length)"
        f" UPDATE {schema}.walls AS t SET entries = t.entries - lost.entries, length = t.length - lost.length"
        " FROM (SELECT tenant, user_name, count(*) AS entries, sum(length) AS length FROM of_words"
        " GROUP BY tenant, user_name) AS lost WHERE t.tenant = lost.tenant AND t.user_name = lost.user_name",
        *_linking(schema),
    )


async def _note_offsets(connection: Connection, options: PostgresOptions) -> None:
    """Note the offset from UTC that a time was brought in, in minutes; null for none, as of all that is stored."""
    await connection.execute(f"ALTER TABLE {options.schema}.records ADD COLUMN happened_offset integer".encode())


async def _index_unembedded(connection: Connection, options: PostgresOptions) -> None:
    """Index what has no vector yet: each write that embeds later looks for it, and it is little of all."""
    columns = "tenant, user_name, number"
    await connection.execute(
        f"CREATE INDEX indexed_later ON {options.schema}.indexed ({columns}) WHERE vector IS NULL".encode()
    )


_TRACES = "memorist:traces:"


async def _part_state(connection: Connection, options: PostgresOptions) -> None:
    """Give what frameworks keep for themselves the kind state; it was of the kind topic.

    A version between the two found no such topic, and frameworks that went on with it have written new records under
    the same keys. These stay the current ones.
    """
    schema = options.schema
    same = "t.tenant = state.tenant AND t.user_name = state.user_name AND t.number = state.number"
    await connection.execute(_SEEING.format("on").encode())
    summaries = await fetched(
        connection,
        # Of the agent and the session the key has no more than both joined; the session's messages have them apart.
        "SELECT said.agent, said.session, kept.content, kept.tenant, kept.user_name, kept.number"
        f" FROM {schema}.records AS kept JOIN (SELECT DISTINCT tenant, user_name, agent, session"
        f" FROM {schema}.records WHERE kind = 'message') AS said ON said.tenant = kept.tenant"
        " AND said.user_name = kept.user_name AND kept.key = %s || coalesce(said.agent || '/', '') || said.session"
        " WHERE kept.kind = 'topic' AND coalesce(kept.door, %s) = %s",
        (SUMMARIES, SUMMARIES_DOOR, SUMMARIES_DOOR),
    )
    for agent, session, summary, *place in summaries:
        key, content, payload = summary_today(agent, session, summary)
        await connection.execute(
            f"UPDATE {schema}.records SET key = %s, content = %s, payload = %s"
            " WHERE tenant = %s AND user_name = %s AND number = %s".encode(),
            (key, content, json.dumps(payload), *place),
        )
    state = f"(SELECT tenant, user_name, number, key, superseded_at FROM {schema}.records WHERE {_STATE}) AS state"
    await _everywhere(
        connection,
        f"UPDATE {schema}.changes AS t SET before = regexp_replace(before, '{_TOPIC}', '\\1\"state\"')"
        f" FROM {state} WHERE {same} AND before IS NOT NULL",
        f"UPDATE {schema}.records AS t SET superseded_by = newer.id, superseded_at = newer.created_at"
        f" FROM {state}, {schema}.records AS newer WHERE {same} AND state.superseded_at IS NULL"
        " AND newer.tenant = state.tenant AND newer.user_name = state.user_name AND newer.key = state.key"
        " AND newer.kind = 'state' AND newer.superseded_at IS NULL",
        f"UPDATE {schema}.records SET kind = 'state' WHERE {_STATE}",
    )


_TOPIC = r'^(\["(?:[^"\\]|\\.)*",)"topic"'
"""A row of the history as text: a list of the id, the kind and more."""
_STATE = (
    f"kind = 'topic' AND (payload ->> 'form' IN {FORMS} OR starts_with(payload ->> 'form', '{FORMS_BEGIN}')"
    + "".join(f" OR json_typeof(payload -> '{each}') = 'object'" for each in FIELDS)
    + ")"
)
Migration = Callable[[Connection, PostgresOptions], Awaitable[None]]
MIGRATIONS: Sequence[Migration] = (
    _create, _outline_walls, _part_marks, _note_origins, _log_audit, _guard_words, _note_quotes,
    _drop_left_over, _part_state, _note_offsets, _index_unembedded,
)  # fmt: skip
"""Step n leads from version n to version n + 1. A step that was released is never changed."""


async def index_vectors(connection: Connection, options: PostgresOptions, dimensions: int) -> None:
    """Make the index for `PostgresStore.nearest`, where it is missing; or anew, for vectors of another length."""
    schema = options.schema
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(schema, "migrate"),))
    query = "SELECT indexdef FROM pg_indexes WHERE schemaname = %s AND indexname = 'indexed_nearest'"
    row = await first_of(connection, query, (schema,))
    if row is not None and f"vector({dimensions})" in row[0]:
        return
    await connection.execute(f"DROP INDEX IF EXISTS {schema}.indexed_nearest".encode())
    await connection.execute(
        f"CREATE INDEX indexed_nearest ON {schema}.indexed USING hnsw"
        f" ((vector::vector({dimensions})) vector_ip_ops)".encode()
    )
