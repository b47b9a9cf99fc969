"""The coding agents that are known: where their settings are, and what is put there."""

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memorist.errors import InvalidInputError

CLAUDE_EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd")
_CODEX_EVENTS = CLAUDE_EVENTS[:-1]
_CURSOR_EVENTS = ("sessionStart", "beforeSubmitPrompt", "afterAgentResponse")
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

    def server(self, folder: str) -> dict[str, Any]:
        """Return how the MCP server is started, for the project of a folder."""
        before = _options(db=self.db, tenant=self.tenant)
        return {"command": self.command, "args": [*before, "mcp", "--project", folder, *_options(user=self.user)]}

    def hook(self, event: str) -> str:
        """Return the command of an event, as a shell reads it."""
        options = _options(user=self.user, tenant=self.tenant, db=self.db)
        return shlex.join([self.command, "hook", event, *options])


def _options(**given: str | None) -> list[str]:
    return [part for name, value in given.items() if value is not None for part in (f"--{name}", value)]


@dataclass(frozen=True, slots=True)
class CodingAgent:
    """A coding agent.

    Args:
        name: for people.
        servers: its file of MCP servers, of a user (None) or a project's folder.
        hooks: its file of hooks, likewise.
        folder: what stands for the project's folder in the server's arguments.
        events: the hooks, by event.
        look: the command that shows what is registered.
    """

    name: str
    servers: Callable[[Path | None], Path]
    hooks: Callable[[Path | None], Path]
    folder: str
    events: Callable[[Registered], Mapping[str, dict[str, Any]]]
    look: str


def hooks_of(events: tuple[str, ...]) -> Callable[[Registered], dict[str, dict[str, Any]]]:
    """Return what makes the hooks of Claude Code and Codex."""

    def make(registered: Registered) -> dict[str, dict[str, Any]]:
        return {
            event: {"hooks": [{"type": "command", "command": registered.hook(event), "timeout": _SECONDS}]}
            for event in events
        }

    return make


def _cursor_hooks(registered: Registered) -> dict[str, dict[str, Any]]:
    return {event: {"command": registered.hook(event), "timeout": _SECONDS} for event in _CURSOR_EVENTS}


def _home(variable: str | None, *parts: str) -> Path:
    """Return a path in the folder that a variable names, else in the user's home."""
    if variable is not None and (given := os.environ.get(variable)):
        return Path(given).joinpath(*parts[1:])
    try:
        return Path.home().joinpath(*parts)
    except RuntimeError as error:
        raise InvalidInputError("this user has no home folder; set HOME, or give --project") from error


def _claude_servers(project: Path | None) -> Path:
    if project is not None:
        return project / ".mcp.json"
    inside = bool(os.environ.get("CLAUDE_CONFIG_DIR"))
    return _home("CLAUDE_CONFIG_DIR", ".claude", ".claude.json") if inside else _home(None, ".claude.json")


def _in(folder: str, file: str, variable: str | None = None) -> Callable[[Path | None], Path]:
    return lambda project: _home(variable, folder, file) if project is None else project / folder / file


AGENTS: Mapping[str, CodingAgent] = {
    "claude-code": CodingAgent(
        "Claude Code",
        servers=_claude_servers,
        hooks=_in(".claude", "settings.json", "CLAUDE_CONFIG_DIR"),
        folder=".",
        events=hooks_of(CLAUDE_EVENTS),
        look="`claude mcp list`, and /hooks in a session",
    ),
    "cursor": CodingAgent(
        "Cursor",
        servers=_in(".cursor", "mcp.json"),
        hooks=_in(".cursor", "hooks.json"),
        folder="${workspaceFolder}",
        events=_cursor_hooks,
        look="Cursor's settings, under MCP and Hooks",
    ),
    "codex": CodingAgent(
        "Codex",
        servers=_in(".codex", "config.toml", "CODEX_HOME"),
        hooks=_in(".codex", "hooks.json", "CODEX_HOME"),
        folder=".",
        events=hooks_of(_CODEX_EVENTS),
        look="`codex mcp list`, and /hooks in a session, where Codex has you trust them first",
    ),
}
