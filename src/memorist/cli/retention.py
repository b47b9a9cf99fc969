"""Commands on how long records are kept: set, show, dry-run, apply."""

from json import loads
from typing import Annotated, Any

import click

from memorist.cli.declaring import Argument, group
from memorist.cli.options import AsJson
from memorist.cli.running import opened
from memorist.cli.showing import counted, print_json
from memorist.errors import InvalidInputError

Rules = Annotated[
    tuple[str, ...],
    Argument(metavar="RULE", help='KIND=AGE, as message=90d or topic=forever; or JSON: {"where": {…}, "keep": "30d"}.'),
]


@group
def retention() -> None:
    """How long records are kept, by rules in the store."""


@retention.subcommand
async def set_(context: click.Context, rules: Rules = (), json: AsJson = False) -> None:
    """Set the tenant's rules, replacing those before; without any, everything is kept."""
    async with opened(context) as memory:
        found = await memory.admin.retain([_rule(text) for text in rules])
    told = f"{counted(len(found), 'rule')} set"
    print_json({"rules": [rule.to_dict() for rule in found]}) if json else click.echo(told)


@retention.subcommand
async def show(context: click.Context, json: AsJson = False) -> None:
    """Show the rules, and how many records are too old by them now."""
    await _report(context, (), json)


@retention.subcommand
async def dry_run(context: click.Context, rules: Rules = (), json: AsJson = False) -> None:
    """Show how many records rules would delete, without setting them; by default the ones that are set."""
    await _report(context, rules, json)


async def _report(context: click.Context, rules: tuple[str, ...], json: bool) -> None:
    async with opened(context) as memory:
        report = await memory.admin.retention([_rule(text) for text in rules] or None)
    if json:
        print_json(report.to_dict())
        return
    for rule in report.rules:
        click.echo(f"keep {rule.keep}: {rule.about}")
    if not report.rules:
        click.echo("No rules are set; everything is kept.")
    for kind, count in report.due.items():
        click.echo(f"too old: {counted(count, kind)}")


@retention.subcommand
async def apply(context: click.Context, json: AsJson = False) -> None:
    """Delete now what is too old, and what has expired."""
    async with opened(context) as memory:
        gone = await memory.admin.sweep()
    print_json({"swept": gone}) if json else click.echo(f"Deleted {counted(gone, 'record')}")


def _rule(text: str) -> dict[str, Any]:
    if not text.startswith("{"):
        kind, separator, keep = text.partition("=")
        if not separator:
            raise InvalidInputError(f"a rule is KIND=AGE or a JSON object, not {text!r}")
        return {"kind": kind, "keep": keep}
    try:
        rule: dict[str, Any] = loads(text)
    except ValueError as error:
        raise InvalidInputError(f"the rule {text!r} is not JSON: {error}") from error
    return rule
