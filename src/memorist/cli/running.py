"""Opening the memory of a command, and turning errors into exit codes."""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memorist.errors import (
    FormatError,
    InvalidInputError,
    MemoristError,
    MissingExtraError,
    NotFoundError,
    ScopeError,
    StoreUnavailableError,
)
from memorist.records.kind import Kind
from memorist.records.scope import Scope

if TYPE_CHECKING:
    from memorist.config import Settings
    from memorist.engine.base import Engine
    from memorist.memory import Memory

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_BAD_LINES = 3
EXIT_INTERRUPTED = 130

_LONGEST_WAIT = 60.0
_MOST_USERS = 5
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Options:
    """The options before the subcommand."""

    db: str | None
    tenant: str
    embedder: str | None
    config: str | None = None
    zone: str | None = None

    @property
    def home(self) -> tzinfo:
        """The zone in which times are shown."""
        from memorist.records.zones import machine_zone, zone_of

        if named := self.zone or os.environ.get("MEMORIST_ZONE"):
            return zone_of(named)
        return self.settings().home if self.file.is_file() else machine_zone()

    @property
    def file(self) -> Path:
        """The file of settings; one that nothing names may not exist."""
        from memorist.system.places import config_file, existing

        if self.config is not None:
            return existing(self.config, "--config")
        try:
            return config_file()
        except InvalidInputError:
            if self.db is None or os.environ.get("MEMORIST_CONFIG"):
                raise
            return Path(os.devnull)  # there is no home folder that could have one, and none is needed

    def settings(self) -> "Settings":
        """Return the settings: these options, then the environment, then the file, then the defaults."""
        from memorist.config import Settings

        return Settings.load(file=self.file, url=self.db).with_given(embedder=self.embedder, zone=self.zone)


@asynccontextmanager
async def opened(
    context: click.Context,
    user: str | None = None,
    *,
    new: bool = False,
    reindexing: bool = False,
    embeds: bool = False,
) -> AsyncIterator["Memory"]:
    """Open the memory that the command line names: a database, or a server's memory by its URL.

    Args:
        context: the command's context.
        user: the user of the memory.
        new: create the database if it does not exist.
        reindexing: also open a database with another embedder's vectors.
        embeds: load the model, for a text or two, while the rest is imported and opened.

    Raises:
        NotFoundError: the file does not exist, and `new` is false.
    """
    options: Options = context.obj
    settings = replace(options.settings(), reindexing=reindexing)
    if settings.url.startswith(("http://", "https://")):
        from memorist.memory import Memory

        token = os.environ.get("MEMORIST_TOKEN") or None
        opening = Memory.connect(settings.url, token=token, tenant=options.tenant, user=user, zone=settings.zone)
    else:
        if not new:
            check_exists(settings.url)
        if embeds:
            from memorist.embedders.registry import open_ahead

            settings = settings.with_given(embedder=open_ahead(settings.embedder, brief=True))
        opening = local(settings, Scope(options.tenant, user))
    async with opening as memory:
        yield memory


def local(settings: "Settings", scope: Scope) -> "Memory":
    """Return the memory of a database.

    A missing file is made by the first request: a command that fails before, by a wrong argument, leaves no empty one.
    """
    from memorist.engine.local import LocalEngine
    from memorist.memory import Memory
    from memorist.operations.calls import Call
    from memorist.records.origins import CLI
    from memorist.stores import file_of

    engine: Engine = LocalEngine(settings)
    if (file := file_of(settings.url)) is not None and not file.exists():
        from memorist.cli.making import EngineWhenAsked

        engine = EngineWhenAsked(engine)
    return Memory(engine, Call(scope, CLI))


def served(
    options: Options, verb: str, user: str | None, body: Mapping[str, Any], *, filled: str
) -> dict[str, Any] | None:
    """Return the answer of a server of this machine that serves the same database, in JSON.

    The server has the embedder and the index in memory, and asking it needs none of the libraries.

    Args:
        options: those before the command.
        verb: the request's.
        user: whose records.
        body: the other arguments.
        filled: the field of the answer that is empty where nothing was found; the reason is then printed.

    Returns:
        None where no server answers, or an option names an embedder or a file of settings.
    """
    with foreseen():
        url = _server_of(options)
        if url is None:
            return None
        from memorist.cli.asking import ask

        labels = {name: body.get(name) for name in ("agent", "session")}
        zone = options.zone or os.environ.get("MEMORIST_ZONE") or None
        scope = {"tenant": options.tenant, "user": user, "zone": zone, **labels}
        rest = {name: value for name, value in body.items() if name not in labels}
        try:
            found = ask(url, verb, scope, rest, seconds=_LONGEST_WAIT)
        except OSError:  # the server has just ended
            return None
    if not found[filled]:
        run(lambda: _tell_of_others_at(url, options.tenant, user))
    return found


def _server_of(options: Options) -> str | None:
    """Return the URL of the server of this machine that serves the same database as the options name."""
    from memorist.cli.servers import running
    from memorist.system.variables import check_variables

    if options.embedder is not None or options.config is not None:
        return None
    check_variables()
    db = options.db or os.environ.get("MEMORIST_DB") or None
    if db is None and options.file.is_file():
        db = options.settings().url
    return running(db)


async def _tell_of_others_at(url: str, tenant: str, user: str | None) -> None:
    from memorist.memory import Memory

    with suppress(MissingExtraError, StoreUnavailableError):
        async with Memory.connect(url, tenant=tenant, user=user) as memory:
            await tell_of_others(memory)


def check_exists(url: str) -> None:
    """Raise NotFoundError if `url` is a file that does not exist: only commands that write make one."""
    from memorist.stores import file_of

    if (file := file_of(url)) is not None and not file.exists():
        raise NotFoundError(f"there is no database {file} yet; create one with `memorist remember` or `memorist load`")


async def tell_of_others(memory: "Memory", *, unless: object = False) -> None:
    """Report on stderr that a scope is empty, and which users have records, if the caller may list them.

    Where something was found, `unless`, nothing is reported.
    """
    if unless or await memory.count(kind=tuple(Kind), superseded=True):
        return
    if memory.scope.user is not None:
        click.echo(f"User {memory.scope.user!r} has no records here", err=True)
        return
    if users := await users_of(memory):
        shown = first_of(users)
        click.echo(f"There are no shared records. Users with records: {shown}. Choose one with --user NAME", err=True)


async def users_of(memory: "Memory", *, waiting: bool = False) -> list[str]:
    """Return the users who have records, or for whom something waits; none if the caller may not list them."""
    try:
        counts = await memory.admin.users(waiting=waiting)
    except ScopeError:  # the token does not allow reading all users, or one is chosen
        return []
    return [user for user, count in counts.items() if user is not None and count]


def first_of(users: Sequence[str]) -> str:
    """Return the names of the first few users, for people."""
    return ", ".join(map(repr, users[:_MOST_USERS])) + (", …" if len(users) > _MOST_USERS else "")


def run(work: Callable[[], Awaitable[_T]]) -> _T:
    """Run a command to its end; an expected error is one line on stderr, not a traceback."""
    # imported here, because asyncio takes as long to import as the rest of a command that only prints its help
    import asyncio

    async def main() -> _T:
        return await work()

    with foreseen():
        return asyncio.run(main())


@contextmanager
def foreseen() -> Iterator[None]:
    """Turn an expected error into one line on stderr and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        raise fail("interrupted; what was already stored is kept", EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        raise
    except MemoristError as error:
        wrong_usage = isinstance(error, InvalidInputError) and not isinstance(error, FormatError)
        raise fail(str(error), EXIT_USAGE if wrong_usage else EXIT_FAILED) from error
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise fail(f"{where}{error.strerror or error}") from error


def fail(reason: str, code: int = EXIT_FAILED) -> click.exceptions.Exit:
    """Print an error on stderr in one line, and return the exception to raise."""
    click.echo(f"error: {' '.join(reason.split())}", err=True)
    return click.exceptions.Exit(code)


def text_or_stdin(text: str) -> str:
    """Return `text`, or the standard input if it is ``-``."""
    if text != "-":
        return text
    with foreseen():
        try:
            return sys.stdin.buffer.read().decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise InvalidInputError("standard input is not UTF-8") from error


def confirm(question: str) -> None:
    """Ask for confirmation; raise unless the user is at a terminal and confirms."""
    if not sys.stdin.isatty():
        raise click.BadParameter(
            "cannot ask for confirmation, because standard input is not a terminal; pass --yes", param_hint="--yes"
        )
    try:
        sure = click.confirm(question)
    except click.Abort:  # Ctrl-C, or the end of the input
        raise fail("interrupted; nothing was done", EXIT_INTERRUPTED) from None
    if not sure:
        raise fail("not confirmed; nothing was done")


def given(**options: Any) -> dict[str, Any]:
    """Return the options that are set."""
    return {name: value for name, value in options.items() if value is not None}
