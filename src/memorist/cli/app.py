"""The command and the options before its subcommands."""

from dataclasses import replace
from typing import Annotated, Any

import typer
import typer.core

from memorist.cli.running import Options
from memorist.cli.settings import file_options, options_of
from memorist.cli.table import Commands, new_typer
from memorist.scope import DEFAULT_TENANT

__all__ = ["app"]


class Root(typer.core.TyperGroup):
    """The command; an option that goes before its subcommands is not merely unknown behind them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the subcommands; their modules are not imported for it."""
        return list(self.commands)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the subcommand that was named."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            option = getattr(error, "option_name", None)
            if any(option in each.opts for each in self.params):
                ctx.fail(f"{option} goes before the command: memorist {option} … {ctx.invoked_subcommand} …")
            raise


app = new_typer(
    name="memorist",
    cls=Root,
    help="Long-term memory for LLM agents, on this machine.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 some lines of a file were bad, 130 interrupted.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    context.default_map = options_of(context, said)


def _print_version() -> None:
    from memorist import __version__

    typer.echo(f"memorist {__version__}")
    raise typer.Exit
