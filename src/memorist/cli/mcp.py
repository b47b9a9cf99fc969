"""The command that serves MCP clients."""

from typing import TYPE_CHECKING, Annotated, Any

import click

from memorist.cli.declaring import Option, command
from memorist.cli.options import Tools
from memorist.cli.running import Options

if TYPE_CHECKING:
    from memorist.files.projects import Project
    from memorist.memory import Memory


@command()
async def mcp(
    context: click.Context,
    user: Annotated[
        str | None,
        Option("--user", "-u", envvar="MEMORIST_USER", help="The user. Without it, the shared records."),
    ] = None,
    agent: Annotated[
        str | None, Option(envvar="MEMORIST_AGENT", help="A label that is written to records and narrows reads.")
    ] = None,
    session: Annotated[str | None, Option(help="A label that is written to records and narrows reads.")] = None,
    project: Annotated[
        str | None,
        Option(
            metavar="FOLDER",
            help="Serve a coding agent: the label --agent is this folder's project, --user your own name unless given.",
        ),
    ] = None,
    read_only: Annotated[bool, Option(help="Offer only the tools that change nothing.")] = False,
    confirm: Annotated[bool, Option(help="Turn changes into proposals that the user approves in the inbox.")] = False,
    tools: Tools = "core",
    http: Annotated[bool, Option(help="Serve over HTTP instead of standard input and output.")] = False,
    host: Annotated[str, Option(help="With --http: the address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="With --http: the port; 0 picks a free one.")] = 8766,
    allow_host: Annotated[
        tuple[str, ...],
        Option(metavar="NAME", help="With --http: a host name by which clients reach this server. Repeatable."),
    ] = (),
    require_token: Annotated[bool, Option(help="With --http: require a token from this machine too.")] = False,
) -> None:
    """Serve this memory to MCP clients: over the standard streams, or by HTTP.

    With --http, a token says whose memory it is and what may be done; --user applies if the token is not bound to a
    user. Off this machine a token is always needed.
    """
    options: Options = context.obj
    place = None
    if project is not None:
        from memorist.cli.hooks.caller import whose
        from memorist.files.projects import project_at

        place = project_at(project)
        user, agent = user or whose(), agent or place.label
    from memorist.errors import InvalidInputError
    from memorist.memory import Memory
    from memorist.records.origins import CLI
    from memorist.serve.auth import Right
    from memorist.serve.mcp import Access, Gate, serve_http, serve_stdio

    if tools == "core" and session is not None:
        raise InvalidInputError("--session needs --tools all; the core tools work across sessions")
    right, settings = Right.READ if read_only else Right.WRITE, options.settings().with_given(confirm=confirm or None)
    scope: dict[str, Any] = {"tenant": options.tenant, "user": user, "agent": agent, "session": session}
    if not http:
        opening = Memory.open(settings=settings, **scope)
        async with opening.through(CLI) as memory:
            if place is not None and not read_only:
                await _bring_over(memory, options.db, place)
            await serve_stdio(Access(memory, right), tools=tools)
        return
    async with Memory.open(settings=settings).through(CLI) as memory:
        if place is not None and not read_only:
            await _bring_over(memory.scoped(tenant=options.tenant, user=user), options.db, place)
        await serve_http(
            Gate(memory=memory, right=right, open=not require_token, **scope),
            tools=tools,
            host=host,
            port=port,
            hosts=allow_host,
            ready=lambda url: click.echo(f"Serving MCP at {url} (Ctrl-C stops it)", err=True),
        )


async def _bring_over(memory: "Memory", db: str | None, project: "Project") -> None:
    """Give the project's records of earlier labels its label; where that fails, the next start tries again."""
    import logging
    import os

    from memorist.cli.bringing import Earlier
    from memorist.cli.hooks.memory import bring_over
    from memorist.errors import MemoristError

    whose = [db or os.environ.get("MEMORIST_DB") or None, os.environ.get("MEMORIST_CONFIG")]
    try:
        await bring_over(memory, Earlier(project, [*whose, memory.scope.tenant, memory.scope.user]), project)
    except MemoristError as error:
        logging.getLogger("memorist.cli").warning("the project's earlier label was not brought over: %s", error)
