"""Everything that the README and the pages of docs/ show is run as it stands there.

- A ```python block runs in its page's namespace, after those before it; ``await`` may stand by itself there, as in
  ``python -m asyncio``. A ```text block right behind it is what it prints.
- A ```console block holds commands, after ``$``, and what they print.
- A ```json block with a name behind the word is a file of that name.
- The ```typescript blocks of docs/typescript.md are run by the client's own tests, in clients/typescript/test.

``…`` in what is printed stands for anything, and how many spaces and lines there are does not matter. A page has a
folder and a database of its own.
"""

import ast
import asyncio
import contextlib
import inspect
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from homes import move_home

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "guides").glob("*.md")),
    *sorted((ROOT / "docs" / "adapters").glob("*.md")),
    *sorted((ROOT / "docs" / "research").glob("*.md")),
]
FRAMEWORKS = {
    "adk": "google.adk",
    "agent_framework": "agent_framework",
    "claude": "claude_agent_sdk",
    "crewai": "crewai",
    "langgraph": "langchain.agents",
    "llama_index": "llama_index.core",
    "openai_agents": "agents.memory",
    "promptise": "langgraph",
    "pydantic_ai": "pydantic_ai",
    "strands": "strands",
}
"""What a page of docs/adapters needs that is not among the development packages; see ``apart`` in .ci/run."""
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
RUN_BY_CI = re.compile(r"^pip\b")
INSTALLED = {
    "pip install .": 'pip install --quiet "$work"/dist/memorist-*.whl',
    "pip install -e '.[dev]'": "made dev -e '.[dev]'",
}
"""How `.ci/run` installs what a command installs: from the wheel that it has just built, and with uv."""


@dataclass(frozen=True)
class Block:
    language: str
    name: str | None
    text: str
    expected: str | None
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(language, name, inner, expected, text.count("\n", 0, found.start(3)) + 1)
        for found in FENCE.finditer(text)
        for language, name, inner, expected in [found.groups()]
    ]


def commands(block: Block) -> Iterator[tuple[int, str, str]]:
    """Yield each command of a console with its line and what it prints."""
    for part in re.split(r"^(?=\$ )", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        yield block.line + block.text[: block.text.index(part)].count("\n"), command.removeprefix("$ "), expected


def assert_prints(printed: str, expected: str, where: str) -> None:
    def plain(text: str) -> str:
        """Return the text without how wide it is: tables are as wide as the terminal."""
        return re.sub(r"─+", "─", re.sub(r"[ \n]+", " ", text)).strip()

    pattern = ".*?".join(re.escape(part) for part in plain(expected).split("…"))
    matches = re.fullmatch(pattern, plain(printed)) is not None
    assert matches, f"{where} prints\n\n{printed}\nand not\n\n{expected}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in: nothing of what is done there reaches the user's own data."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.delenv("MEMORIST_EMBEDDER", raising=False)
    monkeypatch.setenv("MEMORIST_DB", str(work / "memorist.db"))
    move_home(tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    command = tmp_path / "memorist"  # the one that belongs to this Python, installed or not
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from memorist.cli import main; main()" "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return work


@pytest.mark.posix
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_shows_works(page: Path, folder: Path) -> None:
    if page.stem in FRAMEWORKS:
        pytest.importorskip(FRAMEWORKS[page.stem])
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with asyncio.Runner() as runner:
        for block in blocks(page):
            where = f"{page.name}, line {block.line}:"
            if block.language == "python":
                printed = run_python(block, page, namespace, runner)
                if block.expected is not None:
                    assert_prints(printed, block.expected, where)
            elif block.language == "console":
                run_console(block, page, folder)
            elif block.name is not None:
                (folder / block.name).write_text(block.text, encoding="utf-8")
            else:
                others = ("text", "toml", *(["typescript"] if page.stem == "typescript" else []))
                assert block.language in others, f"{where} a {block.language} block is not run by any test"


def run_python(block: Block, page: Path, namespace: dict[str, Any], runner: asyncio.Runner) -> str:
    source = "\n" * (block.line - 1) + block.text  # so that a traceback names the page's own line
    code = compile(source, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        outcome = eval(code, namespace)
        if inspect.iscoroutine(outcome):
            runner.run(outcome)
    return printed.getvalue()


def run_console(block: Block, page: Path, folder: Path) -> None:
    for line, command, expected in commands(block):
        if RUN_BY_CI.match(command):
            continue
        done = subprocess.run(
            command, shell=True, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )
        where = f"{page.name}, line {line}: {command}"
        assert done.returncode in (0, 3), f"{where}\n\n{done.stdout}{done.stderr}"
        assert_prints(done.stdout + done.stderr, expected, where)


def test_what_installs_and_tests_is_run_by_ci() -> None:
    shown = {
        command
        for page in PAGES
        for block in blocks(page)
        if block.language == "console"
        for _, command, _ in commands(block)
        if RUN_BY_CI.match(command)
    }
    ci = lines_of(".ci/run")
    weekly = lines_of(".github/workflows/tests.yml")
    assert shown
    for command in shown:
        assert f"- run: {command}" in weekly, "each week as it stands"
        for part in command.split(" && "):
            assert INSTALLED.get(part, part) in ci, "with each change part by part"


def lines_of(file: str) -> set[str]:
    return {line.strip() for line in (ROOT / file).read_text(encoding="utf-8").splitlines()}


def test_links_lead_somewhere() -> None:
    pages = {*PAGES, *(ROOT / "docs" / "reference").glob("*.md"), *ROOT.glob("*.md")}
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in LINK.findall(re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8")))
        if not (page.parent / target).exists()
    ]
    assert dead == []


def test_every_page_is_in_the_site() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    outside = [page.name for page in ROOT.glob("*.md") if page.name != "README.md"]
    outside += [page.relative_to(ROOT).as_posix() for page in ROOT.glob("bench/*/README.md")]
    outside += [f"{page.relative_to(ROOT).as_posix()}.md" for page in (ROOT / "examples").glob("*.*")]
    missing = [page for page in [*pages, *outside] if not re.search(rf" {re.escape(page)}$", site, re.MULTILINE)]
    assert missing == [], "name them in the nav of mkdocs.yml"


def test_the_reference_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "tools" / "make_reference.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")})
    assert done.returncode == 0, done.stderr
