"""Secrets are masked in every store, with what quotes their records and what was told of them before."""

import pytest

from memorist.memory import Memory
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
