"""audit: on, off, show, export, verify, key."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

Command: TypeAlias = Callable[..., Any]


def test_the_log_is_switched_on_shown_exported_and_verified(memorist: Command, db: Path, tmp_path: Path) -> None:
    assert memorist("audit", "on").code == 1, "there is no database yet"
    memorist("remember", "before")
    assert "The audit log is empty" in memorist("audit", "show").out
    assert memorist("audit", "on").out == "The audit log now records: changes\n"
    memorist("remember", "Likes tea", "--user", "alice")
    memorist("forget", "--kind", "note", "--yes")
    shown = memorist("audit", "show").out
    assert "remembered 1 note" in shown and "cli" in shown and "alice" not in shown
    [mine] = memorist("audit", "show", "--user", "alice", "--json").json
    assert (mine["verb"], mine["door"], mine["records"]) == ("remember", "cli", {"remembered": {"note": 1}})

    log, end = tmp_path / "log.jsonl", tmp_path / "end.json"
    assert "Wrote 3 entries and a checkpoint" in memorist("audit", "export", log).out
    end.write_text(memorist("audit", "export", "--checkpoint").out)
    assert len(end.read_text().splitlines()) == 1
    memorist("audit", "on", "--reads")
    memorist("get", mine["hash"])
    assert memorist("audit", "verify", log, end).out == "The chain of 5 entries is unbroken\n"
    key = memorist("audit", "key").out.strip()
    assert memorist("audit", "verify", "--only-files", log, "--key", key).out == "The chain of 3 entries is unbroken\n"
    assert memorist("audit", "off").out == "The audit log now records: nothing\n"
    memorist("remember", "after")
    assert memorist("audit", "verify", "--json").json == {"entries": 6, "faults": []}


def test_faults_and_wrong_files_are_told(memorist: Command, db: Path, tmp_path: Path) -> None:
    memorist("remember", "before")
    memorist("audit", "on")
    log = tmp_path / "log.jsonl"
    memorist("audit", "export", log)
    lines = log.read_text().splitlines()
    log.write_text("\n".join([lines[0].replace("changes", "nothing"), lines[1]]))
    told = memorist("audit", "verify", log)
    assert told.code == 1 and "entry 1 was changed" in told.out and "1 fault" in told.err
    checkpoint = json.loads(lines[1])
    for text, reason in (
        (json.dumps({**checkpoint, "number": 9}), "changed after it was signed"),
        ("[]", "is not an export of an audit log"),
        ("x", "is not an export of an audit log"),
        ("", "is not an export of an audit log"),
        ("{}", "this is no audit checkpoint"),
    ):
        log.write_text(text)
        told = memorist("audit", "verify", log)
        assert told.code == 1 and reason in told.err
    log.write_text(lines[1])
    assert "another key" in memorist("audit", "verify", log, "--key", "x").err
    assert memorist("audit", "verify", tmp_path / "none").code == 1
