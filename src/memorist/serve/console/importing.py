"""Importing in the console: files are uploaded, their content is shown, and stored once that is confirmed."""

from starlette.datastructures import UploadFile
from starlette.responses import Response

from memorist.errors import ConflictError, FormatError, InvalidInputError, NotFoundError, ScopeError
from memorist.imports import Options, imports, readers, undo
from memorist.memory import Memory
from memorist.records.zones import zone_of
from memorist.serve.console.jobs import Job
from memorist.serve.console.rendering import link
from memorist.serve.console.visits import Visit
from memorist.serve.console.zones import zone_names

COLUMNS = ("text", "time", "speaker", "conversation", "id")
"""What a column of a table may be."""
_MOST_TOLD = 100


async def show(visit: Visit) -> Response:
    """Show a form to upload files, or the state of the last upload."""
    job = visit.session.job
    if job is not None:
        job.touch()
    owner = visit.memory.scope if job is None else job.memory.scope
    return visit.page(
        "import.html",
        title="Import",
        scripts=("import.js",),
        job=job,
        most_bytes=visit.request.app.state.load_bytes,
        owner=owner,
        place=link("/", tenant=None if visit.grant.tenant else owner.tenant, user=owner.user),
        days=job.found.days(visit.session.zone) if job is not None and job.found is not None else None,
        formats=sorted(((each.title, each.name) for each in readers()), key=lambda each: each[0].casefold()),
        columns=COLUMNS,
        zones=zone_names(),
        told=[] if job is None or job.report is None else job.report.bad[:_MOST_TOLD],
    )


async def upload(visit: Visit) -> Response:
    """Keep the files of a form in the place of those before, and look into them."""
    files = [each for each in visit.values.get("files", ()) if isinstance(each, UploadFile) and each.filename]
    if not files:
        raise FormatError("choose a file")
    if (old := visit.session.job) is not None:
        if old.busy:
            raise ConflictError("an import is running; wait for it, or interrupt it")
        old.discard()
    job = visit.session.job = Job(visit.memory, visit.request.app.state.load_bytes)
    try:
        await job.keep([(each.filename or "", each.file) for each in files])
    except BaseException:
        visit.session.job = None
        job.discard()
        raise
    job.look(None, _options(visit))
    await job.settle()
    return visit.redirect("/import")


async def go(visit: Visit) -> Response:
    """Survey again with other options, store what was found, interrupt the import, or remove the files."""
    job, do = visit.session.job, visit.value("do")
    if job is None or job.state == "gone":
        raise NotFoundError("the files were removed; upload them again")
    if do == "stop":
        await job.stop()
    elif do == "discard":
        job.discard()
        visit.session.job = None
    elif job.busy or job.state == "done":
        raise ConflictError("the import is running or done")
    elif do == "look":
        job.look(visit.value("as"), _options(visit))
    elif do == "load":
        job.load(_options(visit))
    else:
        raise InvalidInputError("do is look, load, stop or discard")
    await job.settle()
    return visit.redirect("/import")


def _options(visit: Visit) -> Options:
    columns = {name: column for name in COLUMNS if (column := visit.value(name)) is not None}
    zone = visit.value("zone")
    known = visit.session.zone if zone is None else zone_of(zone)
    given = {name: visit.value(name) for name in ("me", "encoding", "owner")}
    return Options(zone=known, columns=columns, **given)


async def imported(visit: Visit) -> Response:
    """List the imports whose records are there, the newest first; without a user those of all, if that is allowed."""
    return visit.page("imports.html", title="Imports", found=await imports(_reach(visit)))


async def take_back(visit: Visit) -> Response:
    """Forget every record that an import added."""
    id = visit.needed("id")
    number = await undo(_reach(visit), id)
    return visit.redirect("/imports", f"{number:,} records of the import {id} are forgotten.")


def _reach(visit: Visit) -> Memory:
    """Return the memory whose imports are meant.

    Raises:
        ScopeError: no user is chosen, and the token may not read every user.
    """
    if visit.memory.scope.user is None and not visit.may_see_all:
        raise ScopeError("choose a user; this token may not list the imports of all users")
    return visit.memory
