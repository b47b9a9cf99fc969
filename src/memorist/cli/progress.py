"""Progress bars, shown only on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memorist.cli.showing import console


@contextmanager
def spinner(title: str) -> Iterator[None]:
    """Show on stderr that work of unknown duration is in progress."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.markup import escape

    with console(stderr=True).status(escape(f"{title}…")):
        yield


@contextmanager
def records_bar(title: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """Show on stderr how many records are done; yields a callback for how many of how many (None where that is not
    known), or None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(title), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
