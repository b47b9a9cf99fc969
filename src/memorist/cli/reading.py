"""Commands that read: recall, recent, browse, get, count, history, changes, why."""

from typing import Annotated, Any, Literal, TypeAlias, Unpack

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.options import AsJson, Cursor, Id, Limit, Narrowing, Score, User
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
Question: TypeAlias = Annotated[
    str, Argument(metavar="QUESTION", parser=text_or_stdin, more="With -, standard input is read.")
]


@command("Recall")
def recall(
    context: click.Context,
    query: Question,
    user: User = None,
    limit: Limit = 5,
    as_of: str | None = None,
    shared: bool = False,
    min_score: Score = 0.0,
    min_similarity: Score = 0.0,
    mode: Mode = "hybrid",
    now: str | None = None,
    explain: bool = False,
    json: AsJson = False,
    **narrowing: Unpack[Narrowing],
) -> None:
    """Find the memories that matter to a question, by meaning and by words."""
    body = given(
        query=query, limit=limit, as_of=as_of, shared=shared, min_score=min_score, min_similarity=min_similarity,
        mode=mode, now=now, explain=explain, **narrowing,
    )  # fmt: skip
    hits = _answered(context, "recall", user, body, filled="hits")["hits"]
    print_json(hits) if json else print_hits(hits, explain=explain, whose=shared)


@command("Context")
def context(
    context: click.Context,
    query: Question,
    user: User = None,
    tokens: Annotated[int, Option(min=32)] = 600,
    known: Annotated[tuple[str, ...], Option(more="Repeatable.")] = (),
    as_of: str | None = None,
    shared: bool = False,
    explain: Annotated[bool, Option(help="Show which records it includes, and why.")] = False,
    json: AsJson = False,
    **narrowing: Unpack[Narrowing],
) -> None:
    """Print what an agent would be told for a question, within a budget of tokens."""
    body = given(query=query, tokens=tokens, known=known or None, as_of=as_of, shared=shared, **narrowing)
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


@command("Recent")
async def recent(
    context: click.Context,
    user: User = None,
    limit: Limit = 10,
    shared: bool = False,
    json: AsJson = False,
    **narrowing: Unpack[Narrowing],
) -> None:
    """Show the newest memories, newest first."""
    async with opened(context, user) as memory:
        records = await memory.recent(limit, shared=shared, **narrowing)
        await tell_of_others(memory, unless=records)
    plain = [record.to_dict() for record in records]
    print_json(plain) if json else print_records(plain, whose=shared)


@command("Browse")
async def browse(
    context: click.Context,
    user: User = None,
    limit: Limit = 20,
    order: Order = "newest",
    cursor: Cursor = None,
    as_of: str | None = None,
    key_prefix: str | None = None,
    superseded: bool = False,
    shared: bool = False,
    everyone: bool = False,
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


@command("Get")
async def get(context: click.Context, id: Id, user: User = None, json: AsJson = False) -> None:
    """Show one memory with all its fields."""
    async with opened(context, user) as memory:
        record = await memory.get(id)
    if record is None:
        raise NotFoundError(f"there is no record {id!r} {_whose(user)}")
    print_json(record.to_dict()) if json else print_record(record.to_dict())


@command("Count")
async def count(
    context: click.Context,
    user: Annotated[str | None, Option("--user", "-u", help="The user. Without it, all users.")] = None,
    as_of: str | None = None,
    superseded: bool = False,
    json: AsJson = False,
    **narrowing: Unpack[Narrowing],
) -> None:
    """Tell how many memories there are."""
    async with opened(context, user) as memory:
        number = await memory.count(everyone=user is None, as_of=as_of, superseded=superseded, **narrowing)
    print_json(number) if json else click.echo(counted(number, "record"))


@command("History")
async def history(context: click.Context, id: Id, user: User = None, json: AsJson = False) -> None:
    """Show every change of a memory: what, when and by whom."""
    async with opened(context, user) as memory:
        changes = await memory.history(id)
    if not changes:
        raise NotFoundError(f"there was never a record {id!r} {_whose(user)}")
    plain = [change.to_dict() for change in changes]
    print_json(plain) if json else print_changes(plain)


@command("Changes")
async def changes(
    context: click.Context,
    user: User = None,
    limit: Limit = 20,
    min_score: Score = 0.5,
    cursor: Cursor = None,
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


@command("Why")
async def why(context: click.Context, id: Id, user: User = None, json: AsJson = False) -> None:
    """Show where a memory comes from: what it was derived from, down to the first message."""
    async with opened(context, user) as memory:
        found = await memory.why(id)
    if not found.sources:
        raise NotFoundError(f"there is no record {id!r} {_whose(user)}")
    print_json(found.to_dict()) if json else print_provenance(found)


def _whose(user: str | None) -> str:
    return "shared by all; name the user with --user" if user is None else f"of {user!r}"
