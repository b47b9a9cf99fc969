"""Files brought in: import, of other programs' data, shown and confirmed; load, of one's own exports and chats."""

import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.options import AsJson, User
from memorist.cli.progress import records_bar, spinner
from memorist.cli.running import EXIT_BAD_LINES, confirm, opened, run
from memorist.cli.showing import clean, counted, print_bad, print_json
from memorist.errors import InvalidInputError
from memorist.system.places import expanded

if TYPE_CHECKING:
    from memorist.imports import ImportReport, Options, Source, Survey

_MOST_SPEAKERS = 8

Column = Annotated[str | None, Option(metavar="COLUMN", help="A table's column.")]


@command("import")
def import_(
    context: click.Context,
    paths: Annotated[
        tuple[str, ...], Argument(metavar="PATH", help="Files, folders, zips; - reads the standard input.")
    ],
    user: User = None,
    format: Annotated[
        str | None, Option("--as", metavar="FORMAT", help="The format, where it is not recognised.")
    ] = None,
    me: Annotated[str | None, Option(metavar="NAME", help="Which speaker you are.")] = None,
    zone: Annotated[
        str | None,
        Option(metavar="ZONE", help="The zone of times that name none: Europe/Oslo. By default this machine's."),
    ] = None,
    follow_links: Annotated[
        bool, Option("--follow-links", help="Read also what links in a folder lead to outside of it.")
    ] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Import without asking.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show what would be imported, and store nothing.")] = False,
    text: Column = None,
    when: Annotated[str | None, Option("--time", metavar="COLUMN", help="A table's column.")] = None,
    speaker: Column = None,
    session: Column = None,
    id: Column = None,
    json: AsJson = False,
) -> None:
    """Import chats, notes and memories that another program exported. The program is recognised from the files.

    What was found is shown, and stored once you confirm. Nothing is stored twice: repeat an import that was
    interrupted, or import a newer export of the same account. Records edited since are revised. Parts that cannot
    be read are left out, counted and listed, and then the exit code is 3.
    """
    from memorist.imports import Options

    named = {"text": text, "time": when, "speaker": speaker, "conversation": session, "id": id}
    columns = {name: column for name, column in named.items() if column is not None}
    options = Options(me=me, zone=None if zone is None else _zone(zone), columns=columns)
    reports = [
        _import(context, path, user, format, options, follow_links=follow_links, yes=yes, dry_run=dry_run, json=json)
        for path in paths
    ]
    if json:
        print_json(reports)
    if any(report["bad"] for report in reports):
        raise click.exceptions.Exit(EXIT_BAD_LINES)


@command()
def load(
    context: click.Context,
    file: Annotated[str, Argument(metavar="PATH", help="The file; - reads the standard input.")],
    user: Annotated[str | None, Option("--user", "-u", help="The user of the lines that name none.")] = None,
    json: AsJson = False,
) -> None:
    """Load a chat, or what `memorist export` wrote. The format is recognised.

    A chat is one JSON object a line: text (or content), and if you have them id, group, session, speaker
    (or role), timestamp, user, metadata. Records that exist already are left alone, so a file can be loaded
    again, after an interruption too. Lines that cannot be read are left out, counted and listed, and then
    the exit code is 3.

    You vouch for the file: its records have the authors that it names, an operator among them. What other programs
    export, and files of others, are read by `memorist import`.
    """
    from memorist.imports import Options, Source

    if file != "-" and expanded(file).is_dir():
        raise InvalidInputError(f"cannot read {file}: it is a folder; memorist import reads folders")
    with Source(file) as source:
        report = _stored(context, user, source, "memorist", Options(), trusted=True, json=json)
    if json:
        print_json(report)
    elif report["added"]:
        click.echo("Their authors are those that the file names; `memorist import` trusts no file that far")
    if report["bad"]:
        raise click.exceptions.Exit(EXIT_BAD_LINES)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError) as error:
        raise click.BadParameter(
            f"there is no zone {name!r}; write one such as Europe/Oslo", param_hint="--zone"
        ) from error


def _import(
    context: click.Context,
    path: str,
    user: str | None,
    format: str | None,
    options: "Options",
    *,
    follow_links: bool,
    yes: bool,
    dry_run: bool,
    json: bool,
) -> Mapping[str, Any]:
    """Show what one source holds, store it if that is wanted, and return the report as JSON."""
    from memorist.imports import Source

    with nullcontext() if path == "-" else spinner(f"Looking for the files of {clean(path)}"):
        source = Source(path, follow_links=follow_links)
    with source:
        answered, found = _looked(source, format, options)
        if not json:
            _show(source.name, found)
        times = {name: None if (at := getattr(found, name)) is None else at.isoformat() for name in ("first", "last")}
        plain = {**asdict(found), **times}
        if dry_run:
            return {"found": plain, "bad": found.bad}
        if not yes and (found.messages or found.notes):
            confirm("Import this?")
        final = answered if found.me is None else replace(answered, me=found.me)
        total = found.messages + found.notes + found.bad
        return {"found": plain, **_stored(context, user, source, format, final, total=total, json=json)}


def _stored(
    context: click.Context,
    user: str | None,
    source: "Source",
    format: str | None,
    options: "Options",
    *,
    trusted: bool = False,
    total: int | None = None,
    json: bool,
) -> dict[str, Any]:
    """Store what a source holds, tell how that went, and return the report as JSON."""
    from memorist.imports import load

    async def work() -> "ImportReport":
        async with opened(context, user, new=True) as memory:
            with records_bar(f"{'Loading' if trusted else 'Importing'} {clean(source.name)}") as bar:
                show = None if bar is None else lambda done: bar(done, total)
                return await load(memory, source, format=format, options=options, trusted=trusted, progress=show)

    begun = time.perf_counter()
    report = run(work)
    if not json:
        revised = f"{report.revised:,} revised, " if report.revised else ""
        bad = counted(report.failed, "bad line" if trusted else "bad part")
        counts = f"{report.added:,} added, {revised}{report.existing:,} there already, {bad}"
        click.echo(f"{counts} ({time.perf_counter() - begun:.1f} s)")
        print_bad(map(str, report.bad), report.failed)
    return asdict(report)


def _looked(source: "Source", format: str | None, options: "Options") -> "tuple[Options, Survey]":
    """Return what a source holds; ask at a terminal which column of a table is the text, if nothing says so."""
    from memorist.imports import ColumnsError, survey

    while True:
        try:
            with spinner(f"Reading {clean(source.name)}: {counted(len(source.parts), 'file')}"):
                return options, survey(source, format=format, options=options)
        except ColumnsError as error:
            if not sys.stdin.isatty():
                raise
            column = click.prompt(f"{clean(str(error))}\nThe column of the text")
            options = replace(options, columns={**options.columns, "text": column})


def _show(name: str, found: "Survey") -> None:
    told = ", ".join(filter(None, (found.counts(), found.days())))
    click.echo(f"{clean(name)} ({', '.join(found.titles)}): {told}")
    if found.me is not None:
        click.echo(f"You are {clean(found.me)!r}.")
    elif found.speakers:
        more = ", …" if len(found.speakers) > _MOST_SPEAKERS else ""
        names = ", ".join(clean(each) for each in found.speakers[:_MOST_SPEAKERS])
        click.echo(f"Who you are is not said; --me NAME tells it: {names}{more}")
    if found.bad:
        click.echo(f"{counted(found.bad, 'part')} cannot be read")
    if found.unknown:
        click.echo(f"{counted(len(found.unknown), 'file')} of no known format left out")
    if found.links:
        click.echo(f"{counted(len(found.links), 'link')} out of the folder left out; --follow-links reads them")
