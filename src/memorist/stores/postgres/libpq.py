"""psycopg, imported on first use, and the translation of its errors to this package's."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from memorist.errors import (
    InvalidInputError,
    MemoristError,
    SchemaError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    missing_extra,
)

if TYPE_CHECKING:
    import psycopg

    Connection: TypeAlias = psycopg.AsyncConnection[tuple[Any, ...]]
    Cursor: TypeAlias = psycopg.AsyncCursor[tuple[Any, ...]]
else:
    Connection = Cursor = Any

_MEANINGS: Sequence[tuple[tuple[str, ...], type[MemoristError], str]] = (
    (("53300",), StoreBusyError,
     "{database}: the server has no connection left for this role or database; lower pool_size, raise max_connections, "
     "or put a pooler in between"),
    (("55P03",), StoreBusyError, "{database}: another process held a lock for too long; try again"),
    (("57014",), StoreBusyError, "{database}: the server cancelled a statement that took too long; try again"),
    (("40001",), StoreBusyError, "{database}: another process changed the same rows at the same time; try again"),
    (("40P01",), StoreBusyError, "{database}: another process waited for the same locks; try again"),
    (("54000",), InvalidInputError,
     "tenant, user, session, id and key are too long together: PostgreSQL indexes some 2,700 bytes of them"),
    (("53",), StoreFullError, "the disk is full where {database} writes ({said}); free some space, then repeat"),
    (("XX001", "XX002"), StoreCorruptError, "{database} is damaged ({said}); restore a backup"),
    (("42P01", "3F000", "42703", "42883"), SchemaError,
     "tables of {database} are missing or belong to another program ({said}); choose another schema"),
    (("42501",), StoreUnavailableError, "the role lacks a privilege in {database}: {said}; grant it"),
    (("25006",), StoreUnavailableError, "{database} is read-only ({said}); use the primary server"),
)  # fmt: skip
"""For the codes that begin so: the error, and what it says."""
_LOST = ("57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "08000", "08003", "08006", "08P01")
"""What a server says last on a connection that it ends: it stops, starts, or its time-out for this state is over.

The last is PgBouncer's, for a server that it cannot reach.
"""
_TOO_MANY = "53300"
_WAITED = ("55P03", "57014")
_REFUSED = r"authentication failed|no password|pg_hba.conf|does not exist|(?<!during )SSL|certificate|translate host"
_UNKNOWN = re.compile(r'invalid URI query parameter: "\w+"')
_UNPREPARED = ("26000", "42P05", "0A000")
_REASONS = (
    (r"too many (clients|connections)|remaining connection slots", _TOO_MANY),
    (r"authentication failed|no password supplied|pg_hba.conf", "name a user who may log in, and the right password"),
    (r'database ".*" does not exist', "create the database first: createdb NAME"),
    (r'role ".*" does not exist', "create the role first: createuser NAME"),
    (r"translate host name|Name or service not known|resolve host|nodename nor servname", "check the host's name"),
    (r"refused|No such file|Is the server running", "check the host and the port, and that the server is running"),
    (r"timeout expired|timed out|unreachable", "check the host, the port, and any firewall between"),
    (
        r"starting up|shutting down|recovery mode|error response during SSL",
        "the server is starting or stopping; try again in a moment",
    ),
    (r"SSL|certificate", "check sslmode and the certificates"),
    (r"session is read-only", "every server that answers is a standby: name the primary server, or promote one"),
)
"""A failed connection's error has no code: words to look for in its message, and the advice for each."""


async def fetched(connection: Connection, query: str, values: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
    """Return all rows of a query."""
    return await (await connection.execute(query.encode(), values)).fetchall()


async def first_of(connection: Connection, query: str, values: Sequence[Any] | None = None) -> tuple[Any, ...] | None:
    """Return the first row of a query, or None where there is none."""
    return await (await connection.execute(query.encode(), values)).fetchone()


def check_conninfo(conninfo: str) -> None:
    """Check that libpq accepts a URL.

    Raises:
        InvalidInputError: it is not a connection's URL, or a parameter of it is unknown.
        MissingExtraError: psycopg is not installed.
    """
    try:
        import pgvector  # noqa: F401
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ModuleNotFoundError as error:
        raise missing_extra(error.name or "psycopg", "postgres") from error
    try:
        conninfo_to_dict(conninfo)
    except psycopg.Error as error:
        unknown = _UNKNOWN.match(str(error))  # other messages may quote the password, in a traceback too
        raise not_a_url(unknown[0] if unknown else "libpq cannot read it") from None


def not_a_url(why: str) -> InvalidInputError:
    """Return the error for a URL that cannot be read; `why` must not quote the URL, which may hold the password."""
    return InvalidInputError(
        f"not a URL of PostgreSQL ({why}); it looks like postgresql://USER:PASSWORD@HOST:5432/DATABASE, with @, /, :, "
        "?, # and % in the password written as %40, %2F, %3A, %3F, %23 and %25"
    )


async def is_direct(connection: Connection) -> bool:
    """Return whether the session is the connection's own: a pooler numbers sessions differently from the server."""
    return await first_of(connection, "SELECT pg_backend_pid()") == (connection.info.backend_pid,)


def is_lost(error: BaseException) -> bool:
    """Return whether the connection is lost and cannot be used further."""
    import psycopg

    if not isinstance(error, psycopg.Error):
        return False
    unsaid = error.sqlstate is None and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return unsaid or error.sqlstate in _LOST


def has_waited(error: BaseException) -> bool:
    """Return whether a statement has already waited for as long as a call may, mostly for a lock."""
    return getattr(error, "sqlstate", None) in _WAITED


def may_come_back(error: BaseException) -> bool:
    """Return whether a failed connection may succeed in a moment, because the server did not refuse the client."""
    return is_lost(error) and re.search(_REFUSED, str(error), re.IGNORECASE) is None


def is_unprepared(error: BaseException) -> bool:
    """Return whether a statement that this connection has prepared is lost, or no longer fits the tables."""
    code = getattr(error, "sqlstate", None)
    return code in _UNPREPARED and (code != "0A000" or "cached plan" in str(error))


@contextmanager
def translated(database: str) -> Iterator[None]:
    """Turn psycopg's errors into this package's; `database` is the database, as it may be shown."""
    import psycopg

    try:
        yield
    except MemoristError:
        raise
    except psycopg.Error as error:
        raise_ours(error, database)
    except UnicodeEncodeError as error:
        raise InvalidInputError("a string contains a lone surrogate, which cannot be stored") from error


def raise_ours(error: "psycopg.Error", database: str) -> NoReturn:
    """Raise this package's error for one of psycopg's."""
    code, said = error.sqlstate or "", str(error).strip()
    if not code:
        for pattern, advice in _REASONS:
            if re.search(pattern, said, re.IGNORECASE):
                if advice == _TOO_MANY:
                    code = advice
                    break
                raise StoreUnavailableError(f"{database} cannot be reached: {said}; {advice}") from error
    for codes, kind, text in _MEANINGS:
        if code.startswith(codes):
            raise kind(text.format(database=database, said=said)) from error
    if not code or is_lost(error):
        raise StoreUnavailableError(f"the connection to {database} was lost ({said}); try again") from error
    raise StoreError(f"PostgreSQL failed in {database}: {said}") from error
