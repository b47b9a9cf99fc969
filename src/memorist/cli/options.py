"""Options that several commands share, and filters of reads."""

import json
from typing import Annotated, Any, Literal, TypeAlias, TypedDict

import click

from memorist.cli.declaring import Argument, Option
from memorist.records.kind import Kind
from memorist.records.origins import Trust


def json_object(text: str) -> dict[str, Any]:
    """Return the mapping in a JSON object; anything else is a usage error."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"this is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise click.BadParameter('give a JSON object, such as {"trip": "Lisbon"}')
    return value


# Whose text is that of the request's field: the limits and the forms that the command line has of it.
Cursor: TypeAlias = Annotated[str | None, Option(more="It is printed below that page.")]
Expires: TypeAlias = Annotated[str | None, Option("--expires", metavar="WHEN")]
Id: TypeAlias = Annotated[str, Argument()]
Limit: TypeAlias = Annotated[int, Option("--limit", "-n", min=1)]
Metadata: TypeAlias = Annotated[dict[str, Any] | None, Option(parser=json_object, metavar="JSON")]
Score: TypeAlias = Annotated[float, Option(min=0, max=1)]
Session: TypeAlias = Annotated[str | None, Option("--session", "-s")]
Since: TypeAlias = Annotated[str | None, Option(more="Such as 2024-05-01, 7d or '7 days ago'.")]
Until: TypeAlias = Annotated[str | None, Option(more="In the same formats.")]

AsJson: TypeAlias = Annotated[bool, Option(help="Print JSON.")]
Everyone: TypeAlias = Annotated[bool, Option(help="All users of the tenant.")]
Tools: TypeAlias = Annotated[
    Literal["core", "connector", "all"],
    Option(
        help="For MCP: core is the five tools a model needs, in few tokens; connector has search and fetch, by which "
        "ChatGPT reads; all is every one, and a prompt."
    ),
]
User: TypeAlias = Annotated[
    str | None,
    Option("--user", "-u", envvar="MEMORIST_USER", help="The user. Without it, the shared records."),
]


class Narrowing(TypedDict, total=False):
    """The options that narrow which records a verb is about: `requests.Narrowing` for people."""

    kind: Annotated[tuple[Kind, ...], Option("--kind", "-k", more="May be repeated.")]
    session: Session
    agent: str | None
    where: Annotated[dict[str, Any] | None, Option(parser=json_object, metavar="JSON")]
    since: Since
    until: Until
    verified: Annotated[bool | None, Option("--verified/--unverified")]
    from_source: Annotated[str | None, Option(metavar="SOURCE")]
    min_trust: Trust | None
