"""The command and the options before its subcommands."""

from dataclasses import replace
from typing import Annotated, Any

import click

from memorist import __version__
from memorist.cli.declaring import Option, parameters
from memorist.cli.running import EXIT_INTERRUPTED, Options, foreseen
from memorist.cli.table import Commands
from memorist.records.scope import DEFAULT_TENANT
from memorist.system.docstrings import docstring_of


class Root(click.Group):
    """The command. A subcommand's module is loaded when it is run, not when it is listed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = Commands()

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command with its help alone, for the list of commands."""
        return click.Command(cmd_name, help=self.commands.help_of(cmd_name)) if cmd_name in self.commands else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and self.commands[name], rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; for an option that was given after the subcommand, say where it belongs."""
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            if any(error.option_name in each.opts for each in self.params):
                named = f"memorist {error.option_name} … {ctx.invoked_subcommand} …"
                ctx.fail(f"{error.option_name} goes before the command: {named}")
            raise
        except KeyboardInterrupt:
            raise click.exceptions.Exit(EXIT_INTERRUPTED) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each subcommand does: the first paragraph of its help."""
        with formatter.section("Commands"):
            helps = {name: self.commands.help_of(name).partition("\n\n")[0] for name in self.commands}
            formatter.write_dl([(name, " ".join(text.split())) for name, text in helps.items()])


def options(
    context: click.Context,
    db: Annotated[
        str | None,
        Option(
            metavar="PATH",
            help="The database: a file, or another store's URL. "
            "By default MEMORIST_DB, else memorist.db in your data folder.",
        ),
    ] = None,
    tenant: Annotated[
        str | None,
        Option(
            envvar="MEMORIST_TENANT",
            help=f"The tenant: an organisation or application. By default {DEFAULT_TENANT!r}.",
        ),
    ] = None,
    embedder: Annotated[
        str | None,
        Option(
            help="The embedder, which turns text into vectors. By default MEMORIST_EMBEDDER, else the bundled model."
        ),
    ] = None,
    config: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="A TOML file of settings. By default MEMORIST_CONFIG, else config.toml in your configuration folder.",
        ),
    ] = None,
    zone: Annotated[
        str | None,
        Option(
            metavar="ZONE",
            help="The time zone of days, and of times without one, such as Europe/Lisbon. "
            "By default MEMORIST_ZONE, else this machine's.",
        ),
    ] = None,
) -> None:
    """Long-term memory for LLM agents, on this machine."""
    context.obj = given = Options(db, DEFAULT_TENANT if tenant is None else tenant, embedder, config, zone)
    with foreseen():
        found = given.file.is_file()
    if found:
        from memorist.cli.settings import file_options, options_of

        said = file_options(given.file)
        context.obj = given if tenant is not None else replace(given, tenant=said.get("tenant", given.tenant))
        context.default_map = options_of(context, said)


app = Root(
    name="memorist",
    callback=click.pass_context(options),
    params=parameters(options),
    help=docstring_of(options),
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 some lines of a file were invalid, 130 interrupted.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
click.version_option(__version__, message="memorist %(version)s", help="Print the version and exit.")(app)
