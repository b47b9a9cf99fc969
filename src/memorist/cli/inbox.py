"""The command that shows what agents ask for, and lets the user approve, change or reject it."""

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.options import AsJson, User
from memorist.cli.running import first_of, opened, tell_of_others, text_or_stdin, users_of
from memorist.cli.showing import clean, counted, print_json, print_table, revealed, shown_time
from memorist.errors import MemoristError

if TYPE_CHECKING:
    from memorist.memory import Memory
    from memorist.operations.answers import Proposal
    from memorist.records.record import Record

_KEYS = {"a": "approve", "c": "change", "r": "reject", "s": "skip", "q": "quit"}
_BEGUN = "being approved; if it is still listed in a minute, approve it again"


@command()
async def inbox(
    context: click.Context,
    action: Annotated[
        Literal["approve", "change", "reject"] | None, Argument(help="The decision: approve, change or reject.")
    ] = None,
    id: Annotated[str | None, Argument(help="The proposal's id.")] = None,
    text: Annotated[
        str | None, Argument(parser=text_or_stdin, help="With change: the new text; - reads standard input.")
    ] = None,
    user: User = None,
    undo: Annotated[bool, Option("--undo", help="With reject: make it pending again, within two minutes.")] = False,
    json: AsJson = False,
) -> None:
    """Decide what agents may remember. At a terminal, one key approves, changes or rejects each.

    Nothing waits unless the settings say `confirm`, or MEMORIST_CONFIRM does.
    """
    if action is not None and id is None:
        raise click.UsageError(f"name a proposal: memorist inbox {action} ID")
    if (text is None) == (action == "change") or (undo and action != "reject"):
        raise click.UsageError("TEXT goes with change only, and --undo with reject only")
    async with opened(context, user) as memory:
        if action == "reject":
            rejected = await memory.admin.reject(id or "", undo=undo)
            told = "The proposal is pending again" if undo else "Rejected; --undo takes that back within two minutes"
            print_json(rejected.to_dict()) if json else click.echo(told)
        elif action is not None:
            records = await memory.admin.approve(id or "", text)
            print_json([each.to_dict() for each in records]) if json else click.echo(_approved(records))
        else:
            await _show(memory, await memory.admin.inbox(), as_json=json)


async def _show(memory: "Memory", waiting: "Sequence[Proposal]", *, as_json: bool) -> None:
    if as_json:
        print_json([each.to_dict() for each in waiting])
    elif not waiting:
        click.echo("No pending proposals.")
        await tell_of_others(memory, unless=await _tell_of_waiting(memory))
    elif sys.stdin.isatty() and sys.stdout.isatty():
        for number, each in enumerate(waiting, start=1):
            click.echo(f"\n{click.style(f'{number} of {len(waiting)}', bold=True)} · {_about(each)}")
            click.echo(await _told(memory, each))
            if not await _decided(memory, each):
                return
    else:
        rows = [(_about(each), [(await _told(memory, each), ""), (f"\n{each.id}", "dim")]) for each in waiting]
        print_table(("Asked", "What"), rows)


async def _tell_of_waiting(memory: "Memory") -> bool:
    """Report on stderr for which users something waits, if the caller may list them; return whether it does."""
    if users := await users_of(memory, waiting=True):
        told = f"Pending proposals for {counted(len(users), 'user')}: {first_of(users)}"
        click.echo(f"{told}. Show one user's with memorist inbox --user NAME", err=True)
    return bool(users)


async def _decided(memory: "Memory", proposal: "Proposal") -> bool:
    """Ask for one key and do what it says; return False to go no further."""
    refused = {"c": not proposal.changeable, "r": proposal.state == "approving"}
    keys = {key: does for key, does in _KEYS.items() if not refused.get(key)}
    click.echo(" · ".join(f"{key} {does}" for key, does in keys.items()))
    while (key := click.getchar().lower()) not in (*keys, "\x1b"):
        pass
    try:
        if key == "a":
            click.echo(_approved(await memory.admin.approve(proposal.id)))
        elif key == "c" and (text := _edited(told := clean(proposal.content))) is not None:
            click.echo(_approved(await memory.admin.approve(proposal.id, None if text == told else text)))
        elif key == "r":
            await memory.admin.reject(proposal.id)
            click.echo(f"Rejected; memorist inbox reject {proposal.id} --undo restores it within two minutes")
    except MemoristError as error:  # of this one; the others can be decided
        click.echo(f"error: {clean(str(error))}", err=True)
    return key not in ("q", "\x1b")


def _edited(text: str) -> str | None:
    """Return the text as the user changes it, at a prompt or, where it has several lines, in the editor; or None."""
    try:
        readline: Any = import_module("readline")
    except ImportError:  # on Windows
        readline = None
    if readline is None or "\n" in text:
        typed = click.edit(text)
        return typed if typed is None or text.endswith("\n") else typed.removesuffix("\n")  # which editors add
    readline.set_startup_hook(partial(readline.insert_text, text))
    try:
        return input("> ")
    except EOFError:
        return None
    finally:
        readline.set_startup_hook()


def _about(proposal: "Proposal") -> str:
    """Return what is asked, by whom and when."""
    what = f"{proposal.verb} {counted(len(proposal.parts), 'record') if proposal.parts else _made(proposal)}".rstrip()
    parts = (what, proposal.door, proposal.scope.agent, shown_time(proposal.at))
    return revealed(" · ".join(part for part in parts if part))


def _made(proposal: "Proposal") -> str:
    """Return the kind and the key of the record that is to be stored. Return "" if none is."""
    return " ".join(each[name] for each in proposal.drafts for name in ("kind", "key") if each.get(name) is not None)


async def _told(memory: "Memory", proposal: "Proposal") -> str:
    """Return each text with what would be stored beside it, and the texts in whose place they would stand."""
    found = [] if proposal.verb == "forget" else await memory.find(proposal.ids)
    parts = (
        f"{number}. {_made(each)}\n{each.content}{_beside(each.details)}"
        for number, each in enumerate(proposal.parts, start=1)
    )
    texts = "\n".join(parts) or proposal.content
    now = "".join(f"\n  now: {each.content}" for each in found)
    begun = f"\n  {_BEGUN}" if proposal.state == "approving" else ""
    return revealed(f"{texts}{_beside(proposal.details)}{now}{begun}")


def _beside(details: Mapping[str, Any]) -> str:
    told = (
        (name, value if isinstance(value, str) else dumps(value, ensure_ascii=False)) for name, value in details.items()
    )
    return "".join(f"\n  {name}: {value}" for name, value in told)


def _approved(records: "Sequence[Record]") -> str:
    if not records:
        return "Forgotten"
    return f"Approved as {records[0].id}" if len(records) == 1 else f"Approved {counted(len(records), 'record')}"
