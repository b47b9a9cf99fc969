"""The audit log in PostgreSQL: one chain for all servers, unbroken after a purge, and in a backup."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memorist.config import Settings
from memorist.memory import Memory
from memorist.records.record import Draft
from memorist.stores.postgres import parse_url

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]


async def test_servers_that_write_at_once_keep_one_unbroken_chain(server: "Server", tmp_path: Path) -> None:
    url = server.new_url()
    settings = Settings(url=url, embedder="hash", audit="reads", signing_key=tmp_path / "key")
    async with Memory.open(settings=settings) as one, Memory.open(url, embedder="hash") as two:
        await asyncio.gather(
            *(
                memory.scoped(user=user).remember(Draft(content=f"note {n}", kind=["note", "fact"][n % 2]))
                for n in range(10)
                for user in ("alice", "bob")
                for memory in (one, two)
            )
        )
        await two.scoped(user="alice").forget(kind="fact")
        await one.scoped(user="alice").recall("note", limit=3)
        await one.scoped(user="bob").remember("for a moment", expires_at=-1)
        checkpoint = await one.admin.checkpoint()
        told = await one.scoped(user="bob").purge(dry_run=True)
        assert told.statement["records"] == {"fact": 10, "note": 11}, "what has expired is not swept yet"
        receipt = await one.scoped(user="bob").purge()
        assert [place["where"] for place in told.statement["searched"]] == [
            place["where"] for place in receipt.statement["searched"]
        ]
        assert (receipt.purged, receipt.clean) == (21, True)
        assert await two.admin.verify_audit(checkpoint) == []
        noted = [entry.said["records"] async for entry in one.admin.audit_entries()]
        assert sum(said.get("remembered", {}).get("fact", 0) for said in noted) == 20
        assert noted[-4:] == [
            {"forgotten": {"fact": 10}},
            {"read": {"note": 3}},
            {"remembered": {"note": 1}},
            {"purged": {"fact": 10, "note": 11}},
        ]
        alice = {entry.said["wall"] for entry in await one.scoped(user="alice").admin.audit()}
        assert len(alice) == 1

        [first, *_] = receipt.statement["searched"]
        assert first == {"where": f"table {parse_url(url).schema}.indexed", "found": 0, "elsewhere": 0}
        assert receipt.statement["searched"][-1]["elsewhere"] > 0, "alice's notes say the same"
        assert any("write-ahead log" in copy for copy in receipt.statement["copies"])

        copy = await one.admin.backup(tmp_path / "copy.db")
        async with Memory.open(copy, embedder="hash") as restored:
            assert await restored.admin.verify_audit(checkpoint) == []
            await restored.scoped(user="alice").remember("goes on in the copy")
            assert {entry.said["wall"] for entry in await restored.scoped(user="alice").admin.audit()} == alice
            await restored.scoped(user="bob").remember("who is another now")
            assert len(await restored.scoped(user="bob").admin.audit()) == 1

        with server.connect() as connection:
            connection.execute(f"DELETE FROM {parse_url(url).schema}.audit WHERE number > 40".encode())
        [fault] = await one.admin.verify_audit(checkpoint)
        assert "the end of the log was removed" in fault


async def test_a_write_that_is_refused_has_no_entry(server: "Server") -> None:
    url = server.new_url()
    async with Memory.open(settings=Settings(url=url, embedder="hash", audit="changes")) as memory:
        outcomes = await asyncio.gather(*(memory.remember("x", id="same") for _ in range(8)), return_exceptions=True)
        assert sum(isinstance(each, Exception) for each in outcomes) == 7
        assert [entry.said["verb"] for entry in await memory.admin.audit()] == ["audit changes", "remember"]
        assert await memory.admin.verify_audit() == []
