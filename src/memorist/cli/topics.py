"""Commands on topics: standing values under exact names."""

from typing import Annotated, TypeAlias

import click

from memorist.cli.declaring import Argument, group
from memorist.cli.options import AsJson, User
from memorist.cli.running import opened, tell_of_others, text_or_stdin
from memorist.cli.showing import clean, print_json, print_table
from memorist.errors import NotFoundError

Topic: TypeAlias = Annotated[str, Argument(help="The topic's name, exactly.")]


@group
def topics() -> None:
    """Standing values under exact names."""


@topics.subcommand
async def list_(
    context: click.Context,
    prefix: Annotated[str, Argument(help="Only names with this prefix.")] = "",
    user: User = None,
    json: AsJson = False,
) -> None:
    """Show topics and their values, by name."""
    async with opened(context, user) as memory:
        found = await memory.topics.list(prefix)
        await tell_of_others(memory, unless=found)
    rows = ((clean(name), clean(value)) for name, value in found.items())
    print_json(found) if json else print_table(("Topic", "Value"), rows, none="No topics.")


@topics.subcommand
async def get(context: click.Context, topic: Topic, user: User = None, json: AsJson = False) -> None:
    """Print the value of a topic."""
    async with opened(context, user) as memory:
        record = await memory.topics.record(topic)
    if record is None:
        raise NotFoundError(f"there is no topic {topic!r}")
    print_json(record.to_dict()) if json else click.echo(record.content)


@topics.subcommand
async def set_(
    context: click.Context,
    topic: Topic,
    value: Annotated[str, Argument(parser=text_or_stdin, help="Its value; - reads standard input.")],
    user: User = None,
    json: AsJson = False,
) -> None:
    """Give a topic its value; the old one stays in its history."""
    async with opened(context, user, new=True) as memory:
        record = await memory.topics.set(topic, value)
    print_json(record.to_dict()) if json else click.echo(f"Set, as {record.id}")


@topics.subcommand
async def delete(context: click.Context, topic: Topic, user: User = None) -> None:
    """Forget a topic."""
    async with opened(context, user) as memory:
        if not await memory.topics.delete(topic):
            raise NotFoundError(f"there is no topic {topic!r}")
    click.echo("Deleted")
