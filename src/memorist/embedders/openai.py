"""An embedder for endpoints that speak OpenAI's embeddings API: OpenAI, Ollama, vLLM, llama.cpp and others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from memorist.clients.openai import address, client_settings, openai_library, reason
from memorist.embedders.base import Role, unit_rows
from memorist.embedders.blocking import BlockingEmbedder
from memorist.embedders.prefixes import Prefixes, prefixes_for
from memorist.errors import EmbedderError, EmbedderUnavailableError

if TYPE_CHECKING:
    import openai

_CONNECTIONS = 4


class OpenAIEmbedder(BlockingEmbedder):
    """A model behind an OpenAI-compatible `/embeddings` endpoint. Needs `pip install 'memorist[openai]'`.

    Args:
        model: The model's name at the endpoint.
        base_url: The endpoint, for example `http://localhost:11434/v1`; OpenAI's own by default.
        api_key: The key. OPENAI_API_KEY is read only for OpenAI's own endpoint; another host never gets it.
        dimensions: The length of vectors to request (text-embedding-3 and other nested models). By default the
            model's own, determined with one request.
        prefixes: The text put before each text, by role; by default the prefixes that the model was trained with.
        batch_size: The most texts in a request.
        max_characters: Longer texts are cut to this length, since most endpoints refuse texts over their limit.
        timeout: Seconds for one try of a request.
        max_retries: Retries after a time-out, a lost connection, 408, 409, 429 or 5xx, with growing delays.
        revision: Part of the fingerprint: change it when the model behind the same name changes.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        prefixes: Prefixes | None = None,
        batch_size: int = 64,
        max_characters: int = 8000,
        timeout: float = 30.0,
        max_retries: int = 2,
        revision: str = "",
    ) -> None:
        where = address(base_url) if base_url else "OpenAI"
        super().__init__(f"the model {model!r} at {where}", threads=_CONNECTIONS)
        self.model = model
        self.prefixes = prefixes if prefixes is not None else prefixes_for(model)
        self._asked = dimensions
        self._batch_size = batch_size
        self._max_characters = max_characters
        self._revision = revision
        self._settings = client_settings(base_url, api_key, timeout=timeout, max_retries=max_retries)
        self._client: openai.OpenAI | None = None

    async def close(self) -> None:
        await super().close()
        if self._client is not None:
            self._client.close()

    def _load(self) -> None:
        openai = openai_library("openai")
        try:
            self._client = openai.OpenAI(**self._settings)
        except openai.OpenAIError as error:
            raise EmbedderError(f"{self.name} cannot be used: {error}") from error
        probe = self._asked or unit_rows(self._request(["dimensions"]), 1, 0, self.name).shape[1]
        parts = ["openai", self.model, str(probe), f"cut{self._max_characters}", self.prefixes.mark(), self._revision]
        self.dimensions, self.fingerprint = probe, ":".join(part for part in parts if part)

    async def _encode_all(self, texts: list[str], role: Role) -> ArrayLike:
        size = self._batch_size
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        found = await asyncio.gather(*(self._in_thread(self._encode, batch, role) for batch in batches))
        return [row for rows in found for row in rows]

    def _encode(self, texts: list[str], role: Role) -> list[Any]:
        return self._request([self.prefixes.apply(text, role)[: self._max_characters] for text in texts])

    def _request(self, texts: Sequence[str]) -> list[Any]:
        openai = openai_library("openai")
        assert self._client is not None
        shorter: dict[str, Any] = {"dimensions": self._asked} if self._asked else {}
        try:
            answer = self._client.embeddings.create(
                model=self.model, input=list(texts), encoding_format="float", **shorter
            )
        except openai.OpenAIError as error:
            raise self._explained(error) from error
        except ValueError as error:  # a body that is not JSON
            raise EmbedderError(f"{self.name} returned an unreadable response: {error}") from error
        return self._in_order(getattr(answer, "data", None), len(texts))

    def _in_order(self, data: Any, count: int) -> list[Any]:
        if not isinstance(data, list):
            raise EmbedderError(
                f"{self.name} returned a response without embeddings; is this an OpenAI-compatible API?"
            )
        if len(data) != count:
            raise EmbedderError(f"{self.name} returned {len(data)} embeddings for {count} texts")
        by_index = {str(getattr(item, "index", None)): getattr(item, "embedding", None) for item in data}
        places = [str(index) for index in range(count)]
        if set(by_index) != set(places):
            raise EmbedderError(f"{self.name} did not say which embedding belongs to which text")
        return [by_index[place] for place in places]

    def _explained(self, error: openai.OpenAIError) -> EmbedderError:
        openai = openai_library("openai")
        away = isinstance(error, openai.APIConnectionError)  # a time-out is one too
        status = getattr(error, "status_code", 0)
        busy = away or status in (408, 409, 429) or status >= 500
        kind = EmbedderUnavailableError if busy else EmbedderError
        return kind(reason(error, self.name, self._settings["timeout"]))
