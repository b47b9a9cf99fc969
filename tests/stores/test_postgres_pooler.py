"""Behind a real PgBouncer in transaction mode, which gives each transaction whichever connection is free."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memorist.config import Settings
from memorist.errors import StoreUnavailableError
from memorist.memory import Memory
from memorist.records.record import Draft
from memorist.stores import Store
from memorist.stores.postgres import PostgresStore, parse_url
from memorist.testing.contract.base import ALICE
from memorist.testing.contract.writing import WritingContract
from ports import free_port
from postgres_server import PASSWORD, running_server, wait_until_answered
from servers import running

if TYPE_CHECKING:
    from postgres_server import Server

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
pytestmark = [
    pytest.mark.postgres,
    pytest.mark.slow,
    pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer is not installed: apt-get install pgbouncer"),
]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_certificate(tmp_path_factory.mktemp("tls"))


def made_certificate(folder: Path) -> Path:
    """Make a certificate for 127.0.0.1, with its key beside it."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    made = folder / "server.crt"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", made.with_suffix(".key"), "-out", made],
        check=True, capture_output=True,
    )  # fmt: skip
    return made


@pytest.fixture(scope="module")
def pooler(server: "Server", certificate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a pooler with three connections to the server, and TLS for clients that ask for it."""
    with running_pooler(server, certificate, tmp_path_factory.mktemp("pooler")) as port:
        yield port


@contextmanager
def running_pooler(server: "Server", certificate: Path, folder: Path) -> Iterator[int]:
    port = free_port()
    for each in (certificate, certificate.with_suffix(".key")):
        shutil.copy(each, folder)
    (folder / "users").write_text(f'"app" "{PASSWORD}"\n')
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\nmemory = host=127.0.0.1 port={server.port} dbname=memory\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = plain\n"
        f"auth_file = {folder / 'users'}\npool_mode = transaction\ndefault_pool_size = 3\nserver_login_retry = 1\n"
        f"client_tls_sslmode = allow\nclient_tls_cert_file = {folder / 'server.crt'}\n"
        f"client_tls_key_file = {folder / 'server.key'}\n"
    )
    who: dict[str, Any] = {}
    if os.geteuid() == 0:  # as which PgBouncer does not run
        who = {"user": "nobody", "extra_groups": []}
        open_to_all(folder)
    assert PGBOUNCER is not None
    process = subprocess.Popen(
        [PGBOUNCER, "-q", folder / "pgbouncer.ini"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **who
    )
    try:
        wait_until_answered(through(server.url(), port), process)
        yield port
    finally:
        process.kill()
        process.wait(30)


def open_to_all(folder: Path) -> None:
    """Let every user read what is in a folder."""
    for each in (folder, *folder.parents):
        if each != Path("/") and not each.stat().st_mode & 1:
            each.chmod(each.stat().st_mode | 0o11)
    for each in folder.iterdir():
        each.chmod(0o644)


def through(url: str, port: int) -> str:
    """Return the URL by way of the pooler."""
    before, _, after = url.partition("@")
    return f"{before}@127.0.0.1:{port}/{after.partition('/')[2]}"


class TestContract(WritingContract):
    """The contract of writing, with statements that would be prepared at once on a connection of their own."""

    @pytest.fixture(autouse=True)
    def place(self, server: "Server", pooler: int) -> None:
        self.options = parse_url(through(server.new_url(pool_size=4, prepare_threshold=0), pooler))

    async def make_store(self) -> Store:
        return PostgresStore(self.options)

    async def another(self, store: Store) -> Store:
        return PostgresStore(self.options)


@pytest.mark.anyio
@pytest.mark.parametrize("prepare", ["1", "off"])
async def test_many_users_at_once_share_the_connections_and_see_their_own(
    server: "Server", pooler: int, prepare: str
) -> None:
    url = through(server.new_url(hnsw="on", purge="full", prepare_threshold=prepare), pooler)
    async with Memory.open(url, embedder="hash") as one, Memory.open(url, embedder="hash") as other:

        async def live(number: int) -> None:
            user = f"u{number}"
            mine, again = one.scoped(user=user), other.scoped(user=user)
            for turn in range(5):
                await mine.remember([Draft(content=f"tea {user} {turn} {part}") for part in range(4)])
                hits = await again.recall("tea", limit=50)
                assert len(hits) == 4 * (turn + 1) and all(user in hit.record.content.split() for hit in hits)
            if number % 2:
                await mine.purge()
                assert await again.count() == 0 and await again.recall("tea") == []

        await asyncio.gather(*(live(number) for number in range(12)))
        assert await one.admin.users() == {f"u{number}": 20 for number in range(0, 12, 2)}


@pytest.mark.anyio
async def test_statements_are_prepared_only_on_a_connection_of_their_own(server: "Server", pooler: int) -> None:
    url = server.new_url(prepare_threshold=0, pool_size=1)
    prepared = "SELECT count(*) FROM pg_prepared_statements"
    for given, some in ((url, True), (through(url, pooler), False)):
        store = PostgresStore(parse_url(given))
        try:
            await store.open()
            await store.users("acme")
            [[(count,)]] = await store._read(ALICE.reach, (prepared, ()))
            assert (count > 0) == some
        finally:
            await store.close()


@pytest.mark.anyio
async def test_tls_can_be_required_and_the_certificate_checked(
    server: "Server", pooler: int, certificate: Path, tmp_path: Path
) -> None:
    for given in ({"sslmode": "require"}, {"sslmode": "verify-full", "sslrootcert": certificate}):
        async with Memory.open(through(server.new_url(**given), pooler), embedder="hash") as memory:
            await memory.remember("tea")
    url = through(server.url(sslmode="verify-full", sslrootcert=certificate), pooler)
    another = made_certificate(tmp_path)
    for wrong in (url.replace("@127.0.0.1", "@localhost"), url.replace(str(certificate), str(another))):
        with pytest.raises(StoreUnavailableError, match="check sslmode and the certificates"):
            async with Memory.open(wrong, embedder="hash"):
                pass


@pytest.mark.anyio
async def test_calls_wait_for_a_server_that_is_away_and_tell_nothing_of_it(certificate: Path, tmp_path: Path) -> None:
    httpx = pytest.importorskip("httpx")
    from memorist.serve.app import create_app

    with running_server("fsync=off") as server, running_pooler(server, certificate, tmp_path) as port:
        settings = Settings(url=through(server.new_url(), port), embedder="hash", busy_timeout=8.0)
        async with Memory.open(settings=settings) as memory, running(create_app(memory, open=True)) as address:
            await memory.remember("tea")
            async with httpx.AsyncClient(base_url=address, timeout=60) as http:
                await asyncio.to_thread(server.stop)
                waiting = asyncio.create_task(http.get("/v1/records"))
                ready = await http.get("/ready")
                assert ready.status_code == 503 and not waiting.done(), "a probe waits for two seconds, a call longer"
                call = await waiting
                assert call.status_code == 503 and call.headers["retry-after"] == "1"
                assert call.json()["error"] == "StoreUnavailableError"
                for answer in (ready, call):
                    assert not [each for each in ("127.0.0.1", "app", str(port), "@") if each in answer.text]
                waiting = asyncio.create_task(http.get("/v1/records"))
                await asyncio.sleep(1)
                await asyncio.to_thread(server.start)
                assert (await waiting).status_code == 200, "the server was back while the call waited for it"
                assert (await http.get("/ready")).status_code == 200
