"""The tables of a memory file, their versions, and the way from one version to the next."""

import json
import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

from memorist.errors import SchemaError, StoreCorruptError, StoreUnavailableError, upgrade_advice
from memorist.records.former import FIELDS, FORMS, FORMS_BEGIN, SUMMARIES, SUMMARIES_DOOR, summary_today
from memorist.stores.keys import Key
from memorist.stores.sqlite.encryption import connect
from memorist.stores.sqlite.rows import query_all

log = logging.getLogger("memorist.stores")

APPLICATION_ID = 0x4D454D4F
""""MEMO", at byte 68 of every file, so that no other SQLite file is taken for a memory."""

_VERSION_1 = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- One row a wall. An id is never used again, so that a cache of a purged user can tell.
CREATE TABLE partitions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, user TEXT NOT NULL, UNIQUE (tenant, user)
);

-- Clustered by wall: what one user has lies together. Times are microseconds since 1970; `at` is when it
-- happened, or else when it was stored; `epoch` is the last change.
CREATE TABLE records (
    partition INTEGER NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL,
    content TEXT NOT NULL, cue TEXT, key TEXT, agent TEXT, session TEXT,
    metadata TEXT NOT NULL, payload TEXT NOT NULL, source TEXT, verified INTEGER NOT NULL, rating REAL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, happened_at INTEGER, expires_at INTEGER,
    superseded_by TEXT, superseded_at INTEGER, version INTEGER NOT NULL,
    at INTEGER NOT NULL, epoch INTEGER NOT NULL,
    PRIMARY KEY (partition, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX records_by_id ON records (partition, id);
CREATE UNIQUE INDEX records_by_key ON records (partition, kind, key)
    WHERE key IS NOT NULL AND superseded_at IS NULL;
CREATE INDEX records_by_time ON records (partition, at, created_at, id);
CREATE INDEX records_by_kind ON records (partition, kind, at, created_at, id);
CREATE INDEX records_by_session ON records (partition, session, at, created_at, id) WHERE session IS NOT NULL;
CREATE INDEX records_by_epoch ON records (partition, epoch);
CREATE INDEX records_by_expiry ON records (expires_at) WHERE expires_at IS NOT NULL;

-- What ranking reads: the analysed terms and the vector of every record that recall can find.
CREATE TABLE indexed (
    partition INTEGER NOT NULL, number INTEGER NOT NULL, terms TEXT NOT NULL, vector BLOB,
    PRIMARY KEY (partition, number)
) WITHOUT ROWID;

-- The same terms, inverted, for walls too large to rank in memory. They come analysed: only space separates.
CREATE VIRTUAL TABLE words USING fts5 (
    wall, terms, content = '', tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co Cn'"
);
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);

-- Append-only. `before` is the record as it stood before the change, as JSON; blanked when it is forgotten.
CREATE TABLE changes (
    epoch INTEGER PRIMARY KEY AUTOINCREMENT, partition INTEGER NOT NULL, number INTEGER NOT NULL,
    id TEXT NOT NULL, action TEXT NOT NULL, at INTEGER NOT NULL, source TEXT, before TEXT
);
CREATE INDEX changes_by_record ON changes (partition, id, epoch);
CREATE INDEX changes_gone ON changes (partition, epoch) WHERE action IN ('forgotten', 'expired');

-- Vectors of the next embedder, while a reindex is under way.
CREATE TABLE staged (
    number INTEGER PRIMARY KEY, partition INTEGER NOT NULL, version INTEGER NOT NULL,
    vector BLOB NOT NULL, terms TEXT NOT NULL
);
INSERT INTO meta VALUES ('vectors', '1');
"""

Migration = Callable[[apsw.Connection], None]


def _create(connection: apsw.Connection) -> None:
    connection.execute(_VERSION_1)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _part_marks(connection: apsw.Connection) -> None:
    """Give marks a column of their own: they stood behind the terms, as `?`, `!`, `~` and `@` with a number of days."""
    for table in ("indexed", "staged"):
        connection.execute(f"ALTER TABLE {table} ADD COLUMN marks TEXT NOT NULL DEFAULT ''")
    connection.execute("DELETE FROM staged")  # a reindex under way begins anew
    rows = query_all(connection, "SELECT partition, number, terms FROM indexed WHERE terms GLOB '*[?!~@]*'")
    uninvert = "INSERT INTO words (words, rowid, wall, terms) VALUES ('delete', ?, ?, ?)"
    for partition, number, old in rows:
        if not (found := _OLD_MARKS.search(old)):
            continue
        terms, marks = old[: found.start()], (_NEW_MARKS.get(each) or f"day:{each[1:]}" for each in found[0].split())
        connection.execute(uninvert, (number, f"p{partition}", old))
        connection.execute("INSERT INTO words (rowid, wall, terms) VALUES (?, ?, ?)", (number, f"p{partition}", terms))
        connection.execute(
            "UPDATE indexed SET terms = ?, marks = ? WHERE partition = ? AND number = ?",
            (terms, " ".join(sorted(marks)), partition, number),
        )


_OLD_MARKS = re.compile(r"(?:(?:^| )(?:[?!~]|@-?\d+))+$")
_NEW_MARKS = {"?": "asks", "!": "tells", "~": "timed"}


def _name_walls(connection: apsw.Connection) -> None:
    """Call a wall a wall: the table of walls and the columns that refer to it were called partitions."""
    connection.execute("ALTER TABLE partitions RENAME TO walls")
    for table in ("records", "indexed", "changes", "staged"):
        connection.execute(f"ALTER TABLE {table} RENAME COLUMN partition TO wall")


def _keep_indexes(connection: apsw.Connection) -> None:
    """Make room for search indexes in the form in which they are searched; see `memorist.stores.segments`."""
    connection.execute(
        """
        CREATE TABLE kept_indexes (
            wall INTEGER PRIMARY KEY, stamp INTEGER NOT NULL, generation TEXT NOT NULL, form TEXT NOT NULL,
            epoch INTEGER NOT NULL
        );
        -- `data` is null where one of the records from number `first` to `last` was removed.
        CREATE TABLE segments (
            id INTEGER PRIMARY KEY, wall INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
            checksum INTEGER NOT NULL, data BLOB
        );
        CREATE INDEX segments_by_wall ON segments (wall, first, last);
        """
    )


def _note_origins(connection: apsw.Connection) -> None:
    """Note where records come from; `authors` are the bits of `memorist.records.origins.Author`.

    `derived_from` is a JSON list of ids, null for one that is forgotten. Stored records get the origin that their kind,
    role and source suggest.
    """
    connection.execute(
        """
        ALTER TABLE records ADD COLUMN authors INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE records ADD COLUMN door TEXT;
        ALTER TABLE records ADD COLUMN derived_from TEXT;
        CREATE INDEX records_derived ON records (wall) WHERE derived_from IS NOT NULL;
        UPDATE records SET authors = CASE
            WHEN source LIKE 'import:%' THEN 16
            WHEN kind IN ('tool_use', 'tool_guideline') THEN 4
            WHEN kind = 'message' THEN CASE lower(ifnull(json_extract(payload, '$.role'), 'user'))
                WHEN 'user' THEN 1 WHEN 'human' THEN 1 WHEN 'assistant' THEN 2 WHEN 'ai' THEN 2 WHEN 'model' THEN 2
                WHEN 'tool' THEN 4 WHEN 'function' THEN 4 WHEN 'system' THEN 64 WHEN 'developer' THEN 64 ELSE 32 END
            ELSE 1 END;
        UPDATE records SET authors = authors | 128
            WHERE authors <> 64 AND wall IN (SELECT id FROM walls WHERE user = '');
        """
    )


def _log_audit(connection: apsw.Connection) -> None:
    """Make room for the audit log; see `memorist.audit.log`."""
    connection.execute("CREATE TABLE audit (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, hash TEXT NOT NULL)")


def _note_quotes(connection: apsw.Connection) -> None:
    """Note which records a record quotes; it is removed together with them. Traces had this in metadata."""
    connection.execute(
        """
        CREATE TABLE quotes (
            wall INTEGER NOT NULL, id TEXT NOT NULL, by_wall INTEGER NOT NULL, by INTEGER NOT NULL,
            PRIMARY KEY (wall, id, by_wall, by)
        ) WITHOUT ROWID;
        CREATE INDEX quotes_by ON quotes (by_wall, by);
        """
    )
    _link_traces(connection)


def _link_traces(connection: apsw.Connection) -> None:
    """Note what traces quote that have it in their metadata."""
    for name, user in (("own", "traced.user"), ("shared", "''")):
        connection.execute(
            "INSERT OR IGNORE INTO quotes SELECT told.id, quoted.value, records.wall, records.number"
            " FROM walls AS traced JOIN records ON records.wall = traced.id"
            f" JOIN walls AS told ON told.tenant = substr(traced.tenant, ?2) AND told.user = {user}"
            " JOIN json_each(records.metadata, ?3) AS quoted WHERE substr(traced.tenant, 1, ?2 - 1) = ?1",
            (_TRACES, len(_TRACES) + 1, f"$.{name}"),
        )


def _drop_left_over(connection: apsw.Connection) -> None:
    """Remove what quotes a record that is gone: a process of an older version did not know of the table of quotes.

    It had the file open while a newer one brought it to this version, forgot or purged records, and left what quotes
    them. The traces that it kept name what they quote in their metadata.
    """
    quoting = (
        "SELECT by_wall AS wall, by AS number FROM quotes"
        " WHERE NOT EXISTS (SELECT 1 FROM records WHERE records.wall = quotes.wall AND records.id = quotes.id)"
    )
    for name, user in (("own", "traced.user"), ("shared", "''")):
        quoting += (
            " UNION SELECT kept.wall, kept.number FROM walls AS traced JOIN records AS kept ON kept.wall = traced.id"
            f" JOIN json_each(kept.metadata, '$.{name}') AS quoted WHERE substr(traced.tenant, 1, ?2 - 1) = ?1"
            " AND NOT EXISTS (SELECT 1 FROM walls AS told JOIN records ON records.wall = told.id"
            f" WHERE told.tenant = substr(traced.tenant, ?2) AND told.user = {user} AND records.id = quoted.value)"
        )
    for where in set(query_all(connection, quoting, (_TRACES, len(_TRACES) + 1))):
        terms = connection.execute("SELECT terms FROM indexed WHERE wall = ? AND number = ?", where).get
        if terms is not None:
            row = (where[1], f"p{where[0]}", terms)
            connection.execute("INSERT INTO words (words, rowid, wall, terms) VALUES ('delete', ?, ?, ?)", row)
        for table in ("records", "indexed", "changes"):
            connection.execute(f"DELETE FROM {table} WHERE wall = ? AND number = ?", where)
        connection.execute("DELETE FROM quotes WHERE by_wall = ? AND by = ?", where)
        connection.execute("UPDATE segments SET data = NULL WHERE wall = ? AND ? BETWEEN first AND last", where)
    _link_traces(connection)


def _note_offsets(connection: apsw.Connection) -> None:
    """Note the offset from UTC that a time was brought in, in minutes; null for none, as of all that is stored."""
    connection.execute("ALTER TABLE records ADD COLUMN happened_offset INTEGER")


def _purge_in_steps(connection: apsw.Connection) -> None:
    """Note which walls are being purged; see `memorist.stores.sqlite.purging`."""
    connection.execute("CREATE TABLE purges (wall INTEGER PRIMARY KEY)")


def _count_records(connection: apsw.Connection) -> None:
    """Keep by hand how many records there are, and what was derived from which: to count and to find them read all.

    And tell the planner how large tables are. It gathers no statistics here, since its samples are copies of texts.
    """
    connection.execute(
        """
        CREATE TABLE counts (
            wall INTEGER NOT NULL, kind TEXT NOT NULL, current INTEGER NOT NULL, records INTEGER NOT NULL,
            PRIMARY KEY (wall, kind, current)
        ) WITHOUT ROWID;
        CREATE TABLE derivations (
            source TEXT NOT NULL, wall INTEGER NOT NULL, derived TEXT NOT NULL, PRIMARY KEY (source, wall, derived)
        ) WITHOUT ROWID;
        CREATE INDEX derivations_by_derived ON derivations (wall, derived);
        CREATE INDEX indexed_later ON indexed (wall, number) WHERE vector IS NULL;
        ANALYZE sqlite_schema;
        DELETE FROM sqlite_stat1;
        """
    )
    rows = [(table, index, stat) for (table, index), stat in _STATISTICS.items()]
    connection.executemany("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", rows)
    connection.execute("ANALYZE sqlite_schema")  # reads them
    count_anew(connection)


def count_anew(connection: apsw.Connection) -> None:
    """Count the records, and note what was derived from which, where no store wrote them itself."""
    connection.execute(
        """
        INSERT INTO counts SELECT wall, kind, superseded_at IS NULL, count(*) FROM records GROUP BY 1, 2, 3;
        INSERT OR IGNORE INTO derivations SELECT source.value, wall, records.id
            FROM records JOIN json_each(derived_from) AS source
            WHERE derived_from IS NOT NULL AND source.value IS NOT NULL;
        """
    )


_STATISTICS = {
    ("walls", "sqlite_autoindex_walls_1"): "10000 1000 1",
    ("records", "records"): "1000000 100000 1",
    ("records", "records_by_id"): "1000000 100000 1",
    ("records", "records_by_key"): "100000 10000 5000 1",
    ("records", "records_by_time"): "1000000 100000 2 1 1",
    ("records", "records_by_kind"): "1000000 100000 50000 2 1 1",
    ("records", "records_by_session"): "1000000 100000 100 2 1 1",
    ("records", "records_by_epoch"): "1000000 100000 1",
    ("records", "records_by_expiry"): "1000 1",
    ("records", "records_derived"): "10000 10000",
    ("indexed", "indexed"): "1000000 100000 1",
    ("indexed", "indexed_later"): "1000 1000 1",
    ("changes", "changes_by_record"): "2000000 200000 2 1",
    ("changes", "changes_gone"): "100000 10000 1",
    ("segments", "segments_by_wall"): "1000 25 1 1",
    ("quotes", "quotes"): "100000 10000 10 2 1",
    ("quotes", "quotes_by"): "100000 10000 10",
    ("derivations", "derivations"): "10000 10 2 1",
    ("derivations", "derivations_by_derived"): "10000 5000 2",
}
"""The rows of each index, and how many of them are alike in its first columns: a million records in large walls."""


_TRACES = "memorist:traces:"


def _part_state(connection: apsw.Connection) -> None:
    """Give what frameworks keep for themselves the kind state; it was of the kind topic.

    A version between the two found no such topic, and frameworks that went on with it have written new records under
    the same keys. These stay the current ones.
    """
    summaries = query_all(
        connection,
        # Of the agent and the session the key has no more than both joined; the session's messages have them apart.
        # The summaries are few, so they are the outer table: the other way round each session reads all topics.
        "SELECT said.agent, said.session, kept.content, kept.wall, kept.number FROM records AS kept"
        " CROSS JOIN (SELECT DISTINCT wall, agent, session FROM records WHERE kind = 'message') AS said"
        " ON said.wall = kept.wall AND kept.key = ?1 || ifnull(said.agent || '/', '') || said.session"
        " WHERE kept.kind = 'topic' AND ifnull(kept.door, ?2) = ?2 AND substr(kept.key, 1, length(?1)) = ?1",
        (SUMMARIES, SUMMARIES_DOOR),
    )
    for *summary, wall, number in summaries:
        key, content, payload = summary_today(*summary)
        connection.execute(
            "UPDATE records SET key = ?, content = ?, payload = ? WHERE wall = ? AND number = ?",
            (key, content, json.dumps(payload), wall, number),
        )
    connection.execute(
        f"""
        CREATE TEMP TABLE state AS SELECT wall, number, key, superseded_at FROM records WHERE {_STATE};
        UPDATE changes SET before = json_set(before, '$[1]', 'state')
            WHERE before IS NOT NULL AND (wall, number) IN (SELECT wall, number FROM state)
            AND json_extract(before, '$[1]') = 'topic';
        UPDATE records SET superseded_by = newer.id, superseded_at = newer.created_at FROM records AS newer, state
            WHERE records.wall = state.wall AND records.number = state.number AND state.superseded_at IS NULL
            AND newer.wall = state.wall AND newer.key = state.key AND newer.kind = 'state'
            AND newer.superseded_at IS NULL;
        UPDATE records SET kind = 'state' WHERE (wall, number) IN (SELECT wall, number FROM state);
        DROP TABLE state;
        """
    )


_STATE = (
    f"kind = 'topic' AND (json_extract(payload, '$.form') IN {FORMS}"
    f" OR substr(json_extract(payload, '$.form'), 1, {len(FORMS_BEGIN)}) = '{FORMS_BEGIN}'"
    + "".join(f" OR json_type(payload, '$.{each}') = 'object'" for each in FIELDS)
    + ")"
)
MIGRATIONS: Sequence[Migration] = (
    _create, _part_marks, _name_walls, _keep_indexes, _note_origins, _log_audit, _note_quotes, _drop_left_over,
    _part_state, _note_offsets, _purge_in_steps, _count_records,
)  # fmt: skip
"""Step n leads from version n to version n + 1. A step that was released is never changed."""


def check(connection: apsw.Connection, path: Path | None) -> None:
    """Refuse another program's file before anything in it is changed; raises as `migrate`."""
    _version(connection, path, len(MIGRATIONS))


def check_version(connection: apsw.Connection, path: Path | None) -> None:
    """Refuse a write to a file that another process has brought to another version since it was opened.

    Raises:
        SchemaError: this process would leave out what that version wants to be noted.
    """
    if (found := int(connection.pragma("user_version"))) != len(MIGRATIONS):
        raise SchemaError(
            f"{path} was brought to schema {found} by another Memorist while it was open here, and this version "
            f"supports {len(MIGRATIONS)}: writes are refused. Stop this process, then start it with the newer "
            "Memorist; "
            f"{upgrade_advice()}"
        )


def configure(connection: apsw.Connection) -> None:
    """Configure a connection.

    FULL means that a commit is on disk when it returns; secure_delete that freed bytes are zeroed.
    """
    connection.execute(
        "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864;"
        "PRAGMA fullfsync = ON;"  # on macOS, whose drives otherwise keep a commit in a cache of their own
    ).fetchall()  # apsw stops at the first row that is not fetched


def migrate(
    connection: apsw.Connection, path: Path | None, steps: Sequence[Migration] = MIGRATIONS, *, key: Key | None = None
) -> None:
    """Migrate the file to the version of `steps` in one transaction, after a backup beside it.

    Raises:
        SchemaError: the file is of a newer version.
        StoreCorruptError: it is another program's database.
    """
    if _version(connection, path, len(steps)) == len(steps):
        return
    kept: Path | None = None
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = _version(connection, path, len(steps))  # another process may have migrated it meanwhile
        if 0 < found < len(steps) and path is not None:
            kept = path.with_name(f"{path.name}.v{found}.bak")
            with (  # the committed state: this transaction has written nothing yet
                connect(path, key, flags=apsw.SQLITE_OPEN_READONLY) as old,
                connect(kept, key) as new,
                new.backup("main", old, "main") as copy,
            ):
                copy.step()
        for step in steps[found:]:
            step(connection)
        connection.execute(f"PRAGMA user_version = {len(steps)}")
        connection.execute("COMMIT")
        if kept is not None:
            log.warning("%s was upgraded for this version; the earlier file is kept in %s", path, kept)
    except BaseException as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError):
            raise StoreUnavailableError(
                f"{path} was written by an earlier version and must be upgraded when it is opened, but it or "
                "its folder is not writable; make both writable, or copy the file into a writable folder and "
                "open the copy"
            ) from error
        raise


def _version(connection: apsw.Connection, path: Path | None, latest: int) -> int:
    found = int(connection.pragma("user_version"))
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if connection.pragma("application_id") != APPLICATION_ID and (found or tables):
        raise StoreCorruptError(f"{path} is another program's SQLite database; choose another path")
    if found > latest:
        raise SchemaError(
            f"{path} was written by a newer Memorist (schema {found}, this one knows {latest}); "
            f"{upgrade_advice()}{_older(path, latest)}"
        )
    return found


def _older(path: Path | None, latest: int) -> str:
    """Return in words which copy from before an upgrade this version opens, if there is one beside the file."""
    if path is None:
        return ""
    copies = [path.with_name(f"{path.name}.v{version}.bak") for version in range(latest, 0, -1)]
    copy = next((each for each in copies if each.exists()), None)
    return "" if copy is None else f". The file as it was before an upgrade, without later writes, is {copy}"
