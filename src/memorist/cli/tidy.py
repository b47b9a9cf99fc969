"""The command that proposes what may be taken out of a memory, and does so where the user says yes."""

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.options import AsJson, User
from memorist.cli.running import opened
from memorist.cli.showing import clean, counted, print_json, print_table
from memorist.errors import NotFoundError, shown

if TYPE_CHECKING:
    from memorist.memory import Memory
    from memorist.operations.answers import Suggestion, TidyReport
    from memorist.records.record import Record

_SOURCE = "tidy:"
_LONGEST = 300
_KEYS = {"a": "archive", "s": "skip", "q": "quit"}


@command("Tidy")
async def tidy(
    context: click.Context,
    id: Annotated[str | None, Argument(help="Archive what the proposal with this id names.")] = None,
    what: Literal["duplicate", "contradiction", "unused", "junk"] | None = None,
    limit: Annotated[int, Option("--limit", "-n", min=1, max=10_000)] = 50,
    user: User = None,
    yes: Annotated[bool, Option("--yes", "-y", help="Archive all that is proposed, without confirmation.")] = False,
    undo: Annotated[bool, Option(help="Put back what the last tidy archived.")] = False,
    json: AsJson = False,
) -> None:
    """Propose what may go: duplicates, what a later record contradicts, what is never recalled, junk of imports.

    Nothing goes without a yes, and nothing is deleted: what is archived is no longer recalled, and --undo puts it back.
    At a terminal one key archives or skips each proposal.
    """
    async with opened(context, user) as memory:
        if undo:
            back = await _put_back(memory)
            print_json({"restored": back}) if json else click.echo(f"Put back {counted(back, 'record')}")
            return
        found = await memory.admin.tidy(what=what, limit=10_000 if id is not None else limit)
        source = f"{_SOURCE}{memory.clock():%Y%m%dT%H%M%S.%fZ}"
        if id is not None:
            chosen = [each for each in found.suggestions if each.id == id]
            if not chosen:
                raise NotFoundError(f"there is no proposal {shown(id)}; memorist tidy lists those that there are")
            await _archived(memory, chosen, source, as_json=json)
        elif yes:
            await _archived(memory, found.suggestions, source, as_json=json)
        elif json:
            print_json(found.to_dict())
        else:
            await _show(memory, found, source)


async def _put_back(memory: "Memory") -> int:
    """Make current again what the last run of this command archived."""
    runs = dict[str, list[str]]()
    async for record in memory.iterate(superseded=True):
        if record.current:
            continue
        last = (await memory.history(record.id))[-1]
        if last.action == "superseded" and (last.source or "").startswith(_SOURCE):
            runs.setdefault(str(last.source), []).append(record.id)
    return await memory.admin.archive(*runs[max(runs)], undo=True, source="tidy") if runs else 0


async def _archived(
    memory: "Memory", suggestions: "list[Suggestion] | tuple[Suggestion, ...]", source: str, *, as_json: bool
) -> None:
    done = 0
    for each in suggestions:
        done += await _archive(memory, each, source)
    told = f"Archived {counted(done, 'record')}; memorist tidy --undo puts them back"
    print_json({"archived": done}) if as_json else click.echo(told)


async def _archive(memory: "Memory", suggestion: "Suggestion", source: str) -> int:
    """Archive what a proposal names, unless what is to be kept was archived with one before it."""
    keep = suggestion.keep
    if keep is not None and ((now := await memory.get(keep.id)) is None or not now.current):
        return 0
    return await memory.admin.archive(*suggestion.records, by=None if keep is None else keep.id, source=source)


async def _show(memory: "Memory", found: "TidyReport", source: str) -> None:
    for what, why in found.untried.items():
        click.echo(f"Not looked for: {what}; {clean(why)}", err=True)
    if not found.suggestions:
        click.echo("Nothing to propose.")
    elif sys.stdin.isatty() and sys.stdout.isatty():
        await _ask(memory, found, source)
    else:
        rows = [
            (f"{each.what}: {clean(each.why)}", [(_text(each), ""), (f"\n{each.id}", "dim")])
            for each in found.suggestions
        ]
        print_table(("Why", "What"), rows)
    for what in found.more:
        click.echo(f"There is more of {what}; raise --limit", err=True)


async def _ask(memory: "Memory", found: "TidyReport", source: str) -> None:
    done = 0
    for number, each in enumerate(found.suggestions, start=1):
        head = click.style(f"{number} of {len(found.suggestions)}", bold=True)
        click.echo(f"\n{head} · {each.what}: {clean(each.why)}\n{_text(each)}")
        click.echo(" · ".join(f"{key} {does}" for key, does in _KEYS.items()))
        while (key := click.getchar().lower()) not in (*_KEYS, "\x1b"):
            pass
        if key in ("q", "\x1b"):
            break
        if key == "a":
            done += await _archive(memory, each, source)
    click.echo(f"Archived {counted(done, 'record')}; memorist tidy --undo puts them back")


def _text(suggestion: "Suggestion") -> str:
    lines = [f"- {_line(each)}" for each in suggestion.records]
    return "\n".join(lines if suggestion.keep is None else [*lines, f"+ {_line(suggestion.keep)}"])


def _line(record: "Record") -> str:
    text = " ".join(record.content.split())
    return clean(f"{record.at:%Y-%m-%d} {text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'}")
