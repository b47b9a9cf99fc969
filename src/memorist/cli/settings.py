"""The command that shows the settings, config, and the defaults of other commands' options from the settings file."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memorist.cli.declaring import command
from memorist.cli.options import AsJson
from memorist.cli.running import Options, given
from memorist.cli.showing import clean, print_json, print_table, shown_url
from memorist.errors import InvalidInputError
from memorist.system.variables import PREFIX

if TYPE_CHECKING:
    from memorist.config import Settings


def file_options(file: Path) -> dict[str, Any]:
    """Return the file's values of commands' options; none if the file is invalid, which opening a memory reports."""
    from memorist.config import options_from_file

    try:
        return options_from_file(file)
    except InvalidInputError:
        return {}


def options_of(context: click.Context, said: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the values in `said` for the subcommand that was named, as `default_map` takes them.

    `said` names options by their environment variables.
    """
    command = context.invoked_subcommand
    if not said or command is None:
        return {}
    variables = _variables(getattr(context.command, "commands", {})[command])
    return {command: {parameter.name: said[name] for name, parameter in variables if name in said}}


def _variables(command: Any) -> Iterator[tuple[str, Any]]:
    """Yield each option of a command that has a variable, behind the variable's name without its prefix."""
    for parameter in command.params:
        if isinstance(parameter.envvar, str):
            yield parameter.envvar.removeprefix(PREFIX).lower(), parameter


@command()
async def config(context: click.Context, json: AsJson = False) -> None:
    """Show every setting, and whether a flag, the environment, the file or the default sets it."""
    options: Options = context.obj
    layers = [*_layers(context, options)]
    if json:
        print_json([{"setting": name, "value": value, "from": source} for name, value, source in layers])
        return
    rows = ((name, source, clean("" if value is None else str(value))) for name, value, source in layers)
    print_table(("Setting", "From", "Value"), rows)
    click.echo(f"File: {options.file}" + ("" if options.file.is_file() else " (not there)"))


def _layers(context: click.Context, options: Options) -> Iterator[tuple[str, Any, str]]:
    """Yield each setting, its value, and the layer that sets it."""
    from memorist.config import COMMAND_NAMES, NAMES, from_environment, from_file

    settings = options.settings()
    of_tenant = context.find_root().get_parameter_source("tenant")
    named = of_tenant is not None and of_tenant.name == "COMMANDLINE"
    tenant = options.tenant if named else None
    variables = {name: os.environ.get(PREFIX + name.upper(), "") for name in COMMAND_NAMES}
    said: dict[str, Mapping[str, Any]] = {
        "flag": given(db=options.db, embedder=options.embedder, tenant=tenant),
        "environment": from_environment(os.environ) | {name: text for name, text in variables.items() if text},
        "file": from_file(options.file) | file_options(options.file),
    }
    commands = getattr(context.find_root().command, "commands", {}).values()
    defaults = {name: parameter.default for each in commands for name, parameter in _variables(each)}
    for name in (*NAMES, *COMMAND_NAMES):
        source = next((layer for layer, values in said.items() if name in values), "default")
        own = said.get(source, defaults).get(name)
        yield name, options.tenant if name == "tenant" else _value(settings, name, own), source


def _value(settings: "Settings", name: str, said: Any) -> Any:
    if name == "db":
        return shown_url(settings.url)
    if name == "index":
        return None if settings.index is None else shown_url(str(settings.index))
    if name == "embedder":
        return "the bundled model" if said is None else str(said)
    if name == "model":
        return None if said is None else str(said)
    if name == "trust":
        return ",".join(f"{author}={level}" for author, level in settings.trust.levels.items()) or None
    return getattr(settings, name, said)
