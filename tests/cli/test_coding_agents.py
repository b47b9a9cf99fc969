"""The coding agents' own programs, on what install wrote: their listings, and sessions with a model of the test's."""

import asyncio
import json
import os
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from agentserver import AgentServer, agent_server
from memorist import Memory

pytestmark = pytest.mark.slow

USER = "alice"
TOLD = "We deploy with the script ship.sh"
ASKED = "With which script do we deploy?"


@pytest.fixture(autouse=True)
def home(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder of this test's own."""
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    home = tmp_path / "home"
    (home / "project" / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("MEMORIST_STATE", str(home / "state"))
    monkeypatch.setenv("MEMORIST_USER", USER)
    monkeypatch.chdir(home / "project")
    return home


@pytest.fixture
def model() -> Iterator[AgentServer]:
    with agent_server("Noted.") as server:
        yield server


def program(name: str) -> str:
    """Return the path of an agent's own program, or skip the test."""
    found = shutil.which(name, path=os.environ.get("MEMORIST_TEST_AGENTS", "") + os.pathsep + os.environ["PATH"])
    if found is None:
        pytest.skip(f"{name} is not on the path, nor in MEMORIST_TEST_AGENTS, where .ci/run has it from npm")
    return found


def say(*command: str) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def kept() -> list[tuple[str, str]]:
    async def read() -> list[tuple[str, str]]:
        async with Memory.open(user=USER) as memory:
            records = (await memory.browse(order="oldest", kind="message")).records
            return [(each.payload["role"], each.content) for each in records]

    return asyncio.run(read())


def test_claude_code_lists_the_server_and_takes_the_plugin(memorist: Command, home: Path) -> None:
    claude = program("claude")
    memorist("install", "claude-code", "--yes")
    assert "memorist" in say(claude, "mcp", "get", "memorist")
    memorist("install", "claude-code", "--plugin", home / "plugin")
    assert "passed" in say(claude, "plugin", "validate", str(home / "plugin"))
    memorist("uninstall", "claude-code", "--yes")
    assert "memorist" not in say(claude, "mcp", "list")


def test_codex_lists_the_server(memorist: Command, home: Path) -> None:
    codex = program("codex")
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text('[mcp_servers.other] # mine\ncommand = "other"\n')
    memorist("install", "codex", "--yes")
    listed = {each["name"]: each for each in json.loads(say(codex, "mcp", "list", "--json"))}
    assert set(listed) == {"other", "memorist"}
    written = tomllib.loads((home / ".codex" / "config.toml").read_text())["mcp_servers"]["memorist"]
    assert listed["memorist"]["transport"]["args"] == written["args"]


@pytest.mark.parametrize("plugin", [False, True], ids=["installed", "plugin"])
def test_a_session_of_claude_code_is_kept_and_the_next_is_told(
    memorist: Command, home: Path, model: AgentServer, monkeypatch: pytest.MonkeyPatch, plugin: bool
) -> None:
    claude = program("claude")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    monkeypatch.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
    memorist("install", "claude-code", *(("--plugin", home / "plugin") if plugin else ("--yes",)))
    more = ("--plugin-dir", str(home / "plugin")) if plugin else ()
    say(claude, "-p", *more, "--", TOLD)
    assert kept() == [("user", TOLD), ("assistant", "Noted.")]
    assert not any("recalled data" in each for each in model.requests)
    say(claude, "-p", *more, "--", ASKED)
    assert any("recalled data" in each and f"user: {TOLD}" in each for each in model.requests)
    assert kept()[2:] == [("user", ASKED), ("assistant", "Noted.")]
    assert not (home / "state" / "hook.log").exists()


def test_a_session_of_codex_is_kept_and_the_next_is_told(
    memorist: Command, home: Path, model: AgentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    codex = program("codex")
    monkeypatch.setenv("MODEL_KEY", "none")
    provider = f'{{name="test", base_url="{model.url}/v1", wire_api="responses", env_key="MODEL_KEY"}}'
    settings = ("model=m", "model_provider=test", f"model_providers.test={provider}")
    run = [codex, "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
    run += [part for setting in settings for part in ("-c", setting)]
    memorist("install", "codex", "--yes")
    say(*run, TOLD)
    assert kept() == [("user", TOLD), ("assistant", "Noted.")]
    say(*run, ASKED)
    assert any("recalled data" in each and f"user: {TOLD}" in each for each in model.requests)
    assert kept()[2:] == [("user", ASKED), ("assistant", "Noted.")]
    assert not (home / "state" / "hook.log").exists()
