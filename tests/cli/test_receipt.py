"""purge --receipt and receipt verify."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Command: TypeAlias = Callable[..., Any]


def test_a_receipt_is_written_and_verified(memorist: Command, tmp_path: Path) -> None:
    file = tmp_path / "receipt.json"
    memorist("remember", "Likes homestays", "--user", "alice")
    told = memorist("purge", "--user", "alice", "--dry-run")
    assert "Would purge 1 record of 'alice'" in told.out and "Would be searched for" in told.out
    told = memorist("purge", "--user", "alice", "--yes", "--receipt", file)
    assert told.code == 0
    assert "Purged 1 record of 'alice'" in told.out and "memory.db: 0 found" in told.out
    assert "alice" not in file.read_text()
    assert memorist("receipt", "verify", file, "--user", "alice", "--json").json["records"] == {"note": 1}
    assert "by cli" in memorist("receipt", "verify", file).out
    key = memorist("audit", "key").out.strip()
    assert memorist("receipt", "verify", file, "--key", key).code == 0

    assert "not of 'bob'" in memorist("receipt", "verify", file, "--user", "bob").err
    assert "another key" in memorist("receipt", "verify", file, "--key", "x").err
    statement = json.loads(file.read_text())
    for change, reason in (
        ({"records": {"note": 7}}, "changed after it was signed"),
        ({"copies": ["none"]}, "changed after it was signed"),
        ({"type": "memorist audit checkpoint"}, "this is no receipt"),
        ({"signature": None}, "it is not signed"),
    ):
        file.write_text(json.dumps({**statement, **change}))
        told = memorist("receipt", "verify", file)
        assert told.code == 1 and reason in told.err
    file.write_text("no receipt")
    assert "not JSON" in memorist("receipt", "verify", file).err
    assert memorist("receipt", "verify", tmp_path / "none").code == 1


def test_nothing_is_purged_where_the_receipt_has_no_place(memorist: Command, tmp_path: Path) -> None:
    memorist("remember", "Likes homestays", "--user", "alice")
    (tmp_path / "taken").write_text("mine")
    for place, code in ((tmp_path / "taken", 2), (tmp_path / "none" / "receipt", 1)):
        assert memorist("purge", "--user", "alice", "--yes", "--receipt", place).code == code
    assert (tmp_path / "taken").read_text() == "mine"
    assert "1" in memorist("count", "--user", "alice").out
    assert "receipt" in memorist("purge", "--user", "alice", "--yes", "--json").json


def test_a_lost_key_is_named_and_not_made_anew(
    memorist: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, key = tmp_path / "receipt.json", tmp_path / "keys" / "mine"
    monkeypatch.setenv("MEMORIST_SIGNING_KEY", str(key))
    memorist("remember", "Likes homestays", "--user", "alice")
    memorist("purge", "--user", "alice", "--yes", "--receipt", file)
    public = memorist("audit", "key").out.strip()
    key.unlink()
    told = memorist("receipt", "verify", file)
    assert told.code == 1 and f"there is no signing key {key}" in told.err
    assert not key.exists()
    assert memorist("receipt", "verify", file, "--key", public).code == 0
