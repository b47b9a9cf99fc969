"""The command and the options before its subcommands."""

from dataclasses import replace
from typing import Annotated, Any

import typer
import typer.core

from memorist.cli import (
    bus,
    checking,
    demo,
    digest,
    files,
    mcp,
    moving,
    reading,
    serve,
    settings,
    token,
    topics,
    training,
    upkeep,
    writing,
)
from memorist.cli.installing import commands as installing
from memorist.cli.running import Options
from memorist.cli.settings import file_options, options_by_command
from memorist.scope import DEFAULT_TENANT

__all__ = ["app"]


class Commands(typer.core.TyperGroup):
    """The subcommands; an option that goes before them is not merely unknown behind them."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the subcommand that was named."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            option = getattr(error, "option_name", None)
            if any(option in each.opts for each in self.params):
                ctx.fail(f"{option} goes before the command: memorist {option} … {ctx.invoked_subcommand} …")
            raise


app = typer.Typer(
    name="memorist",
    cls=Commands,
    help="Long-term memory for LLM agents, on this machine.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 some lines of a file were bad, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for subject in (demo, writing, reading, files, digest, upkeep, checking, settings, moving, bus, serve, mcp, installing):
    subject.register(app)
app.add_typer(topics.app, name="topics")
app.add_typer(token.app, name="token")
app.add_typer(training.app, name="mango")


@app.callback()
def options(
    context: typer.Context,
    db: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="The database: a file, or another store's URL. "
            "By default MEMORIST_DB, else memorist.db in your data folder.",
        ),
    ] = None,
    tenant: Annotated[
        str | None,
        typer.Option(
            envvar="MEMORIST_TENANT",
            help=f"Whose memory: an organisation, an application. By default {DEFAULT_TENANT!r}.",
        ),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(help="What turns texts to vectors. By default MEMORIST_EMBEDDER, else the bundled model."),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A TOML file of settings. By default MEMORIST_CONFIG, else config.toml in your configuration folder.",
        ),
    ] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=lambda asked: _print_version() if asked else None,
            is_eager=True,
            help="Print the version and leave.",
        ),
    ] = False,
) -> None:
    """Long-term memory for LLM agents, on this machine."""
    options = Options(db, DEFAULT_TENANT if tenant is None else tenant, embedder, config)
    said = file_options(options.file)
    context.obj = options if tenant is not None else replace(options, tenant=said.get("tenant", options.tenant))
    context.default_map = options_by_command(context, said)


def _print_version() -> None:
    from memorist import __version__

    typer.echo(f"memorist {__version__}")
    raise typer.Exit
