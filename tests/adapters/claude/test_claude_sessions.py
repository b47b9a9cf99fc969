"""The session store of the Claude Agent SDK: its own conformance suite, and what that does not ask."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk")

from claude_agent_sdk import InMemorySessionStore, list_sessions_from_store, project_key_for_directory
from claude_agent_sdk.testing import run_session_store_conformance

from memorist import Memory
from memorist.adapters.claude import MemoristSessionStore
from memorist.records.record import Kind
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

KEY: Any = {"project_key": "proj", "session_id": "monday"}


async def test_all_contracts_of_the_published_suite_hold(everyone: Memory) -> None:
    users = iter(range(100))
    await run_session_store_conformance(lambda: MemoristSessionStore(everyone.scoped(user=f"u{next(users)}")))
    assert next(users) >= 14


async def test_an_entry_sent_again_is_stored_once(alice: Memory) -> None:
    store = MemoristSessionStore(alice)
    batch: Any = [{"type": "user", "uuid": "a", "n": 1}, {"type": "title", "n": 2}, {"type": "user", "uuid": "b"}]
    await store.append(KEY, batch)
    await store.append(KEY, [batch[0], {"type": "user", "uuid": "c"}, {"type": "user", "uuid": "c"}])
    await store.append(KEY, [batch[2]])
    assert await store.load(KEY) == [*batch, {"type": "user", "uuid": "c"}]


async def test_appends_at_once_lose_nothing_and_keep_their_order(alice: Memory) -> None:
    store = MemoristSessionStore(alice)
    entries: list[Any] = [{"type": "user", "uuid": str(n), "customTitle": f"t{n}"} for n in range(20)]
    await asyncio.gather(*(store.append(KEY, [entry]) for entry in entries))
    assert await store.load(KEY) == entries
    assert len(await store.list_sessions("proj")) == 1


async def test_names_of_any_characters_stay_apart(alice: Memory) -> None:
    store = MemoristSessionStore(alice)
    keys: list[Any] = [
        {"project_key": project, "session_id": session, **({"subpath": sub} if sub else {})}
        for project, session, sub in [
            ("a", "b/c", ""), ("a/b", "c", ""), ("a", "b", "c"), ("a", "b", ""), ("%", "é", "x/y"),
        ]
    ]  # fmt: skip
    for number, key in enumerate(keys):
        await store.append(key, [{"type": "x", "n": number}])
    assert [await store.load(key) for key in keys] == [[{"type": "x", "n": n}] for n in range(len(keys))]
    assert await store.list_subkeys({"project_key": "%", "session_id": "é"}) == ["x/y"]


async def test_a_transcript_is_behind_a_wall_and_never_recalled(alice: Memory, bob: Memory, tmp_path: Path) -> None:
    store = MemoristSessionStore(alice)
    said: Any = {"type": "user", "uuid": "a", "message": {"content": "I like homestays"}}
    await store.append(KEY, [said])
    assert await MemoristSessionStore(bob).load(KEY) is None
    assert await alice.recall("homestays") == []
    assert await alice.count(kind=tuple(Kind), session="monday") == 2
    await store.delete(KEY)
    assert await alice.count(kind=tuple(Kind)) == 0


async def test_the_sdk_lists_it_as_it_lists_its_own(tmp_path: Path) -> None:
    said: Any = [
        {"type": "user", "uuid": "a", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": str(tmp_path), "sessionId": "s",
         "message": {"role": "user", "content": "Where shall I stay?"}},
        {"type": "assistant", "uuid": "b", "timestamp": "2026-01-02T03:04:06.000Z", "cwd": str(tmp_path),
         "message": {"role": "assistant", "content": [{"type": "text", "text": "In a homestay."}]}},
    ]  # fmt: skip
    key: Any = {
        "project_key": project_key_for_directory(str(tmp_path)),
        "session_id": "0a0a0a0a-1111-4111-8111-0a0a0a0a0a0a",
    }
    async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        listed = []
        for store in (MemoristSessionStore(memory), InMemorySessionStore()):
            await store.append(key, said)
            [found] = await list_sessions_from_store(store, directory=str(tmp_path))
            listed.append((found.session_id, found.summary, found.first_prompt, found.cwd))
    assert listed[0] == listed[1]
    assert listed[0][2] == "Where shall I stay?"
