"""The command that shows what agents asked, where traces are kept."""

from collections.abc import Sequence
from typing import Annotated

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.options import AsJson, Cursor, Limit, Since, Until, User
from memorist.cli.running import opened
from memorist.cli.showing import Cell, clean, print_json, print_table, shown_time


@command("Traces")
async def traces(
    context: click.Context,
    ids: Annotated[tuple[str, ...], Argument(metavar="ID")] = (),
    user: User = None,
    limit: Limit = 20,
    session: Annotated[str | None, Option("--session", "-s", help="Only of this conversation.")] = None,
    since: Since = None,
    until: Until = None,
    empty: Annotated[bool | None, Option("--empty/--answered")] = None,
    everyone: bool = False,
    cursor: Cursor = None,
    json: AsJson = False,
) -> None:
    """Show the calls that agents made, newest first: what they asked, were given and missed. Traces are kept where
    MEMORIST_KEEP_TRACES, or the option of serve, says for how long."""
    async with opened(context, user) as memory:
        page = await memory.scoped(session=session).admin.traces(
            ids, since=since, until=until, empty=empty, limit=limit, cursor=cursor, everyone=everyone
        )
    if json:
        print_json({"traces": [each.to_dict() for each in page.traces], "next": page.next})
        return
    rows = list[Sequence[Cell]]()
    for each in page.traces:
        given = each.error or f"{len(each.hits)} {'told' if each.verb == 'context' else 'found'}"
        asked = [(clean(each.question), ""), (f"\n{each.id}", "dim")]
        row = (shown_time(each.at), clean(each.door), given, str(len(each.missed)))
        rows.append((*row, f"{1000 * each.seconds:.1f}", asked))
    print_table(("When", "Through", "Given", "Missed", "ms", "Asked"), rows, none="No traces are stored.")
    if page.next is not None:
        click.echo(f"More: --cursor {page.next}")
