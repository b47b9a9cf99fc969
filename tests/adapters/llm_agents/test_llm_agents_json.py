"""The JSONL store: the newest episodes, in a file that no kill and no full disk breaks."""

import asyncio
import os
import re
import warnings
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from episodes import NOON, episode, held, instructions, start
from memorist.adapters.llm_agents import (
    EpisodeNotFoundError,
    JSONMemoryStore,
    MemoryStoreError,
    MemoryStoreWarning,
    RecallMode,
)

pytestmark = pytest.mark.anyio


def in_file(store: JSONMemoryStore) -> list[str]:
    """What the file of a store holds."""
    return [each.model_dump_json() for each in held(JSONMemoryStore(store.path.parent, store.path.name))]


def in_memory(store: JSONMemoryStore) -> list[str]:
    return [each.model_dump_json() for each in held(store)]


async def test_the_newest_come_first_and_at_most_so_many(tmp_path: Path) -> None:
    store = JSONMemoryStore(tmp_path, max_results=2)
    for name, minutes in (("b", 2), ("a", 1), ("c", 3)):
        await store.write(episode(name, minutes=minutes))
    assert instructions(await store.recall("no matter")) == ["c", "b"]
    assert instructions(await JSONMemoryStore(tmp_path, max_results=9).recall("")) == ["c", "b", "a"]


async def test_those_of_the_same_time_come_in_the_order_they_were_written(tmp_path: Path) -> None:
    store = JSONMemoryStore(tmp_path)
    for name in "bac":
        await store.write(episode(name))
    assert instructions(await store.recall("")) == ["b", "a", "c"]
    assert instructions(await JSONMemoryStore(tmp_path).recall("")) == ["b", "a", "c"]


async def test_times_with_and_without_a_zone_can_be_compared(tmp_path: Path) -> None:
    store = JSONMemoryStore(tmp_path)
    await store.write(episode("local"))
    await store.write(episode("later", completed_at=NOON.astimezone(UTC) + timedelta(seconds=1)))
    assert instructions(await store.recall("")) == ["later", "local"]


async def test_times_at_either_end_of_the_calendar_are_times(tmp_path: Path) -> None:
    store = JSONMemoryStore(tmp_path)
    for name, time in {"first": datetime.min, "last": datetime.max, "now": NOON}.items():
        await store.write(episode(name, completed_at=time))
    assert instructions(await store.recall("anything")) == ["last", "now", "first"]
    assert "9999-12-31" in await store.summary()


async def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    store = JSONMemoryStore(tmp_path)
    told = episode("Grüße\nan ☃", "line one\nline two", metadata={"reflection": "née"}, id_="e-1")
    await store.write(told)
    await store.write(episode("b", None, error=ValueError("no")))
    again = JSONMemoryStore(tmp_path)
    assert again.path == tmp_path / "episodes.jsonl"
    assert held(again)[0] == told and held(again)[1].error == "ValueError: no"
    assert len(again.path.read_text(encoding="utf-8").splitlines()) == 2


async def test_the_file_and_its_folder_are_made_with_the_first_episode(tmp_path: Path) -> None:
    store = JSONMemoryStore(tmp_path / "deep" / "down", "log.jsonl")
    assert await store.count() == 0 and await store.recall("") == []
    assert not (tmp_path / "deep").exists()
    await store.write(episode("a"))
    assert [each.name for each in (tmp_path / "deep" / "down").iterdir()] == ["log.jsonl"]


async def test_there_is_no_search(tmp_path: Path) -> None:
    store = JSONMemoryStore(tmp_path, recall_mode=RecallMode.SEARCH)
    with pytest.raises(NotImplementedError):
        await store.recall("flights")


async def test_the_same_id_replaces(tmp_path: Path) -> None:
    store = JSONMemoryStore(tmp_path)
    for text in ("first", "second"):
        await store.write(episode(text, id_="e-1"))
        await store.write(episode("other", id_="e-2"))
    assert instructions(held(store)) == ["second", "other"]
    assert in_file(store) == in_memory(store)


async def test_an_episode_can_be_updated_and_deleted(tmp_path: Path) -> None:
    store = JSONMemoryStore(tmp_path)
    for name in "abc":
        await store.write(episode(name, id_=name))
    await store.update(episode("B", id_="b"))
    await store.delete("a")
    assert instructions(held(store)) == ["B", "c"]
    assert in_file(store) == in_memory(store) and await store.count() == 2


async def test_what_is_not_there_cannot_be_deleted_or_updated(tmp_path: Path) -> None:
    store = JSONMemoryStore(tmp_path)
    for work in (store.delete("gone"), store.update(episode("a", id_="gone"))):
        with pytest.raises(EpisodeNotFoundError, match=r"^Episode 'gone' not found in JSONMemoryStore\.$"):
            await work


async def test_the_summary_names_the_newest_and_the_oldest(tmp_path: Path) -> None:
    store = JSONMemoryStore(tmp_path)
    path = tmp_path / "episodes.jsonl"
    assert await store.summary() == f"JSONMemoryStore: 0 episodes | path={path}"
    await store.write(episode("old", minutes=-60))
    await store.write(episode("n" * 100))
    assert await store.summary() == (
        f"JSONMemoryStore: 2 episodes | path={path}\n"
        f"  newest: 2026-05-30 12:00:00 | {'n' * 60}\n"
        "  oldest: 2026-05-30 11:00:00 | old"
    )


async def test_what_a_caller_does_to_an_episode_afterwards_changes_nothing(tmp_path: Path) -> None:
    store = JSONMemoryStore(tmp_path)
    written = episode("a")
    await store.write(written)
    [read] = await store.recall("")
    for each in (written, read):
        each.metadata["changed"] = "yes"
        each.task.instruction = "changed"
    assert instructions(await store.recall("")) == ["a"] and in_file(store) == in_memory(store)


async def test_many_writes_at_once_all_arrive(tmp_path: Path) -> None:
    stores = [JSONMemoryStore(tmp_path) for _ in range(3)]
    await asyncio.gather(*(store.write(episode(f"{lane}-{n}")) for lane, store in enumerate(stores) for n in range(20)))
    for store in stores:
        assert await store.count() == 60
        assert in_file(store) == in_memory(store)


async def test_another_stores_writes_are_seen_and_kept(tmp_path: Path) -> None:
    one, other = JSONMemoryStore(tmp_path), JSONMemoryStore(tmp_path)
    await one.write(episode("a", id_="a"))
    assert await other.count() == 1
    await other.write(episode("b", id_="b"))
    await one.delete("a")
    assert instructions(await other.recall("")) == ["b"]


# --- damage ----------------------------------------------------------------------------------------------


async def test_a_last_line_that_is_cut_off_is_reported_and_skipped_wherever_it_is_cut(tmp_path: Path) -> None:
    store = JSONMemoryStore(tmp_path)
    for name in ("a", "b", "c ☃"):
        await store.write(episode(name, id_=name[0]))
    whole = store.path.read_bytes()
    begins = whole.rstrip().rfind(b"\n") + 1
    for cut in range(begins + 1, len(whole) - 1):
        store.path.write_bytes(whole[:cut])
        with pytest.warns(MemoryStoreWarning, match=r"episodes\.jsonl: the last line, 3, is cut off and was skipped"):
            torn = JSONMemoryStore(tmp_path)
        assert instructions(held(torn)) == ["a", "b"]
    await torn.write(episode("d", id_="d"))
    assert instructions(held(JSONMemoryStore(tmp_path))) == ["a", "b", "d"]
    assert (tmp_path / "episodes.jsonl.torn").read_bytes() == whole[begins : len(whole) - 2] + b"\n"


async def test_a_whole_last_line_without_its_end_is_an_episode(tmp_path: Path) -> None:
    store = JSONMemoryStore(tmp_path)
    await store.write(episode("a"))
    store.path.write_bytes(store.path.read_bytes().rstrip(b"\n"))
    again = JSONMemoryStore(tmp_path)
    await again.write(episode("b"))
    assert instructions(held(JSONMemoryStore(tmp_path))) == ["a", "b"]


async def test_a_torn_line_is_set_aside_by_a_delete_too(tmp_path: Path) -> None:
    store = JSONMemoryStore(tmp_path)
    await store.write(episode("a", id_="a"))
    with store.path.open("a") as file:
        file.write('{"id_": "tor')
    with pytest.warns(MemoryStoreWarning):
        await store.delete("a")
    assert store.path.read_bytes() == b"" and await store.count() == 0
    assert (tmp_path / "episodes.jsonl.torn").read_bytes() == b'{"id_": "tor\n'


@pytest.mark.parametrize("bad", [b"{", b"[]", b'{"id_": "a"}', b"\xff\xfe", b"\0\0\0\0"])
async def test_a_corrupt_line_in_the_middle_is_an_error_that_names_it(tmp_path: Path, bad: bytes) -> None:
    store = JSONMemoryStore(tmp_path)
    for name in "abc":
        await store.write(episode(name))
    first, second, third = store.path.read_bytes().splitlines()
    store.path.write_bytes(b"\n".join([first, b"", bad, second, third, b""]))
    with pytest.raises(MemoryStoreError, match=re.escape(f"{store.path}, line 3 is not an episode")):
        JSONMemoryStore(tmp_path)
    damaged = store.path.read_bytes()
    with pytest.raises(MemoryStoreError, match="line 3"):
        await store.write(episode("d"))
    assert store.path.read_bytes() == damaged


@pytest.mark.parametrize("fails", ["write", "fsync", "replace"])
@pytest.mark.parametrize("work", ["write", "update", "delete"])
async def test_a_write_that_fails_changes_neither_the_file_nor_the_memory(
    tmp_path: Path, fails: str, work: str
) -> None:
    store = JSONMemoryStore(tmp_path)
    for name in "ab":
        await store.write(episode(name, id_=name))
    before, content = in_memory(store), store.path.read_bytes()
    broken = OSError(28, "No space left on device")
    target = patch.object(os, "replace", side_effect=broken) if fails == "replace" else failing_once(fails, broken)
    works: dict[str, Callable[[], Awaitable[None]]] = {
        "write": lambda: store.write(episode("c", id_="c")),
        "update": lambda: store.update(episode("B", id_="b")),
        "delete": lambda: store.delete("a"),
    }
    does = works[work]
    if (fails, work) == ("replace", "write"):
        return  # appending replaces nothing
    with target, pytest.raises(OSError, match="No space left"):
        await does()
    assert in_memory(store) == before and store.path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["episodes.jsonl"]
    await does()
    assert in_memory(store) == in_file(store) != before


def failing_once(name: str, error: OSError) -> AbstractContextManager[Any]:
    """Let the next call of a function of `os` fail, a write after half of it was done."""
    real = getattr(os, name)
    failed: list[bool] = []

    def once(file: int, *data: bytes) -> object:
        if failed:
            return real(file, *data)
        failed.append(True)
        if data:
            real(file, data[0][: len(data[0]) // 2])
        raise error

    return patch.object(os, name, once)


def test_where_no_space_is_left_memory_and_file_stay_the_same(tmp_path: Path) -> None:
    process = start("write_until_full", tmp_path)
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 0
    failures, count = map(int, out.split())
    assert failures > 0 and count > 3


@pytest.mark.parametrize("run", range(6))
def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path, run: int) -> None:
    process = start("write_for_ever", tmp_path)
    assert process.stdout is not None
    said = [process.stdout.readline().split() for _ in range(25 + 9 * run)]
    process.kill()
    said += [line.split() for line in process.stdout.read().splitlines()]
    process.wait(60)
    process.stdout.close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MemoryStoreWarning)  # a line that was cut off was not acknowledged
        store = JSONMemoryStore(tmp_path)
    found = {each.id_: each for each in held(store)}
    deleted = {id for what, id in said if what == "deleted"}
    last = said[-1][1]  # what was under way when the kill came may be done or not
    for what, id in said:
        if id not in deleted and id != last:
            assert id in found
            assert what != "updated" or found[id].metadata == {"seen": "twice"}
    assert not (deleted & found.keys())
    assert [each.name for each in tmp_path.iterdir()] == ["episodes.jsonl"]
