"""serve and token: a server of its own process, and what lets others in."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest

from memorist.errors import MissingExtraError
from memorist.sync import Memory

pytestmark = pytest.mark.slow

Command: TypeAlias = Callable[..., Any]


@contextmanager
def serving(*options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-c", "from memorist.cli import main; main()", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            line = process.stdout.readline()
            assert line.startswith("Serving at http://"), line + process.stderr.read()
            yield line.split()[2], process
        finally:
            process.kill()


@pytest.mark.posix
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_server_answers_until_it_is_told_to_end(db: Path, ending: signal.Signals) -> None:
    with serving() as (url, process):
        with Memory.connect(url, user="alice") as alice:
            alice.remember("Tea")
        process.send_signal(ending)
        out, err = process.communicate(timeout=240)
        assert (process.returncode, err) == (0, "") and "every acknowledged write is stored" in out
    with Memory.open(db, user="alice", embedder="hash") as alice:
        assert alice.count() == 1


@pytest.mark.parametrize(
    ("host", "shown"), [("localhost", "localhost"), ("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("[::1]", "[::1]")]
)
def test_an_address_stands_in_the_url_as_it_must(host: str, shown: str) -> None:
    from memorist.serve.running import bracketed

    assert bracketed(host) == shown


def test_a_token_is_asked_for_where_it_is_required(memorist: Command) -> None:
    secret = memorist("token", "create", "laptop", "--user", "alice").out.strip()
    with serving("--require-token") as (url, _), Memory.connect(url, token=secret) as alice:
        assert alice.scope.user == "alice"
        alice.remember("Tea")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_a_server_for_other_machines_without_a_token_is_refused_at_start(memorist: Command, host: str) -> None:
    result = memorist("serve", "--host", host, "--port", "0")
    assert result.code == 2
    assert "no token exists yet; create one with: memorist token create NAME" in result.err


def test_a_port_that_is_taken_is_told(memorist: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = memorist("serve", "--port", str(taken.getsockname()[1]))
    assert result.code == 1 and "in use" in result.err


def test_without_the_extra_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "starlette.routing", None)
    monkeypatch.delitem(sys.modules, "memorist.serve.app", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[rest\]'"):
        import_module("memorist.serve.app")


def test_tokens_are_listed_and_revoked_without_their_secrets(memorist: Command) -> None:
    nothing = memorist("token", "list")
    assert nothing.code == 1 and "there is no database" in nothing.err
    memorist("remember", "Tea")
    assert "No tokens" in memorist("token", "list").out
    made = memorist("--tenant", "acme", "token", "create", "agent", "--right", "read", "--expires", "90d", "--json")
    assert made.json["token"].startswith("mem_")
    assert (made.json["tenant"], made.json["user"], made.json["right"]) == ("acme", None, "read")
    listed = memorist("token", "list", "--json")
    assert made.json["token"] not in listed.out
    assert [each["name"] for each in json.loads(listed.out)] == ["agent"]
    assert "agent" in memorist("token", "list").out
    assert memorist("token", "revoke", "agent").out == "Revoked agent\n"
    again = memorist("token", "revoke", "agent")
    assert again.code == 1 and "no token named 'agent'" in again.err


@pytest.mark.parametrize(
    "arguments",
    [("x", "--right", "all"), ("x", "--expires", "soon"), ("",), ("x", "--all-tenants", "--user", "alice")],
)
def test_a_token_that_makes_no_sense_is_refused(memorist: Command, arguments: tuple[str, ...], db: Path) -> None:
    result = memorist("token", "create", *arguments)
    assert result.code == 2 and result.err.startswith("error: ")
    assert not db.exists()


@pytest.mark.posix
def test_workers_are_replaced_without_a_failed_request_and_one_that_dies_too(db: Path) -> None:
    with serving("--workers", "2") as (url, process):
        failed: list[BaseException] = []
        done: list[str] = []
        ended = threading.Event()

        def write(name: str) -> None:
            try:
                while not ended.wait(0.02):
                    with Memory.connect(url, user=name) as alice:
                        alice.remember("Tea")
                    done.append(name)
            except BaseException as error:
                failed.append(error)

        writers = [threading.Thread(target=write, args=(f"user {n}",)) for n in range(2)]
        for writer in writers:
            writer.start()
        before = _workers(process.pid)
        process.send_signal(signal.SIGHUP)
        _until(lambda: not before & _workers(process.pid) and len(_workers(process.pid)) == 2)
        count = len(done)
        _until(lambda: bool(failed) or len(done) > count)
        ended.set()
        for writer in writers:
            writer.join()
        assert not failed

        victim = min(_workers(process.pid))
        os.kill(victim, signal.SIGKILL)
        _until(lambda: victim not in _workers(process.pid) and len(_workers(process.pid)) == 2)
        with Memory.connect(url, user="alice") as alice:
            assert alice.count() == 0
        last = _workers(process.pid)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0 and "every acknowledged write is stored" in out
        assert "exited with -9" in err
        assert not any(Path(f"/proc/{pid}").exists() for pid in last)
    with Memory.open(db, embedder="hash") as memory:
        assert memory.count(everyone=True) == len(done)


@pytest.mark.posix
def test_workers_count_what_a_token_sends_together(memorist: Command) -> None:
    secret = memorist("token", "create", "laptop", "--user", "alice", "--limit", "requests=20/day").out.strip()

    def asked(_: int) -> int:
        headers = {"Authorization": f"Bearer {secret}"}  # each with a connection of its own, which any worker takes
        return httpx.post(f"{url}/v1/count", json={}, headers=headers, timeout=60).status_code

    with serving("--workers", "2") as (url, process):
        with ThreadPoolExecutor(8) as threads:
            statuses = list(threads.map(asked, range(60)))
        assert Counter(statuses) == {200: 20, 429: 40}
        before = _workers(process.pid)
        process.send_signal(signal.SIGHUP)
        _until(lambda: not before & _workers(process.pid) and len(_workers(process.pid)) == 2)
        assert asked(0) == 429  # a worker that takes another's place goes on counting


def _workers(parent: int) -> set[int]:
    return {int(each) for each in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()}


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, "it did not come about within two minutes"
        time.sleep(0.05)


def test_several_workers_need_a_file(memorist: Command) -> None:
    assert "name a file" in memorist("--db", ":memory:", "serve", "--workers", "2").err
