"""What is done with texts that hold secrets, at the doors and in a store that has some already."""

import asyncio
import hashlib
import json
import logging
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from inside import core_of
from memorist.agents import after_turn
from memorist.config import Settings
from memorist.errors import InvalidInputError, MemoristError, ScopeError
from memorist.memory import Memory
from memorist.records.record import Draft, Record
from memorist.stores.sqlite import SQLiteStore
from memorist.testing import HashEmbedder
from opening import bytes_beside

pytestmark = pytest.mark.anyio
SECRET = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0xR3tU6"
OTHER = "AKIA" + "Q2W3E4R5T6Y7U2I3"
MASKED = "[secret: github-pat]"


def opened(path: Path | str, policy: Any = None, **given: Any) -> Memory:
    return Memory.open(path, embedder=HashEmbedder(), settings=Settings(secrets=policy), **given)


@pytest.fixture
async def path(tmp_path: Path) -> AsyncIterator[Path]:
    yield tmp_path / "memory.db"


async def everything_of(memory: Memory) -> str:
    page = await memory.browse(limit=1000, everyone=True)
    return json.dumps([each.to_dict() for each in page.records])


WRITES = {
    "content": lambda text: Draft(content=text),
    "cue": lambda text: Draft(content="x", cue=text),
    "metadata": lambda text: Draft(content="x", metadata={"a": [{"b": text}]}),
    "payload": lambda text: Draft(content="x", kind="message", session="s", payload={"data": {"a": text}}),
    "topic": lambda text: Draft(content=text, kind="topic", key="k"),
}


@pytest.mark.parametrize("where", WRITES)
async def test_each_policy_holds_for_every_text_of_a_record(
    path: Path, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    draft = WRITES[where](f"use {SECRET} here")
    async with opened(path, "refuse") as memory:
        with pytest.raises(InvalidInputError, match=r"github-pat.*MEMORIST_SECRETS") as raised:
            await memory.remember(draft)
        assert SECRET not in str(raised.value)
        assert await memory.count() == 0
    async with opened(path, "mask") as memory:
        record = await memory.remember(draft)
        assert SECRET not in await everything_of(memory)
        assert MASKED in json.dumps(record.to_dict())
        await memory.forget(record)
    with caplog.at_level(logging.WARNING, "memorist.secrets"):
        async with opened(path) as memory:
            await memory.remember(draft)
            assert SECRET in await everything_of(memory)
    assert "github-pat" in caplog.text
    assert SECRET not in caplog.text


async def test_what_is_private_is_never_stored(path: Path) -> None:
    async with opened(path, "keep", user="alice") as memory:
        record = await memory.remember("at <private>Elm Street</private>", metadata={"a": "<private>Elm"})
        assert (record.content, record.metadata) == ("at [private]", {"a": "[private]"})
        assert (await memory.revise(record, content="now <private>Oak Street</private>")).content == "now [private]"
        session = memory.scoped(session="s")
        await after_turn(session, [{"role": "user", "content": "a <private>Elm Street</private> b"}])
        assert [each.content for each in await session.conversation().window()] == ["a [private] b"]
        assert await memory.restore([record]) is not None
    assert not any(b"Street" in held for held in bytes_beside(path).values())


async def test_a_revision_and_a_restored_record_are_held_to_the_policy(path: Path) -> None:
    async with opened(path, "keep") as memory:
        old = await memory.remember(f"the key is {SECRET}")
        await memory.forget(old)
    async with opened(path, "refuse") as memory:
        record = await memory.remember("the key")
        with pytest.raises(InvalidInputError, match="secret"):
            await memory.revise(record, content=f"the key is {SECRET}")
        assert (await memory.get(record.id)) == record
        with pytest.raises(MemoristError, match="secret"):
            report = await memory.restore([old])
            raise InvalidInputError(report.bad[0].reason)
    async with opened(path, "mask") as memory:
        assert (await memory.revise(record, content=f"the key is {SECRET}")).content == f"the key is {MASKED}"
        assert (await memory.restore([old])).added == 1
        assert SECRET not in await everything_of(memory)
    assert not any(SECRET.encode() in held for held in bytes_beside(path).values())


async def test_a_turn_is_masked_by_default_and_stored_once(path: Path) -> None:
    said = [{"role": "user", "content": f"use {SECRET}"}, {"role": "assistant", "content": "Done."}]
    async with opened(path, session="s") as memory:
        stored = await after_turn(memory, said)
        assert [each.content for each in stored] == [f"use {MASKED}", "Done."]
        assert await after_turn(memory, said) == []
    async with opened(path, session="s") as memory:  # anew, without what the last process knew
        assert await after_turn(memory, said) == []
    async with opened(path, "keep", session="t") as memory:
        assert (await after_turn(memory, said))[0].content == f"use {SECRET}"
    async with opened(path, "refuse", session="u") as memory:
        with pytest.raises(InvalidInputError, match="secret"):
            await after_turn(memory, said)
        assert await memory.conversation().window() == []


async def test_what_is_stored_already_is_listed_and_masked_with_history_and_indexes(path: Path) -> None:
    async with opened(path, keep_traces="1d") as memory:
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
        now = await alice.remember(f"the deploy key is {SECRET}", key="deploy", kind="topic", metadata={"k": OTHER})
        past = await bob.remember(f"my card, {OTHER}, of the bank")
        past = await bob.revise(past, content="my card of the bank")
        clean = await bob.remember("the garden has roses")
        drawn = await alice.remember("a key is there", derived_from=[now.id])
        assert (await alice.context(f"deploy {SECRET}", topics=["deploy"], min_confidence=0)).items

        found = {(each.id, each.user, each.where): each.forms for each in await memory.admin.secrets()}
        assert found.pop((now.id, "alice", "record")) == ("github-pat", "aws-access-token")
        assert found.pop((past.id, "bob", "history")) == ("aws-access-token",)
        assert [where for _, _, where in found] == ["trace"]
        assert SECRET in await everything_of(memory), "listing changes nothing"

        assert len(await memory.admin.secrets(redact=True)) == 3
        assert await memory.admin.secrets() == []
        new = await alice.get(now.id)
        assert new is not None
        assert (new.content, new.metadata) == (f"the deploy key is {MASKED}", {"k": "[secret: aws-access-token]"})
        assert (new.key, new.created_at, new.origin) == (now.key, now.created_at, now.origin)
        assert await bob.get(past.id) == past
        assert await bob.get(clean.id) == clean
        assert (await alice.get(drawn.id)) == drawn
        assert [hit.record.id for hit in await bob.recall("card of the bank", limit=1)] == [past.id]
        assert (await memory.admin.check()) == []
        for held in bytes_beside(path).values():
            assert SECRET.encode() not in held
            assert SECRET[4:].lower().encode() not in held, "nor its words in an index"
            assert OTHER.encode() not in held
        with pytest.raises(ScopeError):
            await alice.admin.secrets()


@pytest.mark.parametrize("policy", ["keep", "mask"])
async def test_a_message_that_comes_again_is_not_revised_for_what_is_never_stored(path: Path, policy: str) -> None:
    text = "pin <private>4711</private> ok" + (f", key {SECRET}" if policy == "mask" else "")
    async with opened(path, policy, session="s") as memory:
        talk = memory.conversation()
        first = await talk.append(text, id="a")
        assert await talk.append(text, id="a") == first
        edited = await talk.append(f"{text}!", id="a")
        assert edited.record is not None
        assert edited.record.version == 2
        assert edited.record.payload["said"] == hashlib.blake2b(edited.content.encode(), digest_size=16).hexdigest()
        changed = await memory.revise(edited.record, content="(removed)")
        again = await talk.append(f"{text}!", id="a")
        assert again.record == changed, "somebody else has changed it"


async def test_a_redacted_message_that_comes_again_stays_masked(path: Path) -> None:
    async with opened(path, session="s") as memory:
        talk = memory.conversation()
        for text in (f"the key is {SECRET}", f"<private>4711</private>, the key is {SECRET}, too"):
            await talk.append(text, id="a")
            await memory.admin.secrets(redact=True)
            kept = await talk.window()
            await talk.append(text, id="a")
            assert await talk.window() == kept
            assert MASKED in kept[0].content
        assert await memory.admin.secrets() == []


async def test_the_state_of_a_framework_is_listed_but_never_masked(path: Path) -> None:
    async with opened(path) as memory:
        state = await memory.remember("a checkpoint", kind="state", payload={"key": SECRET})
        note = await memory.remember(f"the key is {SECRET}")
        for redact, places in ((False, {"state", "record"}), (True, {"state", "record"}), (False, {"state"})):
            assert {each.where for each in await memory.admin.secrets(redact=redact)} == places
        assert await memory.get(state.id) == state
        masked = await memory.get(note.id)
        assert masked is not None and masked.content == f"the key is {MASKED}"
        await memory.forget(state.id)
        assert await memory.admin.secrets(redact=True) == []
        assert not any(SECRET.encode() in held for held in bytes_beside(path).values())


async def test_the_bytes_go_where_a_redaction_fails_on_a_later_record(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(path) as memory:
        await memory.remember(f"the key of the robot is {SECRET}", id="older")
        await memory.remember(f"the key of the garden is {OTHER}", id="newer")
        core = core_of(memory)
        embed = core.embed

        async def broken(records: list[Record], vectors: list[None]) -> Any:
            if records[0].id == "older":
                raise OSError("broken")
            return await embed(records, vectors)

        monkeypatch.setattr(core, "embed", broken)
        with pytest.raises(OSError, match="broken"):
            await memory.admin.secrets(redact=True)
        assert [each.id for each in await memory.admin.secrets()] == ["older"]
        assert not any(OTHER.encode() in held for held in bytes_beside(path).values())


async def test_the_bytes_go_with_the_next_redaction_where_one_was_killed_before(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def killed(*walls: Any) -> None:
        raise asyncio.CancelledError

    async with opened(path) as memory:
        await memory.remember(f"the key of the robot is {SECRET}")
        store = core_of(memory).store
        with monkeypatch.context() as patch:
            patch.setattr(store, "scrub", killed)
            with pytest.raises(asyncio.CancelledError):
                await memory.admin.secrets(redact=True)
        assert any(SECRET.encode() in held for held in bytes_beside(path).values())

        assert await memory.admin.secrets(redact=True) == [], "no record holds it any more"
        assert not any(SECRET.encode() in held for held in bytes_beside(path).values())


async def test_the_bytes_go_if_another_process_has_just_rewritten_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewritten, noted, settled = threading.Event(), threading.Event(), threading.Event()
    async with opened(path) as first, opened(path) as second:
        await second.remember(f"the key of the robot is {SECRET}")
        early, late = core_of(first).store, core_of(second).store
        assert isinstance(early, SQLiteStore) and isinstance(late, SQLiteStore)
        write, finish = early._purger._connections.write_now, late._purger._finish

        def write_and_wait(work: Any, *, alone: bool = False) -> Any:
            done = write(work, alone=alone)
            if alone:  # the file is rewritten, and the notes are deleted next
                rewritten.set()
                noted.wait(10)
            return done

        def finish_later() -> None:
            noted.set()
            settled.wait(10)
            finish()

        monkeypatch.setattr(early._purger._connections, "write_now", write_and_wait)
        monkeypatch.setattr(late._purger, "_finish", finish_later)
        other = asyncio.create_task(early.scrub())
        other.add_done_callback(lambda _: settled.set())
        assert await asyncio.to_thread(rewritten.wait, 10)
        await second.admin.secrets(redact=True)
        await other
        assert not any(SECRET.encode() in held for held in bytes_beside(path).values())
