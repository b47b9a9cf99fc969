"""load, export, backup, reindex: between files and the memory."""

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from memorist.testing import HashEmbedder

Command: TypeAlias = Callable[..., Any]

CHAT = (
    '{"user": "alice", "speaker": "Ann", "text": "I moved to Bergen"}\n'
    '{"user": "bob", "text": "Thanks!"}\n{"user": "bob", "text": "Thanks!"}\n'
)


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    file = tmp_path / "chat.jsonl"
    file.write_text(CHAT, encoding="utf-8")
    return file


def test_a_chat_is_loaded_once_however_often_it_is_given(memorist: Command, chat: Path) -> None:
    result = memorist("load", chat)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("3 added, 0 already stored, 0 bad lines (")
    assert memorist("load", chat).out.startswith("0 added, 3 already stored")
    assert memorist("count", "--json").out == "3\n"
    assert memorist("recall", "who moved to Bergen?", "-u", "alice", "--json").json[0]["record"]["payload"] == {
        "speaker": "Ann"
    }


def test_a_chat_without_users_goes_to_the_one_named(memorist: Command, tmp_path: Path) -> None:
    (tmp_path / "plain.jsonl").write_text('{"text": "Hi"}\n', encoding="utf-8")
    memorist("load", tmp_path / "plain.jsonl", "--user", "carol")
    assert memorist("count", "--user", "carol", "--json").out == "1\n"


def test_a_chat_goes_to_the_user_of_the_environment_and_an_export_stays_whose_it_is(
    memorist: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain.jsonl").write_text('{"text": "Hi"}\n', encoding="utf-8")
    memorist("remember", "closes at six", "--id", "r")
    memorist("export", tmp_path / "all.jsonl")
    memorist("forget", "r")
    monkeypatch.setenv("MEMORIST_USER", "carol")
    memorist("load", tmp_path / "plain.jsonl")
    memorist("load", tmp_path / "all.jsonl")
    found = memorist("users", "--json").json
    assert {each["user"]: each["records"] for each in found} == {None: 1, "carol": 1}


def test_a_full_disk_leaves_no_export_and_says_so(
    memorist: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memorist("remember", "Tea")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("memorist.system.writing.sync", full)
    result = memorist("export", tmp_path / "all.jsonl")
    assert result.code == 1
    assert "no space left for" in result.err
    assert not list(tmp_path.glob("*all.jsonl*"))


def test_a_backup_into_a_folder_that_is_not_there_makes_no_file(memorist: Command, tmp_path: Path) -> None:
    memorist("remember", "Tea")
    result = memorist("backup", f"{tmp_path}/bk/")
    assert result.code != 0
    assert "there is no folder" in result.err
    assert not (tmp_path / "bk").exists()


def test_the_standard_input_can_be_loaded(memorist: Command) -> None:
    assert memorist("load", "-", stdin=CHAT.encode()).out.startswith("3 added")


def test_bad_lines_are_listed_and_the_good_ones_kept(memorist: Command, tmp_path: Path) -> None:
    file = tmp_path / "mixed.jsonl"
    file.write_bytes(b'{"text": "good"}\n' + b"{\n" * 25 + b'{"text": "also good"}\n\xff\n')
    result = memorist("load", file)
    assert result.code == 3
    assert result.out.startswith("2 added, 0 already stored, 26 bad lines")
    shown = result.err.splitlines()
    assert shown[0].startswith("mixed.jsonl, line 2: not JSON") and len(shown) == 21
    assert shown[-1] == "… and 6 more"
    assert memorist("count", "--json").out == "2\n"


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_an_error(memorist: Command, tmp_path: Path, name: str) -> None:
    result = memorist("load", tmp_path / name)
    assert result.code == 2 and "cannot read" in result.err


def test_an_export_loads_elsewhere_as_it_was(memorist: Command, chat: Path, tmp_path: Path) -> None:
    memorist("load", chat)
    memorist("topics", "set", "a", "b", "-u", "alice")
    file = tmp_path / "out.jsonl"
    assert memorist("export", file).out == f"4 records written to {file}\n"
    other = tmp_path / "other.db"
    assert memorist("--db", other, "load", file).out.startswith("4 added")
    assert memorist("--db", other, "export").out == file.read_text(encoding="utf-8") == memorist("export", "-").out
    assert [path.name for path in tmp_path.glob(".out*")] == []

    again = memorist("export", file)
    assert again.code == 2 and "exists" in again.err
    alice = memorist("export", "--user", "alice").out.splitlines()
    assert {json.loads(line)["user"] for line in alice[1:]} == {"alice"}


@pytest.mark.parametrize("to", ["mem0", "letta", "markdown", "openai"])
def test_an_export_for_another_system_is_imported_again(memorist: Command, tmp_path: Path, to: str) -> None:
    memorist("remember", "I moved to Bergen", "-u", "alice", "--kind", "message", "--source", "a form")
    memorist("remember", "Thanks!", "-u", "bob")
    name = {"letta": "a.af", "markdown": "a.md"}.get(to, "conversations.json")
    out = memorist("export", tmp_path / name, "--to", to, "-u", "alice").out
    assert out.splitlines() == [
        f"1 record written to {tmp_path / name}",
        f"1 source{' and 1 author' * (to == 'letta')} could not be written in the format {to}",
    ]
    assert memorist("--db", tmp_path / "b.db", "import", tmp_path / name, "--yes", "-u", "alice").code == 0
    [record] = memorist("--db", tmp_path / "b.db", "recent", "-u", "alice", "--json").json
    assert (record["content"], record["kind"]) == ("I moved to Bergen", "message")
    piped = memorist("export", "--to", to, "-u", "alice")
    assert (piped.out.encode(), piped.err.strip()) == ((tmp_path / name).read_bytes(), out.splitlines()[1])
    refused = memorist("export", tmp_path / "all", "--to", to)
    assert refused.code == (0 if to == "mem0" else 2) and (to == "mem0" or "available: alice, bob" in refused.err)


def test_an_unknown_format_names_the_known_ones(memorist: Command) -> None:
    result = memorist("export", "--to", "zep")
    assert result.code == 2 and "available: memorist, mem0, letta, markdown, openai" in result.err


def test_an_export_of_a_newer_version_is_refused(memorist: Command) -> None:
    result = memorist("load", "-", stdin=b'{"format": "memorist", "version": 99}\n')
    assert result.code == 1 and "upgrade" in result.err


def test_another_users_records_are_told_and_left_out(memorist: Command, chat: Path, tmp_path: Path) -> None:
    memorist("load", chat)
    memorist("export", tmp_path / "out.jsonl")
    result = memorist("--db", tmp_path / "other.db", "load", tmp_path / "out.jsonl", "--user", "alice")
    assert result.code == 3 and "line 3: it is a record" in result.err and "'alice'" in result.err
    assert memorist("--db", tmp_path / "other.db", "count", "--json").out == "1\n"


@pytest.mark.posix
@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may write anywhere")
def test_an_export_to_a_folder_that_may_not_be_written_is_an_error(memorist: Command, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    assert memorist("export", folder / "out.jsonl").code == 1


def test_an_export_to_a_missing_folder_is_an_error(memorist: Command, tmp_path: Path) -> None:
    memorist("remember", "tea")
    result = memorist("export", tmp_path / "none" / "out.jsonl")
    assert result.code == 1 and result.err.startswith("error: ") and "No such file" in result.err


def test_a_backup_is_a_database_of_its_own(memorist: Command, chat: Path, tmp_path: Path) -> None:
    memorist("load", chat)
    target = tmp_path / "backup.db"
    assert str(target) in memorist("backup", target).out
    assert memorist("--db", target, "count", "--json").out == "3\n"
    assert memorist("backup", target).code == 2


def test_backups_in_a_folder_are_dated_and_the_oldest_go(memorist: Command, tmp_path: Path) -> None:
    memorist("remember", "tea")
    folder = tmp_path / "copies"
    folder.mkdir()
    old = [folder / f"memorist-2020010{day}T020000Z.db" for day in range(1, 5)]
    others = [folder / name for name in ("monday.db", "memorist-20200101.db", "memorist-20200101T020000Z.db.txt")]
    for each in (*old, *others):
        each.write_text("older")
    later = folder / "memorist-29990101T020000Z.db"
    later.mkdir()  # no file
    copy = Path(memorist("backup", folder, "--keep", "3", "--json").json["path"])
    assert re.fullmatch(r"memorist-\d{8}T\d{6}Z\.db", copy.name)
    assert sorted(folder.iterdir()) == sorted([copy, *old[2:], *others, later])
    assert memorist("--db", copy, "count", "--json").out == "1\n"


def test_no_backup_goes_unless_a_new_one_is_there(memorist: Command, tmp_path: Path, db: Path) -> None:
    memorist("remember", "tea")
    old = tmp_path / "memorist-20200101T020000Z.db"
    old.write_text("older")
    for given in ((tmp_path / "new.db", "--keep", "1"), (tmp_path / "none", "--keep", "1"), (tmp_path, "--keep", "0")):
        result = memorist("backup", *given)
        assert result.code == 2 and "keep" in result.err, given
    db.write_bytes(b"no database" * 1000)
    assert memorist("backup", tmp_path, "--keep", "1").code == 1
    assert sorted(each.name for each in tmp_path.glob("*.db")) == sorted([old.name, db.name])


def test_another_embedder_is_refused_until_reindex(
    memorist: Command, chat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memorist("load", chat)
    with monkeypatch.context() as patch:
        patch.setattr("memorist.testing.HashEmbedder", lambda: HashEmbedder(96))
        refused = memorist("recall", "Bergen", "-u", "alice")
        assert refused.code == 1 and "memorist reindex" in refused.err
        assert memorist("reindex").out == "Embedded 3 records anew\n"
        assert memorist("recall", "Bergen", "-u", "alice", "--json").json
    assert memorist("recall", "Bergen", "-u", "alice").code == 1


def test_programs_are_told_in_json_what_came_of_it(memorist: Command, tmp_path: Path) -> None:
    loaded = memorist("load", "-", "--json", stdin=b'{"text": "hello"}\nnonsense\n')
    assert loaded.code == 3 and (loaded.json["added"], loaded.json["existing"]) == (1, 0)
    assert [bad["where"] for bad in loaded.json["bad"]] == ["line 2"]
    copy = tmp_path / "copy.db"
    assert memorist("backup", copy, "--json").json == {"path": str(copy)}
    assert memorist("reindex", "--json").json == {"reindexed": 1}
    topic = memorist("topics", "set", "user.language", "Elixir", "--json").json
    assert memorist("topics", "get", "user.language", "--json").json == topic


@pytest.mark.posix
def test_a_database_that_is_named_needs_no_home_folder(tmp_path: Path) -> None:
    code = (
        "import pwd, sys\n"
        "def gone(*_): raise KeyError('no entry')\n"
        "pwd.getpwuid = pwd.getpwnam = gone\n"
        "from memorist.cli import main\n"
        "sys.argv = ['memorist', '--db', sys.argv[1], *sys.argv[2:]]\nmain()"
    )
    for words in (["remember", "Tea"], ["recall", "Tea"]):
        line = [sys.executable, "-c", code, str(tmp_path / "m.db"), *words]
        done = subprocess.run(line, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    assert "Tea" in done.stdout
