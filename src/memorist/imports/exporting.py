"""Writing what a memory holds as another system reads it: the way back of `load`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from memorist.errors import InvalidInputError
from memorist.imports.registry import writer_named
from memorist.imports.writer import ExportReport, Writer
from memorist.operations import requests
from memorist.records.kind import Kind
from memorist.system.writing import new_file
from memorist.verbs import pages

if TYPE_CHECKING:
    from memorist.memory import Memory

_BATCH = 200
_PIECE = 1 << 18
"""The characters of a text that are made at once."""
_MOST_NAMED = 5


async def export(
    memory: Memory,
    path: str | os.PathLike[str],
    *,
    to: str = "memorist",
    everyone: bool = False,
    kind: Iterable[Kind | str] | Kind | str | None = None,
    progress: Callable[[int], None] | None = None,
) -> ExportReport:
    """Write the records of a memory's scope to a new file, as another system reads them.

    All of the file is written and on disk before it gets its name. More records need no more memory. Where a format has
    a place for metadata, the file says there what the system has no field for: an import of the file, or of what the
    system made of it, brings the same records back.

    Args:
        memory: whose records; one without a user has the shared ones.
        path: the file. Nothing may be there yet.
        to: the format; see `writers`.
        everyone: all users of the tenant, in a format that says whose a record is.
        kind: only these kinds; by default all, and for other systems all but "state", current ones alone.
        progress: called with the number of records written so far.

    Raises:
        InvalidInputError: there is no such format, a file is there, or it would mix the records of several users.
        ScopeError: `everyone` behind a user's wall.
    """
    report = ExportReport()
    with new_file(path) as stream:
        async for text in export_text(memory, writer_named(to), report, everyone=everyone, kind=kind):
            stream.write(text.encode())
            if progress is not None:
                progress(report.written)
    return report


async def export_text(
    memory: Memory,
    writer: Writer,
    report: ExportReport,
    *,
    everyone: bool = False,
    kind: Iterable[Kind | str] | Kind | str | None = None,
) -> AsyncIterator[str]:
    """Yield what `export` writes, piece by piece, and count in `report`.

    Raises:
        InvalidInputError, ScopeError: as `export`, before the first piece.
    """
    if everyone and not writer.names_users:
        users = [user for user in await memory.ask(requests.Users()) if user is not None]
        if users:
            names = ", ".join(users[:_MOST_NAMED]) + (", …" if len(users) > _MOST_NAMED else "")
            told = (
                f"the format {writer.name} does not store users, so it can hold one user's records only; name the user"
            )
            raise InvalidInputError(f"{told}, as --user NAME; available: {names}")
    output, kinds = writer.output(report.left), writer.kinds if kind is None else kind
    yield output.begin
    given = {"kind": kinds, "superseded": True, "everyone": everyone, "order": "oldest", "limit": _BATCH}
    async for records in pages(memory.ask, requests.Browse.of(given)):
        taken = [record for record in records if writer.admit(record, report)]
        async for text in _made(chain.from_iterable(map(output.add, taken))):
            yield text
    async for text in _made(output.end()):
        yield text


async def _made(texts: Iterator[str]) -> AsyncIterator[str]:
    """Yield texts that a thread makes, so that large ones do not delay other requests."""
    while text := await asyncio.to_thread(_some, texts):
        yield text


def _some(texts: Iterator[str]) -> str:
    found, length = list[str](), 0
    for text in texts:
        found.append(text)
        if (length := length + len(text)) >= _PIECE:
            break
    return "".join(found)
