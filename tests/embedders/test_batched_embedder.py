"""Batching: fewer calls, the same vectors, and no caller hurt by another."""

import asyncio
import hashlib
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.embedders import BatchedEmbedder, Embedder, OnnxEmbedder, Role
from memorist.errors import EmbedderError, EmbedderUnavailableError


async def turns(count: int = 20) -> None:
    """Let the other tasks of this loop go on until they wait."""
    for _ in range(count):
        await asyncio.sleep(0)


class Diary(Embedder):
    """Embeds by hash and keeps a diary of its calls; texts named in `refuses` make a call fail.

    `begun` is set when a call has come; with `held`, calls are answered once `go_on` is set.
    """

    dimensions = 8
    fingerprint = "diary"

    def __init__(self, refuses: Any = (), error: Any = EmbedderError, held: bool = False) -> None:
        self.refuses, self.error = set(refuses), error
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        if not held:
            self.go_on.set()
        self.calls: list[tuple[Role, list[str]]] = []
        self.lock = threading.Lock()

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Any:
        with self.lock:
            self.calls.append((role, list(texts)))
        self.begun.set()
        await self.go_on.wait()
        await turns(3)
        if self.refuses & set(texts):
            raise self.error(f"cannot embed {sorted(self.refuses & set(texts))}")
        return [[b + 1.0 for b in hashlib.sha256(f"{role}{text}".encode()).digest()[:8]] for text in texts]

    @property
    def texts(self) -> Any:
        return [text for _, texts in self.calls for text in texts]


CALL = st.tuples(
    st.lists(st.text("ab ", max_size=3), max_size=6),
    st.sampled_from(Role),
    st.integers(0, 9),  # turns of the loop before the call
    st.one_of(st.none(), st.integers(0, 9)),  # turns until its caller gives up
)


@settings(max_examples=60)
@given(st.lists(CALL, max_size=8), st.integers(1, 5), st.integers(0, 6))
def test_in_any_interleaving_each_call_gets_what_the_plain_embedder_gives(
    calls: Any, batch_size: int, cache_size: int
) -> None:
    async def one(batched: Any, texts: Sequence[str], role: Role, start: int, patience: int | None) -> Any:
        await turns(start)
        call = asyncio.create_task(batched.embed(texts, role))
        if patience is not None:
            await turns(patience)
            call.cancel()
        try:
            return await call
        except asyncio.CancelledError:
            return None

    async def scenario() -> None:
        batched = BatchedEmbedder(Diary(), batch_size=batch_size, cache_size=cache_size)
        plain = BatchedEmbedder(Diary(), cache_size=0)
        found = await asyncio.gather(*(one(batched, *call) for call in calls))
        for (texts, role, _, patience), rows in zip(calls, found, strict=True):
            assert rows is not None or patience is not None
            for text, row in zip(texts, rows if rows is not None else (), strict=rows is not None):
                assert np.array_equal(row, (await plain.embed([text], role))[0])
        assert all(len(texts) <= batch_size for _, texts in batched.inner.calls)

    asyncio.run(scenario())


def test_the_bundled_model_gives_the_same_through_batches() -> None:
    texts = [f"note {number}: {'tea ' * number}" for number in range(30)]

    async def scenario() -> None:
        plain = OnnxEmbedder()
        batched = BatchedEmbedder(plain, batch_size=7)
        parts = await asyncio.gather(*(batched.embed(texts[n : n + 5]) for n in range(0, 30, 5)))
        assert np.array_equal(np.vstack(parts), await plain.embed(texts))

    asyncio.run(scenario())


def test_a_text_seen_before_is_not_embedded_again_in_its_role() -> None:
    async def scenario() -> Any:
        batched = BatchedEmbedder(Diary())
        await batched.embed(["tea", "tea", "milk"])
        await batched.embed(["milk", "tea"])
        await batched.embed(["tea"], Role.QUERY)
        return batched.inner.calls

    assert asyncio.run(scenario()) == [(Role.DOCUMENT, ["tea", "milk"]), (Role.QUERY, ["tea"])]


def test_the_first_call_goes_out_at_once_and_those_arriving_meanwhile_go_together() -> None:
    async def scenario() -> Any:
        batched = BatchedEmbedder(diary := Diary(held=True))
        first = asyncio.create_task(batched.embed(["a"]))
        await diary.begun.wait()
        others = [asyncio.create_task(batched.embed([text])) for text in "abcdb"]
        await turns()
        diary.go_on.set()
        await asyncio.gather(first, *others)
        return [texts for _, texts in batched.inner.calls]

    assert asyncio.run(scenario()) == [["a"], ["b", "c", "d"]]


def test_a_long_call_lets_a_short_one_in_between() -> None:
    async def scenario() -> Any:
        batched = BatchedEmbedder(diary := Diary(), batch_size=4)
        long = asyncio.create_task(batched.embed([f"long {n}" for n in range(80)]))
        await diary.begun.wait()
        await batched.embed(["short"])
        behind = 80 - (len(batched.inner.texts) - 1)
        await long
        return behind

    assert asyncio.run(scenario()) > 50


def test_a_bad_text_fails_its_own_call_and_no_other() -> None:
    async def scenario() -> Any:
        batched = BatchedEmbedder(Diary(refuses=["bad"]))
        calls = [["warm"], ["good", "x"], ["bad", "y"], ["fine"]]
        return await asyncio.gather(*(batched.embed(call) for call in calls), return_exceptions=True)

    warm, good, bad, fine = asyncio.run(scenario())
    assert (warm.shape, good.shape, fine.shape) == ((1, 8), (2, 8), (1, 8))
    assert isinstance(bad, EmbedderError)


def test_a_failure_is_not_remembered() -> None:
    async def scenario() -> Any:
        batched = BatchedEmbedder(Diary(refuses=["tea"]))
        with pytest.raises(EmbedderError, match="cannot embed"):
            await batched.embed(["tea", "milk"])
        batched.inner.refuses.clear()
        return await batched.embed(["tea", "milk"]), batched.inner.calls

    rows, calls = asyncio.run(scenario())
    assert rows.shape == (2, 8)
    assert [texts for _, texts in calls] == [["tea", "milk"]] * 2


def test_a_service_that_is_away_is_not_asked_again_for_each_caller() -> None:
    async def scenario() -> Any:
        batched = BatchedEmbedder(Diary(refuses=["b", "c"], error=EmbedderUnavailableError))
        calls = asyncio.gather(*(batched.embed([text]) for text in "bc"), return_exceptions=True)
        return await calls, batched.inner.calls

    errors, calls = asyncio.run(scenario())
    assert [type(error) for error in errors] == [EmbedderUnavailableError] * 2
    assert [texts for _, texts in calls] == [["b", "c"]]


@pytest.mark.parametrize("answer", [[[1.0] * 8], [[0.0] * 8] * 2, [[1.0] * 7] * 2, "no vectors", None])
def test_a_wrong_answer_is_an_error_that_names_the_embedder(answer: Any) -> None:
    class Wrong(Diary):
        async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Any:
            return answer

    with pytest.raises(EmbedderError, match="Wrong"):
        asyncio.run(BatchedEmbedder(Wrong()).embed(["a", "b"]))


def test_whatever_an_embedder_raises_arrives_as_our_error() -> None:
    class Broken(Diary):
        async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Any:
            raise ZeroDivisionError("by design")

    with pytest.raises(EmbedderError, match="Broken failed: ZeroDivisionError: by design"):
        asyncio.run(BatchedEmbedder(Broken()).embed(["a"]))


def test_a_caller_that_gives_up_leaves_the_others_their_vectors() -> None:
    async def scenario() -> Any:
        batched = BatchedEmbedder(diary := Diary(held=True))
        first = asyncio.create_task(batched.embed(["shared"]))
        second = asyncio.create_task(batched.embed(["shared", "own"]))
        await diary.begun.wait()
        first.cancel()
        diary.go_on.set()
        rows = await second
        assert first.cancelled()
        return rows, batched.inner.texts

    rows, texts = asyncio.run(scenario())
    assert rows.shape == (2, 8)
    assert sorted(texts) == ["own", "shared"]


def test_a_loop_that_ends_amid_a_call_leaves_the_embedder_usable() -> None:
    batched = BatchedEmbedder(diary := Diary(held=True))

    async def given_up() -> None:
        task = asyncio.create_task(batched.embed(["tea"]))
        await diary.begun.wait()
        assert not task.done()

    asyncio.run(given_up())
    diary.go_on.set()
    assert asyncio.run(batched.embed(["tea"])).shape == (1, 8)


def test_threads_with_loops_of_their_own_share_one_cache() -> None:
    batched = BatchedEmbedder(Diary())
    texts = [f"text {n}" for n in range(40)]
    expected = asyncio.run(batched.embed(texts))
    calls = len(batched.inner.calls)
    with ThreadPoolExecutor(8) as pool:
        for rows in pool.map(lambda _: asyncio.run(batched.embed(texts)), range(16)):
            assert np.array_equal(rows, expected)
    assert len(batched.inner.calls) == calls


def test_threads_may_embed_different_texts_at_once() -> None:
    batched = BatchedEmbedder(Diary(), cache_size=5, batch_size=3)
    plain = BatchedEmbedder(Diary(), cache_size=0)

    def work(worker: Any) -> Any:
        texts = [f"{(worker + n) % 12}" for n in range(10)]
        return np.array_equal(asyncio.run(batched.embed(texts)), asyncio.run(plain.embed(texts)))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(24)))


def test_the_cache_is_bounded_and_drops_what_was_used_longest_ago() -> None:
    async def scenario() -> Any:
        batched = BatchedEmbedder(Diary(), cache_size=2)
        for text in ["a", "b", "a", "c", "a", "b"]:
            await batched.embed([text])
        return batched.inner.texts

    assert asyncio.run(scenario()) == ["a", "b", "c", "b"]


def test_a_caller_may_write_into_its_rows() -> None:
    async def scenario() -> Any:
        batched = BatchedEmbedder(Diary())
        first = await batched.embed(["tea"])
        kept = first.copy()
        first[:] = 0
        return np.array_equal(await batched.embed(["tea"]), kept)

    assert asyncio.run(scenario())
