"""The command that shows which project a folder is in, and gives it the records of another label."""

import os
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.options import AsJson, User
from memorist.cli.running import confirm, opened
from memorist.cli.showing import clean, counted, print_json
from memorist.errors import InvalidInputError

_KNOWN_BY = {
    "remote": "the address of its remote",
    "commit": "its first commit",
    "file": "the file .memorist",
    "path": "its path on this machine alone",
}


@command()
async def project(
    context: click.Context,
    action: Annotated[
        Literal["show", "name", "bring", "undo"],
        Argument(help="show it; name it; bring records of another label; undo: give these their label back."),
    ] = "show",
    name: Annotated[str | None, Argument(help="For name: the id; for bring: the other label, such as a path.")] = None,
    folder: Annotated[str, Option(metavar="FOLDER", help="A folder of the project.")] = ".",
    user: User = None,
    yes: Annotated[bool, Option("--yes", "-y", help="Skip the confirmation.")] = False,
    json: AsJson = False,
) -> None:
    """Show the label of a folder's project, by which coding agents' memories know it; name it, or bring records.

    The label is the same on every machine: the address of the repository's remote, else its first commit, else the id
    in a file .memorist, which `name` writes. Records labelled with the folder's path, as older versions did it, are
    brought over when an agent first works in it.
    """
    from memorist.cli.hooks.caller import whose
    from memorist.files.projects import project_at

    if (action in ("name", "bring")) != (name is not None):
        raise click.UsageError("name what: memorist project name ID, or memorist project bring LABEL")
    if action == "name":
        _write(Path(folder), name or "")
    found = project_at(folder)
    async with opened(context, user or whose(), new=True) as memory:
        whole = memory.unlabelled()
        told: dict[str, Any] = {"label": found.label, "known_by": found.known_by, "root": found.root}
        if action == "bring":
            total = await whole.count(agent=name, superseded=True)
            if total and not yes:
                confirm(f"Give {counted(total, 'record')} of {clean(name or '')} the label {clean(found.label)}?")
            told["brought"] = await whole.relabel(agent=name, to=found.label, source="project")
        elif action == "undo":
            told["given_back"] = await whole.relabel(agent=found.label, undo=True, source="project")
        told["records"] = await whole.count(agent=found.label)
        told["by_path"] = 0 if found.label == found.path else await whole.count(agent=found.path)
    if json:
        print_json(told)
        return
    click.echo(f"{clean(found.label)}, known by {_KNOWN_BY[found.known_by]}: {counted(told['records'], 'record')}")
    if "brought" in told:
        click.echo(f"Brought over {counted(told['brought'], 'record')}; memorist project undo gives them back")
    if "given_back" in told:
        click.echo(f"Gave {counted(told['given_back'], 'record')} the earlier label back")
    if told["by_path"]:
        left = f"{counted(told['by_path'], 'record')} of {clean(found.path)}"
        click.echo(f"{left}; bring them with memorist project bring {quote(clean(found.path))}")


def _write(folder: Path, id: str) -> None:
    """Write the file with a project's id into a folder.

    Raises:
        InvalidInputError: the id is malformed, or the file cannot be written or is there already.
    """
    from memorist.files.projects import ID_FILE, checked_id
    from memorist.system.writing import creating

    file = Path(os.path.realpath(folder)) / ID_FILE
    line = f'id = "{checked_id(id, "the id")}"\n'
    try:
        with creating(file) as stream:
            stream.write(line.encode())
    except FileExistsError as error:
        raise InvalidInputError(f"{file} is there already; edit it, or remove it first") from error
    except OSError as error:
        raise InvalidInputError(f"{file} cannot be written: {error.strerror or error}") from error
    file.chmod(0o644)  # it is kept with the project, which others may read
    click.echo(f"Wrote {file}; keep it with the project")
