"""The command that serves a memory to other programs."""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from socket import socket
from typing import TYPE_CHECKING, Annotated, Literal

import click

from memorist.cli.declaring import Option, command
from memorist.cli.options import Tools
from memorist.cli.running import Options
from memorist.cli.servers import announced
from memorist.cli.showing import shown_url
from memorist.errors import InvalidInputError, MemoristError, MissingExtraError
from memorist.records.times import in_words

if TYPE_CHECKING:
    from starlette.routing import BaseRoute, Route

    from memorist.config import Settings
    from memorist.memory import Memory
    from memorist.serve.limits import Limits
    from memorist.serve.mcp import Gate
    from memorist.serve.observability import Observer
    from memorist.serve.quotas import Quotas


_EMBED_EVERY = 300.0
"""In seconds."""


@command()
async def serve(
    context: click.Context,
    host: Annotated[str, Option(envvar="MEMORIST_HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(envvar="MEMORIST_PORT", min=0, max=65535, help="The port; 0 picks a free one.")] = 8765,
    require_token: Annotated[bool, Option(help="Require a token from this machine too.")] = False,
    concurrency: Annotated[int, Option(min=1, help="Maximum concurrent requests.")] = 256,
    body_mib: Annotated[int, Option(min=1, help="Maximum size of a request body, in MiB.")] = 10,
    load_mib: Annotated[int, Option(min=1, help="Maximum size of a load or an import, in MiB.")] = 10 * 1024,
    timeout: Annotated[float, Option(min=0.1, help="Maximum duration of a request, in seconds.")] = 60.0,
    tools: Tools = "core",
    keep_traces: Annotated[
        str | None,
        Option(
            metavar="DURATION",
            help="How long to keep a trace of each recall and context, such as 7d: the question, the results, "
            "and what was missed.",
        ),
    ] = None,
    confirm: Annotated[
        bool,
        Option(help="Turn changes by agents' tools into proposals that the user approves in the inbox."),
    ] = False,
    elicit: Annotated[
        bool,
        Option(help="With --confirm: ask the user at once, through MCP clients that can show questions."),
    ] = False,
    public_url: Annotated[
        str | None,
        Option(
            metavar="URL",
            envvar="MEMORIST_PUBLIC_URL",
            help="The address by which MCP clients elsewhere reach this server, such as https://memory.example.org.",
        ),
    ] = None,
    sign_in: Annotated[
        bool,
        Option(
            envvar="MEMORIST_SIGN_IN",
            help="Let MCP clients such as claude.ai and ChatGPT sign in (OAuth 2.1): you enter a token on a page of "
            "this server.",
        ),
    ] = False,
    openid: Annotated[
        str | None,
        Option(
            metavar="URL",
            envvar="MEMORIST_OPENID",
            help="Let MCP clients sign in at this OpenID provider, whose access tokens are accepted.",
        ),
    ] = None,
    openid_audience: Annotated[
        str | None,
        Option(
            metavar="NAME",
            envvar="MEMORIST_OPENID_AUDIENCE",
            help="Whom its tokens must be issued for, if that is not --public-url followed by /mcp.",
        ),
    ] = None,
    openid_claim: Annotated[
        str,
        Option(metavar="NAME", envvar="MEMORIST_OPENID_CLAIM", help="The claim of its tokens that names the user."),
    ] = "sub",
    openid_user: Annotated[
        tuple[str, ...],
        Option(
            metavar="NAME",
            envvar="MEMORIST_OPENID_USER",
            help="Admit only this user of the provider. Repeatable; without it, everyone it issues a token to.",
        ),
    ] = (),
    trust_proxy: Annotated[
        tuple[str, ...],
        Option(
            metavar="ADDRESS",
            envvar="MEMORIST_TRUST_PROXY",
            help="The address of a proxy whose X-Forwarded-Proto and X-Forwarded-For headers are trusted. Repeatable.",
        ),
    ] = (),
    log_format: Annotated[
        Literal["text", "json"] | None,
        Option(
            envvar="MEMORIST_LOG_FORMAT",
            help="text or json: log each request to stderr. Without it, only errors are logged.",
        ),
    ] = None,
    log_names: Annotated[bool, Option(help="Include the names of tenants and users in that log.")] = False,
    limit: Annotated[
        tuple[str, ...],
        Option(
            metavar="LIMIT",
            help="The limit for tokens without their own: requests=600/min, records=10000/day or "
            "bytes=10MiB/h. Repeatable.",
        ),
    ] = (),
    workers: Annotated[
        int,
        Option(min=1, help="Number of worker processes; with more than one there is no console. SIGHUP restarts each."),
    ] = 1,
    inherited: Annotated[int | None, Option("--socket", help="A parent's socket.", hidden=True)] = None,
    counts: Annotated[int | None, Option(help="A parent's file of counts.", hidden=True)] = None,
) -> None:
    """Serve REST, the web console and, where the extra mcp is installed, MCP. Other machines need a token: see
    `memorist token`."""
    from memorist.memory import Memory
    from memorist.records.origins import CLI
    from memorist.serve.app import Limits, create_app
    from memorist.serve.auth import Tokens
    from memorist.serve.counts import Counts, shared_file
    from memorist.serve.limits import MIB
    from memorist.serve.observability import Observer, start_logging
    from memorist.serve.quotas import Quotas, parse_limits
    from memorist.serve.running import Server, bind, check_open, url_of
    from memorist.serve.workers import READY, end_with_parent, supervise

    options: Options = context.obj
    start_logging(log_format)
    entry = _Entry(public_url, sign_in, openid, openid_audience, openid_claim, openid_user, elicit)
    settings = options.settings().with_given(keep_traces=keep_traces, confirm=confirm or None)
    url, quotas = settings.url, Quotas(parse_limits(limit), counts=Counts(counts))
    alone = workers == 1 or inherited is not None
    if not alone and url == ":memory:":
        raise InvalidInputError("several workers cannot share an in-memory database; name a file with --db")
    async with AsyncExitStack() as stack:
        memory = await stack.enter_async_context(Memory.open(settings=settings).through(CLI))
        known = bool(await Tokens(memory).list())
        open_here = check_open(host, tokens=known or openid is not None) and not require_token and not entry.signs_in
        if sign_in and not known:
            raise InvalidInputError("no token exists yet to sign in with; create one: memorist token create NAME")
        listening = stack.enter_context(bind(host, port) if inherited is None else socket(fileno=inherited))
        served = url_of(host, listening)
        if inherited is None and open_here:
            stack.enter_context(announced(served, url, default=_is_default(options)))
        if not alone:
            await memory.close()
            shared = stack.enter_context(shared_file()).fileno()
            command = [sys.executable, "-m", "memorist", *sys.argv[1:], "--counts", str(shared), "--socket"]
            await supervise(command, listening, workers, lambda: _tell(served, mcp=False), inherited=[shared])
        else:
            limits = Limits(
                concurrency=concurrency, body_bytes=body_mib * MIB, load_bytes=load_mib * MIB, seconds=timeout
            )
            observer = Observer(names=log_names)
            door = _mcp(memory, observer, quotas, tools=tools, open_here=open_here, entry=entry, served=served)
            routes = await stack.enter_async_context(door)
            app = create_app(
                memory,
                open=open_here,
                limits=limits,
                observer=observer,
                quotas=quotas,
                more=routes,
                settings=_shown(settings, limits),
                console=inherited is None,
            )
            if inherited is not None:
                end_with_parent()
            tell = (
                partial(_tell, entry.public_url or served, mcp=bool(routes))
                if inherited is None
                else partial(click.echo, READY)
            )
            async with _embedding(memory):
                await Server(app, proxies=trust_proxy, answering=tell).serve(sockets=[listening])
    if inherited is None:
        click.echo("Stopped; every acknowledged write is stored")


def _shown(settings: "Settings", limits: "Limits") -> dict[str, str]:
    """Return what the console shows of a server's settings."""
    from memorist.serve.limits import MIB

    return {
        "Store": shown_url(settings.url),
        "Embedder": shown_url(str(settings.embedder or "the one that comes with it")),
        "Traces are kept for": in_words(float(settings.keep_traces)) if settings.keep_traces else "no time",
        "What agents ask for": "waits in the inbox" if settings.confirm else "is done at once",
        "Most requests at once": f"{limits.concurrency:,}",
        "Largest body": f"{limits.body_bytes // MIB:,} MiB",
        "Largest import": f"{limits.load_bytes // MIB:,} MiB",
        "Longest time": in_words(limits.seconds),
    }


@asynccontextmanager
async def _embedding(memory: "Memory") -> AsyncIterator[None]:
    """Embed meanwhile what was stored to be embedded later."""
    task = asyncio.create_task(_embed_missing(memory))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _embed_missing(memory: "Memory") -> None:
    """Embed what was stored to be embedded later, at once and again every few minutes."""
    while True:
        try:
            await memory.admin.reindex(missing=True)
        except MemoristError as error:
            logging.getLogger("memorist.serve").warning(
                "records without vectors could not be embedded and will be retried: %s", error
            )
        await asyncio.sleep(_EMBED_EVERY)


def _tell(url: str, *, mcp: bool) -> None:
    click.echo(f"Serving at {url} (Ctrl-C stops it)")
    if mcp:
        click.echo(f"For MCP clients: {url}/mcp")


def _is_default(options: Options) -> bool:
    """Whether a command that names no database opens this one."""
    from memorist.config import Settings
    from memorist.system.places import config_file

    env = {name: value for name, value in os.environ.items() if name not in ("MEMORIST_DB", "MEMORIST_CONFIG")}
    return options.settings().url == Settings.load(env, file=config_file(env)).url


@dataclass(frozen=True, slots=True)
class _Entry:
    """How MCP clients get a token, as the options say."""

    public_url: str | None
    sign_in: bool
    openid: str | None
    audience: str | None
    claim: str
    users: tuple[str, ...]
    elicit: bool

    def __post_init__(self) -> None:
        if self.sign_in and self.openid is not None:
            raise InvalidInputError("--sign-in and --openid are two ways to sign in; choose one")

    @property
    def signs_in(self) -> bool:
        return self.sign_in or self.openid is not None

    def gate(self, memory: "Memory", quotas: "Quotas", *, open_here: bool, served: str) -> "tuple[Gate, list[Route]]":
        """Return what admits requests, and the routes by which clients get tokens."""
        from memorist.serve.mcp import Gate

        gate = Gate(memory=memory, open=open_here, quotas=quotas, origin=self.public_url or served)
        if not self.signs_in:
            return gate, []
        from memorist.serve.oauth import OpenID, Resource, SignIn, page_of

        resource = Resource(self.public_url or served)
        gate = replace(gate, origin=resource.origin, resource=resource.url, discovery=resource.discovery)
        if self.openid is None:
            sign_in = SignIn(memory, resource)
            return gate, [*resource.routes(resource.origin), *sign_in.routes(), page_of(sign_in)]
        audience = self.audience or resource.url
        provider = OpenID(self.openid, audience=audience, claim=self.claim, users=self.users)
        return replace(gate, foreign=provider.grant), resource.routes(self.openid)


@asynccontextmanager
async def _mcp(
    memory: "Memory",
    observer: "Observer",
    quotas: "Quotas",
    *,
    tools: Tools,
    open_here: bool,
    entry: _Entry,
    served: str,
) -> "AsyncIterator[Sequence[BaseRoute]]":
    """Run the MCP app, and yield its routes; yield no routes if the extra is not installed and nothing asks for it."""
    try:
        from memorist.serve.mcp import create_app
    except MissingExtraError:
        if entry.signs_in:
            raise
        yield ()
        return
    gate, more = entry.gate(memory, quotas, open_here=open_here, served=served)
    app = create_app(gate, tools=tools, hosts=None, ended=observer.metrics.verb, elicit=entry.elicit)
    async with app.router.lifespan_context(app):
        yield [*app.routes, *more]
