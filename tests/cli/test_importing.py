"""import: what is shown, asked, stored and told."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from memorist import Memory

Command: TypeAlias = Callable[..., Any]

CHAT = "31.12.23, 21:41 - Anna: We fly on Friday\n31.12.23, 21:42 - Bob: At seven?\n31.12.23, 21:43 - Anna: At eight\n"


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "WhatsApp Chat with Bob.txt"
    path.write_text(CHAT)
    return path


def test_what_is_found_is_shown_and_stored(memorist: Command, chat: Path) -> None:
    done = memorist("import", chat, "--yes")
    assert done.code == 0
    assert "(WhatsApp): 3 messages, 1 conversation, 31 December 2023\nTimes without a zone are read in" in done.out
    assert "  2023-12-31 21:42  Bob: At seven?\n" in done.out and "\nYou are 'Anna'.\n3 added, 0 already" in done.out
    assert "0 added, 3 already stored, 0 bad parts" in memorist("import", chat, "--yes").out
    assert [each["payload"]["role"] for each in memorist("browse", "--json", "--order", "oldest").json["records"]] == [
        "user",
        "other",
        "user",
    ]


def test_a_dry_run_stores_nothing(memorist: Command, chat: Path, db: Path) -> None:
    assert "3 messages" in memorist("import", chat, "--dry-run").out
    assert not db.exists()


def test_nobody_to_be_asked_is_an_error_that_says_what_to_give(memorist: Command, chat: Path, db: Path) -> None:
    done = memorist("import", chat)
    assert (done.code, "--yes" in done.err) == (2, True)
    assert not db.exists()


@pytest.mark.posix
def test_a_day_that_this_machines_zone_has_not_is_shown_in_utc(
    memorist: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("text,time\nHello,9999-12-31T23:30:00Z\n")
    with monkeypatch.context() as east:
        east.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        assert "1 note, 31 December 9999" in memorist("import", tmp_path / "a.csv", "--dry-run").out
    time.tzset()


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 1)])
def test_it_asks_at_a_terminal(chat: Path, db: Path, answer: bytes, code: int) -> None:
    keyboard, terminal = os.openpty()
    try:
        os.write(keyboard, answer)
        command = [sys.executable, "-m", "memorist", "import", str(chat)]
        assert subprocess.run(command, stdin=terminal, capture_output=True, timeout=240).returncode == code
    finally:
        os.close(keyboard)
        os.close(terminal)
    assert db.exists() is (code == 0)


@pytest.mark.slow
def test_it_asks_which_column_of_a_table_is_the_text(tmp_path: Path, memorist: Command) -> None:
    path = tmp_path / "a.csv"
    path.write_text("one,two\n1,Hello\n")
    keyboard, terminal = os.openpty()
    try:
        os.write(keyboard, b"two\ny\n")
        command = [sys.executable, "-m", "memorist", "import", str(path)]
        assert subprocess.run(command, stdin=terminal, capture_output=True, timeout=240).returncode == 0
    finally:
        os.close(keyboard)
        os.close(terminal)
    assert (
        memorist("import", path, "--text", "two", "--yes").out.splitlines()[-1].startswith("0 added, 1 already stored")
    )
    assert "name it, such as --text COLUMN; available: one, two" in memorist("import", path, "--yes").err


def test_the_standard_input_and_json(memorist: Command) -> None:
    done = memorist("import", "-", "--yes", "--json", "--me", "Bob", "--user", "bob", stdin=CHAT.encode())
    [report] = done.json
    assert (report["added"], report["existing"], report["bad"]) == (3, 0, [])
    assert (report["found"]["messages"], report["found"]["me"]) == (3, "Bob")
    assert memorist("count", "--user", "bob", "--json").json == 3


def test_bad_parts_are_listed_and_the_rest_is_stored(memorist: Command, tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(CHAT + "31.13.23, 21:43 - Anna: ?\n")
    done = memorist("import", path, "--yes")
    assert done.code == 3
    assert "1 part cannot be read" in done.out
    assert done.err.startswith("chat.txt, line 4: 31.13.23, 21:43 is not a date")


def test_what_is_not_known_is_an_error(memorist: Command, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(100))
    assert (
        "not of a known format; if you know the format, pass --as FORMAT"
        in memorist("import", tmp_path / "a.bin", "--yes").err
    )
    assert "there is no time zone 'Oslo'" in memorist("import", tmp_path / "a.bin", "--zone", "Oslo").err
    assert memorist("import", tmp_path / "none", "--yes").code == 2


def test_an_import_is_listed_and_taken_back(memorist: Command, chat: Path) -> None:
    assert memorist("import", chat, "--yes", "--user", "anna").code == 0
    [listed] = memorist("imports", "--json").json
    assert (listed["records"], listed["sources"], listed["users"]) == (3, {"import:whatsapp": 3}, {"anna": 3})
    assert listed["id"] in memorist("imports").out
    refused = memorist("imports", "undo", listed["id"])
    assert refused.code == 2 and "--yes" in refused.err
    assert memorist("imports", "undo", listed["id"], "--yes").out == "Undone: forgot 3 records\n"
    assert memorist("imports").out == "No imports.\n"
    assert memorist("imports", "undo", listed["id"], "--yes").code == 1


def test_a_speaker_that_nobody_is_is_refused_with_the_names(memorist: Command, chat: Path) -> None:
    refused = memorist("import", chat, "--yes", "--me", "Nobody")
    assert refused.code == 2 and "'Anna', 'Bob'" in refused.err
    assert memorist("import", chat, "--yes", "--me", "Anna").code == 0


def test_the_columns_of_a_table_are_shown(memorist: Command, tmp_path: Path) -> None:
    file = tmp_path / "tickets.csv"
    file.write_text("text,begun,owner\nThe lift is broken,2024-03-12,Karin\n", encoding="utf-8")
    told = memorist("import", file, "--dry-run").out
    assert (
        "Columns: text from text; kept as metadata: begun, owner\nNo time column was found; name one with --time COLUMN"
        in told
    )
    assert "  no time  The lift is broken" in told
    told = memorist("import", file, "--dry-run", "--time", "begun").out
    assert "time from begun; kept as metadata: owner\n" in told and "2024-03-12" in told


def test_what_is_stored_when_it_is_interrupted_is_told(
    memorist: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "WhatsApp Chat with Bob.txt"
    path.write_text("".join(f"31.12.23, 21:41 - Anna: {number}\n" for number in range(700)))
    remember, batches = Memory.remember, list[int]()

    async def interrupted(self: Memory, records: Any, **more: Any) -> Any:
        if len(batches) == 2:
            raise KeyboardInterrupt
        batches.append(len(records))
        return await remember(self, records, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Memory, "remember", interrupted)
        stopped = memorist("import", path, "--yes")
    assert stopped.code == 130 and "600 of 700 stored; run the same command again" in stopped.err
    assert memorist("import", path, "--yes").out.splitlines()[-1].startswith("100 added, 600 already stored")


def test_what_waits_to_be_embedded_is_told_and_embedded(memorist: Command, chat: Path) -> None:
    assert "They can be found by words" in memorist("import", chat, "--yes", "--embed", "later").out
    assert "At seven?" in memorist("recall", "seven", "--mode", "lexical").out
    [told] = [each["found"] for each in memorist("doctor", "--json").json if each["name"] == "vectors"]
    assert told.startswith("3 records found by words only") and "memorist reindex --missing" in told
    assert memorist("reindex", "--missing").out == "Embedded 3 records\n"
    assert "vectors" not in memorist("doctor", "--json").out


def test_texts_that_no_model_knows_are_told_before_they_are_stored(memorist: Command, tmp_path: Path) -> None:
    file = tmp_path / "notes.csv"
    file.write_text("text\nབོད་ཡིག་འབྲི་བ\nThe lift is broken\n", encoding="utf-8")
    assert "1 part in a script that no bundled model supports" in memorist("import", file, "--dry-run").out
