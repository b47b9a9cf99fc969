"""A plain function as an embedder."""

import asyncio
import functools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from memorist.embedders import CallableEmbedder, open_embedder
from memorist.errors import EmbedderError


def lengths(texts: Sequence[str]) -> Any:
    return [[len(text), 1.0, 0.0] for text in texts]


async def lengths_async(texts: Sequence[str]) -> Any:
    await asyncio.sleep(0)
    return np.array(lengths(texts))


class Service:
    async def __call__(self, texts: Sequence[str]) -> Any:
        return lengths(texts)


@pytest.mark.parametrize(
    "function",
    [lengths, lengths_async, Service(), lambda texts: lengths_async(texts), functools.partial(lengths_async)],
    ids=["blocking", "async", "object", "lambda", "partial"],
)
def test_any_function_from_texts_to_vectors_will_do(function: Any) -> None:
    embedder = open_embedder(function)
    rows = asyncio.run(embedder.embed(["four", "", "a"]))
    assert embedder.dimensions == 3
    assert np.allclose(rows, np.array([[4 / 17**0.5, 1 / 17**0.5, 0], [0, 0, 0], [0.5**0.5, 0.5**0.5, 0]]))


def test_a_blocking_function_runs_in_one_thread_that_is_not_the_loops() -> None:
    threads, go_on = set(), threading.Event()

    def slow(texts: Sequence[str]) -> Any:
        threads.add(threading.get_ident())
        assert go_on.wait(60)
        return lengths(texts)

    async def scenario() -> None:
        embedder = CallableEmbedder(slow, 3)
        calls = [asyncio.create_task(embedder.embed([text])) for text in "abcdef"]
        for _ in range(20):  # until each has been handed over
            await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(*calls)
        await embedder.close()

    asyncio.run(scenario())
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_the_dimensions_given_save_a_call_and_are_held_to() -> None:
    seen = []

    def four(texts: Sequence[str]) -> Any:
        seen.append(list(texts))
        return [[1.0] * 4 for _ in texts]

    embedder = CallableEmbedder(four, dimensions=5)
    asyncio.run(embedder.ready())
    assert seen == []
    with pytest.raises(EmbedderError, match="4 dimensions, expected 5"):
        asyncio.run(embedder.embed(["tea"]))


def test_the_fingerprint_is_the_given_one_or_the_functions_name() -> None:
    assert CallableEmbedder(lengths, fingerprint="lengths-v2").fingerprint == "lengths-v2"
    assert CallableEmbedder(lengths).fingerprint == "function:lengths"


@pytest.mark.parametrize("dimensions", [0, 3])
def test_what_a_function_raises_is_an_embedder_error_that_names_it(dimensions: Any) -> None:
    def broken(texts: Sequence[str]) -> None:
        raise KeyError("quota")

    with pytest.raises(EmbedderError, match=r"broken failed: KeyError: 'quota'"):
        asyncio.run(CallableEmbedder(broken, dimensions).embed(["tea"]))
