"""What a start loads: nothing heavy before it is needed."""

import inspect
import subprocess
import sys

import pytest

HEAVY = ("numpy", "onnxruntime", "simsimd", "apsw", "httpcore", "fastapi", "openai", "dateutil")
THE_ENGINE = ("memorist.engine.local", "memorist.recall", "memorist.embedders", "memorist.stores", "memorist.context")


def loaded_by(code: str, *arguments: str) -> set[str]:
    """Return the modules that a new interpreter has loaded after some code."""
    program = f"""
import atexit, sys
before = set(sys.modules)  # a development installation may load what it likes at its start
atexit.register(lambda: print("\\nloaded:", *sorted(set(sys.modules) - before)))
{code}
"""
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("\nloaded:")[2].split())


@pytest.mark.parametrize(
    ("code", "never"),
    [
        ("import memorist", (*HEAVY, *THE_ENGINE, "asyncio", "click", "memorist.records")),
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
        (["--version"], ("click", "rich", "asyncio", "memorist.records", "memorist.cli.app")),
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


def test_a_recall_loads_no_masked_arrays_of_numpy() -> None:
    code = """
from memorist import Draft
from memorist.sync import Memory
from memorist.testing import HashEmbedder

def said(speaker, day):
    payload, at = {"speaker": speaker}, f"2026-01-0{day}"
    return Draft(content="a script deploys the harbour", kind="message", payload=payload, happened_at=at)

with Memory.open(":memory:", embedder=HashEmbedder(), session="one") as memory:
    memory.remember([said("ann", 2), said("ben", 1)])  # not in the order of their times
    assert memory.recall("which script deploys the harbour?")
"""
    assert "numpy.ma" not in loaded_by(code)


def test_a_command_that_ends_leaves_nothing_to_be_collected() -> None:
    code = "import atexit, gc; atexit.register(lambda: print('tracked:', len(gc.get_objects())))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nfrom memorist.cli import main; main()", "--help"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(done.stdout.rpartition("tracked:")[2]) < 1000


def test_every_command_is_where_the_table_says() -> None:
    from memorist.cli.table import Commands

    commands = Commands()
    assert {name: command.name for name, command in commands.items()} == {name: name for name in commands}
    helps = {name: inspect.cleandoc(command.help or "") for name, command in commands.items()}
    assert {name: commands.help_of(name) for name in commands} == helps
