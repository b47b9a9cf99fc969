"""The coding agents that are known: where their settings are, and what is put there."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from memorist.cli.hooks.caller import whose
from memorist.cli.installing.edits import Edit, json_hooks, json_server, own_file, toml_server
from memorist.cli.installing.hermes import MANIFEST, hermes_plugin
from memorist.cli.installing.opencode import opencode_plugin
from memorist.errors import InvalidInputError
from memorist.system.platforms import applications_folder, shell_line

CLAUDE_EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd")
_CURSOR_EVENTS = ("sessionStart", "beforeSubmitPrompt", "afterAgentResponse")
_GEMINI_EVENTS = ("SessionStart", "BeforeAgent", "AfterAgent")
_WINDSURF_EVENTS = ("pre_user_prompt", "post_cascade_response")
_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Registered:
    """How an agent calls memorist.

    Args:
        command: the program.
        user: whose memory, where it is not the system's user.
        tenant: likewise.
        db: which store, where it is not the default one.
    """

    command: str = "memorist"
    user: str | None = None
    tenant: str | None = None
    db: str | None = None

    def server(self, folder: str | None = ".") -> dict[str, Any]:
        """Return how the MCP server is started: for the project of a folder, or for all of the user's for None."""
        whom = _options(user=self.user or whose()) if folder is None else _options(project=folder, user=self.user)
        return {"command": self.command, "args": [*_options(db=self.db, tenant=self.tenant), "mcp", *whom]}

    def hook(self, event: str) -> str:
        """Return the command of an event, as a shell reads it."""
        return shell_line([self.command, "hook", event, *self.options()])

    def options(self) -> list[str]:
        """Return the options of each hook."""
        return _options(user=self.user, tenant=self.tenant, db=self.db)


def _options(**given: str | None) -> list[str]:
    return [part for name, value in given.items() if value is not None for part in (f"--{name}", value)]


Hooks: TypeAlias = Callable[[Registered], dict[str, dict[str, Any]]]
"""Makes the hooks of an agent, by event."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is put into one file of an agent.

    Args:
        own: the user's file.
        shared: the file of a project, in its folder; None where the agent has none there.
        put: returns the file's text with what `make` makes in it; for None, without what is ours.
        make: makes what is put in.
    """

    own: Callable[[], Path]
    shared: str | None
    put: Callable[[str, Any], str]
    make: Callable[[Registered], Any]

    def edit(self, registered: Registered | None) -> Edit:
        """Return the edit that puts it in; for None the one that takes it out."""
        made = None if registered is None else self.make(registered)
        return lambda text: self.put(text, made)

    def file(self, project: Path | None) -> Path | None:
        """Return the file in a project's folder, or None if the agent has none there; without a project, the user's."""
        if project is None:
            return self.own()
        return None if self.shared is None else project / self.shared


@dataclass(frozen=True, slots=True)
class CodingAgent:
    """A coding agent.

    Args:
        name: for people.
        look: the command that shows what is registered.
        server: the MCP server, as it is put into one of its files.
        hooks: its hooks, or the plugin in their place, likewise.
        speaks_mcp: whether its tools come by MCP.
    """

    name: str
    look: str
    server: Part
    hooks: Part
    speaks_mcp: bool = True


def _at(base: str, file: str, variable: str | None = None) -> Callable[[], Path]:
    """Return what finds a file: in the folder that a variable names, else in a base folder of the user's home."""

    def find() -> Path:
        if variable is not None and (given := os.environ.get(variable)):
            return Path(given) / file
        try:
            return Path.home() / base / file
        except RuntimeError as error:
            raise InvalidInputError("this user has no home folder; set HOME, or pass --project") from error

    return find


def grouped(events: tuple[str, ...], timeout: int = _SECONDS) -> Hooks:
    """Return what makes hooks in groups, as Claude Code has them."""
    return lambda registered: {
        event: {"hooks": [{"type": "command", "command": registered.hook(event), "timeout": timeout}]}
        for event in events
    }


def _flat(events: tuple[str, ...], prefix: str = "", **more: Any) -> Hooks:
    """Return what makes hooks without groups; `prefix` stands before the event in the command."""
    return lambda registered: {event: {"command": registered.hook(prefix + event), **more} for event in events}


def _opencode_server(registered: Registered) -> dict[str, Any]:
    server = registered.server()
    return {"type": "local", "command": [server["command"], *server["args"]]}


_gemini_settings = _at("", ".gemini/settings.json", "GEMINI_CLI_HOME")
_mcp_servers = partial(json_server, name="mcpServers")
AGENTS: Mapping[str, CodingAgent] = {
    "claude-code": CodingAgent(
        "Claude Code",
        "`claude mcp list`, and /hooks in a session",
        Part(_at("", ".claude.json", "CLAUDE_CONFIG_DIR"), ".mcp.json", _mcp_servers, Registered.server),
        Part(
            _at(".claude", "settings.json", "CLAUDE_CONFIG_DIR"),
            ".claude/settings.json",
            json_hooks,
            grouped(CLAUDE_EVENTS),
        ),
    ),
    "cursor": CodingAgent(
        "Cursor",
        "Cursor's settings, under MCP and Hooks",
        Part(
            _at(".cursor", "mcp.json"),
            ".cursor/mcp.json",
            _mcp_servers,
            lambda registered: registered.server("${workspaceFolder}"),
        ),
        Part(
            _at(".cursor", "hooks.json"),
            ".cursor/hooks.json",
            partial(json_hooks, new={"version": 1}),
            _flat(_CURSOR_EVENTS, timeout=_SECONDS),
        ),
    ),
    "codex": CodingAgent(
        "Codex",
        "`codex mcp list`, and /hooks in a session, where Codex has you trust them first",
        Part(_at(".codex", "config.toml", "CODEX_HOME"), ".codex/config.toml", toml_server, Registered.server),
        Part(_at(".codex", "hooks.json", "CODEX_HOME"), ".codex/hooks.json", json_hooks, grouped(CLAUDE_EVENTS[:-1])),
    ),
    "gemini": CodingAgent(
        "Gemini CLI",
        "`gemini mcp list`, and /hooks in a session",
        Part(_gemini_settings, ".gemini/settings.json", _mcp_servers, Registered.server),
        Part(_gemini_settings, ".gemini/settings.json", json_hooks, grouped(_GEMINI_EVENTS, timeout=_SECONDS * 1000)),
    ),
    "hermes": CodingAgent(
        "Hermes Agent",
        "`hermes memory status`, after `hermes config set memory.provider memorist`",
        Part(
            _at(".hermes", "plugins/memorist/plugin.yaml", "HERMES_HOME"), None, own_file, lambda registered: MANIFEST
        ),
        Part(
            _at(".hermes", "plugins/memorist/__init__.py", "HERMES_HOME"),
            None,
            own_file,
            lambda registered: hermes_plugin(registered.user or whose(), registered.db, registered.tenant),
        ),
        speaks_mcp=False,
    ),
    "opencode": CodingAgent(
        "OpenCode",
        "`opencode mcp list`",
        Part(
            _at(".config", "opencode/opencode.json", "XDG_CONFIG_HOME"),
            "opencode.json",
            # OpenCode itself would add the first line
            partial(json_server, name="mcp", new={"$schema": "https://opencode.ai/config.json"}),
            _opencode_server,
        ),
        Part(
            _at(".config", "opencode/plugins/memorist.js", "XDG_CONFIG_HOME"),
            ".opencode/plugins/memorist.js",
            own_file,
            lambda registered: opencode_plugin(registered.command, registered.options()),
        ),
    ),
    "vscode": CodingAgent(
        "VS Code",
        "the commands «MCP: List Servers» and «Chat: Configure Hooks»",
        Part(
            lambda: Path(applications_folder(), "Code/User/mcp.json"),
            ".vscode/mcp.json",
            partial(json_server, name="servers"),
            lambda registered: {"type": "stdio", **registered.server()},
        ),
        Part(
            _at(".copilot", "hooks/memorist.json"),
            ".github/hooks/memorist.json",
            json_hooks,
            _flat(CLAUDE_EVENTS[:-1], "copilot.", type="command", timeout=_SECONDS),
        ),
    ),
    "windsurf": CodingAgent(
        "Windsurf",
        "Cascade's settings, under MCP Servers and Hooks",
        Part(  # its documentation names nothing that stands for the project, and no file of a project's servers
            _at(".codeium", "windsurf/mcp_config.json"), None, _mcp_servers, lambda registered: registered.server(None)
        ),
        Part(_at(".codeium", "windsurf/hooks.json"), ".windsurf/hooks.json", json_hooks, _flat(_WINDSURF_EVENTS)),
    ),
}
