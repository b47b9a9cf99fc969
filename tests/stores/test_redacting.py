"""Secrets are masked in every store, with what quotes their records and what was told of them before."""

from pathlib import Path
from typing import Any

import pytest

from inside import core_of
from memorist.config import Settings
from memorist.errors import ConflictError
from memorist.imports import load
from memorist.memory import Memory
from memorist.records.fingerprints import digest, digest_of_said
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio
SECRET = "glpat-" + "aB3dE6gH9jK2mN5pQ8sT"


async def test_a_redaction_keeps_the_record_and_drops_its_history(url: str) -> None:
    async with Memory.open(url, embedder=HashEmbedder(), keep_traces="1d") as memory:
        alice = memory.scoped(user="alice", session="s")
        old = await alice.remember(f"the token is {SECRET}", id="one", rating=0.5)
        old = await alice.revise(old, content=f"the token of the robot is {SECRET}")
        second = await alice.remember("the robot has a token", derived_from=["one"])
        await alice.remember(f"the first token was {SECRET}", id="ended")
        await alice.remember("the second token is in the safe", supersedes="ended")
        assert (await alice.context("the token of the robot", min_confidence=0)).items

        found = await memory.admin.secrets(redact=True)
        assert {(each.id, each.where) for each in found if each.where == "record"} == {
            ("one", "record"),
            ("ended", "record"),
        }
        assert await memory.admin.secrets() == []
        new = await alice.get("one")
        assert new is not None
        assert new.content == "the token of the robot is [secret: gitlab-pat]"
        assert (new.rating, new.created_at, new.version, new.scope) == (0.5, old.created_at, old.version, old.scope)
        assert all(each.record is None or SECRET not in each.record.content for each in await alice.history("one"))
        ended = await alice.get("ended")
        assert ended is not None and not ended.current
        assert await alice.get(second.id) == second
        assert (await alice.recall("the token of the robot", limit=1))[0].record.id == "one"
        assert SECRET not in repr((await alice.admin.traces()).traces)
        assert (await alice.revise("one", content="the token is in the safe")).version == old.version + 1


async def test_no_digest_of_what_was_masked_is_kept(url: str, tmp_path: Path) -> None:
    async with Memory.open(url, embedder=HashEmbedder(), settings=Settings(secrets="keep")) as memory:
        alice = memory.scoped(user="alice")
        talk = alice.conversation("monday")
        for text in ("the token follows", f"the token is {SECRET}"):
            await talk.append(text, id="m1")
        file = tmp_path / "token.md"
        file.write_text(f"the token is {SECRET}")
        await load(alice, file)
        assert await memory.admin.secrets(redact=True)
        records = [each async for each in alice.iterate()]
        assert len(records) == 2
        for text in (f"the token is {SECRET}", f"token\n\nthe token is {SECRET}"):
            half = digest(text, None)[:16]
            assert not any(half in str(each.payload) or digest_of_said(text) in str(each.payload) for each in records)

        await talk.append(f"the token is {SECRET}", id="m1")
        assert (await load(alice, file)).existing == 1
        assert [each async for each in alice.iterate()] == records
        file.write_text("the token is in the safe")
        assert (await load(alice, file)).revised == 1
        await talk.append("the token is in the safe", id="m1")
        assert sum("safe" in each.content for each in [each async for each in alice.iterate()]) == 2


async def test_a_memory_that_masks_keeps_no_digest_of_a_secret(url: str, tmp_path: Path) -> None:
    async with Memory.open(url, embedder=HashEmbedder(), settings=Settings(secrets="mask")) as memory:
        file = tmp_path / "token.md"
        file.write_text(f"the token is {SECRET} <private>1234</private>")
        await load(memory, file)
        [record] = [each async for each in memory.iterate()]
        texts = (f"the token is {SECRET} <private>1234</private>", f"the token is {SECRET}", f"the token is {SECRET} ")
        assert not any(digest(f"token\n\n{text}", None)[:16] in str(record.payload) for text in texts)
        assert (await load(memory, file)).existing == 1


async def test_what_others_change_meanwhile_is_masked_as_it_is_then_and_nothing_comes_back(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Memory.open(url, embedder=HashEmbedder()) as memory:
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
        for id in ("forgotten", "revised", "restless", "still"):
            await alice.remember(f"the token is {SECRET}", id=id)
        purged = await bob.remember(f"my token is {SECRET}")
        store, write = core_of(memory).store, core_of(memory).store.write
        seen: list[str] = []

        async def meanwhile(wall: Any, writes: Any, **given: Any) -> list[bool]:
            [id] = {each.id for each in writes if hasattr(each, "id")}
            seen.append(id)
            monkeypatch.setattr(store, "write", write)
            if id == "forgotten":
                await alice.forget("forgotten")
            elif id == purged.id:
                await memory.purge(user="bob")
            elif id == "restless" or (id == "revised" and seen.count(id) == 1):
                await alice.revise(id, content=f"the new token is {SECRET}")
            monkeypatch.setattr(store, "write", meanwhile)
            return await write(wall, writes, **given)

        monkeypatch.setattr(store, "write", meanwhile)
        with pytest.raises(ConflictError, match="everything is masked except 'restless', which"):
            await memory.admin.secrets(redact=True)
        monkeypatch.setattr(store, "write", write)

        assert await alice.get("forgotten") is None
        assert await bob.get(purged.id) is None
        for id, content in (("revised", "the new token is"), ("still", "the token is")):
            new = await alice.get(id)
            assert new is not None and new.content == f"{content} [secret: gitlab-pat]"
        assert [each.id for each in await memory.admin.secrets(redact=True)] == ["restless"]
        assert await memory.admin.secrets() == []
