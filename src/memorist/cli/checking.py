"""Commands that report the state of a store: stats, doctor."""

import platform
import re
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from memorist.cli.declaring import command
from memorist.cli.options import AsJson
from memorist.cli.progress import spinner
from memorist.cli.running import fail, opened
from memorist.cli.showing import clean, counted, print_json, print_table, shown_url
from memorist.errors import MemoristError
from memorist.records.record import Kind
from memorist.records.times import iso

if TYPE_CHECKING:
    from pathlib import Path

    from memorist.config import Settings
    from memorist.memory import Memory
    from memorist.stores.base import Order

_NOT_FOR_USERS = frozenset({"agentscope1", "bench", "dev", "docs"})
_LEAST_FREE = 100 * 1024 * 1024
_MOST_USERS = 10
_MOST_READ = 5000
_TITLES = {"most": "who has most"}


@command()
async def stats(context: click.Context, json: AsJson = False) -> None:
    """Tell what is stored: how much, of what kind, whose, from when to when."""
    async with opened(context) as memory:
        found = await _stats(memory)
    if json:
        print_json(found)
        return
    rows = list[tuple[str, str]]()
    for name, value in ((name, value) for name, value in found.items() if value not in (None, {})):
        lines = [f"{key}: {each:,}" for key, each in value.items()] if isinstance(value, dict) else None
        text = "\n".join(lines) if lines is not None else f"{value:,}" if isinstance(value, int) else str(value)
        rows.append((_TITLES.get(name, name), clean(text or "none")))
    print_table(("What", "How much"), rows)


@command()
async def users(context: click.Context, json: AsJson = False) -> None:
    """List the users of the tenant, and how many memories each has now."""
    async with opened(context) as memory:
        found = await memory.admin.users()
    if json:
        print_json([{"user": user, "records": count} for user, count in found.items()])
        return
    rows = ((f"{count:,}", "(shared)" if user is None else clean(user)) for user, count in found.items() if count)
    print_table(("Records", "User"), rows, right=1)


async def _stats(memory: "Memory") -> dict[str, Any]:
    users = await memory.admin.users()
    most = sorted(users.items(), key=lambda each: -each[1])[:_MOST_USERS]
    kinds = {str(kind): await memory.count(kind=kind, everyone=True) for kind in Kind}
    ends: dict[str, str | None] = {}
    orders: tuple[Order, ...] = ("oldest", "newest")
    for order in orders:
        page = await memory.browse(kind=tuple(Kind), order=order, limit=1, everyone=True)
        ends[order] = iso(page.records[0].at) if page.records else None
    current = sum(kinds.values())
    return {
        "records": current,
        "superseded": await memory.count(kind=tuple(Kind), everyone=True, superseded=True) - current,
        "kinds": {kind: number for kind, number in kinds.items() if number},
        "users": sum(user is not None for user in users),
        "most": {"(shared)" if user is None else user: number for user, number in most},
        **ends,
    }


class Finding(NamedTuple):
    """The result of one check: whether it passed, what was found, and how to fix it."""

    name: str
    well: bool
    found: str
    mend: str = ""

    @property
    def told(self) -> str:
        return self.found if self.well or not self.mend else f"{self.found}\n→ {self.mend}"


@command()
async def doctor(context: click.Context, json: AsJson = False) -> None:
    """Check the settings, the database, the embedder and the extras, and say how to fix what is broken.

    Exits with 1 where something is broken.
    """
    import apsw

    from memorist import __version__
    from memorist.config import Settings
    from memorist.stores import file_of

    versions = f"Memorist {__version__}, Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}"
    checks, settings = [Finding("system", True, f"{versions}, {platform.system()} {platform.machine()}")], None
    try:
        settings = context.obj.settings()
        checks.append(Finding("settings", True, shown_url(settings.url)))
    except (MemoristError, ImportError, OSError) as error:
        checks.append(Finding("settings", False, str(error)))
    if settings is not None:
        checks += _disk(settings.url)
        file = file_of(settings.url)
        if file is not None and not file.exists():
            checks.append(_missing(file, named=context.obj.db is not None, default=settings.url == Settings().url))
        else:
            checks += await _store(context)
            checks += await _vectors(settings, context.obj.tenant)
        checks.append(await _embedder(settings))
    checks.append(_extras())
    if json:
        print_json([check._asdict() for check in checks])
    else:
        rows = ((each.name, "ok" if each.well else "broken", clean(each.told)) for each in checks)
        print_table(("Finding", "", "Found"), rows)
    if not all(check.well for check in checks):
        raise fail("some checks failed; see above")


def _missing(file: "Path", *, named: bool, default: bool) -> Finding:
    """Return what to say of a file that is not there; one that was named on the command line may be mistyped."""
    if not file.parent.exists() and not default:
        return Finding(
            "database", False, f"the folder {file.parent} does not exist", "correct the path, or create the folder"
        )
    told = f"{file} does not exist yet; the first write creates it"
    return Finding("database", not named, told, "if the path is right, nothing needs fixing")


def _disk(url: str) -> Iterator[Finding]:
    """Return the free disk space where the database file is, or will be."""
    from memorist.stores import file_of

    folder = file_of(url)
    if folder is None:
        return
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    yield Finding(
        "disk", free >= _LEAST_FREE, f"{free / 1e9:,.1f} GB free", "free some space, or use another disk: --db PATH"
    )


async def _store(context: click.Context) -> list[Finding]:
    """Open the store, if there is one, and look for damage in it."""
    from memorist.stores import file_of

    try:
        async with opened(context) as memory:
            number = await memory.count(kind=tuple(Kind), everyone=True)
            checks = [Finding("database", True, f"opened; {counted(number, 'record')} of this tenant")]
            settings = context.obj.settings()
            # a key does not open a plain file, and an encrypted file does not open without its key
            if file_of(settings.url) is not None:
                told = "not encrypted; memorist key rotate encrypts it" if settings.key_from is None else "encrypted"
                checks.append(Finding("encryption", True, f"the file is {told}"))
            with spinner("Reading all of the database"):
                damage = await memory.admin.check()
            mend = "export what can be read with `memorist export` and load it into a new file, or restore a backup"
            checks.append(Finding("integrity", not damage, "; ".join(damage) or "nothing damaged", mend))
            return checks
    except (MemoristError, ImportError, OSError) as error:
        return [Finding("database", False, str(error))]


async def _vectors(settings: "Settings", tenant: str) -> list[Finding]:
    """Tell how many records wait to be embedded, and of languages that the version which stored some did not know."""
    from memorist.embedders import BundledEmbedder, open_embedder
    from memorist.engine.languages import told_of_languages, told_of_scripts
    from memorist.records.scope import Reach
    from memorist.stores import open_store

    store, found = open_store(settings), list[Finding]()
    try:
        await store.open()
        try:
            if waiting := await store.count_unembedded():
                told = "found by words only; to embed them, run: memorist reindex --missing"
                found.append(Finding("vectors", True, f"{counted(waiting, 'record')} {told}"))
            embedder = open_embedder(settings.embedder)
            if isinstance(embedder, BundledEmbedder):
                reach = Reach(tenant, None)
                languages = await told_of_languages(store, embedder, reach, _MOST_READ)
                scripts = await told_of_scripts(store, reach, _MOST_READ)
                told = "; ".join(filter(None, (languages, scripts))) or "each is embedded by a model that supports it"
                found.append(Finding("languages", True, told))
        finally:
            await store.close()
    except (MemoristError, ImportError, OSError):  # told above, and below
        pass
    return found


async def _embedder(settings: "Settings") -> Finding:
    from memorist.embedders import Role, open_embedder

    try:
        embedder = open_embedder(settings.embedder)
        [vector] = await embedder.embed(["Does the embedder answer?"], Role.QUERY)
        await embedder.close()
    except (MemoristError, ImportError) as error:
        return Finding("embedder", False, str(error))
    return Finding("embedder", True, f"{settings.embedder or 'the bundled model'} answers, {len(vector)} dimensions")


def _extras() -> Finding:
    """Return which extras are installed; a missing one is not an error."""
    found, missing = [], []
    for extra, packages in extras().items():
        try:
            numbers = [version(package) for package in packages]
        except PackageNotFoundError:
            missing.append(extra)
        else:
            found.append(f"{extra} ({numbers[0]})")
    here, lacking = ", ".join(found) or "none", ", ".join(missing) or "none"
    return Finding("extras", True, f"installed: {here}\nnot installed: {lacking}")


def extras() -> dict[str, list[str]]:
    """Return the packages that each extra installs by itself, as this installation's metadata names them."""
    packages: dict[str, list[str]] = {}
    for requirement in requires("memorist") or ():
        wanted, _, condition = requirement.partition(";")
        extra = re.search(r"""extra == ['"]([^'"]+)['"]""", condition)
        package = re.match(r"[\w.-]+", wanted)
        if extra and package and package[0] != "memorist" and extra[1] not in _NOT_FOR_USERS:
            packages.setdefault(extra[1], []).append(package[0])
    return packages
