"""Commands that look: recall, recent, browse, get, count, history."""

from typing import Annotated, Any, TypeAlias, cast

import typer

from memorist.cli.running import AsJson, User, given, opened, run, text_or_stdin
from memorist.cli.showing import print_changes, print_hits, print_json, print_record, print_records
from memorist.errors import NotFoundError

__all__ = ["register"]

Limit: TypeAlias = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")]
Kinds: TypeAlias = Annotated[
    list[str] | None, typer.Option("--kind", "-k", help="Only this kind: message, note, fact… May be repeated.")
]
Session: TypeAlias = Annotated[str | None, typer.Option("--session", "-s", help="Only this conversation.")]
Since: TypeAlias = Annotated[str | None, typer.Option(help="Only from this time on, such as 2024-05-01.")]
Until: TypeAlias = Annotated[str | None, typer.Option(help="Only before this time.")]
Shared: TypeAlias = Annotated[bool, typer.Option("--shared", help="Also what all users share.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    for command in (recall, recent, browse, get, count, history):
        app.command()(command)


def recall(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="A question, or any text; - reads the standard input.")],
    user: User = None,
    limit: Limit = 5,
    kind: Kinds = None,
    session: Session = None,
    since: Since = None,
    until: Until = None,
    shared: Shared = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each part of the ranking gave.")] = False,
    json: AsJson = False,
) -> None:
    """Find the memories that matter to a question, by meaning and by words."""
    query = text_or_stdin(question)

    async def work() -> None:
        options = given(kind=kind or None, session=session, since=since, until=until)
        async with opened(context, user) as memory:
            hits = await memory.recall(query, limit=limit, shared=shared, explain=explain, **options)
        print_hits(hits, as_json=json, explain=explain)

    run(work)


def recent(
    context: typer.Context,
    user: User = None,
    limit: Limit = 10,
    kind: Kinds = None,
    session: Session = None,
    since: Since = None,
    until: Until = None,
    shared: Shared = False,
    json: AsJson = False,
) -> None:
    """Show the newest memories, newest first."""

    async def work() -> None:
        options = given(kind=kind or None, session=session, since=since, until=until)
        async with opened(context, user) as memory:
            records = await memory.recent(limit, shared=shared, **options)
        print_records(records, as_json=json)

    run(work)


def browse(
    context: typer.Context,
    user: User = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many on a page.")] = 20,
    order: Annotated[str, typer.Option(help="newest, oldest or key.")] = "newest",
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended, as it said.")] = None,
    kind: Kinds = None,
    session: Session = None,
    since: Since = None,
    until: Until = None,
    superseded: Annotated[bool, typer.Option("--superseded", help="Also those whose place another took.")] = False,
    shared: Shared = False,
    everyone: Annotated[bool, typer.Option("--everyone", help="All users of the tenant.")] = False,
    json: AsJson = False,
) -> None:
    """Page through the memories that pass a filter."""

    async def work() -> None:
        options = given(kind=kind or None, session=session, since=since, until=until, cursor=cursor)
        async with opened(context, user) as memory:
            page = await memory.browse(
                order=cast("Any", order),
                limit=limit,
                superseded=superseded,
                shared=shared,
                everyone=everyone,
                **options,
            )
        if json:
            print_json({"records": [record.to_dict() for record in page.records], "next": page.next})
            return
        print_records(page.records, as_json=False)
        if page.next is not None:
            typer.echo(f"More: --cursor {page.next}")

    run(work)


def get(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a memory.")],
    user: User = None,
    json: AsJson = False,
) -> None:
    """Show one memory with all its fields."""

    async def work() -> None:
        async with opened(context, user) as memory:
            record = await memory.get(id)
        if record is None:
            raise NotFoundError(f"there is no record {id!r} {_whose(user)}")
        print_json(record.to_dict()) if json else print_record(record)

    run(work)


def count(
    context: typer.Context,
    user: Annotated[str | None, typer.Option("--user", "-u", help="Whose; without it, of all users.")] = None,
    kind: Kinds = None,
    session: Session = None,
    json: AsJson = False,
) -> None:
    """Tell how many memories there are."""

    async def work() -> None:
        options = given(kind=kind or None, session=session)
        async with opened(context, user) as memory:
            number = await memory.count(everyone=user is None, **options)
        typer.echo(str(number) if json else f"{number:,} record{'' if number == 1 else 's'}")

    run(work)


def history(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a memory.")],
    user: User = None,
    json: AsJson = False,
) -> None:
    """Show every change of a memory: what, when and by whom."""

    async def work() -> None:
        async with opened(context, user) as memory:
            changes = await memory.history(id)
        if not changes:
            raise NotFoundError(f"there was never a record {id!r} {_whose(user)}")
        print_changes(changes, as_json=json)

    run(work)


def _whose(user: str | None) -> str:
    return "shared by all; name its user with --user" if user is None else f"of {user!r}"
