"""Progress bars, shown only on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memorist.cli.showing import console

if TYPE_CHECKING:
    from memorist.files.chats import Progress

_REFRESH_LINES = 50


@contextmanager
def bytes_bar(title: str) -> Iterator["Progress | None"]:
    """Show on stderr how far a file is read; yields a callback for progress, or None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[lines]:,} lines"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(title), total=None, lines=0)

        def show(done: int, total: int | None, lines: int) -> None:
            if lines % _REFRESH_LINES == 0 or done == total:
                bar.update(task, completed=done, total=total, lines=lines)

        yield show


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
def records_bar(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show on stderr how many records are done; yields a callback for progress, or None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(title), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
