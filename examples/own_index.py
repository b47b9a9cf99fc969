"""An index of your own: every method of the contract, with the vectors in this process's memory.

    async with Memory.open("postgresql://…", index=OwnIndex()) as memory:
        ...

Keep it right by running the published tests on it: `memorist.testing.IndexContract`.
"""

from collections.abc import Sequence

from memorist.errors import ClosedError
from memorist.indexes import Index, Near, Point, Position
from memorist.stores.base import Vector


class OwnIndex(Index):
    """Compares every vector: exact, for as many as fit into memory."""

    name = "own index"

    def __init__(self) -> None:
        self._open = False
        self._positions: dict[str, Position] = {}
        self._points: dict[str, dict[int, tuple[int, Point | None]]] = {}

    def open(self) -> None:
        self._open = True

    def close(self) -> None:
        self._open = False

    def _behind(self, wall: str) -> dict[int, tuple[int, Point | None]]:
        if not self._open:
            raise ClosedError("the index is not open")
        return self._points.get(wall, {})

    def position(self, wall: str) -> Position | None:
        self._behind(wall)
        return self._positions.get(wall)

    def update(self, wall: str, points: Sequence[Point], gone: Sequence[int], position: Position) -> None:
        lengths = {len(each.vector) for rows in self._points.values() for _, each in rows.values() if each is not None}
        if points and lengths - {len(points[0].vector)}:
            self._points, self._positions = {}, {}
        rows = dict(self._behind(wall))
        changed: dict[int, Point | None] = {**dict.fromkeys(gone), **{each.number: each for each in points}}
        for number, new in changed.items():
            if rows.get(number, (-1, None))[0] <= position.epoch:
                rows[number] = position.epoch, new
        self._points[wall], self._positions[wall] = rows, position

    def nearest(self, wall: str, vector: Vector, limit: int) -> list[Near]:
        rows = [each for _, each in self._behind(wall).values() if each is not None]
        found = [Near(each.number, each.id, float(each.vector @ vector)) for each in rows]
        return sorted(found, key=lambda each: -each.similarity)[:limit]

    def walls(self) -> dict[str, int]:
        return {wall: sum(each is not None for _, each in self._behind(wall).values()) for wall in self._positions}

    def purge(self, wall: str) -> None:
        self._behind(wall)
        self._points.pop(wall, None)
        self._positions.pop(wall, None)
