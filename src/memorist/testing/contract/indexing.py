"""The contract of an index: stored points are found only behind their wall, whatever the order of updates."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from memorist.errors import ClosedError
from memorist.indexes.base import Index, Point, Position, token_of
from memorist.testing.contract.base import ALICE, BOB, DIMENSIONS, vector_of

MINE, THEIRS = token_of(ALICE), token_of(BOB)


def point(number: int, text: str | None = None, dimensions: int = DIMENSIONS) -> Point:
    """Return a point for a text, always the same one."""
    return Point(number, f"id {number}", vector_of(text or f"text {number}", dimensions))


class IndexContract:
    """Every promise of `memorist.indexes.base.Index`, against the index that `make_index` makes."""

    def make_index(self) -> Index:
        """Return a new, empty index, not opened yet."""
        raise NotImplementedError("say how to make an index")

    def another(self, index: Index) -> Index | None:
        """Return a second index in the same place, to be opened after `index` is closed; None if that is impossible."""
        return None

    @contextmanager
    def opened(self, index: Index | None = None) -> Iterator[Index]:
        """Open an index for a test, by default a new one."""
        index = index or self.make_index()
        index.open()
        try:
            yield index
        finally:
            index.close()

    def found(self, index: Index, wall: str, text: str, limit: int = 9) -> list[int]:
        """Return the numbers nearest to a text."""
        return [each.number for each in index.nearest(wall, vector_of(text), limit)]

    def test_an_empty_index_finds_nothing(self) -> None:
        with self.opened() as index:
            assert index.position(MINE) is None
            assert index.nearest(MINE, vector_of("anything"), 5) == []
            assert index.walls() == {}
            assert index.count(MINE) == 0
            index.purge(MINE)

    def test_the_nearest_come_first_with_id_and_cosine(self) -> None:
        with self.opened() as index:
            index.update(MINE, [point(n) for n in range(1, 41)], [], Position("g", 7))

            [first, second, *_] = index.nearest(MINE, vector_of("text 5"), 3)

            assert (first.number, first.id) == (5, "id 5")
            assert first.similarity == pytest.approx(1, abs=1e-4)
            best = sorted((float(vector_of(f"text {n}") @ vector_of("text 5")), n) for n in range(1, 41))[-2]
            assert second.number == best[1]
            assert second.similarity == pytest.approx(best[0], abs=1e-4)
            assert len(index.nearest(MINE, vector_of("text 5"), 99)) == 40
            assert index.position(MINE) == Position("g", 7)
            assert index.walls() == {MINE: 40}

    def test_walls_are_apart(self) -> None:
        with self.opened() as index:
            index.update(MINE, [point(1), point(2)], [], Position("g", 1))
            index.update(THEIRS, [point(1, "text 2"), point(3)], [], Position("h", 2))

            assert self.found(index, MINE, "text 3") == self.found(index, MINE, "text 3")
            assert set(self.found(index, MINE, "text 3")) == {1, 2}
            assert self.found(index, THEIRS, "text 2")[0] == 1
            index.purge(MINE)
            assert self.found(index, MINE, "text 1") == []
            assert index.position(MINE) is None
            assert set(self.found(index, THEIRS, "text 1")) == {1, 3}
            assert index.walls() == {THEIRS: 2}

    def test_an_update_replaces_and_removes(self) -> None:
        with self.opened() as index:
            index.update(MINE, [point(1), point(2), point(3)], [], Position("g", 3))
            index.update(MINE, [point(2, "changed")], [1, 99], Position("g", 5))

            assert set(self.found(index, MINE, "text 1")) == {2, 3}
            assert self.found(index, MINE, "changed")[0] == 2
            assert index.nearest(MINE, vector_of("changed"), 1)[0].similarity == pytest.approx(1, abs=1e-4)
            assert index.walls() == {MINE: 2}
            index.update(MINE, [], [], Position("g", 6))
            assert index.position(MINE) == Position("g", 6)

    def test_an_update_again_changes_nothing(self) -> None:
        with self.opened() as index:
            for _ in range(2):
                index.update(MINE, [point(1), point(2)], [3], Position("g", 3))
            assert sorted(self.found(index, MINE, "text 1")) == [1, 2]
            assert index.walls() == {MINE: 2}

    def test_a_late_update_does_not_hide_a_newer_one(self) -> None:
        with self.opened() as index:
            index.update(MINE, [point(1, "new"), point(2)], [], Position("g", 9))
            index.update(MINE, [point(1, "old")], [2], Position("g", 5))  # by a slow process

            assert index.nearest(MINE, vector_of("new"), 1)[0].similarity == pytest.approx(1, abs=1e-4)
            assert 2 in self.found(index, MINE, "text 2")
            assert index.position(MINE) == Position("g", 5)
            index.update(MINE, [point(1, "new"), point(2)], [], Position("g", 9))  # the next update repeats it
            assert sorted(self.found(index, MINE, "new")) == [1, 2]

    def test_many_points_at_once(self) -> None:
        with self.opened() as index:
            index.update(MINE, [point(n) for n in range(1, 1301)], [], Position("g", 1300))
            index.update(MINE, [], list(range(1, 1201)), Position("g", 1301))
            assert index.walls() == {MINE: 100}
            assert self.found(index, MINE, "text 1250")[0] == 1250

    def test_vectors_of_another_length_empty_it(self) -> None:
        with self.opened() as index:
            index.update(MINE, [point(1)], [], Position("g", 1))
            index.update(THEIRS, [point(2, dimensions=3)], [], Position("h", 2))

            assert index.position(MINE) is None
            assert [each.number for each in index.nearest(THEIRS, vector_of("text 2", 3), 9)] == [2]
            assert index.walls() == {THEIRS: 1}

    def test_everything_is_there_when_opened_again(self) -> None:
        with self.opened() as index:
            index.update(MINE, [point(1), point(2)], [], Position("g", 2))
        other = self.another(index)
        if other is not None:
            with self.opened(other):
                assert other.position(MINE) == Position("g", 2)
                assert self.found(other, MINE, "text 2") == [2, 1]
                assert np.isclose(other.nearest(MINE, vector_of("text 2"), 1)[0].similarity, 1, atol=1e-4)

    def test_a_closed_index_says_so(self) -> None:
        index = self.make_index()
        index.open()
        index.close()
        index.close()
        with pytest.raises(ClosedError):
            index.position(MINE)
        with pytest.raises(ClosedError):
            index.nearest(MINE, vector_of("a"), 1)
