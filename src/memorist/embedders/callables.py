"""A plain function as an embedder."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, cast

from numpy.typing import ArrayLike

from memorist.embedders.base import Embedder, Role, Vectors, embed_checked, unit_rows
from memorist.embedders.blocking import Workers
from memorist.embedders.prefixes import NO_PREFIXES, Prefixes
from memorist.errors import EmbedderError

EmbedFunction: TypeAlias = Callable[[list[str]], Any | Awaitable[Any]]


class CallableEmbedder(Embedder):
    """Wraps a function from texts to vectors.

    A blocking function is called in its own thread, one call at a time; an async one on the caller's event
    loop. It does not learn the role of a text, except by the prefix.

    Args:
        function: Takes a list of texts, none of them blank, and returns one vector for each; may be async.
        dimensions: Length of a vector; determined with one call if not given.
        fingerprint: Identifies the model behind the function. By default the function's own name: then a change
            of the model behind it is not noticed, so give one.
        prefixes: What is put before each text by its role; part of the fingerprint.
    """

    def __init__(
        self,
        function: EmbedFunction,
        dimensions: int = 0,
        fingerprint: str = "",
        *,
        prefixes: Prefixes = NO_PREFIXES,
    ) -> None:
        named = getattr(function, "__qualname__", type(function).__qualname__)
        self.name = f"the function {named}"
        self.dimensions = dimensions
        self.fingerprint = ":".join(filter(None, [fingerprint or f"function:{named}", prefixes.mark()]))
        self._prefixes = prefixes
        self._function = function
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        self._workers = Workers(1)

    async def ready(self) -> None:
        if not self.dimensions:
            probe = await self._call(["dimensions"])
            self.dimensions = unit_rows(probe, 1, 0, self.name).shape[1]

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
        await self.ready()
        return await embed_checked(
            lambda kept: self._call([self._prefixes.apply(text, role) for text in kept]),
            texts, self.dimensions, self.name,
        )  # fmt: skip

    async def close(self) -> None:
        self._workers.close()

    async def _call(self, texts: list[str]) -> ArrayLike:
        try:
            if self._is_async:
                found = self._function(texts)
            else:
                found = await asyncio.wrap_future(self._workers.submit(self._function, texts))
            # A plain function may still return a coroutine, as a lambda around a client does.
            return cast(ArrayLike, await found if inspect.isawaitable(found) else found)
        except EmbedderError:
            raise
        except Exception as error:  # a function from elsewhere may raise anything
            raise EmbedderError(f"{self.name} failed: {type(error).__name__}: {error}") from error
