"""The layer that answers again where another process has reindexed the store."""

from typing import TypeVar

from memorist.engine.core import Layer
from memorist.errors import EmbedderMismatchError
from memorist.operations.calls import Call
from memorist.operations.requests import Request

T = TypeVar("T")


class RetryingEngine(Layer):
    """Answers a second time where the store got the vectors of another embedder that this one can be."""

    async def answer(self, call: Call, request: Request[T]) -> T:
        try:
            return await self._inner.answer(call, request)
        except EmbedderMismatchError:
            stored = await self._core.store.fingerprint()
            if stored is None or not await self._core.embedder.suits(stored):
                raise
        return await self._inner.answer(call, request)
