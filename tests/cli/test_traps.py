"""What trips new users: a scope that is empty, a mistyped file, a hint that does not work."""

import io
import json
import signal
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from homes import move_home
from memorist import errors
from memorist.cli.app import app
from memorist.cli.progress import spinner
from memorist.cli.servers import announced

Command = Any


def test_an_empty_scope_says_who_has_records(memorist: Command) -> None:
    memorist("remember", "I like tea", "--user", "alice")
    found = memorist("recall", "tea")
    assert found.out == "Nothing found.\n" and "'alice'" in found.err and "--user" in found.err
    for command in (("recent",), ("browse",), ("topics", "list")):
        assert "'alice'" in memorist(*command).err
    assert memorist("recall", "tea", "--user", "alic").err == "User 'alic' has no records here\n"
    assert memorist("recall", "tea", "--user", "alice").err == ""
    assert memorist("recall", "tea", "--json").json == []


def test_the_variable_and_the_file_name_the_user(
    memorist: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memorist("remember", "I like tea", "--user", "alice")
    (tmp_path / "config.toml").write_text('user = "alice"\n')
    assert "tea" in memorist("recall", "tea").out
    monkeypatch.setenv("MEMORIST_USER", "bob")
    assert "tea" not in memorist("recall", "tea").out


@pytest.mark.parametrize(
    "command",
    [
        ("recall", "tea"), ("recent",), ("browse",), ("get", "x"), ("count",), ("history", "x"), ("export",),
        ("topics", "list"), ("topics", "get", "x"), ("topics", "delete", "x"), ("stats",), ("forget", "x"),
        ("rate", "x", "1"), ("revise", "x", "y"), ("backup", "copy.db"),
        ("token", "list"), ("token", "revoke", "x"), ("purge", "--user", "alice", "--yes"), ("reindex",),
    ],
)  # fmt: skip
def test_a_mistyped_path_creates_nothing(memorist: Command, tmp_path: Path, command: tuple[str, ...]) -> None:
    before = sorted(tmp_path.iterdir())
    result = memorist("--db", tmp_path / "no" / "such.db", *command)
    assert result.code == 1 and "there is no database" in result.err
    assert sorted(tmp_path.iterdir()) == before


def test_wrong_words_are_wrong_usage_and_name_the_right_ones(memorist: Command) -> None:
    memorist("remember", "tea")
    for command in (
        ("recall", "tea", "--kind", "nots"), ("remember", "tea", "--kind", "nots"), ("browse", "--order", "up"),
        ("recall", "tea", "--mode", "x"), ("recall", "tea", "--since", "soonish"), ("recent", "--user", " "),
    ):  # fmt: skip
        assert memorist(*command).code == 2
    assert "tool_guideline" in memorist("recall", "tea", "--kind", "nots").err


def test_what_an_agent_would_be_told_is_shown(memorist: Command) -> None:
    memorist("remember", "Takes her coffee black", "--id", "c", "--user", "alice")
    told = memorist("context", "how does she take her coffee?", "--user", "alice", "--tokens", "200", "--explain")
    assert "coffee black" in told.out and "confidence" in told.out
    plain = memorist("context", "how does she take her coffee?", "--user", "alice", "--json").json
    assert [item["record"]["id"] for item in plain["items"]] == ["c"]
    known = memorist("context", "how does she take her coffee?", "--user", "alice", "--known", "c", "--json").json
    assert known["items"] == []


def test_times_read_alike_in_every_option(memorist: Command) -> None:
    memorist("remember", "tea", "--expires", "in 90 days")
    for since in ("7 days ago", "7d", "2020-01-01"):
        assert memorist("count", "--since", since, "--json").json == 1
    assert memorist("count", "--until", "7 days ago", "--json").json == 0


def test_forgetting_nothing_is_an_error(memorist: Command) -> None:
    memorist("remember", "tea", "--id", "tea")
    for command in (("forget", "coffee"), ("forget", "--session", "none", "--yes")):
        result = memorist(*command)
        assert result.code == 1 and "nothing was forgotten" in result.err
    assert memorist("forget", "tea").code == 0


def test_a_port_in_use_is_told_with_the_option_that_helps(memorist: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for command in ("serve", "mcp"):
            more = ("--http",) if command == "mcp" else ()
            result = memorist(command, *more, "--port", str(taken.getsockname()[1]))
            assert result.code == 1 and "is in use" in result.err and "--port" in result.err


def test_a_table_in_a_pipe_has_no_frame_and_no_wrapped_lines(
    memorist: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    memorist("remember", "tea " * 60)
    out = memorist("recent").out
    assert ("tea " * 60).strip() in out and not set("╭│─╯") & set(out)
    assert all(line == line.rstrip() for line in out.splitlines())


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'memorist[mcp]'"),
        (
            {"url": "file:///src/my%20memorist", "dir_info": {"editable": True}},
            "pip install -e '/src/my memorist[mcp]'",
        ),
        ({"url": "file:///src/memorist", "dir_info": {}}, "pip install '/src/memorist[mcp]'"),
        (
            {"url": "https://example.org/m.whl", "archive_info": {}},
            "pip install 'memorist[mcp] @ https://example.org/m.whl'",
        ),
        (
            {"url": "https://x.example/m.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "pip install 'memorist[mcp] @ git+https://x.example/m.git@abc'",
        ),
    ],
)
def test_a_hint_names_the_command_that_works_for_this_installation(
    monkeypatch: pytest.MonkeyPatch, origin: Any, command: str
) -> None:
    class Installed:
        def read_text(self, name: str) -> str | None:
            return None if origin is None else json.dumps(origin)

    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed())
    assert str(errors.missing_extra("mcp", "mcp")) == f"mcp is not installed; run: {command}"
    upgrade = command.replace("pip install", "pip install --upgrade").replace("[mcp]", "").replace("@abc", "")
    assert errors.install_command() == upgrade


@pytest.mark.parametrize(
    ("origin", "advice"),
    [
        ({"url": "file:///tmp/my%20m-1.whl", "archive_info": {}}, "a newer wheel than my m-1.whl: "),
        (
            {"url": "file:///src/m", "dir_info": {}},
            "source in /src/m, and run: pip install",
        ),
        ({"url": "https://x.example/m.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}, "upgrade it: pip install"),
    ],
)
def test_an_upgrade_does_not_install_the_same_again(
    monkeypatch: pytest.MonkeyPatch, origin: dict[str, Any], advice: str
) -> None:
    class Installed:
        def read_text(self, name: str) -> str:
            return json.dumps(origin)

    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed())
    assert advice in errors.upgrade_advice() and origin["url"] not in errors.upgrade_advice().partition("git+")[0]


def test_the_first_interrupt_ends_a_question(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        signal.raise_signal(signal.SIGINT)
        return "y"

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    move_home(tmp_path / "home", monkeypatch)
    (tmp_path / "a.csv").write_text("one,two\n1,Hello\n")
    monkeypatch.setattr("click.termui.visible_prompt_func", answer)
    for command in (("install", "cursor"), ("import", str(tmp_path / "a.csv"))):
        monkeypatch.setattr("sys.stdin", Terminal())
        with pytest.raises(SystemExit) as ended:
            app(command, prog_name="memorist")
        assert ended.value.code != 0 and len(asked) == 1
        asked.clear()
    assert not (tmp_path / "home").exists() and not db.exists()


def test_wrong_settings_are_an_error_of_a_migration_too(memorist: Command, tmp_path: Path) -> None:
    done = memorist("--config", tmp_path / "none.toml", "migrate", tmp_path / "a.db", tmp_path / "b.db")
    assert (done.code, done.err) == (
        2,
        f"error: there is no file {tmp_path / 'none.toml'}, which --config names; correct the path, "
        f"or create the file\n",
    )


@pytest.mark.parametrize("option", ["--db", "--config", "--embedder"])
def test_a_home_that_the_system_does_not_know_is_told(memorist: Command, option: str) -> None:
    result = memorist(option, "~no-such-user-here/file", "remember", "tea")
    assert result.code == 2 and "no home folder for '~no-such-user-here/file'" in result.err and "HOME" in result.err


def test_the_mark_that_windows_puts_before_a_text_is_not_part_of_it(memorist: Command) -> None:
    assert memorist("remember", "-", "--json", stdin=b"\xef\xbb\xbfI like tea\r\n").json["content"] == "I like tea"


def test_in_a_narrow_terminal_the_text_has_the_room_and_the_figures_stand_below(
    memorist: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    memorist("remember", "I like green tea")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "╭" in memorist("recall", "tea").out
    for width in ("40", "60"):
        monkeypatch.setenv("COLUMNS", width)
        text, id, below = memorist("recall", "tea").out.splitlines()[:3]
        assert text == "I like green tea" and len(id) == 32 and "Score " in below and "Similarity 0." in below
        assert "records: 1\n" in memorist("stats").out


def test_the_users_are_listed(memorist: Command) -> None:
    memorist("remember", "I like tea", "--user", "anna")
    memorist("remember", "The office closes at six")
    assert memorist("users", "--json").json == [{"user": None, "records": 1}, {"user": "anna", "records": 1}]
    assert memorist("users").out == " Records  User\n       1  (shared)\n       1  anna\n"


def test_a_name_that_looks_like_markup_is_shown_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with spinner("Reading [/b].txt"):
        pass


def test_another_program_at_the_port_of_a_server_that_ended_is_not_asked(
    memorist: Command, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memorist("remember", "I like tea")
    monkeypatch.setenv("MEMORIST_STATE", str(tmp_path / "state"))

    def answer(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n[1]")

    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(60)
        thread = threading.Thread(target=answer, args=(other,))
        thread.start()
        with announced(f"http://127.0.0.1:{other.getsockname()[1]}", str(db), default=True):
            assert "I like tea" in memorist("recall", "tea").out
        thread.join()
