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


AsJson: TypeAlias = Annotated[bool, Option(help="Print JSON.")]
Cue: TypeAlias = Annotated[
    str | None, Option(help="The text that recall matches instead of the content: a question, a situation.")
]
Expires: TypeAlias = Annotated[str | None, Option(metavar="WHEN", help="When it expires: 90d, 12h, or a date.")]
Id: TypeAlias = Annotated[str, Argument(help="The id of a memory.")]
Limit: TypeAlias = Annotated[int, Option("--limit", "-n", min=1, help="Maximum number of results.")]
Metadata: TypeAlias = Annotated[
    dict[str, Any] | None, Option(parser=json_object, metavar="JSON", help="Your own fields, as a JSON object.")
]
Source: TypeAlias = Annotated[str | None, Option(help="Where it comes from: a person, program or file.")]
Tools: TypeAlias = Annotated[
    Literal["core", "all"],
    Option(help="For MCP: core is the five tools a model needs, in few tokens; all is every one, and a prompt."),
]
User: TypeAlias = Annotated[
    str | None,
    Option("--user", "-u", envvar="MEMORIST_USER", help="The user. Without it, the shared records."),
]

# What narrows.
AsOf: TypeAlias = Annotated[str | None, Option(help="Answer as of this time, with the facts that were current then.")]
Everyone: TypeAlias = Annotated[bool, Option(help="All users of the tenant.")]
OneKind: TypeAlias = Annotated[Kind, Option("--kind", "-k", help="The kind of record.")]
Session: TypeAlias = Annotated[str | None, Option("--session", "-s", help="Only this conversation.")]
Shared: TypeAlias = Annotated[bool, Option(help="Include the shared records.")]
Since: TypeAlias = Annotated[str | None, Option(help="Only from this time on: 2024-05-01, 7d or '7 days ago'.")]
Superseded: TypeAlias = Annotated[bool, Option(help="Include superseded records.")]
Until: TypeAlias = Annotated[str | None, Option(help="Only before this time, in the same formats.")]


class Narrowing(TypedDict, total=False):
    """The options that narrow which records a verb is about: `requests.Narrowing` for people."""

    kind: Annotated[tuple[Kind, ...], Option("--kind", "-k", help="Only this kind. May be repeated.")]
    session: Session
    agent: Annotated[str | None, Option(help="Only what this agent stored.")]
    where: Annotated[
        dict[str, Any] | None,
        Option(
            parser=json_object, metavar="JSON", help='Only records with matching metadata: {"nights": {"$gte": 3}}.'
        ),
    ]
    since: Since
    until: Until
    verified: Annotated[bool | None, Option("--verified/--unverified", help="Only records that are verified, or not.")]
    from_source: Annotated[str | None, Option(metavar="SOURCE", help="Only of this source: import, import:slack.")]
    min_trust: Annotated[
        Trust | None, Option(help="Only records with at least this trust, by the rules in the settings.")
    ]
