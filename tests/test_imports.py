"""What a start loads: nothing heavy before it is needed."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

from memorist.system.places import folder
from memorist.system.regex import regex

HEAVY = ("numpy", "onnxruntime", "simsimd", "apsw", "httpcore", "starlette", "openai")
THE_ENGINE = ("memorist.engine.local", "memorist.recall", "memorist.embedders", "memorist.stores", "memorist.context")


def loaded_by(code: str, *arguments: str) -> set[str]:
    """Return the modules that a new interpreter has loaded after some code."""
    program = f"""
import atexit, sys
before = set(sys.modules)  # a development installation may load what it likes at its start
atexit.register(lambda: print("\\nloaded:", *sorted(set(sys.modules) - before)))
{code}
"""
    # Reading a file of settings loads more.
    env = {name: value for name, value in os.environ.items() if name != "MEMORIST_CONFIG"}
    env["XDG_CONFIG_HOME"] = str(Path(__file__).parent / "none")
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return set(done.stdout.rpartition("\nloaded:")[2].split())


@pytest.mark.parametrize(
    ("code", "never"),
    [
        ("import memorist", (*HEAVY, *THE_ENGINE, "asyncio", "click", "memorist.records.record")),
        ("from memorist import Draft, Context, MemoristError, Scope", (*HEAVY, *THE_ENGINE, "asyncio", "click")),
        ("import memorist.memory", (*HEAVY, *THE_ENGINE, "asyncio", "click")),
        ("from memorist import Memory; Memory.connect('http://127.0.0.1:1')", ("numpy", "apsw", "onnxruntime")),
    ],
)
def test_an_import_loads_nothing_heavy(code: str, never: tuple[str, ...]) -> None:
    assert loaded_by(code) & set(never) == set()


@pytest.mark.parametrize(
    ("arguments", "never"),
    [
        (["--version"], ("click", "rich", "asyncio", "memorist.records.record", "memorist.cli.app")),
        (
            ["--help"],
            (
                "asyncio",
                "rich",
                "memorist.cli.reading",
                "memorist.memory",
                "memorist.agents",
                "memorist.kinds",
                "memorist.serve",
            ),
        ),
        (["recall", "--help"], ("asyncio", "rich", "memorist.memory", "memorist.cli.writing", "memorist.cli.serve")),
    ],
)
def test_a_command_loads_nothing_before_it_works(arguments: list[str], never: tuple[str, ...]) -> None:
    loaded = loaded_by("from memorist.cli import main; main()", *arguments)
    assert loaded & {*never, *HEAVY, *THE_ENGINE} == set()


def test_a_completion_loads_only_what_it_names() -> None:
    code = """
import os
os.environ.update(_MEMORIST_COMPLETE="bash_complete", COMP_WORDS="memorist reca", COMP_CWORD="1")
from memorist.cli import main; main()
"""
    loaded = loaded_by(code)
    assert loaded & {"memorist.cli.writing", "memorist.memory", "asyncio", "rich", *HEAVY, *THE_ENGINE} == set()


def test_a_recall_at_a_server_loads_neither_the_engine_nor_what_only_one_start_in_many_needs() -> None:
    code = """
import http.server, json, threading
from memorist.cli.servers import announced

class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        hit = {"record": {"id": "1", "content": "the harbour", "created_at": "2026-01-01"}, "score": 1, "similarity": 1}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"hits": [hit]}).encode())
    def log_message(self, *said): pass

server = http.server.HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
before |= set(sys.modules)
with announced(f"http://127.0.0.1:{server.server_port}", "memory.db", default=False):
    from memorist.cli import main
    main()
"""
    loaded = loaded_by(code, "--db", "memory.db", "recall", "where?", "--json")
    assert not loaded & {"asyncio", "rich", "platformdirs", "encodings.idna", "memorist.memory", *HEAVY, *THE_ENGINE}
    assert not loaded & {
        "memorist.cli.writing",
        "memorist.records.times",
        "memorist.records.record",
        "memorist.operations.requests",
    }


def test_a_regular_expression_is_compiled_when_it_is_first_used() -> None:
    found = regex(r"(\w+) harbour", re.IGNORECASE)
    assert not isinstance(found, re.Pattern)
    match = found.search("the Harbour")
    assert match is not None and match[1] == "the" and found.pattern == r"(\w+) harbour"
    with pytest.raises(re.error):
        regex("(").match("")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the library itself says it")
@pytest.mark.parametrize("given", ["", "/srv/me", "relative"])
@pytest.mark.parametrize("kind", ["cache", "config", "data"])
def test_a_users_folders_are_where_the_library_says(kind: str, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"XDG_{kind.upper()}_HOME", given)
    assert folder(kind) == getattr(platformdirs, f"user_{kind}_path")("memorist", appauthor=False)


def test_a_recall_loads_neither_masked_arrays_of_numpy_nor_indexes_beside_the_store() -> None:
    code = """
from memorist import Draft
from memorist.recall import heads
from memorist.sync import Memory
from memorist.testing import HashEmbedder

heads._LONG = 3600  # on a busy machine, learning them takes so long that they are kept in a file

def said(speaker, day):
    payload, at = {"speaker": speaker}, f"2026-01-0{day}"
    return Draft(content="a script deploys the harbour", kind="message", payload=payload, happened_at=at)

with Memory.open(":memory:", embedder=HashEmbedder(), session="one") as memory:
    memory.remember([said("ann", 2), said("ben", 1)])  # not in the order of their times
    assert memory.recall("which script deploys the harbour?")
"""
    assert not loaded_by(code) & {"numpy.ma", "tempfile", "memorist.indexes"}


def test_a_command_that_ends_leaves_nothing_to_be_collected() -> None:
    code = "import atexit, gc; atexit.register(lambda: print('tracked:', len(gc.get_objects())))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nfrom memorist.cli import main; main()", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout.rpartition("tracked:")[2]) < 1000


def test_every_command_is_where_the_table_says() -> None:
    from memorist.cli.table import Commands

    commands = Commands()
    assert {name: command.name for name, command in commands.items()} == {name: name for name in commands}
    helps = {name: inspect.cleandoc(command.help or "") for name, command in commands.items()}
    assert {name: commands.help_of(name) for name in commands} == helps
