"""The command that serves a memory to other programs."""

from typing import Annotated, cast

import typer

from memorist.cli.running import Options, run
from memorist.errors import InvalidInputError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(serve)


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(envvar="MEMORIST_HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(envvar="MEMORIST_PORT", min=0, max=65535, help="0 takes a free one.")] = 8765,
    require_token: Annotated[
        bool, typer.Option("--require-token", help="Ask for a token on this machine's own addresses too.")
    ] = False,
    concurrency: Annotated[int, typer.Option(min=1, help="Most requests at once.")] = 256,
    body_mib: Annotated[int, typer.Option("--body-mib", min=1, help="Largest body of a request, in MiB.")] = 10,
    timeout: Annotated[float, typer.Option(min=0.1, help="Longest time of a request, in seconds.")] = 60.0,
    trust_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            envvar="MEMORIST_TRUST_PROXY",
            help="A proxy in front, whose X-Forwarded-Proto and X-Forwarded-For are believed. Repeatable.",
        ),
    ] = None,
    log_format: Annotated[
        str | None,
        typer.Option(
            envvar="MEMORIST_LOG_FORMAT",
            help="text or json: write a line to stderr for each request. Without it, only what goes wrong is written.",
        ),
    ] = None,
    log_names: Annotated[
        bool, typer.Option("--log-names", help="Write tenants' and users' names to those lines too.")
    ] = False,
) -> None:
    """Serve REST and the web console. Other machines need a token: see `memorist token`."""

    async def work() -> None:
        from memorist.memory import Memory
        from memorist.serve.auth import Tokens
        from memorist.serve.observability import LogFormat, Observer, start_logging
        from memorist.serve.rest import Limits, create_app
        from memorist.serve.running import bind, check_open
        from memorist.serve.running import serve as answer

        options: Options = context.obj
        if log_format not in (None, "text", "json"):
            raise InvalidInputError(f"--log-format is text or json, not {log_format!r}")
        start_logging(cast(LogFormat | None, log_format))
        async with Memory.open(settings=options.settings()) as memory:
            open_here = check_open(host, tokens=bool(await Tokens(memory).list())) and not require_token
            limits = Limits(concurrency=concurrency, body_bytes=body_mib * 1024 * 1024, seconds=timeout)
            app = create_app(memory, open=open_here, limits=limits, observer=Observer(names=log_names))
            with bind(host, port) as listening:
                shown = f"[{host}]" if ":" in host else host
                typer.echo(f"Serving at http://{shown}:{listening.getsockname()[1]} (Ctrl-C ends it)")
                await answer(app, listening, proxies=trust_proxy or ())
        typer.echo("Ended; everything acknowledged is stored")

    run(work)
