"""The command that demonstrates a memory in half a minute, without any questions."""

import shlex
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import click

from memorist.cli.declaring import command
from memorist.cli.running import Options, run
from memorist.cli.showing import clean, console

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from memorist.demo import DemoAnswer, Outcome

_WIDEST = 120
_INTRODUCTION = (
    "[bold]Memorist[/bold] stores what two people told an assistant, closes the file, opens it again and "
    "asks. It runs on this machine only, without a network, a key or a language model.\n"
)


@command()
def demo(context: click.Context) -> None:
    """Remember a conversation, close, open again and ask: in a file of its own, unless --db names one."""
    options: Options = context.obj
    out = console()
    out.print(_INTRODUCTION)
    with tempfile.TemporaryDirectory(prefix="memorist-demo-", ignore_cleanup_errors=True) as folder:
        own = Path(folder) / "demo.db"
        outcome = run(lambda: _asked(options, own))
    out.print(_answers(outcome, min(out.width, _WIDEST)))
    out.print(_totals(outcome))
    if options.db is None:
        out.print(f"The file was {own}; it was deleted. To keep one and try it yourself:\n", markup=False)
        out.print("  memorist --db demo.db demo", style="cyan")
    else:
        out.print(f"The file is {clean(options.db)}. Try it yourself:\n", markup=False)
    name = shlex.quote(clean(options.db or "demo.db"))
    for each in ('recall "what is my cat called?" --user maya', "recent --user tom"):
        out.print(f"  memorist --db {name} {each}", style="cyan", markup=False, soft_wrap=True)


async def _asked(options: Options, own: Path) -> "Outcome":
    from memorist import demo as talk

    settings = options.settings()
    if options.db is None:
        settings = settings.with_given(url=own)
    with console().status("Remembering, closing, opening, asking…"):
        return await talk.run(settings, options.tenant)


def _answers(outcome: "Outcome", width: int) -> "Table":
    from rich.box import HORIZONTALS
    from rich.table import Table

    shown = Table(box=HORIZONTALS, header_style="bold", border_style="dim", show_lines=True, expand=True, width=width)
    shown.add_column("Question", ratio=5)
    shown.add_column("For", no_wrap=True)
    shown.add_column("What was found", ratio=8)
    for title in ("Score", "Similar", "ms"):
        shown.add_column(title, justify="right", no_wrap=True)
    for answer in outcome.answers:
        best = answer.hits[0] if answer.hits else None
        shown.add_row(
            answer.question.text,
            answer.question.user.capitalize(),
            _found(answer),
            f"{best.score:.2f}" if best else "",
            f"{best.similarity:.2f}" if best else "",
            f"{answer.seconds * 1000:.1f}",
        )
    return shown


def _found(answer: "DemoAnswer") -> "Text":
    """Return the best hit, green if it is the right one, and below it its source."""
    from rich.text import Text

    if not answer.hits:
        return Text("nothing", style="red")
    record, right = answer.hits[0].record, answer.rank == 1
    text = Text(clean(record.content), style="bold green" if right else "yellow")
    if not right:
        verdict = (
            (f"the expected record is at place {answer.rank}")
            if answer.rank
            else "the expected record is not among the first"
        )
        text.append(f"\n{verdict}", style="red")
    said = f"{record.payload.get('speaker')}, {record.at.day} {record.at:%B %Y}"
    return text.append(f"\n{said} · {answer.question.why}", style="not bold dim default")


def _totals(outcome: "Outcome") -> str:
    first = sum(answer.rank == 1 for answer in outcome.answers)
    middle = median(answer.seconds for answer in outcome.answers) * 1000
    return (
        f"[bold]{first} of {len(outcome.answers)} right[/bold] at the first place, {middle:.1f} ms a question.\n"
        f"{outcome.messages} messages of {outcome.users} people, on the disk after {outcome.storing:.1f} s; "
        f"opened again {outcome.opening:.1f} s later, all {outcome.messages} were there.\n"
    )
