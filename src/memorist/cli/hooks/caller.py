"""Whose memory a hook is for, and in which project."""

import os
from collections.abc import Callable
from typing import Any

from memorist.cli.bringing import Earlier
from memorist.cli.servers import running
from memorist.files.projects import project_at

Ask = Callable[[str, str | None, dict[str, Any]], dict[str, Any]]
"""Calls a verb with a request's arguments, in a project, or in all of them for None."""

_SESSIONS = ("session_id", "sessionId", "conversation_id", "trajectory_id")
"""What agents call a session: Claude Code and others, VS Code, Cursor, Windsurf."""


class Caller:
    """Whose memory a hook is for.

    Args:
        options: the arguments after the event: ``--user``, ``--tenant`` and ``--db``.
        said: the agent's JSON, with its session and its folder.

    Raises:
        ValueError: an option is unknown or has no value.
    """

    def __init__(self, options: list[str], said: dict[str, Any]) -> None:
        given = dict(zip(options[::2], options[1::2], strict=True))
        if unknown := given.keys() - {"--user", "--tenant", "--db"}:
            raise ValueError(f"there is no option {min(unknown)}")
        env = os.environ.get
        self.user = given.get("--user") or whose()
        self.tenant = given.get("--tenant") or env("MEMORIST_TENANT") or "default"
        self.db = given.get("--db") or env("MEMORIST_DB") or None
        roots = said.get("workspace_roots")
        folder = roots[0] if isinstance(roots, list) and roots else said.get("cwd")
        self.place = project_at(folder if isinstance(folder, str) and folder else os.getcwd())
        self.project = self.place.label
        session = next(filter(None, map(said.get, _SESSIONS)), None)
        self.session = session if isinstance(session, str) and session else None

    @property
    def earlier(self) -> Earlier:
        """The labels that the project had before in this folder, whose records are not brought over yet."""
        return Earlier(self.place, [self.db, os.environ.get("MEMORIST_CONFIG"), self.tenant, self.user])

    def server(self) -> str | None:
        """Return the URL of a server of this machine that serves the same store, or None."""
        return None if self.db is None and os.environ.get("MEMORIST_CONFIG") else running(self.db)


def whose() -> str:
    """Return whose memory a coding agent works with: MEMORIST_USER, or the name of the system's user."""
    if said := os.environ.get("MEMORIST_USER"):
        return said
    import getpass

    return getpass.getuser()
