"""The command that starts the memory of LoCAL2 on a message bus."""

import contextlib
import signal
from pathlib import Path
from typing import Annotated

import click

from memorist.cli.declaring import Option, command
from memorist.cli.options import User
from memorist.cli.running import Options, given
from memorist.records.scope import DEFAULT_TENANT


@command()
async def local2(
    context: click.Context,
    config: Annotated[
        Path | None, Option(metavar="FILE", help="A memory.yaml file. Without it, the default settings.")
    ] = None,
    bus: Annotated[
        str, Option(metavar="URL", help="The NATS server, or several separated by commas.")
    ] = "nats://127.0.0.1:4222",
    dual_mode: Annotated[bool, Option(help="Offer the two older tools instead of the four newer ones.")] = False,
    user: User = None,
) -> None:
    """Start LoCAL2's memory tools and agents on a bus, until Ctrl-C.

    Options before the command override the file: --db, --embedder, and --tenant for the collection.
    """
    import asyncio

    from memorist.adapters.local2 import MemoryConfig, MemoryService, run_local
    from memorist.bus import NatsBus

    options: Options = context.obj
    overrides = given(
        store=options.db,
        embedding_model=options.embedder,
        collection=None if options.tenant == DEFAULT_TENANT else options.tenant,
        user=user,
    )
    settings = MemoryConfig.of(overrides) if config is None else MemoryConfig.load(config, **overrides)
    stopped = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # on Windows, Ctrl-C interrupts
            asyncio.get_running_loop().add_signal_handler(each, stopped.set)
    service = await asyncio.to_thread(MemoryService, settings)
    try:
        async with NatsBus(bus, name="memorist local2") as connected:
            names = await run_local(service, connected, dual_mode=dual_mode)
            click.echo(f"On {connected}: {', '.join(names)}. Ctrl-C stops them.")
            await stopped.wait()
    finally:
        await asyncio.to_thread(service.close)
    click.echo("Stopped.")
