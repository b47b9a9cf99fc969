"""The protocol of chat models, their replies and usage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, runtime_checkable

ChatMessage: TypeAlias = Mapping[str, str]
"""``{"role": "system" | "user" | "assistant", "content": text}``."""
ModelFunction: TypeAlias = Callable[..., Any | Awaitable[Any]]

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The calls, tokens and cost of a chat model; usages can be added.

    Args:
        calls: the number of answered calls.
        failures: the number of calls that failed after all retries.
        prompt_tokens: tokens sent.
        completion_tokens: tokens received.
        estimated: whether tokens are estimated as a quarter of the characters, because the model did not count them.
        cost: the cost at the given prices, in their currency; None without prices.
        seconds: the total duration of the calls.
        batches: the number of calls into which the work was divided.
        concurrency: the most calls at once.
    """

    calls: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    cost: float | None = None
    seconds: float = 0.0
    batches: int = 0
    concurrency: int = 0

    def __add__(self, other: Usage) -> Usage:
        added = ("calls", "failures", "prompt_tokens", "completion_tokens", "seconds", "batches")
        totals = {name: getattr(self, name) + getattr(other, name) for name in added}
        costs = [each.cost for each in (self, other) if each.cost is not None]
        estimated, concurrency = self.estimated or other.estimated, max(self.concurrency, other.concurrency)
        return Usage(**totals, estimated=estimated, cost=sum(costs) if costs else None, concurrency=concurrency)

    def priced(self, prices: Prices | None) -> Usage:
        """Return this usage with its cost at these prices."""
        return self if prices is None else replace(self, cost=prices.of(self.prompt_tokens, self.completion_tokens))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The prices of a million tokens, in the caller's currency."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost of these numbers of tokens."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / _MILLION


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer of a chat model.

    Args:
        text: the answer, unchanged.
        data: the parsed answer, if a schema was given and the answer fits it; else None.
        usage: the usage of this call.
        problem: why there is no data although a schema was given: the answer is empty, not JSON, truncated, a
            refusal, or of another form.
    """

    text: str
    data: Any = None
    usage: Usage = NO_USAGE
    problem: str | None = None


@runtime_checkable
class ChatModel(Protocol):
    """The protocol of a chat model."""

    async def complete(self, messages: Sequence[ChatMessage], *, schema: Mapping[str, Any] | None = None) -> Reply:
        """Return the answer to a chat; with a JSON schema, in that form.

        Raises:
            ModelUnavailableError: it cannot be reached or used now, or did not answer in time.
            ModelError: it refused this call; others may succeed.
        """
        ...


ChatModelSpec: TypeAlias = ChatModel | ModelFunction | str
