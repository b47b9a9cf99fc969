"""An encrypted file. What needs the cipher runs where apsw-sqlite3mc has taken apsw's place."""

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from memorist.config import Settings
from memorist.errors import InvalidInputError, MissingExtraError, StoreBusyError, StoreCorruptError, StoreKeyError
from memorist.memory import Memory
from memorist.stores.keys import Key, new_key, read_key
from memorist.stores.sqlite.encryption import rotate
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio
ciphered = pytest.mark.skipif(not hasattr(apsw, "mc_version"), reason="needs apsw-sqlite3mc")
SECRET = "is allergic to peanuts"


@pytest.fixture(autouse=True)
def plain_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORIST_KEY_FROM", raising=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def kept(folder: Path, name: str) -> str:
    """Keep a new key in a file and return where."""
    (folder / name).write_text(new_key())
    return f"file:{folder / name}"


async def say(path: Path, source: str | None, text: str = SECRET) -> None:
    async with Memory.open(path, key_from=source, embedder=HashEmbedder()) as memory:
        await memory.remember(text)


async def said(path: Path, source: str | None) -> list[str]:
    async with Memory.open(path, key_from=source, embedder=HashEmbedder()) as memory:
        return [record.content for record in await memory.recent()]


# --- where a key is kept ------------------------------------------------------------------------------


def test_each_place_of_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digits = new_key()
    (tmp_path / "a key").write_text(f"{digits}\n")
    monkeypatch.setenv("SECRET_OF_MINE", digits)
    command = f"'{sys.executable}' -c \"print('{digits}')\""
    for source in (f"file:{tmp_path / 'a key'}", "env:SECRET_OF_MINE", f"command:{command}"):
        assert read_key(source).reveal() == digits


def test_a_keyring_that_holds_one(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = pytest.importorskip("keyring")
    backend = pytest.importorskip("keyring.backend")

    class InMemory(backend.KeyringBackend):  # type: ignore[misc, name-defined]
        priority = 1

        def get_password(self, service: str, username: str) -> str | None:
            return digits if (service, username) == ("memorist", "main") else None

        def set_password(self, service: str, username: str, password: str) -> None: ...

        def delete_password(self, service: str, username: str) -> None: ...

    digits = new_key()
    monkeypatch.setattr(keyring.core, "_keyring_backend", InMemory())
    assert read_key("keyring:memorist/main").reveal() == digits
    with pytest.raises(StoreKeyError, match="keyring set memorist other"):
        read_key("keyring:memorist/other")


@pytest.mark.parametrize("given", ["", "file:", "f00d" * 16, "vault:secret", f"key:{'f00d' * 16}"])
def test_what_is_no_place_is_refused_and_not_shown(given: str) -> None:
    with pytest.raises(InvalidInputError, match="file:PATH") as caught:
        read_key(given)
    assert "f00d" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "f00d", "f00d" * 17, "g00d" * 16, "ü" * 64])
def test_what_is_no_key_is_refused_and_not_shown(tmp_path: Path, content: str) -> None:
    (tmp_path / "key").write_text(content)
    with pytest.raises(StoreKeyError, match="memorist key new") as caught:
        read_key(f"file:{tmp_path / 'key'}")
    assert not content or content not in str(caught.value)


def test_a_place_where_nothing_is(tmp_path: Path) -> None:
    with pytest.raises(StoreKeyError, match="cannot be read"):
        read_key(f"file:{tmp_path / 'none'}")
    with pytest.raises(StoreKeyError, match="NOT_THERE"):
        read_key("env:NOT_THERE")
    with pytest.raises(StoreKeyError, match="FileNotFoundError"):
        read_key("command:/no/such/program f00d")
    with pytest.raises(StoreKeyError, match="exit code 3") as caught:
        read_key(f"command:{sys.executable} -c 'raise SystemExit(3) # f00d'")
    assert "f00d" not in str(caught.value)
    with pytest.raises(InvalidInputError, match="cannot be read: No closing quotation"):
        read_key("command:pass 'memory")


def test_a_key_does_not_show_itself() -> None:
    digits = new_key()
    assert digits not in repr(Key(digits, "a test")) + repr(Settings(key_from="env:KEY"))


# --- the file -----------------------------------------------------------------------------------------


@pytest.mark.skipif(hasattr(apsw, "mc_version"), reason="there is a cipher")
async def test_without_a_cipher_the_error_names_the_command(path: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingExtraError, match="pip install --force-reinstall --no-deps apsw-sqlite3mc"):
        await say(path, kept(tmp_path, "key"))
    assert not path.exists()


async def test_only_a_file_has_a_key() -> None:
    with pytest.raises(InvalidInputError, match="SQLite"):
        Memory.open("postgresql://localhost/memory", key_from="env:KEY")


@ciphered
async def test_no_byte_of_a_text_is_on_the_disk(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    source, path = kept(tmp_path, "key"), folder / "memory.db"
    async with Memory.open(path, key_from=source, embedder=HashEmbedder()) as memory:
        await memory.remember([f"{SECRET}, says {n}" for n in range(200)])
        await memory.recall("peanuts")
        await memory.admin.backup(folder / "copy.db")
        # By another process, because the memory is open in this one.
        await (await asyncio.create_subprocess_exec("cp", "-a", folder, tmp_path / "seen")).wait()
        texts = {each.name: each.read_bytes() for each in (tmp_path / "seen").iterdir()}
    assert {"memory.db", "memory.db-wal", "copy.db"} <= texts.keys()
    assert not [name for name, content in texts.items() if b"peanut" in content or content.startswith(b"SQLite")]
    assert await said(folder / "copy.db", source) == await said(path, source)


@ciphered
async def test_a_wrong_a_missing_and_a_needless_key(path: Path, tmp_path: Path) -> None:
    right, wrong = kept(tmp_path, "right"), kept(tmp_path, "wrong")
    await say(path, right)
    with pytest.raises(StoreKeyError, match="does not hold the key of"):
        await said(path, wrong)
    with pytest.raises(StoreCorruptError, match=r"encrypted.*MEMORIST_KEY_FROM"):
        await said(path, None)
    assert await said(path, right) == [SECRET]
    plain = tmp_path / "plain.db"
    await say(plain, None)
    with pytest.raises(StoreKeyError, match="is not encrypted"):
        await said(plain, right)
    assert await said(plain, None) == [SECRET]


@ciphered
async def test_a_page_that_was_changed_is_noticed(path: Path, tmp_path: Path) -> None:
    source = kept(tmp_path, "key")
    await say(path, source)
    content = bytearray(path.read_bytes())
    content[8192 * 2 + 100] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreCorruptError):
        async with Memory.open(path, key_from=source, embedder=HashEmbedder()) as memory:
            assert await memory.admin.check()
            await memory.recent()
            await memory.recall("peanuts")


# --- another key --------------------------------------------------------------------------------------


@ciphered
async def test_a_file_gets_a_key_then_another_then_none(path: Path, tmp_path: Path) -> None:
    await say(path, None)
    one, two = kept(tmp_path, "one"), kept(tmp_path, "two")
    steps = [(None, one), (one, two), (two, None)]
    for before, after in steps:
        old, new = (None if each is None else read_key(each) for each in (before, after))
        assert rotate(path, old, new)
        assert not rotate(path, old, new)  # it is done already
        assert await said(path, after) == [SECRET]
        with pytest.raises(StoreCorruptError if before is None else StoreKeyError):
            await said(path, before)
    third = read_key(kept(tmp_path, "three"))
    with pytest.raises(StoreKeyError):
        rotate(path, read_key(one), third)


@ciphered
async def test_a_file_in_use_keeps_its_key(path: Path, tmp_path: Path) -> None:
    one, two = kept(tmp_path, "one"), kept(tmp_path, "two")
    async with Memory.open(path, key_from=one, embedder=HashEmbedder()) as memory:
        await memory.remember(SECRET)
        with pytest.raises(StoreBusyError, match="another process"):
            rotate(path, read_key(one), read_key(two), busy_timeout=0.05)
        assert await memory.count() == 1
    assert await said(path, one) == [SECRET]


@ciphered
async def test_a_destroyed_key_is_a_purge_of_every_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMORIST_EMBEDDER", "hash")
    for folder in ("keys", "memories", "backups"):
        (tmp_path / folder).mkdir()
    page = (Path(__file__).parents[2] / "docs" / "encryption.md").read_text(encoding="utf-8")
    recipe: dict[str, Any] = {}
    exec(page.partition("## A key for each user")[2].split("```")[1].removeprefix("text"), recipe)
    for user in ("alice", "bob"):
        for _ in range(2):  # the second time with the key that is there
            async with recipe["memory_of"](user) as memory:
                await memory.remember(f"{user} {SECRET}")
    key = {user: f"file:{recipe['key_of'](user)}" for user in ("alice", "bob")}
    backup = {user: tmp_path / "backups" / f"{user}.db" for user in ("alice", "bob")}
    for user, copy in backup.items():
        name = f"{recipe['key_of'](user).name}.db"
        async with Memory.open(tmp_path / "memories" / name, key_from=key[user], embedder=HashEmbedder()) as memory:
            await memory.admin.backup(copy)
    recipe["destroy"]("alice")
    for source in (key["alice"], key["bob"], kept(tmp_path, "new")):
        with pytest.raises(StoreKeyError):
            await said(backup["alice"], source)
    with pytest.raises(StoreCorruptError):
        await said(backup["alice"], None)
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()]
    async with Memory.open(backup["bob"], user="bob", key_from=key["bob"], embedder=HashEmbedder()) as memory:
        assert await memory.count() == 2


@ciphered
@pytest.mark.slow
async def test_a_kill_during_the_change_leaves_the_old_key_or_the_new(path: Path, tmp_path: Path) -> None:
    one, two = kept(tmp_path, "one"), kept(tmp_path, "two")
    async with Memory.open(path, key_from=one, embedder=HashEmbedder()) as memory:
        await memory.remember([f"{SECRET} {n} " + "x" * 4000 for n in range(2000)])
    size = path.stat().st_size
    program = (
        "import os, sys\n"
        "from memorist.stores.keys import read_key\n"
        "from memorist.stores.sqlite.encryption import rotate\n"
        "from pathlib import Path\n"
        "path, old, new = sys.argv[1:]\n"
        "rotate(Path(path), read_key(old), read_key(new))"
    )

    def rotated_until(journal_bytes: int) -> bool:
        """Kill the program when its journal is that long, and return whether it was done before."""
        running = subprocess.Popen([sys.executable, "-c", program, str(path), one, two])
        journal = path.with_name("memory.db-journal")
        while running.poll() is None:
            with suppress(FileNotFoundError):  # it is not there yet, or no more
                if journal.stat().st_size >= journal_bytes:
                    break
            os.sched_yield()
        running.kill()
        running.wait()
        return not journal.exists()

    for journal_bytes in (1, size // 3, size * 2 // 3):
        rotated = await asyncio.to_thread(rotated_until, journal_bytes)
        assert len(await said(path, two if rotated else one)) == 10
        if rotated:
            assert rotate(path, read_key(two), read_key(one))
    rotate(path, read_key(one), read_key(two))
    async with Memory.open(path, key_from=two, embedder=HashEmbedder()) as memory:
        assert await memory.count() == 2000
        assert await memory.admin.check() == []
