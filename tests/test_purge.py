"""Forgetting, down to the bytes of the files.

What was measured: `secure_delete` zeroes a deleted cell where it lies, but when a page splits or is packed
anew SQLite leaves copies of cells behind in the free space of pages, where nothing finds them again to zero
them. So a purge rewrites the file (VACUUM) and truncates the log; without the rewrite, tens of thousands of
words of the purged user were still in the file. `forget` does not rewrite it: the texts leave every table and
the text index at once, and on closing the log goes too, but copies may lie in free space until a purge.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import anyio
import apsw
import numpy as np
import pytest

from children import finish, hold_open, open_memory, purge_until_killed, purge_user, start, store_and_close
from inside import core_of
from memorist.errors import ClosedError, StoreBusyError
from memorist.memory import Memory
from memorist.records.record import Draft, Record
from memorist.records.scope import Wall
from memorist.serve.auth import Tokens
from memorist.stores.base import Staged
from memorist.stores.sqlite import purging
from memorist.stores.sqlite.claims import Claim
from memorist.stores.sqlite.connections import Connections
from memorist.stores.sqlite.purging import Purger
from opening import bytes_beside, connect_to, plain_only, store_at

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

VICTIM, MARK = "qvictimz", "qmarkz"
"""In the name and in every text of the user to be purged, and nowhere else. Also what the analyser keeps."""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file in which indexes are kept of a few records on."""
    monkeypatch.setattr("memorist.recall.persistence.KEPT_FROM", 10)
    monkeypatch.setattr("memorist.recall.persistence.SEGMENT_ROWS", 32)
    return tmp_path / "memory.db"


def traces(path: Path, *words: str) -> dict[str, int]:
    """Return how often the words are in the bytes of each file beside `path`, where they are at all."""
    counts = {
        name: sum(content.lower().count(word.encode()) for word in words)
        for name, content in bytes_beside(path).items()
    }
    return {name: count for name, count in counts.items() if count}


class Life:
    """Users who store, revise, supersede, rate and forget texts of all sizes, one in turn with the other."""

    def __init__(self, memory: Memory, seed: int) -> None:
        self.memory = memory
        self.chance = random.Random(seed)
        self.ids: dict[str, list[str]] = {}

    def text(self, mark: str, words: int) -> str:
        def word(n: int) -> str:
            return (mark if n % 3 == 0 else "") + "".join(self.chance.choices("abcdefgh", k=5))

        return " ".join(word(n) for n in range(words))

    def draft(self, mark: str) -> Draft:
        name = self.text(mark, 1) + str(self.chance.random())
        return Draft(
            content=self.text(mark, self.chance.choice([3, 10, 40, 40, 300, 2000])),
            kind=self.chance.choice(["note", "message", "topic", "fact"]),
            id=f"id-{name}",
            key=f"key-{name}" if self.chance.random() < 0.5 else None,
            cue=self.text(mark, 5) if self.chance.random() < 0.3 else None,
            metadata={self.text(mark, 1): self.text(mark, 4)},
            payload={"deep": [self.text(mark, self.chance.choice([2, 400]))]},
            source=self.text(mark, 1),
            agent=self.text(mark, 1),
            session=f"session-{mark}-{self.chance.randrange(4)}",
            expires_at=-1 if self.chance.random() < 0.05 else None,
        )

    async def step(self, user: str, mark: str) -> None:
        memory, ids = self.memory.scoped(user=user), self.ids.setdefault(user, [])
        chosen = self.chance.random()
        if chosen < 0.35 or len(ids) < 5:
            made = await memory.remember([self.draft(mark) for _ in range(self.chance.randrange(1, 8))])
            ids += [record.id for record in made if record.expires_at is None]
        elif chosen < 0.7:
            words = self.chance.choice([3, 30, 300, 2000])
            await memory.revise(self.chance.choice(ids), content=self.text(mark, words), source=self.text(mark, 1))
        elif chosen < 0.8:
            old = ids.pop(self.chance.randrange(len(ids)))
            ids.append((await memory.remember(Draft(content=self.text(mark, 9), supersedes=old))).id)
        elif chosen < 0.9:
            await memory.rate(self.chance.choice(ids), self.chance.random(), source=self.text(mark, 1))
        else:
            await memory.forget(ids.pop(self.chance.randrange(len(ids))), source=self.text(mark, 1))

    async def pass_by(self, steps: int, *users: str) -> None:
        for _ in range(steps):
            await self.step(VICTIM, MARK)
            await self.step(self.chance.choice(users), "zneighbourq")
        for user in (VICTIM, *users):
            await self.memory.scoped(user=user).recall("anything")  # its index is kept in the file
        await core_of(self.memory).recaller.indexes.close()  # waits until it is


async def everything(memory: Memory) -> list[Record]:
    return (await memory.browse(superseded=True, order="oldest", limit=10_000)).records


@pytest.mark.parametrize(("seed", "size"), [(1, 2**30), (2, 0)])
async def test_a_purge_leaves_no_byte_of_the_user_and_every_byte_of_the_others(
    path: Path, seed: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.stores.sqlite.purging._REWRITTEN_IN_MEMORY", size)
    async with open_memory(path) as memory:
        life = Life(memory, seed)
        await life.pass_by(40, "anna", "bert", "carl")
        held = start(hold_open, path, VICTIM)
        assert held.stdout is not None
        held.stdout.readline()
        await life.pass_by(40, "anna", "bert", "carl")
        others = {user: await everything(memory.scoped(user=user)) for user in ("anna", "bert", "carl")}
        assert traces(path, VICTIM, MARK)
        assert MARK in _tables(path, "segments")

        assert (await memory.purge(user=VICTIM)).purged > 0

        assert traces(path, VICTIM, MARK) == {}
        assert {user: await everything(memory.scoped(user=user)) for user in others} == others
        held.communicate()
    assert traces(path, VICTIM, MARK) == {}


async def test_a_purge_takes_the_tokens_of_the_user_along_and_no_others(path: Path) -> None:
    async with open_memory(path) as memory:
        await memory.scoped(user=VICTIM).remember("Tea")
        tokens = Tokens(memory)
        await tokens.create(f"laptop of {VICTIM}", user=VICTIM)
        for name, tenant, user in [("x", "other", "anna"), ("y", None, None), ("z", "default", None)]:
            await tokens.create(name, tenant=tenant, user=user)
        await memory.purge(user="anna")
        assert len(await tokens.list()) == 4, "a user of the same name in another tenant is another"
        assert (await memory.scoped(user=VICTIM).purge()).purged == 1
        assert [token.grant.name for token in await tokens.list()] == ["x", "y", "z"]
    assert traces(path, VICTIM) == {}


async def test_a_purge_takes_the_traces_of_the_user_along(path: Path) -> None:
    async with open_memory(path, keep_traces="7d") as memory:
        life = Life(memory, 5)
        await life.pass_by(10, "anna")
        victim, anna = memory.scoped(user=VICTIM), memory.scoped(user="anna")
        await memory.remember(f"{MARK} shared by all")
        for n in range(60):
            for user, mark in ((victim, MARK), (anna, "zneighbourq")):
                await user.context(life.text(mark, n % 7 + 1), min_confidence=0.0, tokens=200 + 60 * n, shared=True)
            if n % 20 == 7:
                await victim.forget(kind="note", key_prefix="key-")
        assert any(MARK in each.text for each in (await anna.admin.traces()).traces), (
            "what is shared is quoted by others"
        )
        assert (await victim.admin.traces()).traces
        await memory.purge(user=VICTIM)
        assert (await anna.admin.traces()).traces
        await memory.purge(shared=True)
        assert traces(path, VICTIM, MARK) == {}
    assert traces(path, VICTIM, MARK) == {}


async def test_a_purge_by_another_process(path: Path) -> None:
    async with open_memory(path) as memory:
        await Life(memory, 3).pass_by(30, "anna")
        assert await memory.scoped(user=VICTIM).recall(MARK)
        finish(start(purge_user, path, VICTIM))
        assert traces(path, VICTIM, MARK) == {}
        await memory.scoped(user="anna").remember("Tea")
        assert await memory.scoped(user=VICTIM).recall(MARK) == []
    assert traces(path, VICTIM, MARK) == {}


async def filled(path: Path, users: Sequence[str] = ("anna",)) -> dict[str, list[Record]]:
    """Store what the victim and some others say, and return what the others have."""
    async with open_memory(path) as memory:
        await Life(memory, 6).pass_by(20, *users)
        return {user: await everything(memory.scoped(user=user)) for user in users}


async def check_finished(path: Path, others: dict[str, list[Record]]) -> None:
    """Open the file, and check that nothing is left of the victim, and everything of the others."""
    async with open_memory(path) as memory:
        assert await memory.scoped(user=VICTIM).count(superseded=True) == 0
        assert {user: await everything(memory.scoped(user=user)) for user in others} == others
    assert traces(path, VICTIM, MARK) == {}
    with closing(connect_to(path)) as connection:
        assert connection.pragma("integrity_check") == "ok"
        connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
        assert connection.execute("SELECT count(*) FROM purges").get == 0
        assert connection.execute("SELECT count(*) FROM indexed LEFT JOIN records USING (wall, number)"
                                  " WHERE id IS NULL").get == 0  # fmt: skip


@pytest.mark.parametrize("where", ["before", "after"])
async def test_a_purge_that_was_killed_at_any_step_is_finished_by_the_next_opening(path: Path, where: str) -> None:
    others = await filled(path)
    held = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    step, said = 0, list[str]()
    while "purged" not in said:
        for name, content in held.items():
            path.with_name(name).write_bytes(content)
        said = finish(start(purge_until_killed, path, VICTIM, step := step + 1, where))
        assert said[0] == "purging"
        if step == 1:
            assert traces(path, VICTIM, MARK)
        await check_finished(path, others)
    assert step > 5


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.weekly) for part in range(1, 50))])
async def test_a_purge_that_was_killed_at_any_moment_is_finished_by_the_next_opening(
    path: Path, part: int, request: pytest.FixtureRequest
) -> None:
    """Four rounds with each change and 200 weekly, in parts that each end in time; `--soak` sets those of a part."""
    chance = random.Random(9 + part)
    others = await filled(path)
    held = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    for _ in range(request.config.getoption("--soak")):
        for file in path.parent.iterdir():
            file.unlink()
        for name, content in held.items():
            path.with_name(name).write_bytes(content)
        process = start(purge_until_killed, path, VICTIM, 0, "before")
        assert process.stdout is not None
        assert process.stdout.readline() == "purging\n"
        await asyncio.sleep(chance.random() * 0.6)
        process.kill()
        said = process.communicate()[0]
        async with open_memory(path) as memory:
            there = await memory.scoped(user=VICTIM).count(superseded=True)
        if there:  # nothing was withdrawn yet
            assert "purged" not in said
            async with open_memory(path) as memory:
                await memory.purge(user=VICTIM)
        await check_finished(path, others)


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return whether each attempt of this process to claim a purge was successful."""
    made, take = list[bool](), Claim.take

    def noted(claim: Claim) -> bool:
        made.append(take(claim))
        return made[-1]

    monkeypatch.setattr(Claim, "take", noted)
    return made


async def _until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(120):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_purge_is_left_to_the_process_that_is_about_it_and_taken_over_when_that_is_killed(
    path: Path, attempts: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    others = await filled(path)
    process = start(purge_until_killed, path, VICTIM, 3, "hold")
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["purging\n", "held\n"]
    rewritten, rewrite = [0], purging.rewrite

    def counted(connection: apsw.Connection) -> None:
        rewritten[0] += 1
        rewrite(connection)

    monkeypatch.setattr(purging, "rewrite", counted)
    async with open_memory(path) as first, open_memory(path) as second:
        await _until(lambda: len(attempts) > 4)
        await first.remember("Tea")
        assert not any(attempts)
        process.kill()
        process.communicate()
        await _until(lambda: rewritten == [1])
        assert await second.count() == 1
        await first.purge(shared=True)
    assert rewritten == [2]
    await check_finished(path, others)
    assert not path.with_name(f"{path.name}-purge").exists()


async def test_closing_leaves_a_purge_to_the_process_that_is_about_it(path: Path, attempts: list[bool]) -> None:
    others = await filled(path)
    process = start(purge_until_killed, path, VICTIM, 3, "hold")
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["purging\n", "held\n"]
    async with open_memory(path) as memory:
        await _until(lambda: len(attempts) > 0)
        waiting = asyncio.create_task(memory.purge(user="bert"))
        await _until(lambda: len(attempts) > 3)
    with pytest.raises(ClosedError, match="another process"):
        await waiting
    assert process.communicate("\n")[0] == "purged\n"
    await check_finished(path, others)


async def test_a_purge_takes_no_thread_of_the_event_loop(path: Path) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    claim = Claim(path)
    async with open_memory(path) as memory:
        await memory.scoped(user=VICTIM).remember(MARK)
        assert claim.take()
        purge = asyncio.create_task(memory.purge(user=VICTIM))
        with anyio.fail_after(120):
            while await memory.scoped(user=VICTIM).count():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            assert await asyncio.to_thread(lambda: 1) == 1
        assert not purge.done()
        claim.release()
        assert (await purge).purged == 1
    assert traces(path, VICTIM, MARK) == {}


async def test_others_write_while_a_purge_waits_for_who_reads_old_pages(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried, empty_log = [0], purging.empty_log

    def counted(*given: Any, **more: Any) -> bool:
        tried[0] += 1
        return empty_log(*given, **more)

    monkeypatch.setattr(purging, "empty_log", counted)
    async with open_memory(path) as memory:
        await memory.scoped(user=VICTIM).remember(MARK)
        with closing(connect_to(path)) as reader, closing(connect_to(path)) as writer:
            reader.execute("BEGIN; SELECT count(*) FROM records")
            purge = asyncio.create_task(memory.purge(user=VICTIM))
            await _until(lambda: tried[0] > 1)
            writer.set_busy_timeout(5_000)
            writer.execute("BEGIN IMMEDIATE; COMMIT")
            await memory.remember("Tea")
            assert not purge.done()
            reader.execute("ROLLBACK")
        assert (await purge).purged == 1
        assert traces(path, VICTIM, MARK) == {}


async def test_a_withdrawn_wall_is_seen_by_nothing_while_its_rows_are_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Purger, "_finish", lambda purger: None)
    async with open_memory(path) as memory:
        victim = memory.scoped(user=VICTIM)
        old = await victim.remember([f"{MARK} {n}" for n in range(30)])
        await victim.remember("Gone soon", expires_at=1)
        assert (await memory.purge(user=VICTIM)).purged == 31
        assert MARK in _tables(path, "records")
        assert VICTIM not in await memory.admin.users()
        assert await victim.count(superseded=True) == 0
        assert await victim.recall(MARK) == []
        assert await victim.get(old[0].id) is None
        assert await victim.history(old[0].id) == []
        new = await victim.remember("Tea", id=old[0].id)
        assert [hit.record for hit in await victim.recall(MARK)] == [new]
        assert await memory.admin.reindex() == 1
        monkeypatch.undo()
        await memory.purge(user="nobody")
        assert traces(path, MARK) == {}
        assert await victim.get(new.id) == new


@pytest.mark.parametrize("records", [100, 200])
async def test_a_purge_lets_others_write_between_its_steps(
    path: Path, records: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many records there are, one step deletes a batch, and a write waits for one step."""
    batch, steps = 10, 0
    monkeypatch.setattr(purging, "BATCH_ROWS", batch)
    statements: list[int] = []
    waited: list[int] = []
    remove_some = purging.remove_some

    def counted(connection: apsw.Connection, wall_id: int) -> bool:
        nonlocal steps
        steps, before = steps + 1, connection.total_changes()
        more = remove_some(connection, wall_id)
        statements.append(connection.total_changes() - before)
        return more

    write = Connections.write

    async def measured(connections: Connections, work: Callable[[apsw.Connection], Any], *, alone: bool = False) -> Any:
        begun = steps

        def work_after(connection: apsw.Connection) -> Any:
            waited.append(steps - begun)
            return work(connection)

        return await write(connections, work_after, alone=alone)

    monkeypatch.setattr(purging, "remove_some", counted)
    async with open_memory(path) as memory:
        await memory.scoped(user=VICTIM).remember([f"{MARK} {n}" for n in range(records)])
        other = memory.scoped(user="anna")
        await other.remember("Tea")
        purge = asyncio.create_task(memory.purge(user=VICTIM))
        # From where a write is handed over: this loop's own work before that may take longer than steps.
        monkeypatch.setattr(Connections, "write", measured)
        while not purge.done():
            await other.remember("Milk")
        await purge
    assert steps >= records / batch
    assert len(waited) >= records / batch / 2
    assert median(waited) <= 1  # on a busy machine single writes see more steps begin
    assert max(waited) < steps / 2
    # a record, an entry, a change, and what the text index and its settings take
    assert max(statements) <= 3 * batch + 120, statements


async def test_another_process_writes_between_the_steps_of_a_purge(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purging, "BATCH_ROWS", 10)
    async with open_memory(path) as memory:
        await memory.scoped(user=VICTIM).remember([f"{MARK} {n}" for n in range(300)])
        purge = asyncio.create_task(memory.purge(user=VICTIM))
        finish(await asyncio.to_thread(start, store_and_close, path, 20))
        assert (await purge).purged == 300
        assert await memory.count() == 20
    assert traces(path, VICTIM, MARK) == {}


async def test_a_purge_during_a_reindex(path: Path) -> None:
    async with open_memory(path) as memory:
        await Life(memory, 4).pass_by(20, "anna")
        store = core_of(memory).store
        rows = await store.to_reembed("next-v1", 1000)
        staged = [
            Staged(record.scope.wall, n, version, np.ones(3, np.float32), record.text) for n, version, record in rows
        ]
        await store.stage("next-v1", staged)
        await memory.purge(user=VICTIM)
        assert traces(path, VICTIM, MARK) == {}


async def test_a_purge_is_told_when_another_keeps_old_pages(path: Path) -> None:
    store = store_at(path, busy_timeout=0.1)
    async with open_memory(path) as memory:
        await memory.scoped(user=VICTIM).remember(MARK)
    await store.open()
    reader = connect_to(path)
    reader.execute("BEGIN; SELECT count(*) FROM records")
    with pytest.raises(StoreBusyError, match="again"):
        await store.purge(Wall("default", VICTIM))
    reader.execute("ROLLBACK")
    reader.close()
    assert await store.purge(Wall("default", VICTIM)) == {}
    assert traces(path, VICTIM, MARK) == {}
    await store.close()


def _tables(path: Path, *names: str) -> str:
    with_everything = []
    connection = connect_to(path)
    for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"):
        if name != "words" and (not names or name in names):
            with_everything += [repr(row) for row in connection.execute(f"SELECT * FROM {name}")]
    connection.close()
    return "\n".join(with_everything)


async def test_what_is_forgotten_leaves_every_table_at_once(path: Path) -> None:
    async with open_memory(path) as memory:
        alice = memory.scoped(user="alice")
        await alice.remember(f"neighbour {n}" for n in range(50))
        record = await alice.remember(
            f"{MARK} one", metadata={MARK: 1}, payload={"a": MARK}, cue=f"cue {MARK}", key=MARK
        )
        await alice.revise(record.id, content=f"{MARK} two", metadata={})
        await alice.rate(record.id, 1)
        assert MARK in _tables(path)

        await alice.forget(record.id)

        assert MARK not in _tables(path)
        assert len(await alice.history(record.id)) == 4
    assert traces(path, MARK) == {}


async def test_what_expired_leaves_every_table_when_swept(path: Path) -> None:
    async with open_memory(path) as memory:
        await memory.remember(f"{MARK} {n}" for n in range(3))
        await memory.remember(MARK, expires_at=-1)
        await memory.forget(kind="note")
    async with open_memory(path):  # opening sweeps
        pass
    assert MARK not in _tables(path)
    assert traces(path, MARK) == {}


@plain_only
async def test_the_rewrite_is_what_makes_a_purge_complete(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The day this fails, SQLite zeroes what it leaves behind, and a purge may become cheap."""

    def without_rewrite(connection: apsw.Connection) -> None:
        connection.execute("INSERT INTO words (words) VALUES ('optimize')")

    monkeypatch.setattr(purging, "rewrite", lambda connection: None)
    monkeypatch.setattr(purging, "merge_some", lambda connection, begin: without_rewrite(connection))
    async with open_memory(path) as memory:
        await Life(memory, 1).pass_by(60, "anna")
        await memory.purge(user=VICTIM)
        assert traces(path, MARK)
