"""Routes on all of a scope, or all of the store: export, load, purge, backup, reindex."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, StreamingResponse

from memorist.errors import FormatError, MemoristError, StoreUnavailableError
from memorist.imports import ExportReport, writers
from memorist.imports.exporting import export_text
from memorist.imports.registry import writer_named
from memorist.imports.staged import Staged
from memorist.memory import Memory
from memorist.operations import requests
from memorist.operations.lines import LoadReport
from memorist.serve.rest import models
from memorist.serve.rest.access import Access
from memorist.serve.rest.bodies import asked_in_query
from memorist.serve.rest.idempotency import Outcome
from memorist.serve.rest.plain import add_plain, check_operator
from memorist.serve.rest.problems import problem_of, problems
from memorist.serve.rest.routing import Routes, answer, parameter, takes_parameters
from memorist.serve.rest.schemas import parameters_of
from memorist.serve.uploads import forget

routes = Routes("the whole")
add_plain(routes, requests.Check, requests.Checkpoint, requests.Retain, requests.Retention)
add_plain(routes, requests.Secrets, requests.Sweep)

STREAMING = tuple(f"/v1/{each}" for each in "export load backup check reindex purge retention secrets sweep".split())
"""The paths without a limit of the whole time."""
LARGE = ("/v1/load",)
"""Those of them that read a body of any size, as it arrives."""
LINES = "application/x-ndjson"
LEFT_OUT = "Memorist-Left-Out"
"""The header that says what an export has no place for."""
_PIECE = 1 << 20
_LONGEST_LINE = 64 * 1024 * 1024
_TEXT: dict[str, Any] = {"type": "string"}
_DEFAULT = "memorist"
_TO = parameter("to", f"The format: {', '.join(writer.name for writer in writers())}.", default=_DEFAULT, **_TEXT)


@routes.on(
    "GET",
    "/export",
    "read",
    answer(_TEXT, problems(), media=LINES),
    first=[_TO],
    parameters=parameters_of(requests.Browse, "everyone", "kind"),
)
async def export(access: Access, request: Request) -> StreamingResponse:
    """Return every record of the scope as lines of JSON, as they are read; `load` takes them.

    Another format gets the current records, without those of the kind "state" unless it is named. What has no place in
    it is said in the header `Memorist-Left-Out`, such as `12 links and 3 ratings`.
    """
    to = request.state.query.pop("to", _DEFAULT)
    asked = asked_in_query(requests.Browse, request)
    if asked.everyone:
        await access.ask(requests.Count(everyone=True))  # what is refused is refused before the answer begins
    return await export_answer(access.memory, to, everyone=asked.everyone, kind=asked.kind or None)


async def export_answer(memory: Memory, to: str, **options: Any) -> StreamingResponse:
    """Return an export as an answer: our own format as it is read, another once it is known what it left out."""
    writer, report = writer_named(to), ExportReport()
    texts = export_text(memory, writer, report, **options)
    headers = {"content-disposition": f'attachment; filename="{writer.file}"'}
    if writer.whole:
        return StreamingResponse(texts, headers=headers, media_type=writer.media)
    staged = Staged()
    async for text in texts:
        staged.file.write(text.encode())
    headers |= {"content-length": str(staged.size), LEFT_OUT: report.losses()}
    pieces = iter(partial(staged.open().read, _PIECE), b"")
    return StreamingResponse(pieces, headers=headers, media_type=writer.media, background=BackgroundTask(staged.close))


@routes.on(
    "POST",
    "/load",
    "write",
    answer(models.model_of(LoadReport), problems(408, 413)),
    keyed=True,
    requestBody={"required": True, "content": {LINES: {"schema": _TEXT}}},
)
async def load(access: Access, request: Request) -> JSONResponse:
    """Store what `export` wrote, each record under its own user; records already there are left alone.

    The lines are stored in batches as they arrive. What was stored before a connection broke off stays, and sending
    all lines again adds the rest.
    """
    report = await access.memory.load(_lines_of(request))
    return JSONResponse(report.to_dict())


async def _lines_of(request: Request) -> AsyncIterator[bytes]:
    """Yield the lines of a body as it comes in."""
    rest = bytearray()
    try:
        async for chunk in request.stream():
            *ends, begun = chunk.split(b"\n")
            for end in ends:
                yield bytes(rest + end)
                rest.clear()
            rest += begun
            if len(rest) > _LONGEST_LINE:
                raise FormatError(f"a line is longer than {_LONGEST_LINE:,} bytes")
    except ClientDisconnect as error:
        raise FormatError("the lines broke off") from error
    if rest:
        yield bytes(rest)


@routes.on(
    "POST", "/purge", "admin", keyed=True,
    **takes_parameters(
        requests.Purge, "shared", "dry_run", statuses=(409,), schema=models.model_of(models.Purged)
    ),
)  # fmt: skip
async def purge(access: Access, request: Request) -> JSONResponse:
    """Delete everything of a user, history, name and tokens included, and leave no byte of it in the store."""
    purge = asked_in_query(requests.Purge, request)

    async def work() -> Outcome:
        receipt = await access.memory.ask(purge)
        if not receipt.dry_run:
            forget(purge.wall_of(access.memory.scope).wall)
        return {"purged": receipt.purged, "receipt": dict(receipt.statement)}

    outcome, _ = await access.once(("purge", purge.shared, purge.dry_run), work)
    return JSONResponse(outcome)


@routes.on(
    "GET", "/backup", "admin", answer({**_TEXT, "format": "binary"}, problems(), media="application/octet-stream")
)
async def backup(access: Access, request: Request) -> FileResponse:
    """Return a checked copy of the whole store, of every tenant: for an operator's token."""
    check_operator(access)
    folder = _scratch()
    try:
        copy = await access.memory.admin.backup(Path(folder.name) / "memorist.db")
    except BaseException:
        folder.cleanup()
        raise
    done = BackgroundTask(folder.cleanup)
    return FileResponse(copy, media_type="application/octet-stream", filename="memorist.db", background=done)


def _scratch() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="memorist-backup-")
    except OSError as error:
        raise StoreUnavailableError(
            f"the copy cannot be made: no temporary folder of the server can be written ({error.strerror}); "
            "set TMPDIR to one with room for the whole store, or run `memorist backup` there"
        ) from error


@routes.on("GET", "/audit", "admin", **takes_parameters(requests.Audit, "after", "limit"))
async def audit(access: Access, request: Request) -> JSONResponse:
    """Return entries of the audit log: about the user named, or, for an operator's token, all."""
    if access.memory.scope.user is None:
        check_operator(access)
    found = await access.memory.ask(asked_in_query(requests.Audit, request))
    return JSONResponse({"entries": [entry.to_dict() for entry in found]})


@routes.on(
    "POST",
    "/reindex",
    "admin",
    answer(_TEXT, problems(), media=LINES),
    parameters=parameters_of(requests.Reindex, "missing"),
)
async def reindex(access: Access, request: Request) -> StreamingResponse:
    """Embed every record of the store anew, or only what has no vector yet: for an operator's token.

    Answers with lines of JSON: `{"done": 256, "total": 1000}` on the way, `{"embedded": 1000}` at the end.
    """
    check_operator(access)
    access.memory.scope.check_everyone()
    asked = asked_in_query(requests.Reindex, request)
    return StreamingResponse(_reindexed(access, asked.missing), media_type=LINES)


async def _reindexed(access: Access, missing: bool) -> AsyncIterator[str]:
    steps: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    async def work() -> int:
        try:
            return await access.memory.admin.reindex(
                lambda done, total: steps.put_nowait({"done": done, "total": total}), missing=missing
            )
        finally:
            steps.put_nowait(None)

    running = asyncio.create_task(work())
    try:
        while (step := await steps.get()) is not None:
            yield json.dumps(step) + "\n"
        try:
            yield json.dumps({"embedded": await running}) + "\n"
        except MemoristError as error:
            yield json.dumps(problem_of(error)[2]) + "\n"
    finally:
        running.cancel()
