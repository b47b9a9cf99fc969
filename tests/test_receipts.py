"""Receipts of purges: what they say, that they are signed, and that no copy is passed over."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from children import open_memory
from inside import core_of
from memorist.audit.signing import check, public_key
from memorist.config import Settings
from memorist.errors import FormatError, ScopeError, SignatureError
from memorist.memory import Memory
from memorist.operations.answers import RECEIPT, Receipt
from memorist.records.record import Draft
from memorist.serve.auth import Tokens
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

NAME, MARK = "qvictimz", "qmarkz"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
async def memory(path: Path) -> AsyncIterator[Memory]:
    settings = Settings(url=str(path), embedder=HashEmbedder(), audit="changes", signing_key=path.with_name("key"))
    async with Memory.open(settings=settings) as opened:
        yield opened


def found_at(receipt: Receipt) -> dict[str, tuple[int, int]]:
    return {
        Path(place["where"].split()[-1]).name: (place["found"], place["elsewhere"])
        for place in receipt.statement["searched"]
    }


async def test_a_receipt_says_what_is_gone_and_where_it_was_searched_for(memory: Memory, path: Path) -> None:
    victim = memory.scoped(user=NAME)
    await victim.remember([f"{MARK} {n}" for n in range(3)])
    await victim.remember(Draft(content=f"{MARK} is known", kind="fact", key=f"{MARK}-key", id=f"{MARK}-id"))
    await memory.scoped(user="anna").remember("Tea")
    receipt = await memory.purge(user=NAME)
    check(receipt.statement, RECEIPT, public_key(path.with_name("key")))
    said = receipt.statement
    assert (receipt.purged, said["records"], said["tenant"]) == (4, {"fact": 1, "note": 3}, "default")
    assert said["texts"] == 10, "the name, four ids and contents, and a key"
    assert receipt.clean
    assert found_at(receipt) == {
        "memory.db": (0, 0),
        "memory.db-wal": (0, 0),
        "audit": (0, 0),
    }
    assert said["copies"] == []
    last = (await memory.admin.audit())[-1]
    assert (said["audit"], last.said["verb"]) == ({"number": last.number, "hash": last.hash}, "purge")
    assert receipt.is_of(NAME) and not receipt.is_of("anna")
    written = json.dumps(said)
    assert NAME not in written and MARK not in written


async def test_a_dry_run_says_what_would_go_and_deletes_nothing(memory: Memory, path: Path) -> None:
    victim = memory.scoped(user=NAME)
    await victim.remember([f"{MARK} {n}" for n in range(2)])
    await victim.facts.add(f"{MARK} is known")
    await Tokens(memory).create("laptop", user=NAME)
    await memory.admin.backup(path.with_name("copy.db"))
    told = await victim.purge(dry_run=True)
    assert (told.dry_run, told.purged, told.clean) == (True, 3, False)
    assert told.statement["records"] == {"fact": 1, "note": 2} and told.statement["tokens"] == 1
    assert [set(place) for place in told.statement["searched"]] == [{"where"}] * 3
    [copy] = told.statement["copies"]
    assert "copy.db: it holds" in copy
    assert not path.with_name("key").exists(), "a dry run needs no key"
    with pytest.raises(FormatError):
        check(told.statement, RECEIPT, public_key(path.with_name("key")))
    before = await memory.admin.audit()
    await victim.purge(dry_run=True)
    assert await memory.admin.audit() == before
    done = await victim.purge()
    names = ("records", "tokens", "traces", "proposals", "texts", "copies")
    assert [done.statement[name] for name in names] == [told.statement[name] for name in names]
    assert not done.dry_run and done.clean
    assert [place["where"] for place in done.statement["searched"]] == [
        place["where"] for place in told.statement["searched"]
    ]


async def test_what_has_expired_is_counted_and_searched_for_too(memory: Memory) -> None:
    victim = memory.scoped(user=NAME)
    await victim.remember([Draft(content=f"{MARK} long gone", expires_at="2001-01-01"), f"{MARK} is known"])
    assert await victim.count() == 1
    told, done = await victim.purge(dry_run=True), await victim.purge()
    assert (told.purged, told.statement["texts"]) == (done.purged, done.statement["texts"]) == (2, 5)
    assert done.clean


async def test_what_others_say_too_is_told_apart_from_what_was_left(memory: Memory) -> None:
    await memory.scoped(user=NAME).remember("The meeting is on Monday")
    await memory.scoped(user="anna").remember(f"{NAME} says: The meeting is on Monday")
    receipt = await memory.purge(user=NAME)
    assert receipt.clean
    assert found_at(receipt)["memory.db"] == (0, 2)


async def test_what_a_purge_leaves_is_found(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    await memory.scoped(user=NAME).remember(MARK)
    store: Any = core_of(memory).store
    purge = type(store).purge
    monkeypatch.setattr(type(store), "purge", lambda self, *walls, act: self_counted(self, purge, act, *walls))
    receipt = await memory.purge(user=NAME)
    assert not receipt.clean


async def self_counted(store: Any, purge: Any, act: Any, *walls: Any) -> Any:
    """Purge another user, as a purge with a fault might."""
    return await purge(store, walls[0]._replace(user="nobody"), act=act)


async def test_backups_are_named_with_what_they_hold(memory: Memory, path: Path) -> None:
    await memory.scoped(user=NAME).remember(MARK)
    there, moved = path.with_name("there.db"), path.with_name("moved.db")
    for target in (there, moved):
        await memory.admin.backup(target)
    moved.rename(path.with_name("elsewhere.db"))
    await memory.admin.backup(path.with_name("replaced.db"))
    path.with_name("replaced.db").unlink()
    path.with_name("replaced.db").mkdir()
    path.with_name("memory.db.v3.bak").write_bytes(there.read_bytes())
    receipt = await memory.purge(user=NAME)
    first, second, unreadable, third = receipt.statement["copies"]
    assert "cannot be read, so it was not searched" in unreadable
    assert str(there) in first and "it holds 1 of the user's records" in first
    assert str(moved) in second and "no longer exists" in second
    assert "made before a migration: it holds 1 of the user's records" in third
    assert receipt.clean, "what was purged is gone from what was purged"


async def test_a_backup_is_told_by_all_its_records_and_a_short_name(memory: Memory, path: Path) -> None:
    bob = memory.scoped(user="bob")
    await bob.remember([f"{MARK} {n}" for n in range(30)])
    await memory.scoped(user="anna").remember("Tea")
    await memory.admin.backup(path.with_name("first.db"))
    await bob.forget(kind="note")
    await memory.admin.backup(path.with_name("second.db"))
    await bob.remember([f"later {n}" for n in range(120)])
    first, second = (await memory.purge(user="bob")).statement["copies"]
    assert first.endswith("first.db: it holds 30 of the user's records")
    assert second.endswith("second.db: it holds 0 of the texts, and none of the user's records")


async def test_a_copy_of_any_version_is_counted(memory: Memory, path: Path) -> None:
    old = path.with_name("memory.db.v2.bak")
    await memory.scoped(user=NAME).remember(MARK)
    await memory.admin.backup(old)
    with apsw.Connection(str(old)) as connection:  # as it was called before version 3
        connection.execute(
            "ALTER TABLE walls RENAME TO partitions; ALTER TABLE records RENAME COLUMN wall TO partition"
        )
    path.with_name("memory.db.v1.bak").write_bytes(b"not a database, though it says " + NAME.encode())
    copies = (await memory.purge(user=NAME)).statement["copies"]
    assert [each for each in copies if "v2.bak" in each and "it holds 1 of the user's records" in each]
    [broken] = [each for each in copies if "v1.bak" in each]
    assert "no records were counted" in broken and "it holds 1 of the texts" in broken


@pytest.mark.posix
async def test_a_file_opened_by_a_link_is_searched_where_it_lies(tmp_path: Path) -> None:
    real, link = tmp_path / "folder" / "[1].db", tmp_path / "link.db"
    real.parent.mkdir()
    link.symlink_to(real)
    async with open_memory(link) as memory:
        real.with_name(f"{real.name}.v3.bak").write_bytes(b"")
        receipt = await memory.purge(user=NAME)
    assert f"file {real}-wal" in [place["where"] for place in receipt.statement["searched"]]
    [copy] = receipt.statement["copies"]
    assert str(real) in copy


async def test_a_purge_of_nobody_and_of_what_is_shared(memory: Memory) -> None:
    assert (await memory.purge(user="nobody")).purged == 0
    await memory.remember("Everybody knows")
    receipt = await memory.purge(shared=True)
    assert (receipt.purged, receipt.statement["subject"]) == (1, None)
    assert not receipt.is_of("nobody")
    receipt = await memory.purge(user="Zoe\u0301")
    assert receipt.is_of("Zo\u00e9") and receipt.is_of("Zoe\u0301")
    with pytest.raises(ScopeError):
        await memory.scoped(user="anna").purge(user="bert")


async def test_nothing_is_purged_where_the_key_cannot_be_used(memory: Memory, path: Path) -> None:
    await memory.scoped(user=NAME).remember(MARK)
    path.with_name("key").write_text("no key")
    with pytest.raises(SignatureError):
        await memory.purge(user=NAME)
    assert await memory.scoped(user=NAME).count() == 1


async def test_without_the_extra_a_receipt_says_that_it_is_not_signed(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives.asymmetric.ed25519", None)
    await memory.scoped(user=NAME).remember(MARK)
    receipt = await memory.purge(user=NAME)
    assert receipt.purged == 1 and receipt.clean
    assert receipt.statement["signature"] is None and "memorist[signed]" in receipt.statement["unsigned"]


async def test_a_memory_in_this_process_has_tables_alone() -> None:
    async with open_memory(":memory:") as memory:
        await memory.scoped(user=NAME).remember(MARK)
        assert list(found_at(await memory.purge(user=NAME))) == ["audit"]


async def test_vectors_in_an_index_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("qdrant_client")
    index = f"qdrant:{tmp_path / 'vectors'}"
    settings = Settings(largest_index=0)
    async with open_memory(tmp_path / "memory.db", index=index, settings=settings) as memory:
        victim = memory.scoped(user=NAME)
        await victim.remember([f"{MARK} {n}" for n in range(5)])
        await victim.recall(MARK)
        receipt = await victim.purge()
        [vectors] = [place for place in receipt.statement["searched"] if "vectors in qdrant" in place["where"]]
        assert vectors["found"] == 0 and receipt.clean
