"""What differs between systems. What only one of them has is tried on it, and taken away on the others."""

import json
import ntpath
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homes import move_home
from memorist.errors import InvalidInputError
from memorist.files.projects import project_of
from memorist.system import platforms
from memorist.system.platforms import applications_folder, lives, locked_folder, shell_line, windows_line
from memorist.system.writing import creating, replacing
from opening import KEY

WITHOUT = """
import os, signal, sys

import asyncio, multiprocessing, subprocess, tempfile  # the system's own, which know what it has
import memorist.system.platforms

for name in "fcntl grp pty pwd resource termios tty".split():
    sys.modules[name] = None
for name in (
    "O_CLOEXEC O_DIRECTORY O_NOFOLLOW chown fchmod fork forkpty getegid geteuid getgid getuid killpg memfd_create "
    "mkfifo openpty posix_fallocate pread pwrite register_at_fork sched_getaffinity setsid sync"
).split():
    if hasattr(os, name):
        delattr(os, name)
for name in "SIGALRM SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 SIGXFSZ".split():
    delattr(signal, name)
"""
COMMAND = """
from memorist.cli import main

main()
"""


def without(code: str, *arguments: object, **env: str) -> "subprocess.CompletedProcess[str]":
    """Run a program without what POSIX systems alone have."""
    command = [sys.executable, "-c", WITHOUT + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", env={**os.environ, **env}, check=False)


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.skipif(KEY is not None, reason="about files that are not encrypted")
def test_a_memory_works_without_what_posix_alone_has(tmp_path: Path) -> None:
    given = ("--db", tmp_path / "memory.db", "--embedder", "hash")

    def memorist(*arguments: object) -> str:
        done = without(COMMAND, *given, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    memorist("remember", "Likes green tea", "--user", "alice")
    [hit] = json.loads(memorist("recall", "tea", "--user", "alice", "--json"))
    memorist("revise", hit["record"]["id"], "Likes black tea", "--user", "alice")
    memorist("export", tmp_path / "all.jsonl")
    memorist("backup", tmp_path / "copy.db")
    memorist("forget", hit["record"]["id"], "--user", "alice", "--yes")
    memorist("remember", "Likes cake", "--user", "alice")
    memorist("purge", "--user", "alice", "--yes")
    assert b"cake" not in (tmp_path / "memory.db").read_bytes()
    assert memorist("count", "--json").strip() == "0"


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "cp932"])
@pytest.mark.slow
def test_every_text_is_shown_on_a_console_of_few_characters(encoding: str, tmp_path: Path) -> None:
    text = "Isst gern Käse 🧀 — 東京 ✓"

    def memorist(*arguments: str) -> str:
        command = [sys.executable, "-m", "memorist", "--db", str(tmp_path / "a.db"), "--embedder", "hash", *arguments]
        env = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        return subprocess.run(command, capture_output=True, check=True, env=env).stdout.decode(encoding)

    memorist("remember", text)
    assert "Isst gern" in memorist("recall", "Käse")
    [hit] = json.loads(memorist("recall", "Käse", "--json"))
    assert hit["record"]["content"] == text


def windows_words(line: str) -> Iterator[str]:
    """Yield the arguments in a line as a Windows program reads them, where no quote is escaped."""
    for number, part in enumerate(line.split('"')):
        yield from [part] if number % 2 else part.split()


WORDS = st.text(st.sampled_from("aZ09 -_./:\\&|<>^(){}[]'~#;,=+*?@äé東"), min_size=1, max_size=8)


@given(st.lists(WORDS.filter(lambda word: "\\\\" not in word and not word.endswith("\\"))))
def test_shells_of_windows_read_the_words_of_a_line(words: list[str]) -> None:
    line = windows_line([r"C:\Users\JÖRGDO~1\Scripts\memorist.exe", *words])
    expected = ["C:/Users/JÖRGDO~1/Scripts/memorist.exe", *words]
    assert shlex.split(line) == expected  # as Bash does
    assert list(windows_words(line)) == expected  # as cmd and PowerShell hand it on
    assert not line.startswith('"')  # which PowerShell would print


@pytest.mark.parametrize("word", ['a"b', "$HOME", "100%", "a`b", "hello!", "a\\", "\\\\host", "a\nb", "„a“", "a”"])
def test_a_word_that_a_shell_of_windows_would_change_is_refused(word: str) -> None:
    with pytest.raises(InvalidInputError, match="cannot be written so that cmd, PowerShell and Bash all read it"):
        windows_line(["memorist", word])


def test_a_program_that_a_shell_of_windows_would_not_find_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="cannot be written"):
        windows_line([r"C:\Users\O$car\memorist.exe", "hook"])


def test_a_line_is_read_by_this_systems_shell(tmp_path: Path) -> None:
    program = tmp_path / "with space"
    program.mkdir()
    told = shell_line([sys.executable, "-c", "import sys; print(sys.argv[1:])", "Jane Doe", "a&b"])
    done = subprocess.run(told, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['Jane Doe', 'a&b']"


def test_a_file_that_another_program_has_open_for_a_moment_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, refused = tmp_path / "a", [1, 1]
    replaced = os.replace

    def refuse(source: Path, target: Path) -> None:
        if refused:
            refused.pop()
            raise PermissionError(13, "it is in use", str(target))
        replaced(source, target)

    monkeypatch.setattr(platforms, "_PAUSES", (0.0, 0.0))
    monkeypatch.setattr(os, "replace", refuse)
    with replacing(target) as file:
        file.write(b"new")
    assert target.read_bytes() == b"new" and not refused
    refused += [1] * 9
    with pytest.raises(PermissionError, match="in use"), replacing(target) as file:
        file.write(b"newer")
    assert target.read_bytes() == b"new" and list(tmp_path.iterdir()) == [target]


def test_a_file_that_was_there_first_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a"
    with creating(target) as file:
        file.write(b"first")

    def unlinked(source: Path, target: Path) -> None:
        raise PermissionError(1, "this file system has no links")

    for _ in range(2):
        with pytest.raises(FileExistsError), creating(target) as file:
            file.write(b"second")
        monkeypatch.setattr(os, "link", unlinked)
    assert target.read_bytes() == b"first" and list(tmp_path.iterdir()) == [target]
    with creating(tmp_path / "b") as file:
        file.write(b"other")
    assert (tmp_path / "b").read_bytes() == b"other"


@pytest.mark.posix
def test_a_folder_of_windows_may_have_a_slash_before_its_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c:" / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os.path, "splitdrive", ntpath.splitdrive)
    assert project_of("/c:/shop") == str(tmp_path / "c:" / "shop")


def test_a_process_lives_until_its_end() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert lives(process.pid) and lives(os.getpid())
    assert not lives(process.pid)


@pytest.mark.slow
def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    code = (
        "import sys; from memorist.system.platforms import locked_folder\n"
        "with locked_folder(sys.argv[1]): print('locked', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "locked\n"
        other = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        process.kill()
    assert other.communicate("\n")[0] == "locked\n" and other.returncode == 0
    with locked_folder(tmp_path):
        pass


@pytest.mark.posix
@pytest.mark.parametrize(("platform", "wanted"), [("linux", "fsync"), ("darwin", "F_FULLFSYNC"), ("win32", "fsync")])
def test_bytes_are_brought_to_the_disk(
    platform: str, wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = list[str]()

    class Fcntl:
        F_FULLFSYNC = "F_FULLFSYNC"

        @staticmethod
        def fcntl(file: int, what: str) -> None:
            done.append(what)

    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(platforms, "fcntl", Fcntl, raising=False)
    monkeypatch.setattr(os, "fsync", lambda file: done.append("fsync"))
    with replacing(tmp_path / "a") as file:
        file.write(b"a")
    assert done[0] == wanted


@pytest.mark.parametrize(
    ("platform", "variable", "inside"),
    [("linux", "XDG_CONFIG_HOME", ".config"), ("darwin", None, "Library/Application Support"),
     ("win32", "APPDATA", "AppData/Roaming")],
)  # fmt: skip
def test_programs_settings_are_where_each_system_keeps_them(
    platform: str, variable: str | None, inside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    move_home(tmp_path, monkeypatch)
    monkeypatch.setattr(sys, "platform", platform)
    assert Path(applications_folder()) == tmp_path / inside
    if variable is not None:
        monkeypatch.setenv(variable, str(tmp_path / "other"))
        assert Path(applications_folder()) == tmp_path / "other"
