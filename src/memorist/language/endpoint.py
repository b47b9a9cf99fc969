"""A chat model at an endpoint that speaks OpenAI's chat API: OpenAI, Ollama, vLLM, llama.cpp and others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from memorist.clients.openai import address, client_settings, openai_library, reason
from memorist.errors import ModelError, ModelUnavailableError
from memorist.language.counting import Completion, CountingChatModel
from memorist.language.models import ChatMessage, Prices
from memorist.language.reading import with_schema

if TYPE_CHECKING:
    import openai

_NO_SCHEMA = (400, 404, 415, 422, 501)
"""HTTP statuses with which servers report that they do not support JSON schemas."""


class OpenAIChatModel(CountingChatModel):
    """A model behind an OpenAI-compatible `/chat/completions` endpoint. Needs `pip install 'memorist[llm]'`.

    A JSON schema is sent as a parameter. If the server refuses it, the schema is written into the prompt from then on.

    Args:
        model: the model's name at the endpoint.
        base_url: the endpoint, for example `http://localhost:11434/v1`; OpenAI's own by default.
        api_key: the key. OPENAI_API_KEY is read only for OpenAI's own endpoint; another host never gets it.
        prices: the prices of its tokens.
        concurrency: the most calls at once.
        timeout: seconds for one try of a call.
        max_retries: retries after a time-out, a lost connection, 408, 409, 429 or 5xx.
        structured: whether JSON schemas are sent as a parameter; else they are written into the prompt.
        options: more fields of each request, such as `{"temperature": 0, "max_tokens": 2000}`.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        prices: Prices | None = None,
        concurrency: int = 4,
        timeout: float = 60.0,
        max_retries: int = 2,
        structured: bool = True,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        where = address(base_url) if base_url else "OpenAI"
        super().__init__(f"the model {model!r} at {where}", prices=prices, concurrency=concurrency)
        self.model = model
        self._structured = structured
        self._options = dict(options or {})
        self._settings = client_settings(base_url, api_key, timeout=timeout, max_retries=max_retries)
        self._lock = threading.Lock()
        self._client: openai.OpenAI | None = None
        # Threads, since a memory may be called from any event loop, and the async client belongs to one.
        self._threads: ThreadPoolExecutor | None = None

    async def close(self) -> None:
        """Close the connections; a later call opens them again."""
        with self._lock:
            client, threads, self._client, self._threads = self._client, self._threads, None, None
        if client is not None:
            client.close()
        if threads is not None:
            threads.shutdown(wait=False)

    async def _answer(self, messages: Sequence[ChatMessage], schema: Mapping[str, Any] | None) -> Completion:
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self.concurrency, thread_name_prefix="memorist-chat")
            client, threads = self._client, self._threads
        return await loop.run_in_executor(threads, self._ask, client, [dict(each) for each in messages], schema)

    def _connect(self) -> openai.OpenAI:
        library = openai_library("llm")
        try:
            return library.OpenAI(**self._settings)  # type: ignore[no-any-return]
        except library.OpenAIError as error:
            raise ModelUnavailableError(f"{self.name} cannot be used: {error}") from error

    def _ask(
        self, client: openai.OpenAI, messages: list[dict[str, str]], schema: Mapping[str, Any] | None
    ) -> Completion:
        openai = openai_library("llm")
        if schema is None:
            return self._request(client, messages, {})
        if self._structured:
            form = {"name": "answer", "schema": dict(schema), "strict": True}
            try:
                return self._request(
                    client, messages, {"response_format": {"type": "json_schema", "json_schema": form}}
                )
            except ModelError as error:
                cause = error.__cause__
                if not (isinstance(cause, openai.APIStatusError) and cause.status_code in _NO_SCHEMA):
                    raise
        answer = self._request(client, with_schema(messages, schema), {})
        self._structured = False  # it answers without the schema, so it was the schema that it refused
        return answer

    def _request(self, client: openai.OpenAI, messages: list[dict[str, str]], more: Mapping[str, Any]) -> Completion:
        openai = openai_library("llm")
        asked: Any = messages
        fields: dict[str, Any] = {**self._options, **more}
        try:
            answer: Any = client.chat.completions.create(model=self.model, messages=asked, **fields)
        except (openai.OpenAIError, ValueError) as error:  # ValueError: a body that is not JSON
            # Errors of this call only; any other error would also hit the next call.
            own = getattr(error, "status_code", None) in (400, 413, 415, 422)
            kind = ModelError if own else ModelUnavailableError
            raise kind(reason(error, self.name, self._settings["timeout"])) from error
        choices = getattr(answer, "choices", None)
        if not isinstance(choices, list):
            raise ModelUnavailableError(
                f"{self.name} returned a response without choices; is this an OpenAI-compatible API?"
            )
        first = choices[0] if choices else None
        message = getattr(first, "message", None)
        content, refusal = getattr(message, "content", None), getattr(message, "refusal", None)
        ended = getattr(first, "finish_reason", None)
        usage = getattr(answer, "usage", None)
        return Completion(
            text=content if isinstance(content, str) else refusal if isinstance(refusal, str) else "",
            prompt_tokens=_count(getattr(usage, "prompt_tokens", None)),
            completion_tokens=_count(getattr(usage, "completion_tokens", None)),
            cut=ended == "length",
            refused=bool(refusal) or ended == "content_filter",
        )


def _count(number: object) -> int | None:
    return number if isinstance(number, int) and not isinstance(number, bool) else None
