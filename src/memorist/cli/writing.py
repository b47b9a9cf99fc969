"""Commands that change: remember, revise, rate, forget, purge."""

import sys
from typing import Annotated

import typer

from memorist.cli.running import AsJson, User, given, opened, run, text_or_stdin
from memorist.cli.showing import print_json

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    for command in (remember, revise, rate, forget, purge):
        app.command()(command)


def remember(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="What to remember; - reads the standard input.")],
    user: User = None,
    kind: Annotated[str, typer.Option("--kind", "-k", help="note, message, fact, episode, experience…")] = "note",
    session: Annotated[str | None, typer.Option("--session", "-s", help="The conversation it is of.")] = None,
    id: Annotated[str | None, typer.Option(help="An id of your own; made up if left out.")] = None,
    cue: Annotated[str | None, typer.Option(help="What recall matches instead: a question, a situation.")] = None,
    happened_at: Annotated[str | None, typer.Option("--at", help="When it happened; now if left out.")] = None,
    json: AsJson = False,
) -> None:
    """Remember a text. It is on the disk when this returns."""
    content = text_or_stdin(text)

    async def work() -> None:
        fields = given(session=session, id=id, cue=cue, happened_at=happened_at)
        async with opened(context, user) as memory:
            record = await memory.remember(content, kind=kind, **fields)
        print_json(record.to_dict()) if json else typer.echo(f"Remembered as {record.id}")

    run(work)


def revise(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a memory.")],
    text: Annotated[str | None, typer.Argument(help="Its new text; - reads the standard input.")] = None,
    user: User = None,
    cue: Annotated[str | None, typer.Option(help="What recall matches instead: a question, a situation.")] = None,
    happened_at: Annotated[str | None, typer.Option("--at", help="When it happened.")] = None,
    expires_at: Annotated[str | None, typer.Option("--expires", help="When it goes by itself.")] = None,
    json: AsJson = False,
) -> None:
    """Change a memory; what it was stays in its history."""
    content = None if text is None else text_or_stdin(text)

    async def work() -> None:
        async with opened(context, user) as memory:
            record = await memory.revise(id, content=content, cue=cue, happened_at=happened_at, expires_at=expires_at)
        print_json(record.to_dict()) if json else typer.echo(f"Revised {record.id}")

    run(work)


def rate(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a memory.")],
    rating: Annotated[str, typer.Argument(help="From -1 (bad) to 1 (good), or none to take it back.")],
    user: User = None,
    json: AsJson = False,
) -> None:
    """Give a memory feedback: among similar ones the well-rated rank first."""
    try:
        value = None if rating.casefold() == "none" else float(rating)
    except ValueError as error:
        raise typer.BadParameter(f"a number from -1 to 1, or none, not {rating!r}", param_hint="RATING") from error

    async def work() -> None:
        async with opened(context, user) as memory:
            record = await memory.rate(id, value)
        print_json(record.to_dict()) if json else typer.echo(f"Rated {record.id}: {record.rating}")

    run(work)


def forget(
    context: typer.Context,
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="The ids of the memories.")],
    user: User = None,
) -> None:
    """Forget memories by their ids, their texts in the history included."""

    async def work() -> None:
        async with opened(context, user) as memory:
            gone = await memory.forget(*ids)
        absent = len(set(ids)) - gone
        typer.echo(f"Forgot {gone:,}" + (f"; {absent:,} not found" if absent > 0 else ""))

    run(work)


def purge(
    context: typer.Context,
    user: Annotated[str, typer.Option("--user", "-u", help="Whose memory to delete.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete everything of a user, for good: no byte of it is left in the files."""
    if not yes:
        if not sys.stdin.isatty():
            raise typer.BadParameter("nobody is here to be asked; give --yes", param_hint="--yes")
        typer.confirm(f"Delete everything that is remembered of {user!r}, for good?", abort=True)

    async def work() -> None:
        async with opened(context, user) as memory:
            gone = await memory.purge()
        typer.echo(f"Purged {gone:,} record{'' if gone == 1 else 's'} of {user!r}")

    run(work)
