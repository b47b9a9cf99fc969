"""The options in a ``postgresql://`` URL: the server, and how its tables are kept."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from memorist.errors import InvalidInputError, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresOptions:
    """How to reach and use a database. The URL's query sets each option by its name.

    Args:
        conninfo: the URL for libpq, without the options below.
        schema: the schema of the tables.
        pool_size: the most connections of this process.
        prepare_threshold: the number of runs after which a statement is prepared; None for never (``off``), as behind
            a pooler.
        partitions: the number of partitions of new tables, by tenant; 0 for none.
        rls: whether new tables carry row-level security.
        hnsw: whether there is an index of the vectors, so that recall need not read large walls.
        purge: how far a purge goes: "delete", "vacuum" or "full".
        busy_timeout: seconds to wait for a connection, a lock, or an unavailable server.
    """

    conninfo: str
    schema: str = "memorist"
    pool_size: int = 8
    prepare_threshold: int | None = 5
    partitions: int = 8
    rls: bool = True
    hnsw: bool = False
    purge: str = "vacuum"
    busy_timeout: float = 30.0

    @property
    def shown(self) -> str:
        """The URL to show in an error or a log: without the password and the parameters."""
        parts = urlsplit(self.conninfo)
        user, _, host = parts.netloc.rpartition("@")
        name = user.partition(":")[0]
        return urlunsplit((parts.scheme, f"{name}@{host}" if name else host, parts.path, "", ""))


def parse_url(url: str, busy_timeout: float = 30.0) -> PostgresOptions:
    """Return the options in a URL.

    Raises:
        InvalidInputError: libpq does not accept the URL, or a parameter is unknown or wrong.
        MissingExtraError: psycopg is not installed.
    """
    from memorist.stores.postgres.libpq import check_conninfo, not_a_url

    try:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True)
        if "," not in parts.netloc:  # libpq handles several hosts
            _ = parts.port
    except ValueError:
        raise not_a_url("its host or port cannot be read") from None
    if parts.fragment or "@" in parts.path or parts.netloc.count("@") > 1:
        raise not_a_url("it is ambiguous where its password ends")
    given: dict[str, Any] = {}
    rest = []
    for name, value in query:
        if name not in _OPTIONS:
            rest.append((name, value))
            continue
        allowed, expected, read = _OPTIONS[name]
        if not re.fullmatch(allowed, value):
            raise InvalidInputError(f"{name} must be {expected}, not {shown(value)}")
        given[name] = read(value)
    conninfo = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(rest), ""))
    if not parts.netloc and not parts.path and not rest:  # nothing at all: libpq's own defaults, with its slashes
        conninfo = "postgresql://"
    elif not parts.netloc:
        conninfo = conninfo.replace("postgresql:/", "postgresql:///", 1).replace("////", "///", 1)
    check_conninfo(conninfo)
    return PostgresOptions(conninfo=conninfo, busy_timeout=busy_timeout, **given)


_OPTIONS: Mapping[str, tuple[str, str, Callable[[str], Any]]] = {
    "schema": (r"(?!pg_)[a-z_][a-z0-9_]{0,40}", "a name of lower-case letters, digits and _", str),
    "pool_size": (r"(?!0+$)[0-9]{1,4}", "a whole number, 1 or more", int),
    "prepare_threshold": (
        r"[0-9]{1,4}|off",
        "a whole number, or off",
        lambda value: None if value == "off" else int(value),
    ),
    "partitions": (r"[0-9]{1,4}", "a whole number", int),
    "rls": (r"on|off", "on or off", "on".__eq__),
    "hnsw": (r"on|off", "on or off", "on".__eq__),
    "purge": (r"delete|vacuum|full", "one of delete, vacuum, full", str),
}
"""For each option the texts that are allowed, the same in words, and what reads one of them."""
