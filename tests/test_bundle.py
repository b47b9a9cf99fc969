"""A bundle: the whole of a store in one file, which comes back as it was, or not at all."""

import asyncio
import contextlib
import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clocks import MovedClock
from memorist import Memory
from memorist.config import Settings
from memorist.errors import FormatError, InvalidInputError, MemoristError
from memorist.files.bundle import before_all, check_bundle, read_bundle, write_bundle
from memorist.stores import open_store
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio


async def written(db: Path, path: Path) -> bytes:
    store = open_store(Settings(url=str(db)))
    await store.open()
    try:
        await write_bundle(store, path)
    finally:
        await store.close()
    return path.read_bytes()


async def taken_in(db: Path, path: Path) -> int:
    store = open_store(Settings(url=str(db), clock=before_all))
    await store.open()
    try:
        return (await read_bundle(store, path)).existing
    finally:
        await store.close()


async def lived(db: Path) -> None:
    """Write a memory with everything that one may hold."""
    clock = MovedClock()
    kept = Settings(confirm=True, keep_traces="1d", clock=clock)
    async with Memory.open(db, embedder=HashEmbedder(), settings=kept) as memory:
        alice = memory.scoped(user="alice")
        note = await alice.remember("Likes tea", metadata={"a": {"b": [1]}}, source="me", agent="x", session="s")
        await alice.revise(note.id, content="Likes green tea", source="console")
        await alice.rate(note.id, 0.5)
        await alice.relabel(note.id, to="y")
        old = await alice.remember("Lives in Oslo", kind="fact", key="home", happened_at="2024-05-01T12:00+02:00")
        await alice.remember("Lives in Bergen", kind="fact", key="home", supersedes=old.id, derived_from=[note.id])
        await alice.topics.set("user.editor", "vi")
        await alice.topics.set("user.editor", "emacs")
        gone = await alice.remember("A secret text", derived_from=[note.id])
        await alice.forget(gone.id)
        await alice.remember("Back again", id=gone.id)
        await alice.admin.archive(await alice.remember("Put away"))
        await alice.remember("Ends soon", expires_at=100, id="ends")
        await alice.remember("Ended, and goes on", expires_at=100, id="on")
        await alice.revise("on", expires_at=None)
        await alice.remember("Ends much later", expires_at=10**8)
        await alice.recall("tea")
        for call in (alice.revise(note.id, content="Likes coffee", proposed=True), alice.remember("N", proposed=True)):
            with contextlib.suppress(MemoristError):
                await call
        await memory.remember("Shared \u2028 by all \U0001f98a")
        await memory.admin.retain([{"keep": "9999d", "kind": "note"}])
        await memory.scoped(tenant="acme").scoped(user="bob").remember("Another tenant's")
        clock.advance(1000)
        await memory.admin.sweep()


async def test_everything_comes_back_and_the_bundle_of_it_is_the_same(tmp_path: Path) -> None:
    await lived(tmp_path / "one.db")
    first = await written(tmp_path / "one.db", tmp_path / "one.jsonl")
    assert b"A secret text" not in first and b"memorist:traces" not in first
    assert await taken_in(tmp_path / "two.db", tmp_path / "one.jsonl") == 0
    assert await written(tmp_path / "two.db", tmp_path / "two.jsonl") == first
    count = check_bundle(tmp_path / "one.jsonl").changes
    assert await taken_in(tmp_path / "two.db", tmp_path / "one.jsonl") == count
    assert await written(tmp_path / "two.db", tmp_path / "three.jsonl") == first
    async with Memory.open(tmp_path / "two.db", embedder=HashEmbedder(), confirm=True) as memory:
        alice = memory.scoped(user="alice")
        assert [hit.record.content for hit in await alice.recall("Likes green tea", limit=1)] == ["Likes green tea"]
        assert await memory.admin.reindex(missing=True) > 0
        assert {each.content for each in await alice.admin.inbox()} == {"Likes coffee", "N"}
        assert (await memory.admin.retention()).rules[0].keep == "9999d"
        note = (await alice.recall("Likes green tea", limit=1))[0].record
        assert [each.action for each in await alice.history(note.id)] == ["remembered", "revised", "rated", "revised"]
        await alice.forget(note.id)  # and what quotes it goes along
        assert {each.content for each in await alice.admin.inbox()} == {"N"}
        assert await memory.admin.check() == []


def resealed(lines: list[bytes]) -> bytes:
    inner = b"".join(lines[1:-1])
    end = {"end": len(lines) - 2, "sha256": hashlib.sha256(inner).hexdigest()}
    return lines[0] + inner + json.dumps(end).encode() + b"\n"


DAMAGE: dict[str, Callable[[list[bytes]], bytes]] = {
    "a changed letter": lambda lines: b"".join(lines).replace(b"green", b"graen", 1),
    "a lost line": lambda lines: b"".join([*lines[:3], *lines[4:]]),
    "a cut end": lambda lines: b"".join(lines)[:-40],
    "no end": lambda lines: b"".join(lines[:-1]),
    "more behind the end": lambda lines: b"".join([*lines, lines[1]]),
    "no JSON": lambda lines: b"".join([*lines[:4], b"{\n", *lines[4:]]),
    "another format": lambda lines: b"".join([b'{"format":"memorist","version":1}\n', *lines[1:]]),
    "a newer version": lambda lines: b"".join([b'{"format":"memorist-bundle","version":2}\n', *lines[1:]]),
    "nothing": lambda lines: b"",
    "a record of another wall, resealed": lambda lines: resealed(
        [
            each.replace(b'"tenant":"default","user":"alice","id"', b'"tenant":"default","user":"eve","id"')
            for each in lines
        ]
    ),
    "an unknown action, resealed": lambda lines: resealed([each.replace(b"rated", b"burnt") for each in lines]),
}


@pytest.mark.parametrize("what", DAMAGE)
async def test_of_a_damaged_bundle_nothing_is_stored(tmp_path: Path, what: str) -> None:
    await lived(tmp_path / "one.db")
    lines = (await written(tmp_path / "one.db", tmp_path / "one.jsonl")).splitlines(keepends=True)
    (tmp_path / "bad.jsonl").write_bytes(DAMAGE[what](lines))
    with pytest.raises(FormatError):
        await taken_in(tmp_path / "two.db", tmp_path / "bad.jsonl")
    store = open_store(Settings(url=str(tmp_path / "two.db")))
    await store.open()
    assert await store.walls() == []
    await store.close()


async def test_an_interrupted_import_goes_on_and_another_record_of_the_id_is_left_alone(tmp_path: Path) -> None:
    await lived(tmp_path / "one.db")
    whole = await written(tmp_path / "one.db", tmp_path / "one.jsonl")
    lines = whole.splitlines(keepends=True)
    (tmp_path / "half.jsonl").write_bytes(resealed([*lines[:8], lines[-1]]))
    assert await taken_in(tmp_path / "two.db", tmp_path / "half.jsonl") == 0
    assert await taken_in(tmp_path / "two.db", tmp_path / "one.jsonl") == 7
    assert await written(tmp_path / "two.db", tmp_path / "two.jsonl") == whole
    async with Memory.open(tmp_path / "three.db", embedder=HashEmbedder(), user="alice") as memory:
        await memory.remember("My own", id="on")
    await taken_in(tmp_path / "three.db", tmp_path / "one.jsonl")
    async with Memory.open(tmp_path / "three.db", embedder=HashEmbedder(), user="alice") as memory:
        own = await memory.get("on")
        assert own is not None and own.content == "My own"
    with pytest.raises(InvalidInputError, match="exists"):
        await written(tmp_path / "one.db", tmp_path / "one.jsonl")


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["remember", "revise", "rate", "forget", "topic", "supersede", "archive", "restore", "relabel"]
        ),
        st.integers(0, 4),
        st.sampled_from(["a", "b\u2028", "\U0001f98a", "c\nd"]),
    ),
    max_size=25,
)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=_STEPS)
def test_whatever_was_done_the_bundle_of_the_bundle_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, str]]
) -> None:
    folder = tmp_path_factory.mktemp("bundle")

    async def live() -> None:
        async with Memory.open(folder / "one.db", embedder=HashEmbedder(), user="alice") as memory:
            for what, number, text in steps:
                id = f"r{number}"
                does: dict[str, Callable[[], Any]] = {
                    "remember": partial(memory.remember, text, id=id),
                    "revise": partial(memory.revise, id, content=text),
                    "rate": partial(memory.rate, id, 1),
                    "forget": partial(memory.forget, id),
                    "topic": partial(memory.topics.set, f"k{number}", text),
                    "supersede": partial(memory.remember, text, kind="fact", key="k", supersedes=id),
                    "archive": partial(memory.admin.archive, id),
                    "restore": partial(memory.admin.archive, id, undo=True),
                    "relabel": partial(memory.relabel, id, to=text.strip("\u2028\nd")),
                }
                with contextlib.suppress(MemoristError):
                    await does[what]()
        first = await written(folder / "one.db", folder / "one.jsonl")
        await taken_in(folder / "two.db", folder / "one.jsonl")
        assert await written(folder / "two.db", folder / "two.jsonl") == first

    asyncio.run(live())
