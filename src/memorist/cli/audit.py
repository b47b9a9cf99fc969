"""Commands on the audit log: on, off, show, export, verify, key."""

import json as json_
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import click

from memorist.cli.declaring import Argument, Option, group
from memorist.cli.files import write_lines
from memorist.cli.options import AsJson, User
from memorist.cli.running import Options, check_exists, fail, opened
from memorist.cli.showing import clean, counted, print_json, print_table
from memorist.errors import FormatError, SignatureError
from memorist.system.handles import read_text

if TYPE_CHECKING:
    from memorist.audit.log import AuditEntry, Mode

Key = Annotated[
    str | None,
    Option(metavar="KEY", help="The public key to trust, as `memorist audit key` prints it; by default your own."),
]


@group
def audit() -> None:
    """The audit log: who changed what, and when."""


@audit.subcommand
async def on(context: click.Context, reads: Annotated[bool, Option(help="Log every read too.")] = False) -> None:
    """Log every change from now on, whichever program makes it."""
    await _switch(context, "reads" if reads else "changes")


@audit.subcommand
async def off(context: click.Context) -> None:
    """Log nothing from now on; what was logged stays."""
    await _switch(context, "off")


async def _switch(context: click.Context, mode: "Mode") -> None:
    from memorist.memory import Memory
    from memorist.records.origins import CLI

    settings = replace(context.obj.settings(), audit=mode)
    check_exists(settings.url)
    async with Memory.open(settings=settings).through(CLI):
        pass
    click.echo(f"The audit log now records: {'nothing' if mode == 'off' else mode}")


@audit.subcommand
async def show(
    context: click.Context,
    user: User = None,
    limit: Annotated[int, Option("--limit", "-n", min=1, help="Maximum number of entries.")] = 20,
    json: AsJson = False,
) -> None:
    """Show the newest entries: all, or those about one user."""
    async with opened(context, user) as memory:
        entries = deque["AuditEntry"](maxlen=limit)
        async for entry in memory.admin.audit_entries():
            entries.append(entry)
    if json:
        print_json([entry.to_dict() for entry in entries])
        return
    rows = list[tuple[str, ...]]()
    for entry in entries:
        said, counts = entry.said, list[str]()
        for what, kinds in said["records"].items():
            counts += [f"{what} {counted(count, kind)}" for kind, count in kinds.items()]
        wall, at = "" if said["wall"] is None else str(said["wall"]), said["at"][:19].replace("T", " ")
        whose = clean(said["tenant"]), wall
        rows.append((str(entry.number), at, said["verb"], caller_of(said), *whose, ", ".join(counts)))
    none = "The audit log is empty; start it with `memorist audit on`."
    print_table(("No.", "At", "Verb", "By", "Tenant", "Wall", "Records"), rows, none=none)


def caller_of(said: Mapping[str, Any]) -> str:
    """Return the door, and the token if there is one, in words."""
    return str(said["door"]) if said["token"] is None else f"{said['door']}, token {said['token']}"


@audit.subcommand
async def export(
    context: click.Context,
    file: Annotated[str, Argument(help="A new file. By default standard output.")] = "-",
    checkpoint: Annotated[bool, Option(help="Print only the signed checkpoint: one line, to keep elsewhere.")] = False,
) -> None:
    """Write the log as lines of JSON, and in the last line a signed checkpoint."""
    async with opened(context) as memory:

        async def lines() -> AsyncIterator[str]:
            end = await memory.admin.checkpoint()
            if not checkpoint:
                async for entry in memory.admin.audit_entries():
                    if entry.number > end["number"]:
                        break
                    yield json_.dumps(entry.to_dict())
            yield json_.dumps(end)

        written = await write_lines(file, lines())
    if written is not None:
        click.echo(f"Wrote {counted(written - 1, 'entry', 'entries')} and a checkpoint to {file}")


@audit.subcommand
async def verify(
    context: click.Context,
    files: Annotated[
        tuple[str, ...], Argument(metavar="FILE", help="Exports or checkpoints of this log, old or new.")
    ] = (),
    key: Key = None,
    only_files: Annotated[bool, Option(help="Verify only the files; do not read the database.")] = False,
    json: AsJson = False,
) -> None:
    """Check that no entry was changed, added or removed. A missing end is found by comparing with a checkpoint."""
    from memorist.audit.log import CHECKPOINT, verify
    from memorist.audit.signing import check

    faults, checkpoints, number = list[str](), list[dict[str, Any]](), 0
    for file in files:
        *entries, checkpoint = _read(file)
        check(checkpoint, CHECKPOINT, key or trusted_key(context.obj))
        checkpoints.append(checkpoint)
        if entries:
            number, found = await verify(_each(entries), [checkpoint])
            faults += [f"{file}: {fault}" for fault in found]
    if not only_files:
        async with opened(context) as memory:
            number, found = await verify(memory.admin.audit_entries(), checkpoints)
            faults += found
    told = "\n".join(faults) or f"The chain of {counted(number, 'entry', 'entries')} is unbroken"
    print_json({"entries": number, "faults": faults}) if json else click.echo(told)
    if faults:
        raise fail(f"the audit log has {counted(len(faults), 'fault')}")


@audit.subcommand
async def key_(context: click.Context) -> None:
    """Print the public key by which others check what this installation signs."""
    from memorist.audit.signing import key_file, public_key

    click.echo(public_key(key_file(context.obj.settings().signing_key)))


def trusted_key(options: Options) -> str:
    """Return the public key of this installation, which must have one: a new key has signed nothing.

    Raises: SignatureError: the installation has no key, or the key cannot be read.
    """
    from memorist.audit.signing import key_file, public_key

    file = key_file(options.settings().signing_key)
    if not file.exists():
        raise SignatureError(
            f"there is no signing key {file} to verify with; restore it, name its file with "
            "MEMORIST_SIGNING_KEY, or pass --key the public key that `memorist audit key` printed before"
        )
    return public_key(file)


def _read(file: str) -> list[dict[str, Any]]:
    try:
        lines = [json_.loads(line) for line in read_text(file).splitlines()]
    except (UnicodeDecodeError, ValueError) as error:
        raise FormatError(f"{file} is not an export of an audit log: {error}") from error
    if not lines or not all(isinstance(line, dict) for line in lines):
        raise FormatError(f"{file} is not an export of an audit log")
    return lines


async def _each(entries: list[dict[str, Any]]) -> AsyncIterator["AuditEntry"]:
    from memorist.audit.log import AuditEntry

    for entry in entries:
        try:
            yield AuditEntry.from_dict(entry)
        except KeyError as error:
            raise FormatError(f"an entry lacks {error}") from error
