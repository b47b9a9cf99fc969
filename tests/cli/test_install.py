"""install and uninstall: what they write into coding agents' files, and what they leave."""

import json
import os
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

from homes import move_home
from memorist.cli.installing import agents
from memorist.cli.installing.edits import json_server
from memorist.cli.installing.files import planned, written
from memorist.cli.installing.jsonc import parse, with_first, without

FILES = {  # the user's and the project's
    "claude-code": ([".claude.json", ".claude/settings.json"], [".mcp.json", ".claude/settings.json"]),
    "cursor": ([".cursor/mcp.json", ".cursor/hooks.json"], [".cursor/mcp.json", ".cursor/hooks.json"]),
    "codex": ([".codex/config.toml", ".codex/hooks.json"], [".codex/config.toml", ".codex/hooks.json"]),
    "gemini": ([".gemini/settings.json"], [".gemini/settings.json"]),
    "opencode": (
        [".config/opencode/opencode.json", ".config/opencode/plugins/memorist.js"],
        ["opencode.json", ".opencode/plugins/memorist.js"],
    ),
    "vscode": (
        [".config/Code/User/mcp.json", ".copilot/hooks/memorist.json"],
        [".vscode/mcp.json", ".github/hooks/memorist.json"],
    ),
    "windsurf": ([".codeium/windsurf/mcp_config.json", ".codeium/windsurf/hooks.json"], [".windsurf/hooks.json"]),
}
AGENTS = tuple(FILES)

SETTINGS = """\
{
    // mine
    "model": "opus",
    "hooks": {
        "Stop": [
            /* a bell */
            {"hooks": [{"type": "command", "command": "printf '\\\\a'"}]}
        ]
    },
    "permissions": {"allow": ["Bash(ls:*)"]}
}
"""
CODEX = """\
# mine
model = "gpt-5"   # the new one

[mcp_servers.other]
command = "other"
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder of this test's own."""
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    home = tmp_path / "home"
    (home / "project" / ".git").mkdir(parents=True)
    move_home(home, monkeypatch)
    monkeypatch.setattr(agents, "applications_folder", lambda: str(home / ".config"))  # as on Linux
    monkeypatch.chdir(home / "project")
    return home


def files(folder: Path) -> dict[str, str]:
    """Return the texts of all files but backups."""
    found = (each for each in folder.rglob("*") if each.is_file() and each.suffix != ".before-memorist")
    return {str(each.relative_to(folder)): each.read_bytes().decode() for each in found}


def everything(folder: Path) -> dict[str, bytes | None]:
    """Return the bytes of all files, and None for each folder."""
    return {str(each.relative_to(folder)): each.read_bytes() if each.is_file() else None for each in folder.rglob("*")}


def fill(home: Path) -> None:
    for path, text in {
        ".claude/settings.json": SETTINGS,
        ".claude.json": '{"numStartups": 3, "oauthAccount": {"token": "secret"}}',
        ".cursor/hooks.json": '{"version": 1}',
        ".cursor/mcp.json": '{\n  "mcpServers": {\n    "other": {"command": "other"}\n  }\n}\n',
        ".codex/config.toml": CODEX,
        ".gemini/settings.json": SETTINGS.replace("Stop", "SessionStart"),
        ".config/opencode/opencode.json": '{\n  // mine\n  "model": "m",\n}\n',
        ".config/Code/User/mcp.json": '{\r\n\t"servers": {\r\n\t\t"other": {"url": "x"}, // mine\r\n\t}\r\n}\r\n',
        ".codeium/windsurf/hooks.json": '{"hooks": {"pre_user_prompt": [{"command": "other"}]}}',
    }.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(text.encode())


@pytest.mark.parametrize("agent", AGENTS)
def test_each_agents_files(memorist: Command, home: Path, agent: str) -> None:
    """The places that the agents' documentation names, on Linux."""
    memorist("install", agent, "--yes")
    memorist("install", agent, "--project", "--yes")
    own, shared = FILES[agent]
    assert set(files(home)) == {*own, *(f"project/{each}" for each in shared)}


FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # as the agents' schemas and documentation have them
    "gemini": (
        {"mcpServers": {"memorist": {"command": "memorist", "args": ["mcp", "--project", "."]}}},
        {"BeforeAgent": {"hooks": [{"type": "command", "command": "memorist hook BeforeAgent", "timeout": 20000}]}},
    ),
    "opencode": (
        {
            "$schema": "https://opencode.ai/config.json",
            "mcp": {"memorist": {"type": "local", "command": ["memorist", "mcp", "--project", "."]}},
        },
        {},
    ),
    "vscode": (
        {"servers": {"memorist": {"type": "stdio", "command": "memorist", "args": ["mcp", "--project", "."]}}},
        {"Stop": {"type": "command", "command": "memorist hook copilot.Stop", "timeout": 20}},
    ),
    "windsurf": ({}, {"pre_user_prompt": {"command": "memorist hook pre_user_prompt"}}),
}


@pytest.mark.parametrize("agent", FORMS)
def test_the_form_of_each_agents_files(memorist: Command, home: Path, agent: str) -> None:
    memorist("install", agent, "--project", "--yes")
    written = [json.loads(text) for path, text in files(home).items() if path.endswith(".json")]
    servers, hooks = FORMS[agent]
    assert any(servers.items() <= each.items() for each in written)
    found: dict[str, Any] = next((each["hooks"] for each in written if "hooks" in each), {})
    assert {event: [hook] for event, hook in hooks.items()}.items() <= found.items()


def test_windsurf_is_given_all_projects_of_a_user_because_it_names_none(memorist: Command, home: Path) -> None:
    memorist("install", "windsurf", "--user", "alice", "--yes")
    server = json.loads((home / FILES["windsurf"][0][0]).read_text())["mcpServers"]["memorist"]
    assert server["args"] == ["mcp", "--user", "alice"]


@pytest.mark.parametrize("agent", AGENTS)
def test_what_was_there_stays_and_uninstall_brings_it_back(memorist: Command, home: Path, agent: str) -> None:
    fill(home)
    before = files(home)
    assert memorist("install", agent, "--yes").code == 0
    installed = files(home)
    assert installed != before
    for path, text in before.items():
        if path.endswith(".toml"):
            assert installed[path].startswith(text)
        else:  # every line that was there is there, in its order
            kept = iter(installed[path].splitlines())
            lines = text.splitlines() if "\n" in text else []
            assert all(line in kept for line in lines)
    assert memorist("uninstall", agent, "--yes").code == 0
    assert files(home) == before


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("options", [(), ("--project",)], ids=["own", "project"])
@pytest.mark.parametrize(
    "text",
    [None, "", "\n", "{}", '{"mcpServers": {}, "hooks": {}}', '{"hooks": {"Stop": [], "stop": []}, "version": 1}\r\n',
     "\ufeff{\n}", '{"mcpServers": {"memorist2": {"command": "memorist"}}}', "{\r\n\t// nothing yet\r\n}",
     '{"servers": {/* none */}, "hooks": {"Stop": [/* none */],},}\n'],
)  # fmt: skip
def test_uninstall_leaves_every_byte_as_before(
    memorist: Command, home: Path, agent: str, options: tuple[str, ...], text: str | None
) -> None:
    root = home / "project" if options else home
    for path in FILES[agent][bool(options)] if text is not None else ():
        if path.endswith(".json"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes((text or "").encode())
    before = everything(home)
    assert memorist("install", agent, *options, "--yes").code == 0
    assert memorist("install", agent, *options, "--user", "alice", "--yes").code == 0
    assert memorist("uninstall", agent, *options, "--dry-run").code == 0
    assert everything(home) != before
    assert memorist("uninstall", agent, *options, "--yes").code == 0
    assert everything(home) == before
    assert "nothing to write" in memorist("uninstall", agent, *options, "--yes").out


@pytest.mark.parametrize("agent", AGENTS)
def test_what_another_program_writes_meanwhile_stays_and_so_do_comments(
    memorist: Command, home: Path, agent: str
) -> None:
    jsons = [home / path for path in FILES[agent][0] if path.endswith(".json")]
    for file in jsons:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"{\r\n\t// nothing yet\r\n}\r\n")
    memorist("install", agent, "--yes")
    for file in jsons:
        text = file.read_bytes().decode()
        assert "\n" not in text.replace("\r\n", "")
        file.write_bytes(with_first(text, (), "theme", "dark").encode())
    assert memorist("uninstall", agent, "--yes").code == 0
    for file in jsons:
        assert file.read_bytes() == b'{\r\n  "theme": "dark"\r\n\t// nothing yet\r\n}\r\n'


def test_uninstall_keeps_what_was_changed_since(memorist: Command, home: Path) -> None:
    file = home / ".claude.json"
    file.write_text('{"mcpServers": {}}')
    memorist("install", "claude-code", "--yes")
    file.write_text(with_first(file.read_text(), (), "theme", "dark"))
    memorist("uninstall", "claude-code", "--yes")
    assert json.loads(file.read_text()) == {"theme": "dark"}
    assert sorted(each.name for each in home.iterdir()) == [".claude.json", "project"]


OTHERS = "\n[features]\nshell_tool = true\n"
MOVED: dict[
    str, Callable[[str], str]
] = {  # what Codex and editors make of the file: it as install wrote it, to it as they leave it
    "a table before the last comment": lambda text: text.replace("# <<< memorist\n", f"{OTHERS}# <<< memorist\n"),
    "no comment before the table": lambda text: "".join(
        line for line in text.splitlines(keepends=True) if ">>>" not in line
    ).replace("# <<< memorist\n", f"{OTHERS}# <<< memorist\n"),
    "a tool that is always allowed": lambda text: (
        f'{text}\n[mcp_servers.memorist.tools.search_memories]\napproval_mode = "approve"\n{OTHERS}'
    ),
    "a comment and a value in the table": lambda text: text.replace(
        "# <<< memorist\n", f"\n# slow\nstartup_timeout_sec = 60\n# <<< memorist\n{OTHERS}"
    ),
    "other ends of lines": lambda text: (text + OTHERS).replace("\n", "\r\n"),
}


@pytest.mark.parametrize("moved", MOVED)
def test_codex_may_write_its_file_anew(memorist: Command, home: Path, moved: str) -> None:
    fill(home)
    file = home / ".codex" / "config.toml"
    memorist("install", "codex", "--yes")
    file.write_bytes(MOVED[moved](file.read_text()).encode())
    assert memorist("install", "codex", "--user", "alice", "--yes").code == 0
    assert tomllib.loads(file.read_bytes().decode())["mcp_servers"]["memorist"]["args"][-1] == "alice"
    assert memorist("uninstall", "codex", "--yes").code == 0
    assert file.read_bytes().decode().replace("\r", "") == CODEX + OTHERS


def test_a_table_that_cannot_be_told_apart_is_left_alone(memorist: Command, home: Path) -> None:
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text('mcp_servers = {memorist = {command = "memorist", args = ["mcp", "--project", "."]}}\n')
    before = files(home)
    assert "was edited" in memorist("uninstall", "codex", "--yes").err
    assert files(home) == before


def test_what_an_agent_notes_beside_the_server_goes_with_it(memorist: Command, home: Path) -> None:
    """As Windsurf does where a tool is switched off."""
    file = home / ".codeium/windsurf/mcp_config.json"
    memorist("install", "windsurf", "--yes")
    file.write_text(
        file.read_text().replace('"args"', '"disabledTools": ["add_memory"],\n      "env": {},\n      "args"')
    )
    memorist("uninstall", "windsurf", "--yes")
    assert not file.exists()


def test_a_server_that_was_given_variables_is_the_users_own(memorist: Command, home: Path) -> None:
    file = home / ".claude.json"
    memorist("install", "claude-code", "--yes")
    file.write_text(file.read_text().replace('"args"', '"env": {"MEMORIST_TOKEN": "mine"},\n      "args"'))
    assert "it has another entry" in memorist("install", "claude-code", "--user", "alice", "--yes").err
    memorist("uninstall", "claude-code", "--yes")
    assert "mine" in file.read_text()


@pytest.mark.parametrize("agent", AGENTS)
def test_twice_is_once(memorist: Command, home: Path, agent: str) -> None:
    fill(home)
    memorist("install", agent, "--yes")
    once = files(home)
    again = memorist("install", agent, "--yes")
    assert files(home) == once
    assert "nothing to write" in again.out


@pytest.mark.parametrize("agent", AGENTS)
def test_other_options_take_the_place_of_the_old_ones(memorist: Command, home: Path, agent: str) -> None:
    fill(home)
    memorist("install", agent, "--yes")
    memorist("install", agent, "--user", "alice", "--yes")
    together = "".join(files(home).values())
    hooks = [line for line in together.splitlines() if "memorist hook" in line or line.startswith("const OPTIONS")]
    assert together.count("alice") == len(hooks) + 1
    assert memorist("uninstall", agent, "--yes").code == 0
    assert "alice" not in "".join(files(home).values())


@pytest.mark.parametrize("agent", AGENTS)
def test_a_dry_run_shows_each_line_and_writes_nothing(memorist: Command, home: Path, agent: str) -> None:
    fill(home)
    before = files(home)
    shown = memorist("install", agent, "--dry-run").out
    assert files(home) == before
    memorist("install", agent, "--yes")
    for path, text in files(home).items():
        for line in set(text.splitlines()) - set(before.get(path, "").splitlines()):
            assert f"+{line}" in shown


@pytest.mark.parametrize("agent", AGENTS)
def test_an_entry_of_the_users_own_by_this_name_stays(memorist: Command, home: Path, agent: str) -> None:
    memorist("install", agent, "--yes")
    file = home / FILES[agent][0][0]
    mine = file.read_text().replace('"--project"', '"--agent"').replace('"--user"', '"--agent"')
    mine = mine.replace("# >>> memorist", "# mine")
    memorist("uninstall", agent, "--yes")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(mine)
    before = files(home)
    for command in ("install", "uninstall"):
        result = memorist(command, agent, "--yes")
        assert file.read_text() == mine or command == "uninstall"
    assert "; remove" in memorist("install", agent, "--yes").err
    assert '"--agent"' in file.read_text()
    assert set(files(home)) <= set(before)
    assert result.code == 0


def test_a_file_that_install_did_not_write_is_not_written_over(memorist: Command, home: Path) -> None:
    file = home / ".config/opencode/plugins/memorist.js"
    file.parent.mkdir(parents=True)
    file.write_text("export const Mine = async () => ({})\n")
    before = files(home)
    result = memorist("install", "opencode", "--yes")
    assert result.code == 2
    assert "memorist.js was not changed: it was not written by" in result.err
    memorist("uninstall", "opencode", "--yes")
    assert files(home) == before


def killed(memorist: Command, command: str, agent: str, after: int) -> bool:
    """Run a command in a process that is killed where it has replaced so many files, and return whether it was."""
    process = os.fork()
    if process == 0:
        replace, done = os.replace, iter(range(after))
        os.replace = lambda *args: replace(*args) if next(done, None) is not None else os._exit(9)
        os._exit(memorist(command, agent, "--yes").code)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert code in (0, 9)
    return code == 9


@pytest.mark.posix
@pytest.mark.parametrize("agent", AGENTS)
def test_a_command_that_is_killed_leaves_whole_files_and_uninstall_puts_them_right(
    memorist: Command, home: Path, agent: str
) -> None:
    fill(home)
    before = everything(home)
    memorist("install", agent, "--yes")
    whole = {*files(home).values()} | {each.decode() for each in before.values() if each is not None}
    memorist("uninstall", agent, "--yes")
    for command in ("install", "uninstall"):
        for number in range(9):
            if command == "uninstall":
                memorist("install", agent, "--yes")
            ended = killed(memorist, command, agent, number)
            for draft in home.rglob(".*-????????"):  # what it was writing
                draft.unlink()
            assert {*files(home).values()} <= whole
            memorist("uninstall", agent, "--yes")
            assert everything(home) == before
            if not ended:
                break
        assert 0 < number < 9


def test_the_package_that_the_server_needs_is_named(
    memorist: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert memorist("install", "codex", "--yes").err == ""
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert "mcp is not installed; run: pip install" in memorist("install", "codex", "--yes").err


def test_nothing_is_written_where_nobody_says_yes(memorist: Command, home: Path) -> None:
    fill(home)
    before = files(home)
    result = memorist("install", "codex")
    assert result.code == 2
    assert "--yes" in result.err
    assert files(home) == before


@pytest.mark.posix
def test_the_file_as_it_was_is_kept_with_its_rights(memorist: Command, home: Path) -> None:
    fill(home)
    file = home / ".claude.json"
    file.chmod(0o600)
    before = file.read_text()
    memorist("install", "claude-code", "--yes")
    backup = home / ".claude.json.before-memorist"
    assert backup.read_text() == before
    assert file.stat().st_mode & 0o777 == backup.stat().st_mode & 0o777 == 0o600


@pytest.mark.posix
def test_a_new_file_has_the_rights_that_the_user_gives_new_files(memorist: Command, home: Path) -> None:
    before = os.umask(0o077)
    try:
        memorist("install", "claude-code", "--yes")
    finally:
        os.umask(before)
    assert (home / ".claude.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.posix
@pytest.mark.parametrize("agent", AGENTS)
def test_files_that_are_links_or_may_only_be_read_stay_so(memorist: Command, home: Path, agent: str) -> None:
    fill(home)
    own = [home / path for path in FILES[agent][0] if (home / path).exists()]
    own[0].chmod(0o444)
    for file in own[1:]:
        file.rename(home / file.name)
        file.symlink_to(home / file.name)
    before = everything(home)
    for command in ("install", "uninstall"):
        assert memorist(command, agent, "--yes").code == 0
        assert own[0].stat().st_mode & 0o777 == 0o444
        assert all(file.is_symlink() for file in own[1:])
    assert everything(home) == before


@pytest.mark.posix
def test_a_link_is_followed(memorist: Command, home: Path) -> None:
    fill(home)
    real = home / "dotfiles.json"
    (home / ".claude" / "settings.json").rename(real)
    (home / ".claude" / "settings.json").symlink_to(real)
    memorist("install", "claude-code", "--yes")
    assert (home / ".claude" / "settings.json").is_symlink()
    assert "memorist" in real.read_text()


OUT = ("file", "folder", "backup", "nothing")
"""What a link in a project leads out to."""


@pytest.mark.posix
@pytest.mark.parametrize("how", OUT)
@pytest.mark.parametrize("command", ["install", "uninstall"])
@pytest.mark.parametrize("agent", AGENTS)
def test_nothing_is_read_or_written_through_links_of_a_project(
    memorist: Command, home: Path, agent: str, command: str, how: str
) -> None:
    """A repository may hold links for whoever clones it."""
    name, *_ = FILES[agent][1]
    file, outside = home / "project" / name, home / "mine"
    outside.mkdir()
    if how == "folder":
        if "/" not in name:
            pytest.skip("the file is in the project's own folder")
        file.parent.symlink_to(outside)
    else:
        file.parent.mkdir(exist_ok=True)
        link = file.with_name(f"{file.name}.before-memorist") if how == "backup" else file
        link.symlink_to(outside / "settings.json")
    if how != "nothing":
        (outside / "settings.json").write_text("{}")
        (outside / f"{file.name}.before-memorist").write_text("{}")
    before = everything(outside), everything(home / "project")
    result = memorist(command, agent, "--project", "--yes")
    assert result.code == 2
    assert "is a link out of" in result.err and "Remove the link" in result.err
    assert (everything(outside), everything(home / "project")) == before


@pytest.mark.posix
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("what", ["/dev/zero", "pipe", "large"])
def test_only_regular_files_of_some_size_are_read(
    memorist: Command, home: Path, agent: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / "project" / FILES[agent][1][0]
    file.parent.mkdir(exist_ok=True)
    if what == "pipe":
        os.mkfifo(file)
    elif what == "large":
        file.write_bytes(b"{")
        os.truncate(file, 1_000_000_000)
    else:
        file.symlink_to(what)
    result = memorist("install", agent, "--project", "--yes")
    assert result.code == 2
    assert str(file) in result.err
    own = home / FILES[agent][0][0]  # of the user's own files the links are the user's
    own.parent.mkdir(parents=True, exist_ok=True)
    own.symlink_to("/dev/zero")
    result = memorist("install", agent, "--yes")
    assert result.code == 2
    assert "not a regular file" in result.err


@pytest.mark.posix
def test_a_link_within_a_project_is_followed(memorist: Command, home: Path) -> None:
    (home / "project" / "shared.json").write_text("{}")
    (home / "project" / ".mcp.json").symlink_to("shared.json")
    assert memorist("install", "claude-code", "--project", "--yes").code == 0
    assert (home / "project" / ".mcp.json").is_symlink()
    assert "memorist" in (home / "project" / "shared.json").read_text()


@pytest.mark.posix
def test_a_plugin_is_not_written_through_links(memorist: Command, home: Path) -> None:
    folder = home / "project" / "plugin"
    assert memorist("install", "claude-code", "--plugin", str(folder)).code == 0
    (home / "mine.json").write_text("{}")
    (folder / ".mcp.json").unlink()
    (folder / ".mcp.json").symlink_to(home / "mine.json")
    result = memorist("install", "claude-code", "--plugin", str(folder))
    assert result.code == 2
    assert "is a link out of" in result.err
    assert (home / "mine.json").read_text() == "{}"


@pytest.mark.posix
def test_a_folder_that_is_a_link_stays_one(memorist: Command, home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / ".codex").symlink_to(home / "dotfiles")
    before = everything(home)
    for command in ("install", "uninstall", "uninstall"):
        assert memorist(command, "codex", "--yes").code == 0
    assert everything(home) == before


def test_a_file_to_be_shared_gets_no_password(memorist: Command, home: Path) -> None:
    before = everything(home)
    for options in (("--project",), ("--plugin", "plugin")):
        shown = memorist("--db", "postgresql://me:secret@host/db", "install", "claude-code", *options, "--yes")
        assert shown.code == 2 and "MEMORIST_DB" in shown.err and "secret" not in shown.out + shown.err
    assert everything(home) == before


def test_what_shows_a_change_shows_no_other_line(memorist: Command, home: Path) -> None:
    fill(home)
    (home / ".claude.json").write_text('{\n  "oauthAccount": {\n    "token": "secret"\n  }\n}\n')
    assert "secret" not in memorist("install", "claude-code", "--dry-run").out


@pytest.mark.parametrize("text", ["{", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "[]", '{"a": 1 "b": 2}', "\ufeff!"])
def test_a_malformed_file_is_left_and_no_other_is_written(memorist: Command, home: Path, text: str) -> None:
    fill(home)
    (home / ".claude" / "settings.json").write_text(text)
    before = files(home)
    result = memorist("install", "claude-code", "--yes")
    assert result.code == 2
    assert "settings.json was not changed" in result.err
    assert files(home) == before


@pytest.mark.parametrize(
    "text", ["[mcp_servers", "[mcp_servers.memorist]\ncommand='mine'\n", "mcp_servers = {}\n", "mcp_servers = 3\n"]
)
def test_a_toml_file_that_cannot_take_it_is_left(memorist: Command, home: Path, text: str) -> None:
    fill(home)
    (home / ".codex" / "config.toml").write_text(text)
    before = files(home)
    result = memorist("install", "codex", "--yes")
    assert result.code == 2
    assert "config.toml was not changed" in result.err
    assert files(home) == before


def test_a_file_that_cannot_be_read_is_left(memorist: Command, home: Path) -> None:
    fill(home)
    (home / ".claude" / "settings.json").write_bytes(b"\xff\xfe{}")
    result = memorist("install", "claude-code", "--yes")
    assert result.code == 2
    assert "cannot be read" in result.err


def test_no_home_folder(memorist: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    result = memorist("install", "codex", "--yes")
    assert result.code == 2
    assert "no home folder" in result.err


def test_an_unknown_agent_is_named(memorist: Command) -> None:
    result = memorist("install", "emacs")
    assert result.code == 2
    assert "claude-code" in result.err


@pytest.mark.parametrize("agent", AGENTS)
def test_a_projects_files_name_no_one_and_no_folder(memorist: Command, home: Path, agent: str) -> None:
    memorist("install", agent, "--project", "--yes")
    written = files(home)
    assert written
    assert all(path.startswith("project/") for path in written)
    assert str(home) not in "".join(written.values())


def test_others_hooks_in_one_group_with_ours_stay(memorist: Command, home: Path) -> None:
    fill(home)
    file = home / ".claude" / "settings.json"
    group = {"hooks": [{"command": "memorist hook Stop", "type": "command"}, {"command": "bell", "type": "command"}]}
    file.write_text(json.dumps({"hooks": {"Stop": [group]}}))
    memorist("uninstall", "claude-code", "--yes")
    assert json.loads(file.read_text()) == {"hooks": {"Stop": [{"hooks": [{"command": "bell", "type": "command"}]}]}}


@pytest.mark.parametrize(
    "text", ["{}", "{ }", '{"a": 1}', '{\n\t"a": [1, 2], // last\n}\n', '{"m": {}}', '{"m": {"x": [/* none */]}}']
)
def test_what_is_put_into_json_can_be_taken_out(text: str) -> None:
    changed = with_first(text, ("m",), "memorist", {"deep": [1, {"é": None}]})
    assert parse(changed).value["m"]["memorist"] == {"deep": [1, {"é": None}]}
    back: dict[str, Any] = parse(without(changed, ("m", "memorist"))).value
    assert {name: value for name, value in back.items() if name != "m"} == {
        name: value for name, value in parse(text).value.items() if name != "m"
    }


def test_the_last_of_several_is_taken_out_with_the_comma_before_it() -> None:
    assert without('{"a": 1, /* b */ "b": 2}', ("b",)) == '{"a": 1 /* b */}'
    assert without("[1, 2, 3]", (1,)) == "[1, 3]"


def test_a_plugin_is_written_over_itself_and_over_nothing_else(memorist: Command, home: Path) -> None:
    assert memorist("install", "claude-code", "--plugin", home / "plugin").code == 0
    once = files(home / "plugin")
    assert set(once) == {".claude-plugin/plugin.json", ".mcp.json", "hooks/hooks.json", "skills/memory/SKILL.md"}
    assert memorist("install", "claude-code", "--plugin", home / "plugin").code == 0
    assert files(home / "plugin") == once
    (home / "mine").mkdir()
    (home / "mine" / "notes.txt").write_text("mine")
    assert memorist("install", "claude-code", "--plugin", home / "mine").code == 2
    assert memorist("install", "cursor", "--plugin", home / "other").code == 2


def test_a_byte_order_mark_is_read_and_stays(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(b'\xef\xbb\xbf{"mcpServers": {}}')
    put = partial(json_server, server={"command": "memorist"}, name="mcpServers")
    change = planned(file, [put], [partial(put, server=None)])
    assert change is not None
    written(change)
    assert file.read_bytes().startswith(b"\xef\xbb\xbf{")
    assert json.loads(file.read_text("utf-8-sig")) == {"mcpServers": {"memorist": {"command": "memorist"}}}


def test_hermes_gets_a_plugin_that_loads_the_provider(memorist: Command, home: Path) -> None:
    files_of_plugin = [".hermes/plugins/memorist/__init__.py", ".hermes/plugins/memorist/plugin.yaml"]
    before = everything(home)
    assert memorist("install", "hermes", "--user", "it's alice", "--yes").code == 0
    module, manifest = ((home / path).read_text() for path in files_of_plugin)
    assert "name: memorist" in manifest and "register_memory_provider" in module
    called = dict[str, Any]()
    code = module.replace("from memorist.adapters.hermes import MemoristProvider", "MemoristProvider = Provider")
    context = type("Context", (), {"register_memory_provider": lambda self, provider: called.update(provider)})()
    names = {"Provider": lambda memory, **given: {"memory": memory, **given}}
    exec(code, names)
    names["register"](context)
    assert called["user"] == "it's alice" and called["tenant"] is None
    assert "nothing to write" in memorist("install", "hermes", "--user", "it's alice", "--yes").out
    refused = memorist("install", "hermes", "--project", "--yes")
    assert refused.code != 0 and "no files in a project's folder" in refused.err
    assert memorist("uninstall", "hermes", "--yes").code == 0
    assert everything(home) == before
