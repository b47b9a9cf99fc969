"""Roles beside the owner of the tables, as docs/postgres.md writes them: one works with them, one backs them up."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from inside import core_of
from memorist.config import Settings
from memorist.errors import StoreUnavailableError
from memorist.memory import Memory
from memorist.stores.postgres import parse_url
from postgres_server import PASSWORD

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]
PAGE = Path(__file__).parents[2] / "docs" / "postgres.md"
TABLES = ("records", "walls", "indexed", "changes", "staged", "words", "words_of_wall")
OPEN = {
    "meta": "the version of the tables, the embedder's name, the mode of the log",
    "audit": "one chain for all walls, with numbers in place of users: who appends to it must read its end",
}
"""The tables without a policy, each with its reason."""


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
    settings = Settings(url=url.replace("//app:", "//worker:"), embedder="hash", audit="reads")
    async with Memory.open(settings=settings, tenant="acme") as acme:
        alice, bob = acme.scoped(user="alice"), acme.scoped(user="bob")
        coffee = await alice.remember("coffee of acme")
        await alice.revise(coffee.id, content="green tea of acme")
        assert len(await alice.recall("tea", limit=5)) == 2
        assert len(await core_of(acme).store.search_words(alice.scope.wall, ["tea"], 5)) == 2
        await alice.forget(coffee.id)
        await bob.remember("milk")
        assert (await bob.purge()).purged == 1
    async with Memory.open(f"{settings.url}&purge=full", user="bob", embedder="hash") as bob:
        with pytest.raises(StoreUnavailableError, match="lacks a privilege"):
            await bob.purge()  # which would leave what it says is gone
    with server.connect("worker") as connection:
        for table in TABLES:
            assert connection.execute(f"SELECT * FROM {schema}.{table}".encode()).fetchall() == [], table
        connection.execute("SELECT set_config('memorist.tenant', 'acme', false)")
        for users, tables in (("null", TABLES[:2]), ('["alice"]', TABLES[-2:])):
            connection.execute("SELECT set_config('memorist.users', %s, false)", (users,))
            for table in tables:
                seen = connection.execute(f"SELECT DISTINCT tenant FROM {schema}.{table}".encode()).fetchall()
                assert seen == [("acme",)], table
        for forbidden in (f"DROP TABLE {schema}.records", f"ALTER TABLE {schema}.records DISABLE ROW LEVEL SECURITY",
                          f"TRUNCATE {schema}.records", f"CREATE TABLE {schema}.mine ()"):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(forbidden.encode())


async def test_every_table_has_a_policy_or_a_reason_to_have_none(server: "Server") -> None:
    url = server.new_url()
    async with Memory.open(url, embedder="hash"):
        pass
    with server.connect() as connection:
        found = connection.execute(
            "SELECT substring(relname FROM '^[a-z]+'), relforcerowsecurity, relrowsecurity AND EXISTS"
            " (SELECT FROM pg_policy WHERE polrelid = pg_class.oid) FROM pg_class"
            " WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'p', 'f', 'm')",
            (parse_url(url).schema,),
        ).fetchall()
    assert {name for name, _, guarded in found if not guarded} == set(OPEN)
    # The owner is not held by the policy of words, so that the view words_of_wall can be searched by its index.
    assert {name for name, forced, _ in found if not forced} == {*OPEN, "words"}
    assert len(found) == len(OPEN) + 6 * 3 + 1  # six tables, each in two parts, and that of quotes


async def test_a_role_that_backs_up_reads_everything_and_changes_nothing(server: "Server") -> None:
    schema = parse_url(await filled(server, "backup")).schema
    dump = server.run("pg_dump", "-n", schema, server.url(user="backup"))
    assert "tea of acme" in dump and "tea of other" in dump
    with server.connect("backup") as connection:
        for forbidden in (f"DELETE FROM {schema}.records", f"UPDATE {schema}.walls SET tenant = ''"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"):
                connection.execute(forbidden.encode())
