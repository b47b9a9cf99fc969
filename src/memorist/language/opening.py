"""Opening a chat model by its name."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from memorist.errors import InvalidInputError
from memorist.language.callables import CallableChatModel
from memorist.language.endpoint import OpenAIChatModel
from memorist.language.models import ChatModel, ChatModelSpec, Prices


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
        api_key: For the endpoint. The key in the environment is sent only to OpenAI's own host.
        prices: The prices of its tokens, for `Usage.cost`.
        concurrency: The most calls at once.
        timeout: Seconds for one try of a call.
        max_retries: Retries after a time-out, a lost connection, 408, 409, 429 or 5xx, with growing delays; a
            delay that the endpoint requests is respected.
        options: More fields of each request to an endpoint, such as `{"temperature": 0}`.

    Raises:
        InvalidInputError: The name is unknown or malformed.
    """
    if isinstance(given, str):
        model, base_url = _endpoint(given.strip())
        return OpenAIChatModel(
            model,
            base_url=base_url,
            api_key=api_key,
            prices=prices,
            concurrency=concurrency,
            timeout=timeout,
            max_retries=max_retries,
            options=options,
        )
    if isinstance(given, ChatModel):
        return given
    if callable(given):
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
