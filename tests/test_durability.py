import asyncio
import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import Popen

import apsw
import pytest

from children import (
    BATCH,
    do_as_told,
    finish,
    grow,
    migrate_when_told,
    open_memory,
    purge_user,
    start,
    store_and_close,
    write_and_purge,
    write_for_ever,
)
from inside import core_of, kept
from kept import unpacked
from memorist.errors import (
    MemoristError,
    SchemaError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)
from memorist.memory import Memory
from memorist.records.record import Draft
from memorist.stores.sqlite.schema import MIGRATIONS, migrate
from opening import KEY, connect_to, plain_only, undo_latest

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

KILLS = 8


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def sound(path: Path) -> bool:
    with contextlib.closing(connect_to(path)) as connection:
        check = connection.pragma("integrity_check")
        connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
        return bool(check == "ok")


async def test_a_kill_loses_nothing_acknowledged_and_leaves_nothing_half(path: Path) -> None:
    chance = random.Random(7)
    promised: list[str] = []
    gone: list[str] = []
    batches: list[str] = []
    ignored: list[str] = []
    for turn in range(KILLS):
        process = start(write_for_ever, path, f"t{turn}")
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        said = [process.stdout.readline() for _ in range(chance.randrange(60))]
        process.kill()
        said += process.stdout.readlines()  # communicate() would leave out what is read ahead, in the middle of a line
        process.communicate()
        for line in said:
            if line.endswith("\n"):  # the last may be torn
                word, name = line.split()
                {"single": promised, "forgotten": gone, "batch": batches}.get(word, ignored).append(name)

    assert sound(path)
    async with open_memory(path) as memory:
        missing = [id for id in set(promised).difference(gone) if await memory.get(id) is None]
        # A forgetting that was not acknowledged may have come to be, once for each kill and lane.
        assert len(missing) <= 2 * KILLS
        assert {(await memory.history(id))[-1].action for id in missing} <= {"forgotten"}
        assert [id for id in gone if await memory.get(id) is not None] == []
        parts = [await memory.count(key_prefix=f"{batch}.") for batch in batches]
        assert parts == [BATCH] * len(batches)
        keys = [record.key for record in (await memory.browse(order="key", limit=10_000)).records if record.key]
        assert len(keys) % BATCH == 0
        assert len(promised) > 50
        assert len(batches) > 20


async def test_two_processes_that_write_and_purge_lose_nothing_when_they_are_killed(
    path: Path, request: pytest.FixtureRequest
) -> None:
    """One of two processes is killed at random, and another takes its place: `--soak 200` for more rounds."""
    chance = random.Random(5)
    said: dict[str, list[list[str]]] = {"kept": [], "victims": [], "purging": [], "purged": []}

    def note(lines: list[str]) -> None:
        for line in lines:
            word, *rest = line.split()
            if line.endswith("\n") and word in said:  # the last may be torn
                said[word].append(rest)

    def begin(seed: int) -> "Popen[str]":
        process = start(write_and_purge, path, "p", seed)
        hear(process, "open")
        return process

    def end(process: "Popen[str]", lines: int) -> None:
        assert process.stdout is not None
        note([process.stdout.readline() for _ in range(lines)])
        process.kill()
        note(process.stdout.readlines())
        process.communicate()

    rounds = request.config.getoption("--soak")
    running = [begin(0), begin(1)]
    for turn in range(rounds):
        end(running.pop(chance.randrange(2)), chance.randrange(60))
        if turn % 5 == 0:  # a short command comes by meanwhile
            said["kept"] += [[id] for id in finish(start(store_and_close, path, 2))]
        running.append(begin(turn + 2))
    for process in running:
        end(process, 5)

    assert sound(path)
    async with open_memory(path) as memory:
        assert len(said["kept"]) > 10 * rounds
        assert [id for (id,) in said["kept"] if await memory.get(id) is None] == []
        begun, purged = ({user for (user,) in said[word]} for word in ("purging", "purged"))
        assert len(purged) > rounds // 2
        for user, id in said["victims"]:
            if user in purged or user not in begun:
                there = await memory.scoped(user=user).get(id)
                assert (there is None) == (user in purged), (user, id)


@pytest.mark.parametrize("word", ["purge", "dry", "import"])
async def test_what_is_stored_after_a_purge_or_an_import_is_not_lost_when_another_process_closes(
    word: str, path: Path
) -> None:
    process = start(do_as_told, path)
    hear(process, "open")
    tell(process, word)
    hear(process, word)
    others = finish(start(store_and_close, path, 3))
    stored = []
    assert process.stdout is not None
    for n in range(20):
        tell(process, str(n))
        stored.append(process.stdout.readline().strip())
    again = finish(start(store_and_close, path, 3))
    process.kill()
    process.communicate()
    async with open_memory(path) as memory:
        assert [id for id in (*others, *stored, *again) if await memory.get(id) is None] == []
    assert sound(path)


def delete(file: Path) -> None:
    file.unlink()


def move(file: Path) -> None:
    file.rename(file.with_name("moved"))


def replace(file: Path) -> None:
    other = file.with_name("other")
    other.write_bytes(b"x" * 1000)
    other.replace(file)


def truncate(file: Path) -> None:
    subprocess.run(["truncate", "-s", "0", file], check=True)


def halve(file: Path) -> None:
    subprocess.run(["truncate", "-s", str(file.stat().st_size // 2), file], check=True)


def overwrite(file: Path) -> None:
    """Copy an earlier backup over the file, as `cp` does: its inode stays."""
    subprocess.run(["cp", file.with_name("earlier.db"), file], check=True)


TAKEN: list[tuple[str, Callable[[Path], None]]] = [
    *[(end, how) for end in ("", "-wal", "-shm") for how in (delete, move, replace)],
    *[("", how) for how in (truncate, halve, overwrite)],
]


@plain_only
@pytest.mark.parametrize(("end", "how"), TAKEN)
async def test_a_write_to_a_file_that_was_taken_away_is_refused(
    end: str, how: Callable[[Path], None], path: Path
) -> None:
    async with open_memory(path) as memory:
        kept = [(await memory.remember(f"Tea {n}")).id for n in range(5)]
        await memory.admin.backup(path.with_name("earlier.db"))
        ids = [record.id for record in await memory.remember(["x" * 20_000 for n in range(300)])]
        await memory.remember("This has the log copied into the file")
        how(path.with_name(path.name + end))
        there = {each.name: each.stat().st_ino for each in path.parent.iterdir()}
        for number in range(2):
            with pytest.raises(StoreUnavailableError, match=r"memory\.db\S* was \w+.* writes are refused"):
                await memory.remember(f"Milk {number}")
        for call in (memory.rate(kept[0], 1), memory.forget(kept[1]), memory.purge(shared=True)):
            with pytest.raises(StoreError):
                await call
        assert {each.name: each.stat().st_ino for each in path.parent.iterdir()} == there, "nothing new was made"
        if how in (delete, move, replace):
            assert await memory.count() == len(kept) + len(ids) + 1, "what was open can still be read"
            assert len([line async for line in memory.export()]) == len(kept) + len(ids) + 2


@plain_only
async def test_what_another_process_makes_of_the_file_is_no_fault(path: Path) -> None:
    async with open_memory(path) as memory:
        await memory.remember(["x" * 20_000 for n in range(300)])
        for _ in range(3):
            assert finish(start(purge_user, path, "nobody")) == ["0"]
            await memory.remember("Tea")
            finish(start(store_and_close, path, 300))
            await memory.remember("Tea")
        await memory.purge(shared=True)
        assert finish(start(store_and_close, path, 3))
        await memory.remember("Tea")


@plain_only
async def test_a_log_that_belongs_to_another_file_is_not_copied_into_it(path: Path) -> None:
    async with open_memory(path) as memory:
        await memory.remember("Tea")
        copy = await memory.admin.backup(path.with_name("copy.db"))
        await memory.remember("Milk")
        copy.replace(path)
        before = path.read_bytes()
    assert path.read_bytes() == before


async def test_a_file_that_may_not_grow(path: Path) -> None:
    said = [line.split(maxsplit=1) for line in finish(start(grow, path, 3_000_000))]

    assert ["refused", "StoreError"] in said  # a limit is no full disk to SQLite, but an error of the disk
    assert said[-1][0] == "stored"
    stored = [words[1] for words in said if words[0] == "stored"]
    assert sound(path)
    async with open_memory(path) as memory:
        assert [id for id in stored if await memory.get(id) is None] == []
        assert await memory.count() == len(stored)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.system(f"mount -t tmpfs -o size=3m tmpfs '{folder}' 2> /dev/null"):
        pytest.skip("no small disk can be mounted here")
    yield folder
    os.system(f"umount -l '{folder}'")


async def test_a_disk_that_is_full(small_disk: Path) -> None:
    path = small_disk / "memory.db"
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 500_000)
    async with open_memory(path) as memory:
        ids = []
        with pytest.raises(StoreFullError, match="no space left"):
            while True:
                ids.append((await memory.remember("x" * 20_000)).id)
        with pytest.raises(StoreFullError):
            await memory.remember(["y" * 100_000] * 10)
        assert await memory.count() == len(ids)
        filler.unlink()
        ids.append((await memory.remember("Tea")).id)
    assert sound(path)
    async with open_memory(path) as memory:
        assert await memory.count() == len(ids)
        assert [id for id in ids if await memory.get(id) is None] == []


def change(path: Path, statement: str) -> None:
    """Change the file as another program would."""
    with contextlib.closing(connect_to(path)) as connection:
        connection.execute(statement)


async def test_a_removal_that_does_not_fit_removes_nothing(path: Path) -> None:
    async with open_memory(path, user="alice") as memory:
        await memory.remember([Draft(content=f"Tea {n}", metadata={"n": n % 2}) for n in range(4000)])
        change(  # as if the disk were full after 1,500 of 2,000
            path,
            "CREATE TRIGGER full BEFORE INSERT ON changes WHEN new.action = 'forgotten'"
            " AND (SELECT count(*) FROM changes WHERE action = 'forgotten') >= 1500"
            " BEGIN SELECT RAISE(ABORT, 'full'); END",
        )
        with pytest.raises(StoreError, match="full"):
            await memory.forget(where={"n": 1})
        assert await memory.count() == 4000
        change(path, "DROP TRIGGER full")
        assert await memory.forget(where={"n": 1}) == 2000
        assert await memory.count() == 2000
    assert sound(path)


async def test_a_database_that_is_full(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connections: list[apsw.Connection] = []
    monkeypatch.setattr(apsw, "connection_hooks", [connections.append])

    def grow_by(pages: int) -> None:
        for each in connections:
            each.pragma("max_page_count", each.pragma("page_count") + pages)

    async with open_memory(path) as memory:
        await memory.remember("Tea")
        grow_by(20)
        stored = ["Tea"]
        with pytest.raises(StoreFullError):
            while True:
                await memory.remember(f"{len(stored)} " + "x" * 50_000)
                stored.append("x")
        outcomes = await asyncio.gather(
            *(memory.remember("y" * 100_000) for _ in range(3)), memory.remember("Milk"), return_exceptions=True
        )
        assert all(isinstance(outcome, StoreFullError) for outcome in outcomes[:3])
        stored += ["Milk"] * (not isinstance(outcomes[3], BaseException))
        assert await memory.count() == len(stored)
        grow_by(10_000)
        await memory.remember("More tea")
        assert await memory.count() == len(stored) + 1
    assert sound(path)


# --- files that are none of ours ----------------------------------------------------------------------


async def opened(path: Path) -> None:
    async with open_memory(path) as memory:
        await memory.count()


@plain_only
@pytest.mark.parametrize("content", [b"hello", b"hello" * 1000, b"\0" * 5000, b"SQLite format 3\0" + b"\xff" * 5000])
async def test_a_file_of_something_else_is_refused_and_left_as_it_was(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreCorruptError, match="memory"):
        await opened(path)
    assert path.read_bytes() == content
    assert [each.name for each in path.parent.iterdir()] == ["memory.db"]


@plain_only
async def test_another_programs_database_is_refused_and_left_as_it_was(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(StoreCorruptError, match="another program"):
        await opened(path)
    assert path.read_bytes() == before


async def test_an_empty_file_becomes_a_memory(path: Path) -> None:
    path.touch()
    await opened(path)
    assert sound(path)


async def test_a_damaged_file_says_so(path: Path) -> None:
    async with open_memory(path) as memory:
        await memory.remember(f"note {n} " + "x" * 3000 for n in range(200))
    content = bytearray(path.read_bytes())
    for start_ in range(8192 * 3, len(content), 8192):
        content[start_ : start_ + 4000] = b"\xa5" * 4000
    path.write_bytes(content)

    with pytest.raises(StoreCorruptError, match="damaged"):
        async with open_memory(path) as memory:
            await memory.recent(1000)
            await memory.recall("note")


async def test_a_folder_and_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match="folder"):
        await opened(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailableError):
        await opened(tmp_path / "file" / "memory.db")
    with pytest.raises(StoreUnavailableError):
        await opened(Path("/proc/memory.db"))
    await opened(tmp_path / "new" / "folders" / "memory.db")


@pytest.mark.posix
async def test_the_next_backup_removes_what_a_killed_one_left(path: Path) -> None:
    async with open_memory(path) as memory:
        await memory.remember("Likes tea")
    killed = (
        "import os, pathlib, sys; from memorist.stores.sqlite import copying; from opening import KEY, connect_to\n"
        "copying.linked = lambda part, target: os.kill(os.getpid(), 9)\n"
        "copying.copy_to(connect_to(sys.argv[1]), pathlib.Path(sys.argv[2]), KEY)"
    )
    command = [sys.executable, "-c", killed, str(path), str(path.with_name("killed.db"))]
    await asyncio.to_thread(subprocess.run, command, check=False, cwd=Path(__file__).parent / "support")
    [left] = path.parent.glob(".killed.db.*.backup-part")
    half = left.with_name(left.name.replace("killed", "half"))
    half.write_bytes(left.read_bytes()[:5000])
    others = left.with_name(".mine.backup-part")
    others.write_text("not ours")
    in_use = left.with_name(left.name.replace("killed", "in use"))
    with contextlib.closing(connect_to(in_use)) as busy:
        busy.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE t (a); COMMIT").fetchall()

        async with open_memory(path) as memory:
            await memory.admin.backup(path.with_name("next.db"))

        hidden = {each.name for each in path.parent.glob(".*part")}
        assert hidden == {others.name, in_use.name}


async def test_a_backup_to_a_place_that_cannot_be_written(path: Path) -> None:
    async with open_memory(path) as memory:
        for target in (Path("/proc/backup.db"), path.parent / "none" / "backup.db"):
            with pytest.raises(StoreUnavailableError, match="backup"):
                await memory.admin.backup(target)


async def test_a_file_of_a_newer_version_is_refused_and_left_as_it_was(path: Path) -> None:
    await opened(path)
    with contextlib.closing(connect_to(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(SchemaError, match="pip install --upgrade"):
        await opened(path)
    assert path.read_bytes() == before


# --- who may read what is written ------------------------------------------------------------------------


def modes(folder: Path) -> dict[str, int]:
    return {each.name: each.stat().st_mode & 0o777 for each in folder.iterdir()}


async def test_only_the_owner_can_read_what_is_written(path: Path) -> None:
    before = os.umask(0)
    try:
        async with open_memory(path) as memory:
            await memory.remember("Tea")
            await memory.admin.backup(path.with_name("backup.db"))
            command = [sys.executable, "-m", "memorist", "--db", str(path), "--embedder", "hash"]
            for arguments in (
                ["export", "lines"],
                ["backup", "copy.db"],
                ["purge", "-u", "x", "--receipt", "receipt", "--yes"],
            ):
                run = [*command, *arguments]
                await asyncio.to_thread(subprocess.run, run, check=True, cwd=path.parent, capture_output=True)
            found = modes(path.parent)
        assert {"memory.db", "memory.db-wal", "memory.db-shm", "backup.db", "lines", "copy.db", "receipt"} <= set(found)
        with contextlib.closing(connect_to(path)) as connection:
            migrate(connection, path, [*MIGRATIONS, add_table], key=KEY)
        found |= modes(path.parent)
        assert f"memory.db.v{len(MIGRATIONS)}.bak" in found
        assert {name: oct(mode) for name, mode in found.items() if mode != 0o600} == {}
    finally:
        os.umask(before)


@pytest.mark.posix
async def test_a_file_that_is_there_keeps_its_rights(path: Path) -> None:
    path.touch()
    path.chmod(0o660)
    async with open_memory(path) as memory:
        await memory.remember("Tea")
        assert set(modes(path.parent).values()) == {0o660}


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Lay down root's rights meanwhile, which no file refuses anything."""
    ours = os.geteuid()
    if ours == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(ours)


@pytest.fixture
def shelf() -> Iterator[Path]:
    """A folder in which files can be read, and none be made, after `lock_up`."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        Path(folder).chmod(0o755)


def lock_up(folder: Path) -> None:
    for each in folder.iterdir():
        each.chmod(0o444)
    folder.chmod(0o555)


@plain_only
async def test_an_older_file_that_can_only_be_read_says_what_to_do(shelf: Path, tmp_path: Path) -> None:
    path = unpacked("39ec06a.db", shelf / "memory.db")
    lock_up(shelf)
    with as_nobody(), pytest.raises(StoreUnavailableError, match=r"earlier version .* open the copy"):
        async with open_memory(path):
            pass
    copy = tmp_path / "copy.db"
    copy.write_bytes(path.read_bytes())
    async with Memory.open(copy, embedder="hash") as memory:
        assert await memory.count() == 1


@plain_only
async def test_a_newer_file_names_the_copy_from_before_its_upgrade(tmp_path: Path) -> None:
    path = unpacked("39ec06a.db", tmp_path / "memory.db")
    async with Memory.open(path, embedder="hash"):
        pass
    with apsw.Connection(str(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(SchemaError, match=r"newer Memorist .* without later writes, is .*v6\.bak"):
        async with Memory.open(path, embedder="hash"):
            pass


async def test_a_file_that_can_only_be_read_is_counted_and_recalled(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.recall.persistence.KEPT_FROM", 5)
    path = shelf / "memory.db"
    async with open_memory(path) as memory:
        ids = {record.id for record in await memory.remember([f"coffee {n}" for n in range(20)])}
        await memory.recall("coffee")
        await kept(memory)
    lock_up(shelf)
    before = path.stat().st_mtime_ns, sorted(each.name for each in shelf.iterdir())
    with as_nobody():
        async with open_memory(path) as memory:
            assert await memory.count() == 20
            assert {hit.record.id for hit in await memory.recall("coffee", limit=20)} == ids
            segments = core_of(memory).store.segments
            found = None if segments is None else await segments.kept(memory.scope.wall)
            assert found is not None and found.spans
            assert len(await asyncio.gather(*(memory.get(id) for id in ids))) == 20
            for call in (memory.remember("Tea"), memory.forget(*ids), memory.revise(min(ids), content="x")):
                with pytest.raises(StoreUnavailableError, match="is read-only here"):
                    await call
            assert await memory.count() == 20
    assert (path.stat().st_mtime_ns, sorted(each.name for each in shelf.iterdir())) == before


async def test_a_file_that_can_only_be_read_is_not_read_without_its_log(shelf: Path) -> None:
    path = shelf / "memory.db"
    process = start(write_for_ever, path, "x")
    hear(process, "open")
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    process.communicate()
    path.with_name("memory.db-shm").unlink()
    lock_up(shelf)
    with (
        as_nobody(),
        pytest.raises(StoreUnavailableError, match=r"log .*-wal has changes that are not in the file yet"),
    ):
        await opened(path)


async def test_what_a_writer_changes_is_not_overlooked_by_one_who_can_only_read(shelf: Path) -> None:
    path = shelf / "memory.db"
    async with open_memory(path) as memory:
        await memory.remember("Tea")
    lock_up(shelf)
    with as_nobody():
        reading = await open_memory(path)
        assert await reading.count() == 1
    path.chmod(0o644)
    shelf.chmod(0o755)
    finish(start(store_and_close, path, 3))
    with as_nobody(), pytest.raises(StoreUnavailableError, match="written by another process"):
        await reading.count()
    await reading.close()


# --- migrations ----------------------------------------------------------------------------------------


def add_table(connection: apsw.Connection) -> None:
    connection.execute("CREATE TABLE added (x); INSERT INTO added SELECT content FROM records")


def fail(connection: apsw.Connection) -> None:
    connection.execute("DELETE FROM records")
    raise RuntimeError("a step went wrong")


async def test_a_migration_backs_up_and_keeps_everything(path: Path) -> None:
    async with open_memory(path) as memory:
        record = await memory.remember("Tea")
    with contextlib.closing(connect_to(path)) as connection:
        migrate(connection, path, [*MIGRATIONS, add_table], key=KEY)
        migrate(connection, path, [*MIGRATIONS, add_table], key=KEY)
        assert connection.execute("SELECT x FROM added").get == "Tea"
        assert connection.pragma("user_version") == len(MIGRATIONS) + 1

    backup = path.with_name(f"memory.db.v{len(MIGRATIONS)}.bak")
    with pytest.raises(SchemaError):
        await opened(path)
    shutil.copy(backup, path.with_name("old.db"))
    async with open_memory(path.with_name("old.db")) as memory:
        assert await memory.get(record.id) == record


async def test_marks_that_stood_behind_the_terms_get_a_field_of_their_own(path: Path) -> None:
    async with open_memory(path) as memory:
        said = Draft(content="I swam yesterday", kind="message", session="s", payload={"speaker": "Ann"})
        await memory.remember([said, "Tea"])
        wall = memory.scope.wall
        before = (await core_of(memory).store.entries(wall, None, 0)).entries
    with contextlib.closing(connect_to(path)) as connection:  # as version 1 wrote it
        old = [(entry.number, entry.terms + (" ! ~ @-1" if entry.marks else "")) for entry in before]
        undo_latest(connection)
        connection.execute("DROP TABLE kept_indexes; DROP TABLE segments; DROP TABLE audit; DROP INDEX records_derived")
        connection.execute("DROP TABLE quotes")
        for column in ("authors", "door", "derived_from"):
            connection.execute(f"ALTER TABLE records DROP COLUMN {column}")
        connection.execute("DELETE FROM indexed; INSERT INTO words (words) VALUES ('delete-all')")
        for table in ("indexed", "staged"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN marks")
        for table in ("records", "indexed", "changes", "staged"):
            connection.execute(f"ALTER TABLE {table} RENAME COLUMN wall TO partition")
        connection.execute("ALTER TABLE walls RENAME TO partitions")
        for number, terms in old:
            connection.execute("INSERT INTO indexed VALUES (1, ?, ?, NULL)", (number, terms))
            connection.execute("INSERT INTO words (rowid, wall, terms) VALUES (?, 'p1', ?)", (number, terms))
        connection.execute("PRAGMA user_version = 1")

    async with open_memory(path) as memory:
        store = core_of(memory).store
        after = (await store.entries(wall, None, 0)).entries
        assert [(entry.terms, entry.marks) for entry in after] == [
            ("swam yesterday", {"tells", "timed", "day:-1"}),
            ("tea", frozenset()),
        ]
        assert [number for number, _ in await store.search_words(wall, ["swam"], 9)] == [before[0].number]
        assert await store.search_words(wall, ["!", "~", "@-1"], 9) == []
        assert await store.check() == []


async def test_a_migration_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    async with open_memory(path) as memory:
        record = await memory.remember("Tea")
    with contextlib.closing(connect_to(path)) as connection:
        with pytest.raises(RuntimeError):
            migrate(connection, path, [*MIGRATIONS, add_table, fail], key=KEY)
        assert connection.pragma("user_version") == len(MIGRATIONS)
    assert sound(path)
    async with open_memory(path) as memory:
        assert await memory.get(record.id) == record


async def test_two_processes_migrate_once(path: Path) -> None:
    async with open_memory(path) as memory:
        await memory.remember("Tea")
    processes = [start(migrate_when_told, path) for _ in range(2)]
    for process in processes:
        hear(process, "ready")
    tell(processes[0], "go")
    hear(processes[0], "migrating")  # in the middle of it, when the other one begins
    tell(processes[1], "go")
    tell(processes[0], "go on")
    assert [finish(process) for process in processes] == [[str(len(MIGRATIONS) + 1)]] * 2
    assert sound(path)


def hear(process: Popen[str], word: str) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == f"{word}\n"


def tell(process: Popen[str], word: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{word}\n")
    process.stdin.flush()


async def test_closing_leaves_one_file(path: Path) -> None:
    async with open_memory(path) as memory:
        await memory.remember("Tea")
        await memory.recall("tea")
    assert [each.name for each in path.parent.iterdir()] == ["memory.db"]


async def test_every_error_is_of_one_tree(path: Path) -> None:
    path.write_bytes(b"x" * 10_000)
    with pytest.raises(MemoristError):
        await Memory.open(path)
