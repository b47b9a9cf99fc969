"""Commands that change: remember, revise, rate, forget, purge."""

from contextlib import nullcontext
from json import dumps
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, Unpack

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.options import AsJson, Expires, Id, Metadata, Narrowing, Session, User
from memorist.cli.progress import spinner
from memorist.cli.receipt import describe
from memorist.cli.running import confirm, given, opened, run, text_or_stdin
from memorist.cli.showing import counted, print_json, print_records
from memorist.errors import NotFoundError
from memorist.operations.answers import Derived
from memorist.records.kind import Kind
from memorist.records.origins import Author
from memorist.records.record import Clearable
from memorist.system.writing import new_file

if TYPE_CHECKING:
    from memorist.memory import Memory

Authors: TypeAlias = Annotated[tuple[str, ...], Option(metavar="|".join(Author(255).names), more="Repeatable.")]
IfExists: TypeAlias = Literal["error", "replace", "ignore"]


@command("Remember")
async def remember(
    context: click.Context,
    content: Annotated[str, Argument(metavar="TEXT", parser=text_or_stdin, more="With -, standard input is read.")],
    user: User = None,
    kind: Annotated[Kind, Option("--kind", "-k")] = Kind.NOTE,
    session: Session = None,
    agent: str | None = None,
    id: str | None = None,
    key: str | None = None,
    cue: str | None = None,
    metadata: Metadata = None,
    source: str | None = None,
    happened_at: Annotated[str | None, Option("--at")] = None,
    expires_at: Expires = None,
    supersedes: Annotated[str | None, Option(metavar="ID")] = None,
    verified: bool = False,
    author: Authors = (),
    derived_from: Annotated[tuple[str, ...], Option(metavar="ID", more="Repeatable.")] = (),
    if_exists: IfExists = "error",
    json: AsJson = False,
) -> None:
    """Remember a text. It is on the disk when this returns."""
    fields = given(
        session=session, agent=agent, id=id, key=key, cue=cue, metadata=metadata, source=source,
        happened_at=happened_at, supersedes=supersedes,
        expires_at=expires_at, author=author or None, derived_from=derived_from or None,
    )  # fmt: skip
    async with opened(context, user, new=True, embeds=True) as memory:
        record = await memory.remember(content, kind=kind, verified=verified, if_exists=if_exists, **fields)
    print_json(record.to_dict()) if json else click.echo(f"Remembered as {record.id}")


@command("Revise")
async def revise(
    context: click.Context,
    id: Id,
    content: Annotated[
        str | None, Argument(metavar="TEXT", parser=text_or_stdin, more="With -, standard input is read.")
    ] = None,
    user: User = None,
    cue: str | None = None,
    metadata: Metadata = None,
    source: str | None = None,
    happened_at: Annotated[str | None, Option("--at")] = None,
    expires_at: Expires = None,
    verified: Annotated[bool | None, Option("--verified/--unverified")] = None,
    author: Authors = (),
    clear: Annotated[tuple[Clearable, ...], Option(help="A field to clear. Repeatable.")] = (),
    json: AsJson = False,
) -> None:
    """Change a memory; its earlier versions stay in its history."""
    fields = given(
        content=content, cue=cue, metadata=metadata, source=source, happened_at=happened_at, expires_at=expires_at,
        verified=verified, author=author or None,
    )  # fmt: skip
    if both := fields.keys() & set(clear):
        raise click.UsageError(f"--clear {min(both)} contradicts the option that sets it; pass only one of them")
    fields |= dict.fromkeys(clear)
    async with opened(context, user) as memory:
        record = await memory.revise(id, **fields)
    print_json(record.to_dict()) if json else click.echo(f"Revised {record.id}")


@command("Rate", context_settings={"ignore_unknown_options": True})
async def rate(
    context: click.Context,
    id: Id,
    rating: Annotated[str, Argument(more="With none, the rating is removed.")],
    user: User = None,
    source: str | None = None,
    json: AsJson = False,
) -> None:
    """Give a memory feedback: among similar ones, recall ranks the well-rated first."""
    try:
        value = None if rating.casefold() == "none" else float(rating)
    except ValueError as error:
        raise click.BadParameter(f"a number from -1 to 1, or none, not {rating!r}", param_hint="RATING") from error
    async with opened(context, user) as memory:
        record = await memory.rate(id, value, source=source)
    told = f"Removed the rating of {record.id}" if value is None else f"Rated {record.id}: {value:g}"
    print_json(record.to_dict()) if json else click.echo(told)


@command("Forget")
def forget(
    context: click.Context,
    ids: Annotated[tuple[str, ...], Argument(metavar="ID")] = (),
    user: User = None,
    source: str | None = None,
    derived: bool = False,
    dry_run: Annotated[bool, Option(help="Show what would be deleted; delete nothing.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Skip the confirmation.")] = False,
    json: AsJson = False,
    **narrowing: Unpack[Narrowing],
) -> None:
    """Forget memories by their ids, or all that pass a filter, with their texts in the history."""
    named = list(dict.fromkeys(ids))
    if bool(named) == bool(narrowing):
        raise click.BadParameter("name ids, or a filter; to delete everything of a user, use purge")
    if narrowing and not yes and not dry_run:
        confirm("Permanently forget every record that matches this filter?")

    async def work() -> None:
        async with opened(context, user) as memory:
            if dry_run:
                drawn = await memory.derived(*named, **narrowing) if derived else Derived()
                await _tell_before(memory, named, narrowing, drawn, as_json=json)
                return
            marked = (await memory.derived(*named, **narrowing)).partly if derived else ()
            gone = await memory.forget(*named, source=source, derived=derived, **narrowing)
        absent = len(named) - gone
        if json:
            print_json({"forgotten": gone})
        elif gone:
            click.echo(f"Forgot {gone:,}" + (f"; {absent:,} not found" if absent > 0 else ""))
            if marked:
                click.echo(f"Marked {counted(len(marked), 'record')} that also have other sources")
        if not gone:
            what = "there are no records with these ids" if named else "no record matches the filter"
            raise NotFoundError(f"{what}; nothing was forgotten")

    run(work)


async def _tell_before(
    memory: "Memory", ids: list[str], narrowing: Narrowing, drawn: Derived, *, as_json: bool
) -> None:
    """Show what would be forgotten, and what would be marked."""
    if ids:
        named = await memory.find(ids)
    else:
        narrowing.setdefault("kind", tuple(Kind))
        named = [each async for each in memory.iterate(superseded=True, **narrowing)]
    if as_json:
        print_json({"named": [each.to_dict() for each in named], **drawn.to_dict()})
        return
    for title, records in (
        ("Would be forgotten", named),
        ("Derived only from these, would be forgotten too", drawn.alone),
        ("Has other sources too, would be marked", drawn.partly),
    ):
        if records:
            click.echo(f"{title}:")
            print_records([each.to_dict() for each in records], whose=False)


@command("Purge")
def purge(
    context: click.Context,
    user: Annotated[str | None, Option("--user", "-u", help="The user to delete.")] = None,
    shared: bool = False,
    receipt: Annotated[str | None, Option(metavar="FILE", help="A new file for the signed receipt.")] = None,
    dry_run: bool = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Skip the confirmation.")] = False,
    json: AsJson = False,
) -> None:
    """Delete everything of a user, for good: no byte is left in the files. The user's tokens are
    deleted too."""
    if (user is None) != shared:
        raise click.BadParameter("name what to purge: --user NAME or --shared", param_hint="--user")
    whose = "the shared records" if user is None else f"{user!r}"
    if not yes and not dry_run:
        confirm(f"Permanently delete all records of {whose}?")

    async def work() -> None:
        with nullcontext() if receipt is None else new_file(receipt) as file:  # before anything is gone
            async with opened(context, user) as memory:
                with spinner("Looking" if dry_run else "Deleting, then searching for remains"):
                    done = await memory.purge(shared=shared, dry_run=dry_run)
            if file is not None:
                file.write(f"{dumps(done.statement)}\n".encode())
        if json:
            print_json({"purged": done.purged, "receipt": done.statement})
            return
        click.echo(f"{'Would purge' if dry_run else 'Purged'} {counted(done.purged, 'record')} of {whose}")
        describe(done)

    run(work)
