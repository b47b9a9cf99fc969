"""The coding agents' own programs, on what install wrote: their listings, and sessions with a model of the test's."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agentserver import AgentServer, agent_server
from homes import move_home
from memorist import Memory, Record

pytestmark = pytest.mark.slow

USER = "alice"
TOLD = "We deploy with the script ship.sh"
ASKED = "Forget with which script we deploy"
MEMORIST = str(Path(sys.executable).with_name("memorist"))


@dataclass(frozen=True)
class Program:
    """A coding agent's own program, and how it is led to the test's model.

    Args:
        name: the program.
        agent: what install calls it.
        says: the arguments before a prompt; here and below, `$URL` is the model's address, `$HOME` the home folder.
        variables: of its environment.
        settings: what the user has in files before, by path in the home.
        install: how install is called for it.
        words: whether the prompt is given as words, not as one argument.
        servers: whether it starts the MCP server that install has registered.
    """

    name: str
    agent: str
    says: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    install: tuple[str, ...] = ("--yes",)
    words: bool = False
    servers: bool = True


CLAUDE = {
    "ANTHROPIC_BASE_URL": "$URL",
    "ANTHROPIC_API_KEY": "none",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "ENABLE_TOOL_SEARCH": "false",
    "MCP_CONNECTION_NONBLOCKING": "false",  # else the first request may go without its tools
    "MCP_CONNECT_TIMEOUT_MS": "60000",
    "MCP_TIMEOUT": "60000",
}
ALLOWED = ("--allowedTools", "mcp__memorist,mcp__plugin_memorist_memorist", "-p")
OPENCODE = """\
{
    // mine
    "model": "test/m", "small_model": "test/m", "snapshot": false,
    "experimental": {"mcp_timeout": 60000},
    "provider": {"test": {"npm": "@ai-sdk/openai-compatible", "models": {"m": {}},
        "options": {"baseURL": "$URL/v1", "apiKey": "none"}}},
}
"""
PROGRAMS = {
    "claude": Program("claude", "claude-code", ALLOWED, CLAUDE, {".claude.json": '{"theme": "dark"}'}),
    "claude-plugin": Program(
        "claude",
        "claude-code",
        ("--plugin-dir", "$HOME/plugin", *ALLOWED),
        CLAUDE,
        install=("--plugin", "$HOME/plugin"),
    ),
    "codex": Program(
        "codex",
        "codex",
        (
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-hook-trust",
            "--dangerously-bypass-approvals-and-sandbox",
            "-c",
            "mcp_servers.memorist.required=true",  # else the first request goes without its tools
            "-c",
            "mcp_servers.memorist.startup_timeout_sec=60",
        ),
        {"MODEL_KEY": "none"},
        {
            ".codex/config.toml": 'model = "m" # mine\nmodel_provider = "test"\n\n[model_providers.test]\n'
            'name = "test"\nbase_url = "$URL/v1"\nwire_api = "responses"\nenv_key = "MODEL_KEY"\n'
        },
    ),
    "gemini": Program(
        "gemini",
        "gemini",
        ("--skip-trust", "--yolo", "-m", "gemini-2.5-flash", "-p"),
        {"GOOGLE_GEMINI_BASE_URL": "$URL", "GEMINI_API_KEY": "none"},
        {
            ".gemini/settings.json": '{\n  // mine\n  "security": {"auth": {"selectedType": "gemini-api-key"}},\n'
            '  "privacy": {"usageStatisticsEnabled": false},\n  "general": {"enableAutoUpdate": false}\n}\n'
        },
    ),
    "opencode": Program(
        "opencode",
        "opencode",
        ("run", "--title", "x"),
        {
            "npm_config_registry": "$URL",  # which has no types of plugins; else they are fetched in each new home
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        {".config/opencode/opencode.jsonc": OPENCODE},
        words=True,
    ),
    "copilot": Program(  # it runs the hooks that VS Code has, too, and has its servers in another file
        "copilot",
        "vscode",
        ("-p",),
        {"COPILOT_PROVIDER_BASE_URL": "$URL/v1", "COPILOT_MODEL": "m", "COPILOT_OFFLINE": "true"},
        {".config/Code/User/mcp.json": '{\r\n\t"servers": {}, // mine\r\n}\r\n'},
        servers=False,
    ),
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder of this test's own, which has a project and memorist's file of settings."""
    for variable in os.environ:
        ours = variable.startswith("MEMORIST_") and variable != "MEMORIST_TEST_AGENTS"
        if ours or variable.startswith(("XDG_", "CLAUDE", "CODEX_", "GEMINI_", "OPENCODE_", "COPILOT_")):
            monkeypatch.delenv(variable)
    home = tmp_path / "home"
    (home / "project" / ".git").mkdir(parents=True)
    (home / ".config" / "memorist").mkdir(parents=True)
    (home / ".config" / "memorist" / "config.toml").write_text('embedder = "hash"\n')
    move_home(home, monkeypatch)
    monkeypatch.chdir(home / "project")
    monkeypatch.setenv("PWD", str(home / "project"))
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


def kept(home: Path) -> list[Record]:
    """Return the messages in the user's memory, the oldest first."""

    async def read() -> list[Record]:
        async with Memory.open(home / ".local/share/memorist/memorist.db", user=USER, embedder="hash") as memory:
            return (await memory.browse(order="oldest", kind="message")).records

    return asyncio.run(read())


def files(home: Path) -> dict[Path, bytes]:
    """Return the files under the home that a user may have, without caches and the memory itself."""
    return {
        each: each.read_bytes()
        for each in home.rglob("*")
        if each.is_file() and not {"node_modules", ".npm", ".cache", ".local"} & set(each.relative_to(home).parts)
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_session_is_kept_the_next_is_told_and_forgets_and_uninstall_leaves_nothing(
    name: str, home: Path, model: AgentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = PROGRAMS[name]
    path = program(case.name)

    def filled(text: str) -> str:
        return text.replace("$URL", model.url).replace("$HOME", str(home))

    for variable, value in case.variables.items():
        monkeypatch.setenv(variable, filled(value))
    for file, text in case.settings.items():
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).write_bytes(filled(text).encode())
    before = files(home)
    say(MEMORIST, "install", case.agent, "--user", USER, *map(filled, case.install))
    installed = files(home)

    def ask(prompt: str) -> list[tuple[str, str]]:
        say(path, *map(filled, case.says), *(prompt.split() if case.words else [prompt]))
        return [(each.payload["role"], each.content) for each in kept(home)]

    first = [("user", TOLD), ("assistant", "Noted.")]
    assert ask(TOLD) == first
    assert {each.scope.agent for each in kept(home)} == {str((home / "project").resolve())}
    assert not any("recalled data" in each for each in model.requests)

    id = kept(home)[0].id
    if case.servers:
        model.calls = [
            ("search_memories", lambda asked: {"query": TOLD}),
            ("delete_memory", lambda asked: {"id": id} if id in asked else {}),
        ]
    assert ask(ASKED) == [*first[case.servers :], ("user", ASKED), ("assistant", "Noted.")]
    assert any("recalled data" in each and f"user: {TOLD}" in each for each in model.requests)
    assert model.calls == []
    assert not (home / ".local/state/memorist/hook.log").exists()

    used = files(home)
    say(MEMORIST, "uninstall", case.agent, "--yes")
    after = files(home)
    for each in (each for each in installed if installed[each] != before.get(each) and "plugin" not in each.parts):
        if used[each] == installed[each]:
            assert after.get(each) == before.get(each)
        else:  # the agent itself has written into it, too
            assert b"memorist" not in after[each]


def test_claude_code_lists_the_server_and_takes_the_plugin(home: Path) -> None:
    claude = program("claude")
    say(MEMORIST, "install", "claude-code", "--yes")
    assert "memorist" in say(claude, "mcp", "get", "memorist")
    say(MEMORIST, "install", "claude-code", "--plugin", str(home / "plugin"))
    assert "passed" in say(claude, "plugin", "validate", str(home / "plugin"))
    say(MEMORIST, "uninstall", "claude-code", "--yes")
    assert "memorist" not in say(claude, "mcp", "list")


def test_codex_lists_the_server(home: Path) -> None:
    codex = program("codex")
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text('[mcp_servers.other] # mine\ncommand = "other"\n')
    say(MEMORIST, "install", "codex", "--yes")
    listed = {each["name"]: each for each in json.loads(say(codex, "mcp", "list", "--json"))}
    assert set(listed) == {"other", "memorist"}
    written = tomllib.loads((home / ".codex" / "config.toml").read_text())["mcp_servers"]["memorist"]
    assert listed["memorist"]["transport"]["args"] == written["args"]


def test_codex_writes_its_file_anew_and_uninstall_leaves_what_it_wrote(home: Path) -> None:
    codex, file = program("codex"), home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text('model = "x" # mine\n')
    for change in (("features", "enable", "shell_tool"), ("mcp", "add", "other", "--", "other")):
        say(MEMORIST, "install", "codex", "--yes")
        say(codex, *change)
        say(MEMORIST, "uninstall", "codex", "--yes")
    text = file.read_text()
    assert "memorist" not in text and text.startswith('model = "x" # mine\n')
    found = tomllib.loads(text)
    assert found["features"] == {"shell_tool": True} and found["mcp_servers"]["other"]["command"] == "other"
