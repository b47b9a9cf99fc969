"""The command inbox: at a terminal one key decides, and scripts decide by id."""

import asyncio
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from children import approve_until_killed, finish, start
from memorist import Draft, Memory
from memorist.cli.inbox import _decided
from memorist.errors import WaitingError
from memorist.records.origins import CLI, MCP

HOSTILE = "Likes \x1b[31mred\x1b[0m tea \x1b]0;owned\x07 <b>\u202e"


@pytest.fixture
def ask(db: Path) -> Callable[..., str]:
    """Return a function that lets an agent ask to remember a text of tom's, and returns the proposal's id."""

    def asked(text: str) -> str:
        script = (
            "import asyncio, sys\nfrom memorist import Memory\nfrom memorist.errors import WaitingError\n"
            "async def ask():\n"
            "    async with Memory.open(user='tom', confirm=True) as memory:\n"
            "        try:\n            await memory.remember(sys.argv[1], proposed=True)\n"
            "        except WaitingError:\n            print((await memory.admin.inbox())[-1].id)\n"
            "asyncio.run(ask())"
        )
        return subprocess.run(
            [sys.executable, "-c", script, text], capture_output=True, text=True, check=True
        ).stdout.strip()

    return asked


def test_what_cannot_be_seen_is_shown_before_it_is_approved(memorist: Command, ask: Callable[..., str]) -> None:
    ask("Likes tea\u200b\U000e0041\u2066 and \u2764\ufe0f\nby \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645")
    listed = " ".join(memorist("inbox", "--user", "tom").out.split())
    assert "Likes tea<U+200B><U+E0041><U+2066> and \u2764\ufe0f by \u0645\u06cc\u200c\u062e" in listed


def test_without_a_terminal_it_lists_and_scripts_decide(memorist: Command, ask: Callable[..., str]) -> None:
    assert memorist("inbox", "--user", "tom").code == 1  # there is no database yet
    tea, milk, red = ask("Likes tea"), ask("Likes milk"), ask(HOSTILE)
    listed = memorist("inbox", "--user", "tom")
    assert "Likes tea" in listed.out and tea in listed.out
    assert not set("\x1b\x07\u202e") & set(listed.out)
    assert [each["content"] for each in memorist("inbox", "--user", "tom", "--json").json] == [
        "Likes tea",
        "Likes milk",
        HOSTILE,
    ]
    assert "No pending proposals" in memorist("inbox", "--user", "bob").out
    assert memorist("inbox", "approve", tea, "--user", "bob").code == 1
    [kept] = memorist("inbox", "approve", tea, "--user", "tom", "--json").json
    assert (kept["content"], kept["verified"]) == ("Likes tea", True)
    [changed] = memorist("inbox", "change", milk, "-", "--user", "tom", "--json", stdin=b"Likes oat milk\n").json
    assert changed["content"] == "Likes oat milk" and "operator" in changed["origin"]["authors"]
    assert "Rejected" in memorist("inbox", "reject", red, "--user", "tom").out
    assert "is pending again" in memorist("inbox", "reject", red, "--undo", "--user", "tom").out
    assert memorist("count", "--user", "tom", "--json").json == 2


async def ask_for(user: str | None, *drafts: str | Draft, path: Path) -> str:
    """Let an agent ask to remember several records at once, and return the proposal's id."""
    async with Memory.open(path, embedder="hash", user=user, confirm=True) as memory:
        with pytest.raises(WaitingError):
            await memory.remember(drafts, proposed=True)
        return (await memory.admin.inbox())[-1].id


def test_several_records_are_shown_each_by_itself(memorist: Command, db: Path) -> None:
    topic = Draft(content="vim\u202e", kind="topic", key="user.editor", metadata={"since": 1999})
    asyncio.run(ask_for("tom", "Likes tea", topic, path=db))
    listed = [line.strip() for line in memorist("inbox", "--user", "tom").out.splitlines()]
    assert "remember 2 records" in listed[1] and listed[1].endswith("1. note")
    assert listed[2:6] == ["Likes tea", "2. topic user.editor", "vim<U+202E>", 'metadata: {"since": 1999}']


def test_without_a_user_it_says_for_whom_something_waits(memorist: Command, db: Path) -> None:
    for user in ("tom", "alice"):
        asyncio.run(ask_for(user, "Likes tea", path=db))
    told = memorist("inbox")
    assert (told.code, told.out) == (0, "No pending proposals.\n")
    assert told.err == (
        "Pending proposals for 2 users: 'alice', 'tom'. Show one user's with memorist inbox --user NAME\n"
    )
    assert "alice" not in memorist("inbox", "--user", "bob").err
    asyncio.run(ask_for(None, "Opens at nine", path=db))
    assert "Opens at nine" in (told := memorist("inbox")).out and told.err == ""


@pytest.mark.slow
def test_what_is_being_approved_says_so_and_offers_nothing_else(
    memorist: Command, db: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    id = asyncio.run(ask_for("tom", "Likes tea", path=db))
    finish(start(approve_until_killed, db, id, 1, "tom"))
    assert "being approved; if it is still listed" in memorist("inbox", "--user", "tom").out
    assert [each["state"] for each in memorist("inbox", "--user", "tom", "--json").json] == ["approving"]
    for refused in (("reject", id), ("change", id, "Likes milk")):
        told = memorist("inbox", *refused, "--user", "tom")
        assert told.code == 1 and "approve it again" in told.err
    keys = iter("rca")
    monkeypatch.setattr("click.getchar", lambda: next(keys))

    async def decide() -> None:
        async with Memory.open(db, embedder="hash", user="tom") as memory:
            assert await _decided(memory, (await memory.admin.inbox())[0])
            assert [each.content for each in await memory.recent()] == ["Likes tea"]

    asyncio.run(decide())
    assert "a approve · s skip · q quit" in capsys.readouterr().out and next(keys, None) is None


@pytest.mark.parametrize(
    "arguments",
    [("approve",), ("change", "x"), ("approve", "x", "text"), ("approve", "x", "--undo"), ("erase", "x"), ("--undo",)],
)
def test_what_makes_no_sense_is_told(memorist: Command, db: Path, arguments: tuple[str, ...]) -> None:
    assert memorist("inbox", *arguments).code == 2
    assert not db.exists()


@pytest.mark.posix
@pytest.mark.slow
def test_at_a_terminal_one_key_decides(memorist: Command, ask: Callable[..., str]) -> None:
    import pty
    import termios

    for text in ("Likes tea", "Likes coffe", HOSTILE, "Skipped", "Never shown"):
        ask(text)
    process, terminal = pty.fork()
    if process == 0:
        os.environ.pop("COLUMNS", None)
        os.execv(sys.executable, [sys.executable, "-m", "memorist", "inbox", "--user", "tom"])
    shown = b""

    def until(expected: bytes, count: int) -> None:
        nonlocal shown
        while shown.count(expected) < count:
            assert select.select([terminal], [], [], 60)[0], shown
            shown += os.read(terminal, 4096)

    for asked, key in enumerate((b"a", b"c", b"r", b"s", b"q"), start=1):
        until(b"q quit", asked)
        while termios.tcgetattr(terminal)[3] & termios.ICANON:  # what is typed before it asks is thrown away
            time.sleep(0.01)
        os.write(terminal, key)
        if key == b"c":
            until(b"> ", 1)
            os.write(terminal, b"e\n")  # behind the text that stands there
    while True:
        try:
            shown += (more := os.read(terminal, 4096))
        except OSError:
            break
        if not more:
            break
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert b"\x1b]0;owned" not in shown and b"\x1b[31mred" not in shown
    kept = [each["content"] for each in memorist("recent", "--user", "tom", "--json").json]
    assert sorted(kept) == ["Likes coffee", "Likes tea"]
    left = [each["content"] for each in memorist("inbox", "--user", "tom", "--json").json]
    assert left == ["Skipped", "Never shown"]


@pytest.mark.anyio
async def test_what_has_no_text_of_its_own_is_approved_or_rejected(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = iter("ca")
    monkeypatch.setattr("click.getchar", lambda: next(keys))
    async with Memory.open(":memory:", embedder="hash", user="tom", confirm=True) as memory:
        tea = await memory.remember("Likes tea")
        with pytest.raises(WaitingError):
            await memory.forget(tea.id, proposed=True)
        assert await _decided(memory, (await memory.admin.inbox())[0])
        assert await memory.count() == 0
    shown = capsys.readouterr().out
    assert "a approve · r reject" in shown and "Forgotten" in shown and next(keys, None) is None


@pytest.mark.anyio
@pytest.mark.parametrize(("typed", "authors"), [("Two\nlines", []), ("Two\nLINES", ["operator"])])
async def test_what_an_editor_saves_is_the_users_words_only_where_it_differs(
    monkeypatch: pytest.MonkeyPatch, typed: str, authors: list[str]
) -> None:
    monkeypatch.setattr("click.getchar", lambda: "c")
    monkeypatch.setattr("click.edit", lambda text: f"{typed}\n")
    async with Memory.open(":memory:", embedder="hash", user="tom", confirm=True) as memory:
        with pytest.raises(WaitingError):
            await memory.through(MCP).remember("Two\nlines", proposed=True)
        await _decided(memory.through(CLI), (await memory.admin.inbox())[0])
        [kept] = await memory.recent()
    assert (kept.content, kept.origin.authors.names) == (typed, ["assistant", *authors])


def test_confirm_is_a_setting_like_the_others(memorist: Command, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(os.environ["MEMORIST_CONFIG"]).write_text("confirm = true\n")
    told = {each["setting"]: each for each in memorist("config", "--json").json}
    assert (told["confirm"]["value"], told["confirm"]["from"]) == (True, "file")
    monkeypatch.setenv("MEMORIST_CONFIRM", "false")
    told = {each["setting"]: each for each in memorist("config", "--json").json}
    assert (told["confirm"]["value"], told["confirm"]["from"]) == (False, "environment")
    monkeypatch.setenv("MEMORIST_CONFIRM", "perhaps")
    assert "MEMORIST_CONFIRM must be true or false" in memorist("config").err
