"""The command as a process: quick to start, quiet when a pipe closes, safe to interrupt."""

import contextlib
import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memorist.cli import main
from memorist.sync import Memory

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-c", "from memorist.cli import main; main()"]


def start(*arguments: str | Path, **options: object) -> "subprocess.Popen[bytes]":
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([*COMMAND, *map(str, arguments)], **(pipes | options))  # type: ignore[call-overload,no-any-return]


def test_importing_the_command_loads_no_library(db: Path) -> None:
    code = "import sys, memorist.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"click", "rich", "numpy", "apsw", "onnxruntime"} & set(loaded)


def test_help_loads_neither_the_store_nor_the_model(db: Path) -> None:
    code = """if True:
        import sys
        from memorist.cli import main
        try:
            main()
        except SystemExit:
            print(*sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", code, "--help"], check=True, capture_output=True, text=True)
    assert not {"apsw", "onnxruntime", "tokenizers"} & set(done.stdout.split())


def test_a_pipe_that_closes_early_is_no_error_to_look_at(db: Path, tmp_path: Path) -> None:
    lines = "".join(json.dumps({"text": f"message {number} " + "x" * 500}) + "\n" for number in range(500))
    assert start("load", "-").communicate(lines.encode())[0].startswith(b"500 added")
    export = start("export")
    assert export.stdout is not None and export.stderr is not None
    assert b"memorist" in export.stdout.readline()
    export.stdout.close()
    assert b"Traceback" not in export.stderr.read()
    export.stdin.close()  # type: ignore[union-attr]
    export.stderr.close()
    export.wait(timeout=240)


@pytest.mark.parametrize("closed", ["", "sys.stdin = sys.stdout = None; ", "sys.stderr = None; "])
def test_streams_that_are_closed_or_know_few_letters_are_no_reason_to_fail(db: Path, closed: str) -> None:
    code = f"import sys; {closed}from memorist.cli import main; main()"
    command = [sys.executable, "-c", code]
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    for arguments in (["remember", "日本のお茶 🍵"], ["recent"], ["remember", "-"]):
        done = subprocess.run([*command, *arguments], env=env, input=b"tea", capture_output=True)
        refused = arguments[-1] == "-" and "stdin" in closed  # nothing can be read there
        assert (done.returncode, b"Traceback" in done.stderr) == (2 if refused else 0, False), done.stderr


def test_the_command_runs_without_docstrings(db: Path) -> None:
    done = subprocess.run([sys.executable, "-OO", *COMMAND[1:], "count"], capture_output=True, text=True)
    assert "there is no database" in done.stderr
    assert subprocess.run([sys.executable, "-OO", *COMMAND[1:], "--help"], capture_output=True).returncode == 0


@pytest.mark.posix
def test_an_interrupted_load_keeps_what_it_stored_and_goes_on_when_called_again(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    lines = [json.dumps({"id": number, "group": "g", "text": f"message {number}"}) + "\n" for number in range(20_000)]
    file.write_text("".join(lines), encoding="utf-8")
    load = start("load", file)
    wait_for_records(db)
    load.send_signal(signal.SIGINT)
    _, error = load.communicate(timeout=240)
    assert load.returncode == 130 and error.startswith(b"error: interrupted") and b"Traceback" not in error

    stored = int(start("count", "--json").communicate()[0])
    assert 300 <= stored < 20_000
    out, _ = start("load", file).communicate()
    assert out.startswith(f"{20_000 - stored:,} added, {stored:,} already stored".encode())


def wait_for_records(db: Path) -> None:
    for _ in range(2400):
        time.sleep(0.1)
        try:
            with sqlite3.connect(f"file:{db}?mode=ro", uri=True) as connection:
                if connection.execute("SELECT count(*) FROM records").fetchone()[0] >= 300:
                    return
        except sqlite3.OperationalError:
            pass
        finally:
            if "connection" in locals():
                connection.close()
    raise AssertionError("nothing was stored")


@pytest.mark.posix
@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [
        (b"y\n", 0, b"Purged 1 record"),
        (b"n\n", 1, b"not confirmed; nothing was done"),
        (b"\x03", 130, b"interrupted; nothing was done"),
    ],
)
def test_who_sits_at_a_terminal_is_asked(db: Path, typed: bytes, code: int, said: bytes) -> None:
    with Memory.open(db, user="alice", embedder="hash") as memory:
        memory.remember("tea")
    assert answered(typed, said, "purge", "-u", "alice") == code
    with Memory.open(db, user="alice", embedder="hash") as memory:
        assert memory.count() == (code != 0)


@pytest.mark.posix
@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [(b"y\n", 0, b"Undone: forgot 1 record"), (b"\x03", 130, b"interrupted; nothing was done")],
)
def test_who_takes_back_an_import_is_asked(db: Path, tmp_path: Path, typed: bytes, code: int, said: bytes) -> None:
    (tmp_path / "a.csv").write_text("text\ntea\n")
    start("import", str(tmp_path / "a.csv"), "--yes", "-u", "alice").communicate()
    [listed] = json.loads(start("imports", "--json").communicate()[0])
    assert answered(typed, said, "imports", "undo", listed["id"]) == code
    assert json.loads(start("count", "--json").communicate()[0]) == (code != 0)


def answered(typed: bytes, said: bytes, *arguments: str) -> int:
    """Return how a command ends that asks at a terminal and is answered, after it said something."""
    import pty

    process, terminal = pty.fork()
    if process == 0:
        os.execv(COMMAND[0], [*COMMAND, *arguments])
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(terminal, 1000)
    os.write(terminal, typed)
    with contextlib.suppress(OSError):  # the end, on Linux
        more = b" "
        while more:
            if select.select([terminal], [], [], 1)[0]:
                shown += (more := os.read(terminal, 1000))
            elif said not in shown:  # Python sees an interrupt that came before it waited for a line only after one
                os.write(terminal, b"\n")
    os.close(terminal)
    assert said in shown
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def test_who_interrupts_before_the_command_has_begun_sees_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("memorist.cli.app.app", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
