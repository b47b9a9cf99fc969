"""Chat models: what a step asks, what comes back, and from a short text to a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, runtime_checkable
from urllib.parse import urlsplit

from memorist.errors import InvalidInputError

__all__ = ["NO_USAGE", "ChatMessage", "ChatModel", "ChatModelSpec", "Prices", "Reply", "Usage", "open_chat_model"]

ChatMessage: TypeAlias = Mapping[str, str]
"""``{"role": "system" | "user" | "assistant", "content": text}``."""
ModelFunction: TypeAlias = Callable[..., Any | Awaitable[Any]]

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What calls of a chat model came to; usages add up.

    Args:
        calls: how many were answered.
        failures: how many were not, after all tries.
        prompt_tokens: tokens sent.
        completion_tokens: tokens answered.
        estimated: whether tokens are a quarter of the characters, as the model did not count them.
        cost: what it cost at the prices given, in their currency; None without prices.
        seconds: how long the calls took, all together.
        batches: into how many calls the work was divided.
        concurrency: how many calls may run at once.
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
        costs = [each.cost for each in (self, other) if each.cost is not None]
        return Usage(
            calls=self.calls + other.calls,
            failures=self.failures + other.failures,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            estimated=self.estimated or other.estimated,
            cost=sum(costs) if costs else None,
            seconds=self.seconds + other.seconds,
            batches=self.batches + other.batches,
            concurrency=max(self.concurrency, other.concurrency),
        )

    def priced(self, prices: Prices | None) -> Usage:
        """Return this usage with its cost at these prices."""
        return self if prices is None else replace(self, cost=prices.of(self.prompt_tokens, self.completion_tokens))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a million tokens cost, in a currency of the caller's."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return what so many tokens cost."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / _MILLION


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a chat model answered.

    Args:
        text: the answer, as it came.
        data: what it says, where a schema was given and the answer fits it; else None.
        usage: of this call.
        problem: why there is no data although a schema was given: the answer is empty, no JSON, cut off, a
            refusal, or of another form.
    """

    text: str
    data: Any = None
    usage: Usage = NO_USAGE
    problem: str | None = None


@runtime_checkable
class ChatModel(Protocol):
    """What a step needs of a chat model."""

    async def complete(self, messages: Sequence[ChatMessage], *, schema: Mapping[str, Any] | None = None) -> Reply:
        """Answer a chat; with a JSON schema, in that form.

        Raises:
            ModelUnavailableError: it cannot be reached or used now, or did not answer in time.
            ModelError: it refused this call; others may succeed.
        """
        ...


ChatModelSpec: TypeAlias = ChatModel | ModelFunction | str


def open_chat_model(
    given: ChatModelSpec,
    *,
    api_key: str | None = None,
    prices: Prices | None = None,
    concurrency: int = 4,
    timeout: float = 60.0,
    max_retries: int = 2,
    options: Mapping[str, Any] | None = None,
) -> ChatModel:
    """Return the chat model that `given` names. Nothing is connected before its first use.

    | given | model |
    |---|---|
    | `openai:MODEL` | OpenAI, with `api_key` or OPENAI_API_KEY |
    | `openai:MODEL@URL`, `http://HOST/v1#MODEL`, `https://…` | any OpenAI-compatible endpoint |
    | `ollama:MODEL` | short for `http://localhost:11434/v1#MODEL` |
    | a function, async or blocking, from a list of messages to a text | that function |
    | a `ChatModel` | itself; the other arguments are not used |

    Args:
        given: See the table.
        api_key: For the endpoint; another host than OpenAI's never gets the key in the environment.
        prices: What its tokens cost, for `Usage.cost`.
        concurrency: How many calls run at once at most.
        timeout: Seconds for one try of a call.
        max_retries: More tries after a time-out, a lost connection, 408, 409, 429 or 5xx, each a longer wait
            apart; an endpoint's own word on how long to wait is heeded.
        options: More fields of each request to an endpoint, such as `{"temperature": 0}`.

    Raises:
        InvalidInputError: Nothing is known by that name, or the text is malformed.
    """
    if isinstance(given, str):
        from memorist.language.endpoint import OpenAIChatModel

        model, base_url = _endpoint(given.strip())
        return OpenAIChatModel(
            model, base_url=base_url, api_key=api_key, prices=prices, concurrency=concurrency,
            timeout=timeout, max_retries=max_retries, options=options,
        )  # fmt: skip
    if isinstance(given, ChatModel):
        return given
    if callable(given):
        from memorist.language.callables import CallableChatModel

        return CallableChatModel(given, prices=prices, concurrency=concurrency, timeout=timeout)
    raise InvalidInputError(f"a chat model is a name, a function or a ChatModel, not {type(given).__name__}")


def _endpoint(spec: str) -> tuple[str, str | None]:
    """Return the model and the base URL that a spec names."""
    scheme, _, rest = spec.partition(":")
    if scheme in ("http", "https"):
        parts = urlsplit(spec)
        if not parts.fragment or not parts.hostname:
            raise InvalidInputError("write an endpoint as http://HOST/v1#MODEL")
        return parts.fragment, parts._replace(fragment="").geturl()
    if scheme == "openai":
        model, _, url = rest.partition("@http")
        if model:
            return model, f"http{url}" if url else None
    if scheme == "ollama" and rest:
        return rest, "http://localhost:11434/v1"
    raise InvalidInputError(f"no chat model {spec!r}; write openai:MODEL, ollama:MODEL or http://HOST/v1#MODEL")
