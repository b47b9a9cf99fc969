"""The base class of chat models: it limits concurrent calls, counts usage, and parses answers."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from memorist.errors import ModelError
from memorist.kinds import estimate_tokens
from memorist.language.models import ChatMessage, Prices, Reply, Usage
from memorist.language.reading import read_answer
from memorist.operations.arguments import whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The unparsed answer of one call. Tokens are None if the model does not count them."""

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cut: bool = False
    refused: bool = False


class CountingChatModel(ABC):
    """A chat model that counts its usage. A subclass implements only `_answer`.

    Attributes:
        usage: of all calls so far.
    """

    def __init__(self, name: str, *, prices: Prices | None = None, concurrency: int = 4) -> None:
        whole("concurrency", concurrency, 1)
        self.name = name
        self.concurrency = concurrency
        self.usage = Usage(concurrency=concurrency)
        self._prices = prices
        self._limits: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    async def complete(self, messages: Sequence[ChatMessage], *, schema: Mapping[str, Any] | None = None) -> Reply:
        """Return the answer to a chat; with a JSON schema, in that form. See `ChatModel.complete`."""
        limit = self._limits.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self.concurrency))
        async with limit:
            begun = time.perf_counter()
            try:
                answer = await self._answer(messages, schema)
            except ModelError:
                spent = Usage(failures=1, seconds=time.perf_counter() - begun, concurrency=self.concurrency)
                self.usage += spent
                raise
            seconds = time.perf_counter() - begun
        sent, received = answer.prompt_tokens, answer.completion_tokens
        usage = Usage(
            calls=1,
            prompt_tokens=sum(estimate_tokens(each["content"]) for each in messages) if sent is None else sent,
            completion_tokens=estimate_tokens(answer.text) if received is None else received,
            estimated=sent is None or received is None,
            seconds=seconds,
            concurrency=self.concurrency,
        ).priced(self._prices)
        self.usage += usage
        reply = Reply(text=answer.text, usage=usage)
        if schema is None:
            problem = "the model refused" if answer.refused else None if answer.text.strip() else "the answer is empty"
            return replace(reply, problem=problem)
        data, problem = read_answer(answer.text, schema, cut=answer.cut, refused=answer.refused)
        return replace(reply, data=data, problem=problem)

    async def close(self) -> None:
        """Release connections and threads; a later call opens them again."""

    async def __aenter__(self) -> CountingChatModel:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @abstractmethod
    async def _answer(self, messages: Sequence[ChatMessage], schema: Mapping[str, Any] | None) -> Completion:
        """Return the answer to one call.

        Raises:
            ModelError: the model did not answer.
        """
