"""Roles beside the owner of the tables, as docs/postgres.md writes them: one works with them, one backs them up."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from memorist.memory import Memory
from memorist.stores.postgres import parse_url
from postgres_server import PASSWORD

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]
PAGE = Path(__file__).parents[2] / "docs" / "postgres.md"
TABLES = ("records", "walls", "indexed", "changes", "staged")


def statements(role: str, schema: str) -> str:
    """Return the statements of the page about a role, for another schema."""
    [block] = [each for each in re.findall(r"```text\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
               if f"CREATE ROLE {role} " in each]  # fmt: skip
    return (
        str(block)
        .replace("choose one", PASSWORD)
        .replace("SCHEMA memorist", f"SCHEMA {schema}")
        .replace("memorist.audit", f"{schema}.audit")
    )


async def filled(server: "Server", role: str) -> str:
    """Make a memory of two tenants and a role on it; return its URL."""
    url = server.new_url()
    async with Memory.open(url, embedder="hash") as memory:
        for tenant in ("acme", "other"):
            await memory.scoped(tenant=tenant, user="alice").remember(f"tea of {tenant}")
    with server.connect() as connection:
        connection.execute(statements(role, parse_url(url).schema).encode())
    return url


async def test_a_role_that_works_with_the_tables_reads_no_other_tenant_through_sql(server: "Server") -> None:
    url = await filled(server, "worker")
    schema = parse_url(url).schema
    async with Memory.open(url.replace("//app:", "//worker:"), embedder="hash", tenant="acme", user="alice") as alice:
        await alice.remember("coffee of acme")
        assert await alice.count() == 2
        await alice.forget((await alice.recall("coffee"))[0].record.id)
    with server.connect("worker") as connection:
        for table in TABLES:
            assert connection.execute(f"SELECT * FROM {schema}.{table}".encode()).fetchall() == [], table
        open_to_it = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'p')"
            " AND NOT relispartition AND NOT relrowsecurity",
            (schema,),
        ).fetchall()
        assert {name for (name,) in open_to_it} == {"meta", "words", "audit"}  # of which words alone is of the texts
        connection.execute("SELECT set_config('memorist.tenant', 'acme', false)")
        connection.execute("SELECT set_config('memorist.users', 'null', false)")
        seen = connection.execute(f"SELECT DISTINCT tenant FROM {schema}.records".encode()).fetchall()
        assert seen == [("acme",)]
        for forbidden in (f"DROP TABLE {schema}.records", f"ALTER TABLE {schema}.records DISABLE ROW LEVEL SECURITY",
                          f"TRUNCATE {schema}.records", f"CREATE TABLE {schema}.mine ()"):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(forbidden.encode())


async def test_a_role_that_backs_up_reads_everything_and_changes_nothing(server: "Server") -> None:
    schema = parse_url(await filled(server, "backup")).schema
    dump = server.run("pg_dump", "-n", schema, server.url(user="backup"))
    assert "tea of acme" in dump and "tea of other" in dump
    with server.connect("backup") as connection:
        for forbidden in (f"DELETE FROM {schema}.records", f"UPDATE {schema}.walls SET tenant = ''"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"):
                connection.execute(forbidden.encode())
