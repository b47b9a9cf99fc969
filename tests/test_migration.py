"""From one store to another, and the command that does it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memorist import Draft, Kind, Memory
from memorist.config import Settings
from memorist.errors import ConflictError, EmbedderMismatchError, InvalidInputError
from memorist.files.migration import MigrationReport, migrate, survey
from memorist.records.scope import Wall
from memorist.stores import open_store

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def fill(path: Path) -> None:
    """Write a memory of two tenants, with everything that a record may carry."""
    async with Memory.open(path, embedder="hash") as memory:
        alice = memory.scoped(user="alice", agent="helper", session="s1")
        await alice.remember([f"note {number}" for number in range(40)])
        old = await alice.remember("Lives in Lisbon", kind=Kind.FACT, happened_at="2024-05-01", metadata={"a": [1]})
        await alice.remember("Lives in Porto", kind=Kind.FACT, supersedes=old.id, rating=0.5, verified=True)
        await memory.scoped(user="alice").topics.set("user.language", "Elixir")
        await memory.scoped(user="alice").topics.set("user.language", "Gleam")
        await memory.remember(
            Draft(content="the answer", cue="the question", kind=Kind.EPISODE, payload={"x": {"y": 1}})
        )
    async with Memory.open(path, tenant="acme", embedder="hash") as memory:
        await memory.scoped(user="alice").remember("another tenant's alice 🦊")


async def moved(source: Path, target: Path) -> MigrationReport:
    stores = [open_store(Settings(url=str(path))) for path in (source, target)]
    for store in stores:
        await store.open()
    try:
        return await migrate(stores[0], stores[1])
    finally:
        for store in stores:
            await store.close()


async def exported(path: Path, tenant: str) -> list[str]:
    async with Memory.open(path, tenant=tenant, embedder="hash") as memory:
        return [line async for line in memory.export(everyone=True)]


async def test_everything_arrives_as_it_was(tmp_path: Path) -> None:
    source, target = tmp_path / "a.db", tmp_path / "b.db"
    await fill(source)
    report = await moved(source, target)
    assert report.verified and report.walls == 3 and report.copied == report.records > 40
    for tenant in ("default", "acme"):
        assert await exported(target, tenant) == await exported(source, tenant)
    question = "note 7 Porto"
    async with Memory.open(source, embedder="hash") as a, Memory.open(target, embedder="hash") as b:
        there, here = [await memory.scoped(user="alice").recall(question, limit=20) for memory in (a, b)]
        assert [(hit.record.id, hit.similarity) for hit in here] == [(hit.record.id, hit.similarity) for hit in there]
        assert await b.scoped(user="alice").topics.get("user.language") == "Gleam"


async def test_a_second_run_copies_what_is_new(tmp_path: Path) -> None:
    source, target = tmp_path / "a.db", tmp_path / "b.db"
    await fill(source)
    first = await moved(source, target)
    async with Memory.open(source, embedder="hash") as memory:
        await memory.remember("one more")
    again = await moved(source, target)
    assert (again.copied, again.existing, again.verified) == (1, first.copied, True)


async def test_several_that_migrate_into_one_target_share_the_work(tmp_path: Path) -> None:
    source, target = tmp_path / "a.db", tmp_path / "b.db"
    await fill(source)
    reports = await asyncio.gather(*(moved(source, target) for _ in range(3)))
    assert all(report.verified for report in reports)
    assert sum(report.copied for report in reports) == reports[0].records


async def test_a_key_that_another_record_of_the_target_holds_is_told(tmp_path: Path) -> None:
    source, target = tmp_path / "a.db", tmp_path / "b.db"
    for path in (source, target):
        async with Memory.open(path, embedder="hash") as memory:
            await memory.topics.set("language", "Elixir")
    with pytest.raises(ConflictError, match="'language'"):
        await moved(source, target)


async def test_what_differs_is_told(tmp_path: Path) -> None:
    source, target = tmp_path / "a.db", tmp_path / "b.db"
    await fill(source)
    async with Memory.open(target, embedder="hash") as memory:
        await memory.scoped(user="alice").remember("the target's own")
    report = await moved(source, target)
    assert not report.verified and report.differing == [Wall("default", "alice")]


async def test_a_vector_that_changed_is_noticed(tmp_path: Path) -> None:
    source, target = tmp_path / "a.db", tmp_path / "b.db"
    await fill(source)
    await moved(source, target)
    import apsw

    with apsw.Connection(str(target)) as connection:
        number: Any
        vector: Any
        [(number, vector)] = connection.execute("SELECT number, vector FROM indexed LIMIT 1").fetchall()
        connection.execute("UPDATE indexed SET vector = ? WHERE number = ?", (vector[::-1], number))
    assert not (await moved(source, target)).verified


async def test_another_record_of_the_same_id_is_not_overwritten(tmp_path: Path) -> None:
    source, target = tmp_path / "a.db", tmp_path / "b.db"
    for path, text in ((source, "mine"), (target, "theirs")):
        async with Memory.open(path, embedder="hash") as memory:
            await memory.remember(text, id="same")
    with pytest.raises(InvalidInputError, match="another record 'same'"):
        await moved(source, target)


async def test_vectors_of_two_embedders_are_not_mixed(tmp_path: Path) -> None:
    source, target = tmp_path / "a.db", tmp_path / "b.db"
    for path, embedder in ((source, "hash:32"), (target, "hash:16")):
        async with Memory.open(path, embedder=embedder) as memory:
            await memory.remember("text")
    with pytest.raises(EmbedderMismatchError, match="memorist reindex"):
        await moved(source, target)


async def test_an_empty_store_is_moved_too(tmp_path: Path) -> None:
    assert await moved(tmp_path / "a.db", tmp_path / "b.db") == MigrationReport()


async def test_a_survey_counts_superseded_ones(tmp_path: Path) -> None:
    await fill(tmp_path / "a.db")
    store = open_store(Settings(url=str(tmp_path / "a.db")))
    await store.open()
    sizes = await survey(store)
    await store.close()
    assert sizes[Wall("acme", "alice")] == 1 and sizes[Wall("default", "alice")] >= 43


def command(*arguments: object) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "MEMORIST_EMBEDDER": "hash"}
    given = [sys.executable, "-m", "memorist", *map(str, arguments)]
    return subprocess.run(given, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL, check=False)


def killed(script: str, *arguments: object) -> int:
    return subprocess.run([sys.executable, "-c", script, *map(str, arguments)], check=False).returncode


async def test_the_command_shows_first_and_copies_then(tmp_path: Path) -> None:
    source, target = tmp_path / "a.db", tmp_path / "b.db"
    await fill(source)
    dry = command("migrate", source, target, "--dry-run")
    assert dry.returncode == 0 and "acme" in dry.stdout and not target.exists()
    assert command("migrate", source, target).returncode == 2 and not target.exists()
    done = command("migrate", source, target, "--yes", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["verified"]
    assert "Verified" in command("migrate", source, target, "--yes").stdout
    for same in (source, f"sqlite:{source}"):
        assert "same store" in command("migrate", source, same, "--yes").stderr
    assert "no file" in command("migrate", tmp_path / "none.db", target, "--yes").stderr


@pytest.mark.posix
async def test_a_killed_migration_goes_on(tmp_path: Path) -> None:
    source, target = tmp_path / "a.db", tmp_path / "b.db"
    async with Memory.open(source, embedder="hash") as memory:
        await memory.remember([f"note {number}" for number in range(4000)])
    script = (
        "import asyncio, os, signal, sys\n"
        "from memorist.config import Settings\n"
        "from memorist.files.migration import migrate\n"
        "from memorist.stores import open_store\n"
        "async def main():\n"
        "    stores = [open_store(Settings(url=name)) for name in sys.argv[1:]]\n"
        "    for store in stores: await store.open()\n"
        "    await migrate(*stores, lambda done, total: done >= 1500 and os.kill(os.getpid(), signal.SIGKILL))\n"
        "asyncio.run(main())\n"
    )
    assert killed(script, source, target) == -signal.SIGKILL
    report = await moved(source, target)
    assert (report.existing, report.copied, report.verified) == (1500, 2500, True)
