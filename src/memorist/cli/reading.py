"""Commands that read: recall, recent, browse, get, count, history, changes, why."""

from typing import Annotated, Any, Literal, TypeAlias, Unpack

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.options import AsJson, AsOf, Everyone, Id, Limit, Narrowing, Shared, Superseded, User
from memorist.cli.running import given, opened, run, served, tell_of_others, text_or_stdin
from memorist.cli.showing import (
    counted,
    print_changes,
    print_context,
    print_hits,
    print_json,
    print_provenance,
    print_record,
    print_records,
    print_replacements,
)
from memorist.errors import NotFoundError

Mode: TypeAlias = Literal["hybrid", "dense", "lexical"]
Order: TypeAlias = Literal["newest", "oldest", "key"]


@command()
def recall(
    context: click.Context,
    question: Annotated[str, Argument(parser=text_or_stdin, help="A question, or any text; - reads standard input.")],
    user: User = None,
    limit: Limit = 5,
    as_of: AsOf = None,
    shared: Shared = False,
    min_score: Annotated[float, Option(min=0, max=1, help="Drop hits with a lower score.")] = 0.0,
    min_similarity: Annotated[float, Option(min=0, max=1, help="Drop hits with a lower similarity.")] = 0.0,
    mode: Annotated[Mode, Option(help="dense is meaning alone, lexical words alone.")] = "hybrid",
    now: Annotated[str | None, Option(help="The time of the question, which “last week” in it refers to.")] = None,
    explain: Annotated[bool, Option(help="Show what each signal contributed to the score.")] = False,
    json: AsJson = False,
    **narrowing: Unpack[Narrowing],
) -> None:
    """Find the memories that matter to a question, by meaning and by words."""
    body = given(
        query=question, limit=limit, as_of=as_of, shared=shared, min_score=min_score, min_similarity=min_similarity,
        mode=mode, now=now, explain=explain, **narrowing,
    )  # fmt: skip
    hits = _answered(context, "recall", user, body, filled="hits")["hits"]
    print_json(hits) if json else print_hits(hits, explain=explain, whose=shared)


@command()
def context(
    context: click.Context,
    question: Annotated[str, Argument(parser=text_or_stdin, help="A question or a task; - reads standard input.")],
    user: User = None,
    tokens: Annotated[int, Option(min=32, help="The budget, in tokens.")] = 600,
    known: Annotated[
        tuple[str, ...], Option(help="An id or text that the agent already has, to leave out. Repeatable.")
    ] = (),
    as_of: AsOf = None,
    shared: Shared = False,
    explain: Annotated[bool, Option(help="Show which records it includes, and why.")] = False,
    json: AsJson = False,
    **narrowing: Unpack[Narrowing],
) -> None:
    """Print what an agent would be told for a question, within a budget of tokens."""
    body = given(query=question, tokens=tokens, known=known or None, as_of=as_of, shared=shared, **narrowing)
    told = _answered(context, "context", user, body, filled="items")
    print_json(told) if json else print_context(told, explain=explain)


def _answered(context: click.Context, verb: str, user: str | None, body: dict[str, Any], *, filled: str) -> Any:
    """Return the answer to a verb, in JSON: of a server of this machine, or of the memory that is opened here."""
    if (found := served(context.obj, verb, user, body, filled=filled)) is not None:
        return found

    async def work() -> Any:
        from memorist.operations import requests

        request = requests.Recall.of(body) if verb == "recall" else requests.Context.of(body)
        async with opened(context, user, embeds=body.get("mode") != "lexical") as memory:
            answer: Any = await memory.ask(request)
            plain = {"hits": [hit.to_dict() for hit in answer]} if verb == "recall" else answer.to_dict()
            await tell_of_others(memory, unless=plain[filled])
        return plain

    return run(work)


@command()
async def recent(
    context: click.Context,
    user: User = None,
    limit: Limit = 10,
    shared: Shared = False,
    json: AsJson = False,
    **narrowing: Unpack[Narrowing],
) -> None:
    """Show the newest memories, newest first."""
    async with opened(context, user) as memory:
        records = await memory.recent(limit, shared=shared, **narrowing)
        await tell_of_others(memory, unless=records)
    plain = [record.to_dict() for record in records]
    print_json(plain) if json else print_records(plain, whose=shared)


@command()
async def browse(
    context: click.Context,
    user: User = None,
    limit: Annotated[int, Option("--limit", "-n", min=1, help="Records per page.")] = 20,
    order: Annotated[Order, Option(help="The sort order.")] = "newest",
    cursor: Annotated[str | None, Option(help="The cursor printed with the previous page.")] = None,
    as_of: AsOf = None,
    key_prefix: Annotated[str | None, Option(help="Only keys, such as topics' names, with this prefix.")] = None,
    superseded: Superseded = False,
    shared: Shared = False,
    everyone: Everyone = False,
    json: AsJson = False,
    **narrowing: Unpack[Narrowing],
) -> None:
    """Page through the memories that pass a filter."""
    async with opened(context, user) as memory:
        page = await memory.browse(
            as_of=as_of, superseded=superseded, order=order, limit=limit, cursor=cursor, shared=shared,
            everyone=everyone, key_prefix=key_prefix, **narrowing,
        )  # fmt: skip
        await tell_of_others(memory, unless=page.records)
    plain = [record.to_dict() for record in page.records]
    if json:
        print_json({"records": plain, "next": page.next})
        return
    print_records(plain, whose=shared or everyone)
    if page.next is not None:
        click.echo(f"More: --cursor {page.next}")


@command()
async def get(context: click.Context, id: Id, user: User = None, json: AsJson = False) -> None:
    """Show one memory with all its fields."""
    async with opened(context, user) as memory:
        record = await memory.get(id)
    if record is None:
        raise NotFoundError(f"there is no record {id!r} {_whose(user)}")
    print_json(record.to_dict()) if json else print_record(record.to_dict())


@command()
async def count(
    context: click.Context,
    user: Annotated[str | None, Option("--user", "-u", help="The user. Without it, all users.")] = None,
    as_of: AsOf = None,
    superseded: Superseded = False,
    json: AsJson = False,
    **narrowing: Unpack[Narrowing],
) -> None:
    """Tell how many memories there are."""
    async with opened(context, user) as memory:
        number = await memory.count(everyone=user is None, as_of=as_of, superseded=superseded, **narrowing)
    print_json(number) if json else click.echo(counted(number, "record"))


@command()
async def history(context: click.Context, id: Id, user: User = None, json: AsJson = False) -> None:
    """Show every change of a memory: what, when and by whom."""
    async with opened(context, user) as memory:
        changes = await memory.history(id)
    if not changes:
        raise NotFoundError(f"there was never a record {id!r} {_whose(user)}")
    plain = [change.to_dict() for change in changes]
    print_json(plain) if json else print_changes(plain)


@command()
async def changes(
    context: click.Context,
    user: User = None,
    limit: Limit = 20,
    min_score: Annotated[float, Option(min=0, max=1, help="Drop changes with a lower score.")] = 0.5,
    cursor: Annotated[str | None, Option(help="The cursor printed with the previous page.")] = None,
    json: AsJson = False,
    **narrowing: Unpack[Narrowing],
) -> None:
    """Show what changed, newest first: when, to what, and from what.

    A change is certain where a program said so, and else found in what was said: a score tells how likely it is one.
    """
    async with opened(context, user) as memory:
        page = await memory.changes(limit=limit, min_score=min_score, cursor=cursor, **narrowing)
        await tell_of_others(memory, unless=page.changes)
    plain = page.to_dict()
    print_json(plain) if json else print_replacements(plain)


@command()
async def why(context: click.Context, id: Id, user: User = None, json: AsJson = False) -> None:
    """Show where a memory comes from: what it was derived from, down to the first message."""
    async with opened(context, user) as memory:
        found = await memory.why(id)
    if not found.sources:
        raise NotFoundError(f"there is no record {id!r} {_whose(user)}")
    print_json(found.to_dict()) if json else print_provenance(found)


def _whose(user: str | None) -> str:
    return "shared by all; name the user with --user" if user is None else f"of {user!r}"
