"""What every embedder promises, and what is said of one that breaks it."""

import asyncio
import subprocess
import sys
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memorist.embedders import BatchedEmbedder, Embedder, Role, embed_checked, unit_rows
from memorist.errors import EmbedderError

NUMBERS = st.floats(-1e150, 1e150).filter(lambda number: number == 0 or abs(number) > 1e-150)


class WordEmbedder(Embedder):
    """The example in the docstring of Embedder."""

    dimensions = 256
    fingerprint = "hash-256-v1"

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Any:
        rows = np.zeros((len(texts), 256), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[zlib.crc32(word.encode()) % 256] += 1
        return rows


def test_ones_own_embedder_is_two_attributes_and_a_method() -> None:
    rows = asyncio.run(BatchedEmbedder(WordEmbedder()).embed(["tea tea", "Tea", "", "coffee"]))
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 1, 0, 1])
    assert rows[0] @ rows[1] == pytest.approx(1)
    assert rows[0] @ rows[3] == 0


@given(arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 8)), elements=NUMBERS))
def test_any_finite_rows_that_are_not_zero_become_unit_rows_and_stay_so(matrix: Any) -> None:
    matrix[:, 0] += (np.abs(matrix).max(axis=1) == 0).astype(float)
    rows = unit_rows(matrix, len(matrix), matrix.shape[1], "it")
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows.astype(np.float64), axis=1), 1, atol=1e-6)
    assert np.array_equal(unit_rows(rows, len(rows), rows.shape[1], "it"), rows)


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([[1, 0, 0]], r"shape \(1, 3\) for 2 texts"),
        ([1, 0, 0], r"shape \(3,\) for 2 texts"),
        ([[1, 0], [0, 1]], "2 dimensions, expected 3"),
        ([[1, 0, 0], [0, float("nan"), 0]], "NaN or infinity for text 1 of 2"),
        ([[1, 0, 0], [0, float("inf"), 0]], "NaN or infinity for text 1 of 2"),
        ([[0, 0, 0], [1, 0, 0]], "all-zero vector for text 0 of 2"),
        ([[1, 0, 0], [1, 0]], "one vector of numbers per text"),
        ([["a", "b", "c"], ["d", "e", "f"]], "one vector of numbers per text"),
        (None, "did not return|shape"),
    ],
)
def test_a_wrong_answer_is_an_error_that_says_what_is_wrong(rows: Any, complaint: Any) -> None:
    with pytest.raises(EmbedderError, match=complaint):
        unit_rows(rows, 2, 3, "it")


def test_blank_texts_never_reach_the_model_and_get_a_zero_row() -> None:
    seen: list[str] = []

    async def call(texts: Sequence[str]) -> Any:
        seen.extend(texts)
        return [[3.0, 4.0]] * len(texts)

    rows = asyncio.run(embed_checked(call, ["", "a", " \n\t", "b"], 2, "it"))
    assert seen == ["a", "b"]
    assert rows.tolist() == pytest.approx(np.array([[0, 0], [0.6, 0.8], [0, 0], [0.6, 0.8]]))


def test_no_texts_are_no_rows() -> None:
    assert asyncio.run(BatchedEmbedder(WordEmbedder()).embed([])).shape == (0, 256)


def test_half_a_surrogate_pair_reaches_the_model_as_text_it_can_encode() -> None:
    async def call(texts: Sequence[str]) -> Any:
        assert [text.encode("utf-8") for text in texts] == [b"broken ? here"]
        return [[1.0]]

    asyncio.run(embed_checked(call, ["broken \ud83d here"], 1, "it"))


def test_one_string_in_place_of_a_list_is_refused() -> None:
    with pytest.raises(TypeError, match="not one string"):
        asyncio.run(BatchedEmbedder(WordEmbedder()).embed("tea"))


def test_importing_embedders_loads_no_model_library() -> None:
    heavy = "onnxruntime", "tokenizers", "openai", "fastembed", "sentence_transformers"
    code = f"import sys, memorist.embedders; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
