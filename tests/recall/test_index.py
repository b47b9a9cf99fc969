"""An index that follows the changes one by one is like one that reads their outcome at once."""

from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.recall import index as index_module
from memorist.recall import vectors as vectors_module
from memorist.recall.index import WallIndex
from memorist.recall.replaced import middle
from memorist.recall.scale import Scale
from memorist.records.filters import Filter
from memorist.records.record import Kind
from memorist.records.times import to_micros
from memorist.stores.base import Entries, Entry
from memorist.testing.contract.base import NOON, vector_of

AT = st.integers(0, 5).map(lambda n: to_micros(NOON + timedelta(seconds=n)))
NAMES = st.sampled_from([None, "x", "y"])
ENTRIES = st.builds(
    lambda number, kind, agent, session, speaker, at, over, ended, rating, terms, seed, marks: Entry(
        number, f"n{number}", kind, agent, session, speaker, at, over, ended, rating, terms,
        None if seed is None else vector_of(str(seed)), marks,
    ),
    st.integers(1, 12), st.sampled_from([Kind.MESSAGE, Kind.MESSAGE, Kind.NOTE]), NAMES, NAMES, NAMES, AT,
    st.none() | AT, st.none() | AT, st.none() | st.sampled_from([-1.0, 0.5]),
    st.sampled_from(["", "tea", "tea milk", "milk milk sugar"]), st.none() | st.integers(0, 4),
    st.frozensets(st.sampled_from(["asks", "tells", "timed", "standing", "day:-1", "day:17"]), max_size=3),
)  # fmt: skip
CHANGED = st.lists(ENTRIES, max_size=5, unique_by=lambda entry: entry.number)
STEPS = st.lists(st.tuples(CHANGED, st.sets(st.integers(1, 12), max_size=2)), max_size=8)
MOMENTS = [NOON + timedelta(seconds=n) for n in range(6)]
FILTERS = [
    Filter(), Filter(superseded=True), *(Filter(as_of=each) for each in MOMENTS),
    *(Filter(since=each) for each in MOMENTS), *(Filter(until=each) for each in MOMENTS),
    Filter(kinds=frozenset([Kind.NOTE])), Filter(kinds=frozenset()),
    Filter(agent="x"), Filter(session="y"), Filter(agent="never seen"), Filter(session="x", agent="y"),
]  # fmt: skip


def followed(
    steps: list[tuple[list[Entry], set[int]]], look: Callable[[WallIndex], object]
) -> tuple[WallIndex, WallIndex]:
    """Return an index that took the steps one by one, looked at in between, and one that was told their outcome."""
    follower, there = WallIndex(8), dict[int, Entry]()
    for epoch, (entries, gone) in enumerate(steps, 1):
        follower.update(Entries("g", epoch, entries, list(gone)))
        look(follower)
        there.update({entry.number: entry for entry in entries})
        for number in gone:
            there.pop(number, None)
    reader = WallIndex(8)
    reader.update(Entries("g", len(steps), sorted(there.values()), []))
    return follower, reader


@settings(max_examples=25)
@given(STEPS)
def test_the_mean_vector_follows_the_changes(steps: list[tuple[list[Entry], set[int]]]) -> None:
    follower, reader = followed(steps, lambda index: middle(index, Scale()))
    assert np.allclose(middle(follower, Scale()), middle(reader, Scale()), atol=1e-6)


def by_number(index: WallIndex, values: np.ndarray[tuple[int], np.dtype[np.generic]]) -> dict[int, object]:
    numbers = index.column("number")
    return {int(numbers[row]): values[row].item() for row in np.flatnonzero(index.alive)}


def told(index: WallIndex) -> dict[str, object]:
    """Return all that ranking may ask, with numbers and names in the place of rows and codes."""
    numbers, rows = index.column("number"), np.flatnonzero(index.alive)
    names = {"agent": list(index.agents), "session": list(index.sessions), "speaker": list(index.speakers)}
    plain = ("at", "expires_at", "superseded_at", "rating", "length", "kind", "asks", "tells", "timed")
    answers: dict[str, object] = {name: by_number(index, index.column(name)) for name in plain}
    for name, known in names.items():
        codes = by_number(index, index.column(name))
        answers[name] = {number: [*known, None][int(str(code))] for number, code in codes.items()}  # None has -1
    for name, beside in zip(("before", "after"), index.neighbours(), strict=True):
        answers[name] = {int(numbers[row]): None if beside[row] < 0 else int(numbers[beside[row]]) for row in rows}
    marked, days = index.days()
    answers["days"] = sorted(
        (int(numbers[row]), day) for row, day in zip(marked, days.tolist(), strict=True) if index.alive[row]
    )
    answers["years"] = list(index.years)
    for each in FILTERS:
        for moment in MOMENTS[::2]:
            answers[f"{each} {moment}"] = sorted(numbers[index.allowed(each, to_micros(moment))].tolist())
    return answers


@settings(max_examples=100)
@given(STEPS, st.booleans())
def test_following_is_like_reading_anew(steps: list[tuple[list[Entry], set[int]]], looking: bool) -> None:
    follower, reader = followed(steps, told if looking else lambda _: None)

    assert told(follower) == told(reader)
    for term in ("tea", "milk", "sugar", "none"):
        counts = []
        for index in (follower, reader):
            rows, times = index.posted().of(term)
            numbers = index.column("number")
            counts.append(
                {int(numbers[row]): n for row, n in zip(rows, times.tolist(), strict=True) if index.alive[row]}
            )
        assert counts[0] == counts[1]
    query = vector_of("query")
    if reader.rows:
        one, other = (by_number(index, index.vectors.scores(query)) for index in (follower, reader))
        assert one == pytest.approx(other, abs=1e-5)
        one, other = (by_number(index, index.blend_lengths(np.arange(index.rows))) for index in (follower, reader))
        assert one == pytest.approx(other, abs=1e-5)


@settings(max_examples=60)
@given(STEPS)
def test_following_past_the_size_of_a_block(steps: list[tuple[list[Entry], set[int]]]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(index_module, "BLOCK_ROWS", 4)
        patched.setattr(vectors_module, "BLOCK_ROWS", 4)
        follower, reader = followed(steps, told)

        assert told(follower) == told(reader)
        query = vector_of("query")
        if follower.rows > 4:
            assert not follower.has_postings
            assert not follower.vectors.exact
        one, other = (
            by_number(index, index.vectors.scores(query)) if index.rows else {} for index in (follower, reader)
        )
        slack = follower.vectors.error(query) + reader.vectors.error(query) + 1e-6
        assert one == pytest.approx(other, abs=slack)


def test_rows_of_numbers() -> None:
    index = WallIndex(2)
    entry = Entry(7, "a", Kind.NOTE, None, None, None, 0, None, None, None, "tea", np.array([1, 0], np.float32))
    index.update(Entries("g", 1, [entry], []))

    assert index.rows_of([7, 8, np.int64(7)]).tolist() == [0, 0]  # type: ignore[list-item]
    assert index.rows_of([]).tolist() == []
    assert index.terms(0) == "tea"
    assert (index.posted().holders("tea"), index.posted().holders("coffee")) == (1, 0)
    assert (index.generation, index.epoch) == ("g", 1)
    before = index.nbytes
    index.update(Entries("g", 2, [entry._replace(number=n) for n in range(8, 2000)], []))
    assert index.nbytes > before
    assert not index.mostly_dead
    index.update(Entries("g", 3, [], list(range(100, 2000))))
    assert index.mostly_dead
