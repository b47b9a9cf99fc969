"""Files brought in: import, of other programs' data, shown and confirmed; load, of one's own exports and chats."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.options import AsJson, User
from memorist.cli.progress import records_bar, spinner
from memorist.cli.running import EXIT_BAD_LINES, EXIT_INTERRUPTED, confirm, foreseen, given, opened, run
from memorist.cli.showing import clean, counted, print_bad, print_json, print_table
from memorist.errors import InvalidInputError
from memorist.records.zones import zone_of
from memorist.system.places import expanded

if TYPE_CHECKING:
    from memorist.imports import Embed, Import, ImportReport, Options, Source, Survey

_MOST_SPEAKERS = 8
_MOST_BAD = 5

Column = Annotated[str | None, Option(metavar="COLUMN", help="A table's column.")]


@command()
def import_(
    context: click.Context,
    paths: Annotated[tuple[str, ...], Argument(metavar="PATH", help="Files, folders or zips; - reads standard input.")],
    user: User = None,
    format: Annotated[str | None, Option("--as", metavar="FORMAT", help="The format, if it is not recognised.")] = None,
    me: Annotated[str | None, Option(metavar="NAME", help="Your name among the speakers.")] = None,
    zone: Annotated[
        str | None,
        Option(
            metavar="ZONE", help="The time zone of times without one, such as Europe/Oslo. By default the memory's."
        ),
    ] = None,
    owner: Annotated[
        str | None,
        Option(
            metavar="NAME", help="Import only the records that the source assigns to this user; '*' imports everyone's."
        ),
    ] = None,
    follow_links: Annotated[bool, Option(help="Follow links that lead out of the folder.")] = False,
    encoding: Annotated[
        str | None, Option(metavar="NAME", help="The text encoding, such as shift_jis. By default it is detected.")
    ] = None,
    embed: Annotated[
        Literal["now", "later"],
        Option(help="later: store without vectors; a server or `memorist reindex --missing` adds them."),
    ] = "now",
    yes: Annotated[bool, Option("--yes", "-y", help="Skip the confirmation.")] = False,
    dry_run: Annotated[bool, Option(help="Show what would be imported; store nothing.")] = False,
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
    from memorist.imports import Options, Source

    columns = given(text=text, time=when, speaker=speaker, conversation=session, id=id)
    with foreseen():
        known = context.obj.home if zone is None else zone_of(zone)
    options = Options(me=me, zone=known, columns=columns, encoding=encoding, owner=owner)
    loading = _Loading(context, user, format, json, embed)
    reports = []
    for path in paths:
        with nullcontext() if path == "-" else spinner(f"Looking for the files of {clean(path)}"):
            source = Source(path, follow_links=follow_links)
        with source:
            reports.append(_import(source, options, loading, yes=yes, dry_run=dry_run))
    if json:
        print_json(reports)
    if any(report["bad"] for report in reports):
        raise click.exceptions.Exit(EXIT_BAD_LINES)


@command()
def load(
    context: click.Context,
    file: Annotated[str, Argument(metavar="PATH", help="The file; - reads standard input.")],
    user: Annotated[
        str | None,
        Option("--user", "-u", help="The user of lines without one. For a chat, MEMORIST_USER is the default."),
    ] = None,
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
    from memorist.imports.readers.own import holds_export

    if file != "-" and expanded(file).is_dir():
        raise InvalidInputError(f"cannot read {file}: it is a folder; memorist import reads folders")
    with Source(file) as source:
        if user is None and not any(map(holds_export, source.parts)):  # an export says whose each record is
            user = os.environ.get("MEMORIST_USER") or None
        report = _Loading(context, user, "memorist", json, trusted=True).store(source, Options())
    if json:
        print_json(report)
    elif report["added"]:
        click.echo("The authors are taken from the file; use `memorist import` for a file that you do not trust")
    if report["bad"]:
        raise click.exceptions.Exit(EXIT_BAD_LINES)


def _import(
    source: "Source", options: "Options", loading: "_Loading", *, yes: bool, dry_run: bool
) -> Mapping[str, Any]:
    """Show what one source holds, store it if that is wanted, and return the report as JSON."""
    answered, found = _looked(source, loading.format, options)
    if not loading.json:
        _show(source.name, found, answered)
        _show_users(found, loading.user)
    plain = _plain(found)
    if dry_run:
        return {"found": plain, "bad": found.bad}
    asks = found.unsettled and not yes and not loading.json and sys.stdin.isatty()
    mine = {**found.mine, **(_asked_who(found) if asks else {})}
    if not yes and (found.messages or found.notes):
        confirm("Import this?")
    total = found.messages + found.notes + found.bad
    return {"found": plain, **loading.store(source, replace(answered, me=mine or None), total)}


def _plain(found: "Survey") -> dict[str, Any]:
    """Return what was found as JSON has it."""
    return {
        **asdict(found),
        "first": None if found.first is None else found.first.isoformat(),
        "last": None if found.last is None else found.last.isoformat(),
        "mine": {name or "": me for name, me in found.mine.items()},
        "unsettled": [*found.unsettled],
    }


def _asked_who(found: "Survey") -> dict[str | None, str]:
    """Ask which speakers the user is, and return who that is in each conversation."""
    names = click.prompt(
        "Which of these speakers are you? (names separated by commas; Enter for none)", "", show_default=False
    )
    mine = dict[str | None, str]()
    for me in filter(None, map(str.strip, names.split(","))):
        mine |= {conversation: me for conversation, speakers in found.unsettled.items() if me in speakers}
    return mine


@dataclass(frozen=True, slots=True)
class _Loading:
    """How a command stores its sources: where to, in which format, and how it tells of that."""

    context: click.Context
    user: str | None
    format: str | None
    json: bool
    embed: "Embed" = "now"
    trusted: bool = False

    def store(self, source: "Source", options: "Options", total: int | None = None) -> dict[str, Any]:
        """Store what a source holds, tell how that went, and return the report as JSON."""
        from memorist.imports import load

        trusted, embed, done = self.trusted, self.embed, 0

        async def work() -> "ImportReport":
            async with opened(self.context, self.user, new=True) as memory:
                with records_bar(f"{'Loading' if trusted else 'Importing'} {clean(source.name)}") as bar:

                    def show(number: int) -> None:
                        nonlocal done
                        done = number
                        if bar is not None:
                            bar(number, total)

                    return await load(
                        memory, source, format=self.format, options=options, trusted=trusted, embed=embed, progress=show
                    )

        begun = time.perf_counter()
        try:
            report = run(work)
        except click.exceptions.Exit as ended:
            if ended.exit_code == EXIT_INTERRUPTED:
                of_all = f" of {total:,}" if total else ""
                click.echo(f"{done:,}{of_all} stored; run the same command again to resume", err=True)
            raise
        if not self.json:
            revised = f"{report.revised:,} revised, " if report.revised else ""
            bad = counted(report.failed, "bad line" if trusted else "bad part")
            counts = f"{report.added:,} added, {revised}{report.existing:,} already stored, {bad}"
            click.echo(f"{counts} ({time.perf_counter() - begun:.1f} s)")
            print_bad(map(str, report.bad), report.failed)
            if embed == "later" and report.added:
                click.echo("They can be found by words. To find them by meaning, run: memorist reindex --missing")
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


def _show(name: str, found: "Survey", options: "Options") -> None:
    """Show what a source holds, and how it will be read, before anything is stored."""
    told = ", ".join(filter(None, (found.counts(), found.days(options.zone))))
    click.echo(f"{clean(name)} ({', '.join(found.titles)}): {told}")
    _show_columns(found)
    timed = not found.columns or "time" in found.columns.values()
    if timed and found.untimed and found.messages + found.notes > found.untimed:
        click.echo(f"{counted(found.untimed, 'part')} without a time")
    if found.unzoned:
        click.echo(f"Times without a zone are read in {options.zone}; change it with --zone")
    if found.unread:
        told = "in a script that no bundled model supports: found by words only"
        click.echo(f"{counted(found.unread, 'part')} {told}")
    for told in found.guesses():
        click.echo(clean(told))
    if found.encodings:
        click.echo("set another with --encoding NAME")
    for sample in found.samples:
        click.echo(f"  {clean(sample)}")
    _show_people(found)
    _show_omitted(found)


def _show_columns(found: "Survey") -> None:
    if not found.columns:
        return
    used = [f"{what} from {clean(column)}" for column, what in found.columns.items() if what != "metadata"]
    kept = ", ".join(clean(column) for column, what in found.columns.items() if what == "metadata")
    click.echo(f"Columns: {', '.join(used)}; {f'kept as metadata: {kept}' if kept else 'all are used'}")
    if "time" not in found.columns.values():
        click.echo(
            "No time column was found; name one with --time COLUMN, or records are dated with the day of the import"
        )


def _show_people(found: "Survey") -> None:
    if found.me is not None:
        click.echo(f"You are {clean(found.me)!r}.")
    elif found.mine:
        people = ", ".join(clean(each) for each in dict.fromkeys(found.mine.values()))
        click.echo(f"You are {people} in {counted(len(found.mine), 'conversation')}.")
    if found.unsettled:
        speakers = sorted({each for names in found.unsettled.values() for each in names})
        names = ", ".join(clean(each) for each in speakers[:_MOST_SPEAKERS])
        more = ", …" if len(speakers) > _MOST_SPEAKERS else ""
        where = f" in {counted(len(found.unsettled), 'conversation')}" if found.mine else ""
        click.echo(f"Could not identify you{where}; pass --me NAME: {names}{more}")


def _show_omitted(found: "Survey") -> None:
    if found.bad:
        click.echo(f"{counted(found.bad, 'part')} cannot be read:")
        for bad in found.first_bad[:_MOST_BAD]:
            click.echo(f"  {clean(str(bad))}")
        if found.bad > _MOST_BAD:
            click.echo(f"  … and {found.bad - _MOST_BAD:,} more")
    for told in found.left_out():
        click.echo(clean(told))
    if found.links:
        click.echo("pass --follow-links to read them")


def _show_users(found: "Survey", user: str | None) -> None:
    """Show whose records a source says they are, and what becomes of them."""
    if not found.users:
        return
    names = ", ".join(clean(each) for each in found.users[:_MOST_SPEAKERS])
    more = ", …" if len(found.users) > _MOST_SPEAKERS else ""
    told = "each user keeps their own" if user is None else f"only {clean(user)}'s are imported"
    click.echo(
        f"Records of {counted(len(found.users), 'user')} ({names}{more}): {told}; choose one user's with --owner NAME"
    )


@command()
def imports(
    context: click.Context,
    do: Annotated[Literal["list", "undo"], Argument(metavar="list|undo", help="List imports, or undo one.")] = "list",
    id: Annotated[str | None, Argument(help="For undo: the import's id in the list.")] = None,
    user: Annotated[str | None, Option("--user", "-u", help="The user. Without it, all users.")] = None,
    yes: Annotated[bool, Option("--yes", "-y", help="Skip the confirmation.")] = False,
    json: AsJson = False,
) -> None:
    """List the imports whose records are here, newest first; or take one back whole: memorist imports undo ID."""
    from memorist.imports import imports as listed
    from memorist.imports import undo

    if (do == "undo") != (id is not None):
        raise click.UsageError("name the import to undo: memorist imports undo ID")

    async def find() -> "Sequence[Import]":
        async with opened(context, user) as memory:
            return await listed(memory, id)

    async def take_back(id: str) -> int:
        async with opened(context, user) as memory:
            return await undo(memory, id)

    found = run(find)
    if id is not None:
        if found and not yes:
            confirm(f"Forget {counted(found[0].records, 'record')} of this import permanently?")
        gone = run(partial(take_back, id))
        print_json({"forgotten": gone}) if json else click.echo(f"Undone: forgot {counted(gone, 'record')}")
    elif json:
        print_json([{**asdict(each), "at": each.at.isoformat(), "records": each.records} for each in found])
    else:
        rows = ((each.id, f"{each.records:,}", clean(", ".join(each.sources))) for each in found)
        print_table(("Import", "Records", "Source"), rows, none="No imports.")
