"""Commands on topics: standing values under exact names."""

from typing import Annotated, TypeAlias

import typer

from memorist.cli.options import AsJson, User
from memorist.cli.running import opened, run, tell_of_others, text_or_stdin
from memorist.cli.showing import clean, print_json, print_table, table
from memorist.errors import NotFoundError

__all__ = ["register"]

Topic: TypeAlias = Annotated[str, typer.Argument(help="The topic's name, exactly.")]

app = typer.Typer(help="Standing values under exact names.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    """Add the commands to `root`, as a group."""
    root.add_typer(app, name="topics")


@app.command(name="list")
def list_(
    context: typer.Context,
    prefix: Annotated[str, typer.Argument(help="Only names that begin so.")] = "",
    user: User = None,
    json: AsJson = False,
) -> None:
    """Show topics and their values, by name."""

    async def work() -> None:
        async with opened(context, user) as memory:
            found = await memory.topics.list(prefix)
            if not found:
                await tell_of_others(memory)
        if json:
            print_json(found)
            return
        shown = table("Topic", "Value")
        for name, value in found.items():
            shown.add_row(clean(name), clean(value))
        print_table(shown) if found else typer.echo("No topics here.")

    run(work)


@app.command()
def get(context: typer.Context, topic: Topic, user: User = None, json: AsJson = False) -> None:
    """Print the value of a topic."""

    async def work() -> None:
        async with opened(context, user) as memory:
            record = await memory.topics.record(topic)
        if record is None:
            raise NotFoundError(f"there is no topic {topic!r} here")
        print_json(record.to_dict()) if json else typer.echo(record.content)

    run(work)


@app.command(name="set")
def set_(
    context: typer.Context,
    topic: Topic,
    value: Annotated[str, typer.Argument(help="Its value; - reads the standard input.")],
    user: User = None,
    json: AsJson = False,
) -> None:
    """Give a topic its value; the old one stays in its history."""
    text = text_or_stdin(value)

    async def work() -> None:
        async with opened(context, user, new=True) as memory:
            record = await memory.topics.set(topic, text)
        print_json(record.to_dict()) if json else typer.echo(f"Set, as {record.id}")

    run(work)


@app.command()
def delete(context: typer.Context, topic: Topic, user: User = None) -> None:
    """Forget a topic."""

    async def work() -> None:
        async with opened(context, user) as memory:
            if not await memory.topics.delete(topic):
                raise NotFoundError(f"there is no topic {topic!r} here")
        typer.echo("Deleted")

    run(work)
