"""An engine that wraps another and names the door through which its requests come."""

from typing import TypeVar

from memorist.engine.base import Engine, WrappedEngine
from memorist.observing import through
from memorist.origins import Door
from memorist.requests import Request
from memorist.scope import Scope

T = TypeVar("T")


class DoorEngine(WrappedEngine):
    """Passes requests to another engine, as coming through a door.

    Args:
        inner: the engine that answers.
        door: the door.
    """

    def __init__(self, inner: Engine, door: Door) -> None:
        super().__init__(inner)
        self._door = door

    async def answer(self, scope: Scope, request: Request[T]) -> T:
        """Return the inner engine's answer."""
        with through(self._door):
            return await self._inner.answer(scope, request)
