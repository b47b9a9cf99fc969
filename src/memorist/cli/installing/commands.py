"""The commands install, uninstall and hook."""

import shutil
from collections.abc import Iterable
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from sysconfig import get_config_var, get_path
from typing import Annotated, TypeAlias

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.installing.agents import AGENTS, CodingAgent, Part, Registered
from memorist.cli.installing.files import FileEdit, planned, tidy, written
from memorist.cli.installing.plugin import plugin_files, write_plugin
from memorist.cli.running import Options, confirm
from memorist.cli.showing import clean, shown_url
from memorist.errors import InvalidInputError, missing_extra
from memorist.records.scope import DEFAULT_TENANT
from memorist.system.places import expanded

AgentName = Enum("AgentName", {name: name for name in AGENTS}, type=str)  # type: ignore[misc]
Agent: TypeAlias = Annotated[AgentName, Argument(help=f"One of {', '.join(AGENTS)}.")]
Project: TypeAlias = Annotated[bool, Option(help="Edit the files of the project in this folder instead of your own.")]
DryRun: TypeAlias = Annotated[bool, Option(help="Show the changes; write nothing.")]
Yes: TypeAlias = Annotated[bool, Option("--yes", "-y", help="Show the changes and write them without confirmation.")]


@command()
def install(
    context: click.Context,
    agent: Agent,
    user: Annotated[
        str | None, Option("--user", "-u", help="The user. By default MEMORIST_USER, else your own name.")
    ] = None,
    project: Project = False,
    plugin: Annotated[
        Path | None,
        Option(metavar="FOLDER", help="Write a plugin for Claude Code into this folder; change nothing else."),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Give a coding agent this memory: its tools by MCP, and hooks that tell and keep what is said.

    Every line is shown before it is written, and the file as it was is kept beside it.
    """
    known, options = AGENTS[agent.value], context.obj
    if plugin is not None:
        _plugin(known, plugin, _registered(options, user, shared=True), dry_run=dry_run)
        return
    registered = _registered(options, user, shared=project)
    _change(known, _root(project), registered, dry_run=dry_run, yes=yes)
    if known.speaks_mcp and find_spec("mcp") is None:
        click.echo(f"The agent has no tools yet, as {missing_extra('mcp', 'mcp')}", err=True)


@command()
def uninstall(agent: Agent, project: Project = False, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Take what install wrote out of a coding agent's files, which are then as before. The memory itself stays."""
    _change(AGENTS[agent.value], _root(project), None, dry_run=dry_run, yes=yes)


@command()
def hook(
    event: Annotated[str, Argument(help="The event's name in the agent, such as SessionStart.")],
    user: Annotated[str | None, Option(help="Whose memory.")] = None,
    tenant: Annotated[str | None, Option(help="The tenant.")] = None,
    db: Annotated[str | None, Option(metavar="PATH", help="The database.")] = None,
) -> None:
    """Answer an event of a coding agent, as registered by install: JSON on standard input, JSON on standard output.

    It never fails: where something goes wrong it prints nothing, and hook.log in the state folder says why.
    """
    from memorist.cli.hooks.run import run as answer

    answer([event, *Registered(user=user, tenant=tenant, db=db).options()])


def _registered(options: Options, user: str | None, *, shared: bool) -> Registered:
    """Return how memorist is called: by its path, or in files that others share by its name."""
    beside = Path(get_path("scripts"), f"memorist{get_config_var('EXE') or ''}")
    path = str(beside) if beside.is_file() else shutil.which("memorist")
    db = options.db
    if db is not None and "://" not in db and not db.startswith("sqlite:"):
        db = expanded(db).absolute().as_posix()
    if shared and db is not None and shown_url(db) != db:
        raise InvalidInputError(
            "the database URL has a password, which is not written into shared files; set "
            "MEMORIST_DB where the agent runs"
        )
    tenant = None if options.tenant == DEFAULT_TENANT else options.tenant
    return Registered("memorist" if shared or path is None else path, user, tenant, db)


def _root(project: bool) -> Path | None:
    from memorist.files.projects import root_of

    return Path(root_of(".")) if project else None


def _change(known: CodingAgent, root: Path | None, registered: Registered | None, *, dry_run: bool, yes: bool) -> None:
    """Show what changes, and write it where that is wanted: all files, or none where one cannot be read.

    Args:
        known: the agent.
        root: the project's folder; None for the user's own files.
        registered: what is put in; None takes ours out.
        dry_run: whether nothing is written.
        yes: whether nobody is asked.
    """
    changes = _planned(known, root, registered, tidies=not dry_run)
    if not changes:
        click.echo(f"{known.name} is set up already; nothing to write")
        return
    for change in changes:
        click.echo(f"{change.file}{_mark(change)}")
        _show(change.lines())
    if dry_run:
        return
    if not yes:
        confirm("Write this?")
    for change in changes:
        backup = written(change, out_of=(root or Path.home()) if registered is None else None, project=root)
        kept = f"; backup: {backup}" if backup else ""
        click.echo(f"{'Removed' if change.after is None else 'Wrote'} {change.file}{kept}")
    click.echo(f"Check it with {known.look}. Restart open sessions to load it.")


def _planned(known: CodingAgent, root: Path | None, registered: Registered | None, *, tidies: bool) -> list[FileEdit]:
    """Return what is to change in each file; where nothing is left to take out, remove a leftover backup.

    Args:
        known: the agent.
        root: as in `_change`.
        registered: as in `_change`.
        tidies: whether a backup that a killed command may have left is removed.
    """
    out = registered is None
    files: dict[Path, list[Part]] = {}
    for part in (known.server, known.hooks):
        file = part.file(root)
        if file is not None:
            files.setdefault(file, []).append(part)
    if not files:
        raise InvalidInputError(f"{known.name} has no files in a project's folder; leave out --project")
    changes = list[FileEdit]()
    for file, parts in files.items():
        put = [part.edit(registered or Registered()) for part in parts]
        take = [part.edit(None) for part in parts]
        change = planned(file, put, take, out=out, project=root)
        if change is not None:
            changes.append(change)
        elif out and tidies:
            tidy(file, root or Path.home())
    return changes


def _mark(change: FileEdit) -> str:
    if change.before is None:
        return " (new)"
    return " (goes)" if change.after is None else ""


def _show(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(f"  {clean(line)}")  # of a project's file, which may be anybody's


def _plugin(known: CodingAgent, folder: Path, registered: Registered, *, dry_run: bool) -> None:
    if known is not AGENTS["claude-code"]:
        raise InvalidInputError("--plugin makes a plugin for Claude Code: memorist install claude-code --plugin …")
    files = plugin_files(registered)
    for path, text in files.items():
        click.echo(f"{folder / path}")
        _show(f"+ {line}" for line in text.splitlines())
    if not dry_run:
        write_plugin(folder, files)
        click.echo(f"Try it with: claude --plugin-dir {folder}")
