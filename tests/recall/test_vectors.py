from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memorist.recall import vectors as vectors_module
from memorist.recall.vectors import VectorTable

Floats = NDArray[np.float32]


def units(count: int, dimensions: int, seed: int = 0) -> Floats:
    rows = np.random.default_rng(seed).normal(size=(count, dimensions))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def hostile(count: int, dimensions: int) -> Floats:
    """Vectors that one-byte codes hold badly: one large component and many tiny ones, others of one alone."""
    rows = units(count, dimensions) * 1e-2
    rows[:, 0] = 1
    rows[::3] = 0
    rows[::3, 1] = -1
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_module, "BLOCK_ROWS", 100)
    monkeypatch.setattr(vectors_module, "_HELD_BLOCKS", 1)
    monkeypatch.setattr(vectors_module, "_SHARED_BLOCKS", 3)


@pytest.mark.parametrize("count", [1, 2, 255, 256, 257, 600])
def test_few_vectors_are_held_whole(count: int) -> None:
    table, rows = VectorTable(16), units(count, 16)
    table.extend(list(rows))

    assert table.exact
    assert table.error(rows[0]) == 0
    assert table.scores(rows[0]) == pytest.approx(rows @ rows[0], abs=1e-6)
    assert np.array_equal(table.take(np.arange(count)), rows)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("make", [units, hostile])
@pytest.mark.parametrize("steps", [[100, 1], [101], [30, 80, 1, 400], [1] * 130, [350]])
@pytest.mark.parametrize("mapped", [False, True])
def test_many_vectors_are_off_by_no_more_than_is_said(
    make: type, steps: list[int], mapped: bool, tmp_path: Path
) -> None:
    rows = make(sum(steps), 24)
    table = VectorTable(24, tmp_path if mapped else None)
    done = 0
    for step in steps:
        table.extend(list(rows[done : done + step]))
        done += step

    assert not table.exact
    for query in (*units(20, 24, 1), rows[0], rows[-1]):
        off = np.abs(table.scores(query) - rows @ query).max()
        assert off <= table.error(query) < 0.05
        some = np.arange(done)[::-3]
        finer, error = table.finer(query, some)
        assert np.abs(finer - rows[some] @ query).max() <= error <= table.error(query)
    assert table.take(np.arange(done)[::-1]) == pytest.approx(rows[::-1], abs=0.01)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("count", [50, 250])
def test_a_row_may_be_set_again_and_be_none(count: int, tmp_path: Path) -> None:
    rows = units(count, 8)
    table = VectorTable(8, tmp_path)
    table.extend([None if n == 3 else row for n, row in enumerate(rows)])
    table.put(count - 1, rows[0])
    table.put(1, None)

    scores = table.scores(rows[0])
    assert scores[[0, count - 1]] == pytest.approx([1, 1], abs=0.02)
    assert scores[[1, 3]].tolist() == [0, 0]
    assert table.rows == len(scores) == count


def test_codes_take_a_quarter_of_the_room() -> None:
    few, many = VectorTable(64), VectorTable(64)
    few.extend(list(units(vectors_module.BLOCK_ROWS, 64)))
    many.extend(list(units(2 * vectors_module.BLOCK_ROWS, 64)))

    assert few.exact
    assert not many.exact
    assert many.nbytes < 0.6 * few.nbytes


@pytest.mark.usefixtures("small_blocks")
def test_codes_beyond_the_first_blocks_lie_in_a_file_without_a_name(tmp_path: Path) -> None:
    rows = units(500, 24)
    whole, table = VectorTable(24), VectorTable(24, tmp_path)
    for each in (whole, table):
        each.extend(list(rows))

    assert table.nbytes == whole.nbytes - 4 * 100 * 24
    assert list(tmp_path.iterdir()) == []
    for some in (np.arange(500), np.array([499, 3, 101])):
        assert np.array_equal(table.held(some)[0], whole.held(some)[0])
    assert np.array_equal(table.scores(rows[7]), whole.scores(rows[7]))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("begun", [150, 250])
def test_codes_that_the_disk_has_no_room_for_are_held_in_memory(begun: int, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    rows = units(500, 24)
    table = VectorTable(24, tmp_path)
    table.extend(list(rows[:begun]))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        table.extend(list(rows[begun:]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert table.take(np.arange(500)) == pytest.approx(rows, abs=0.01)


def test_a_folder_that_is_not_there_is_done_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(vectors_module, "BLOCK_ROWS", 10)
    table, rows = VectorTable(8, tmp_path / "gone"), units(100, 8)
    table.extend(list(rows))
    assert table.take(np.arange(100)) == pytest.approx(rows, abs=0.01)


@pytest.mark.usefixtures("small_blocks")
def test_rescoring_within_the_error_finds_the_best() -> None:
    rows = units(1000, 16)
    table = VectorTable(16)
    table.extend(list(rows))

    for query in units(50, 16, 2):
        scores, exact = table.scores(query), rows @ query
        last = np.partition(scores, -10)[-10]
        candidates = np.flatnonzero(scores >= last - 2 * table.error(query))
        assert set(np.argsort(-exact)[:10]) <= set(candidates.tolist())
