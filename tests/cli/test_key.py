from pathlib import Path

import apsw
import pytest
from tests.cli.conftest import Command

from memorist.stores.keys import Key, new_key, read_key


@pytest.mark.posix
def test_a_new_key_is_printed_or_put_in_a_file_of_its_own(memorist: Command, tmp_path: Path) -> None:
    Key(memorist("key", "new").out.strip(), "the output")
    file = tmp_path / "key"
    assert f"MEMORIST_KEY_FROM=file:{file}" in memorist("key", "new", file).out
    assert file.stat().st_mode & 0o777 == 0o600
    before = read_key(f"file:{file}").reveal()
    assert memorist("key", "new", file).code == 2
    assert read_key(f"file:{file}").reveal() == before
    assert "cannot be written" in memorist("key", "new", tmp_path / "no" / "folder").err


def test_only_a_file_that_is_there_gets_another_key(memorist: Command, db: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(new_key())
    to = f"file:{tmp_path / 'key'}"
    assert "SQLite file" in memorist("--db", "postgresql://localhost/memory", "key", "rotate", "--to", to).err
    assert str(db) in memorist("key", "rotate", "--to", to).err
    assert "file:PATH" in memorist("key", "rotate", "--to", "f00d" * 16).err


@pytest.mark.skipif(not hasattr(apsw, "mc_version"), reason="needs apsw-sqlite3mc")
def test_a_plain_file_is_encrypted(
    memorist: Command, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memorist("remember", "is allergic to peanuts")
    (tmp_path / "key").write_text(new_key())
    source = f"file:{tmp_path / 'key'}"
    done = memorist("key", "rotate", "--to", source)
    assert "has the key from" in done.out and read_key(source).reveal() not in done.out
    assert "already" in memorist("key", "rotate", "--to", source).out
    assert b"peanut" not in db.read_bytes()
    assert "encrypted" in memorist("recall", "peanuts").err
    monkeypatch.setenv("MEMORIST_KEY_FROM", source)
    assert "is allergic" in memorist("recall", "peanuts").out
    found = memorist("doctor", "--json").json
    assert all(each["well"] for each in found)
    assert [each["found"] for each in found if each["name"] == "encryption"] == ["the file is encrypted"]
