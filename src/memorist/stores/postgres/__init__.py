"""A store in PostgreSQL with pgvector, for more than one machine; see `PostgresStore` and docs/postgres.md."""

from memorist.config import Settings
from memorist.stores.postgres.options import PostgresOptions, parse_url
from memorist.stores.postgres.store import PostgresStore

__all__ = ["PostgresOptions", "PostgresStore", "open_postgres", "parse_url"]


def open_postgres(settings: Settings) -> PostgresStore:
    """Return the store that ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?…`` names, not yet opened.

    Raises:
        InvalidInputError: the URL or a parameter of it is wrong.
        MissingExtraError: psycopg is not installed.
    """
    return PostgresStore(parse_url(settings.url, settings.busy_timeout), clock=settings.clock)
