"""Traces in every store: what is kept of calls, for whom and how long, and what takes it away."""

import json
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from clocks import MovedClock
from inside import core_of
from memorist.config import Settings
from memorist.errors import EmbedderError, InvalidInputError, ScopeError, StoreError
from memorist.memory import Memory
from memorist.records.origins import CONSOLE, MCP, REST
from memorist.testing import HashEmbedder
from opening import undo_latest

pytestmark = pytest.mark.anyio
DAY = 86400
TEAS = ["green tea", "black tea", "mint tea", "white tea", "tea with milk", "iced tea", "ginger tea", "oolong tea"]
Open = Callable[..., Memory]


@pytest.fixture
def reopen(url: str, clock: MovedClock) -> Open:
    """Return what opens the test's own store, by default with traces kept for a day."""
    return partial(Memory.open, url, embedder=HashEmbedder(), settings=Settings(clock=clock), keep_traces="1d")


async def test_by_default_nothing_is_kept(reopen: Open) -> None:
    async with reopen(keep_traces=None) as memory:
        await memory.remember("Likes tea")
        await memory.recall("tea")
        await memory.context("tea")
        assert (await memory.admin.traces(everyone=True)).traces == []
        assert await core_of(memory).store.tenants() == ["default"]


async def test_a_recall_is_kept_with_what_it_gave_and_what_it_just_missed(reopen: Open) -> None:
    async with reopen() as memory:
        alice = memory.scoped(user="alice", agent="barista", session="monday")
        await alice.remember(TEAS)
        plain = await alice.recall("mint tea?", limit=2, mode="lexical", min_score=0.01)
        [trace] = (await alice.admin.traces()).traces
        assert (trace.verb, trace.door, trace.question) == ("recall", "python", "mint tea?")
        assert trace.asked == {"limit": 2, "mode": "lexical", "min_score": 0.01}
        assert trace.scope == alice.scope
        assert [(hit.id, hit.score) for hit in trace.hits] == [(hit.record.id, hit.score) for hit in plain]
        wider = await alice.recall("mint tea?", limit=7, mode="lexical")
        assert [hit.id for hit in trace.missed] == [hit.record.id for hit in wider[2:]]
        assert trace.parts.keys() == {"index", "embedding", "signals", "fetch", "choosing"}
        assert 0 < sum(trace.parts.values()) == pytest.approx(trace.seconds)
        assert (trace.text, trace.confidence, trace.error) == ("", None, None)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
@pytest.mark.parametrize("least", [{}, {"min_similarity": 0.6}, {"min_score": 0.5}])
async def test_a_call_is_answered_as_without_a_trace(reopen: Open, mode: Any, least: dict[str, float]) -> None:
    async with reopen() as memory:
        await memory.remember(TEAS)
        given = await memory.recall("mint tea", limit=2, mode=mode, **least)  # type: ignore[arg-type]
        untraced = memory.through(CONSOLE)
        assert await untraced.recall("mint tea", limit=2, mode=mode, **least) == given  # type: ignore[arg-type]
        [trace] = (await memory.admin.traces()).traces
        assert trace.missed, "also of those that do not reach the least score"


async def test_a_context_is_kept_with_its_text_and_its_records(reopen: Open) -> None:
    async with reopen() as memory:
        alice = memory.scoped(user="alice")
        await alice.remember([*TEAS, *(f"{tea} with lemon" for tea in TEAS)])
        await memory.remember("The house serves peppermint tea")
        told = await alice.context("mint tea?", tokens=50, shared=True)
        [trace] = (await alice.admin.traces()).traces
        assert (trace.verb, trace.text, trace.confidence) == ("context", told.text, told.confidence)
        assert [(hit.id, hit.why) for hit in trace.hits] == [(item.record.id, item.why) for item in told.items]
        assert any(hit.shared for hit in trace.hits)
        assert len(trace.missed) == 5
        assert not {hit.id for hit in trace.missed} & {hit.id for hit in trace.hits}
        assert trace.parts["choosing"] > 0


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.filterwarnings("error::RuntimeWarning")
async def test_a_call_whose_session_is_no_name_is_refused_and_not_kept(reopen: Open) -> None:
    async with reopen() as memory:
        with pytest.raises(InvalidInputError, match="session"):
            await memory.recall("tea", session="a\nb")
        assert (await memory.admin.traces()).traces == []


async def test_traces_are_paged_and_chosen(reopen: Open, clock: MovedClock) -> None:
    async with reopen() as memory:
        alice = memory.scoped(user="alice")
        await alice.remember("green tea")
        for n in range(5):
            clock.advance(60)
            await alice.through(MCP if n == 3 else REST).recall(f"tea {n}", limit=0 if n == 1 else 1)
        first = await alice.admin.traces(limit=3)
        assert [each.question for each in first.traces] == ["tea 4", "tea 3", "tea 2"]
        rest = await alice.admin.traces(limit=3, cursor=first.next)
        assert [each.question for each in rest.traces] == ["tea 1", "tea 0"]
        assert rest.next is None
        assert [each.question for each in (await alice.admin.traces(door="mcp")).traces] == ["tea 3"]
        assert [each.question for each in (await alice.admin.traces(empty=True)).traces] == ["tea 1"]
        since = first.traces[1].at
        assert len((await alice.admin.traces(since=since)).traces) == 2
        assert len((await alice.admin.traces(until=since)).traces) == 3
        assert list((await alice.admin.traces(ids=first.traces[0].id)).traces) == [first.traces[0]]


async def test_a_trace_is_behind_the_walls_and_labels_of_its_call(reopen: Open) -> None:
    async with reopen() as memory:
        alice, other = memory.scoped(user="alice"), memory.scoped(tenant="acme", user="alice")
        await alice.remember("secret tea", agent="barista")
        await alice.scoped(agent="barista").context("secret tea")
        [trace] = (await alice.admin.traces()).traces
        for stranger in (memory, memory.scoped(user="bob"), other, alice.scoped(agent="cook")):
            assert (await stranger.admin.traces()).traces == []
            assert (await stranger.admin.traces(ids=trace.id)).traces == []
        assert list((await memory.admin.traces(everyone=True)).traces) == [trace]
        assert (await memory.scoped(tenant="acme").admin.traces(everyone=True)).traces == []
        with pytest.raises(ScopeError):
            await alice.admin.traces(everyone=True)


async def test_traces_are_no_records_of_anyone(reopen: Open) -> None:
    async with reopen() as memory:
        alice = memory.scoped(user="alice")
        await alice.remember("green tea")
        before = [
            await alice.count(),
            await memory.admin.users(),
            await alice.browse(),
            [line async for line in alice.export()],
        ]
        await alice.context("green tea")
        assert (await alice.admin.traces()).traces
        assert [
            await alice.count(), await memory.admin.users(), await alice.browse(),
            [line async for line in alice.export()],
        ] == before  # fmt: skip
        assert await memory.count(everyone=True) == 1
        assert len(await alice.recall("context green tea", limit=50)) == 1


async def test_traces_expire_by_the_memorys_clock_and_are_swept(reopen: Open, clock: MovedClock) -> None:
    async with reopen(keep_traces=3600) as memory:
        await memory.remember("green tea")
        await memory.recall("tea")
        clock.advance(1800)
        assert (await memory.admin.traces()).traces
        clock.advance(1800)
        assert (await memory.admin.traces()).traces == []
        await memory.remember("any write sweeps")
        assert await core_of(memory).store.sweep(clock()) == 0
        assert await core_of(memory).store.tenants() == ["default"]


async def test_what_quotes_a_record_goes_with_it(reopen: Open, clock: MovedClock) -> None:
    async with reopen() as memory:
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")

        async def told_of(user: Memory, text: str) -> int:
            return sum(text in each.text for each in (await user.admin.traces()).traces)

        async def tell() -> None:
            for user in (alice, bob):
                await user.context("which tea?", shared=True, min_confidence=0.0)

        green = await alice.remember("alice likes green tea")
        mint = await alice.remember("alice likes mint tea", session="monday")
        house = await memory.remember("the house has black tea")
        await bob.remember("bob likes white tea")
        await tell()
        await alice.forget(green)
        assert [await told_of(alice, "green"), await told_of(bob, "white")] == [0, 1]
        await tell()
        await alice.forget(session="monday")
        assert [await told_of(alice, "mint"), await told_of(bob, "white")] == [0, 2]
        await alice.remember("alice likes mint tea", id="again")
        await tell()
        await alice.remember("alice likes iced tea", forgetting="again")
        assert await told_of(alice, "mint") == 0
        await tell()
        assert await told_of(alice, "black") == 1
        await memory.forget(house)
        assert [await told_of(alice, "black"), await told_of(bob, "black")] == [0, 0]
        late = await alice.remember("alice likes oolong tea", expires_at=60)
        later = await alice.remember("alice likes ginger tea")
        await tell()
        assert await told_of(alice, "oolong") == 1
        clock.advance(61)
        assert await told_of(alice, "oolong") == 0, "a trace expires with what it quotes"
        await tell()
        assert await told_of(alice, "ginger") == 1
        await alice.revise(later, expires_at=60)
        assert await told_of(alice, "ginger") == 0
        assert late.id != mint.id


async def test_a_purge_takes_the_traces_along(reopen: Open) -> None:
    async with reopen() as memory:
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
        await memory.remember("the house has black tea")
        for user in (alice, bob):
            await user.remember("likes green tea")
            await user.context("tea?", shared=True)
        assert (await memory.purge(user="alice")).purged == 1
        assert (await alice.admin.traces()).traces == []
        assert len((await bob.admin.traces()).traces) == 1
        assert (await memory.purge(shared=True)).purged == 1
        assert (await bob.admin.traces()).traces == [], "it may quote what was shared"
        assert await core_of(memory).store.tenants() == ["default"]


async def test_what_is_forgotten_while_a_trace_is_written_is_not_quoted(
    reopen: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reopen() as memory:
        record = await memory.remember("green tea")
        store = core_of(memory).store
        write = store.write

        async def late(wall: Any, writes: Any, **named: Any) -> list[bool]:
            if wall.tenant != "default":
                await memory.forget(record)
            return await write(wall, writes, **named)

        monkeypatch.setattr(store, "write", late)
        assert (await memory.context("green tea", min_confidence=0.0)).items
        assert (await memory.admin.traces()).traces == []


async def test_a_trace_that_cannot_be_written_is_logged_and_fails_no_call(
    reopen: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with reopen() as memory:
        await memory.remember("green tea")

        async def refuse(wall: Any, writes: Any, **named: Any) -> list[bool]:
            raise StoreError("the disk is full")

        monkeypatch.setattr(core_of(memory).store, "write", refuse)
        assert await memory.recall("tea")
        assert (await memory.admin.traces()).traces == []
        assert "a trace was not stored: the disk is full" in caplog.text


async def test_a_call_that_fails_is_kept_with_its_error(reopen: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async with reopen() as memory:
        await memory.remember("green tea")

        async def refuse(texts: Any, role: Any) -> Any:
            raise EmbedderError("the endpoint is gone")

        monkeypatch.setattr(core_of(memory).embedder, "embed", refuse)
        with pytest.raises(EmbedderError):
            await memory.recall("tea")
        [trace] = (await memory.admin.traces()).traces
        assert (trace.error, trace.hits) == ("EmbedderError", ())


async def test_a_hostile_question_and_a_blank_one_are_kept(reopen: Open) -> None:
    async with reopen() as memory:
        await memory.remember("green tea")
        for question in ("", "tea\0\u202e" + "x" * 9000, "\ud800"):
            await memory.recall(question)
            await memory.context(question)
        kept = [each.question for each in (await memory.admin.traces()).traces]
        assert len(kept) == 6
        assert kept[2].startswith("tea\0")
        assert len(kept[2]) == 4000


async def test_closing_waits_for_what_is_written(reopen: Open) -> None:
    async with reopen() as memory:
        await memory.remember("green tea")
        for _ in range(10):
            await memory.recall("tea")
    async with reopen(keep_traces=0) as memory:
        assert len((await memory.admin.traces()).traces) == 10


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_traces_of_an_older_file_still_go_with_what_they_quote(reopen: Open, tmp_path: Path) -> None:
    async with reopen() as memory:
        alice = memory.scoped(user="alice")
        own, shared = await alice.remember("Likes mint tea"), await memory.remember("The house serves mint tea")
        for question, of_all in (("what does she like?", False), ("mint tea", True)):
            assert (await alice.context(question, shared=of_all, min_confidence=0)).items
        assert len((await alice.admin.traces()).traces) == 2
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        undo_latest(connection)
        connection.execute(
            "DROP TABLE quotes; PRAGMA user_version = 6;"
            f"UPDATE records SET metadata = '{json.dumps({'own': [own.id]})}' WHERE content LIKE 'what%';"
            f"UPDATE records SET metadata = '{json.dumps({'shared': [shared.id]})}' WHERE content = 'mint tea'"
        )
    async with reopen() as memory:
        alice = memory.scoped(user="alice")
        await memory.forget(shared.id)
        assert [trace.question for trace in (await alice.admin.traces()).traces] == ["what does she like?"]
        await alice.forget(own.id)
        assert (await alice.admin.traces()).traces == []
