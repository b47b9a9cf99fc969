"""A plain function as a chat model."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

from memorist.errors import ModelError, ModelUnavailableError
from memorist.language.counting import Completion, CountingChatModel
from memorist.language.models import ChatMessage, ModelFunction, Prices, Reply
from memorist.language.reading import with_schema
from memorist.records.content import field_of, text_of


class CallableChatModel(CountingChatModel):
    """A function as a chat model: an async one, or a blocking one, which is called in a thread.

    Args:
        function: takes a list of messages, ``{"role": …, "content": …}`` each, and returns the answer: a text,
            a `Reply`, a message whose content is a text or a list of parts, or JSON values. If it has an
            argument `schema`, the JSON schema is passed there; else it is written into the first message.
            An exception that it raises counts as an outage.
        prices: the prices of its tokens.
        concurrency: the most calls at once.
        timeout: seconds for one call.
    """

    def __init__(
        self, function: ModelFunction, *, prices: Prices | None = None, concurrency: int = 4, timeout: float = 60.0
    ) -> None:
        super().__init__(getattr(function, "__name__", type(function).__name__), prices=prices, concurrency=concurrency)
        self._function = function
        self._timeout = timeout
        self._takes_schema = _has_schema(function)
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)

    async def _answer(self, messages: Sequence[ChatMessage], schema: Mapping[str, Any] | None) -> Completion:
        asked = [dict(message) for message in messages]
        given: dict[str, Any] = {}
        if schema is not None and self._takes_schema:
            given["schema"] = schema
        elif schema is not None:
            asked = with_schema(asked, schema)
        try:
            async with asyncio.timeout(self._timeout):
                if self._is_async:
                    made = await self._function(asked, **given)
                else:
                    made = await asyncio.to_thread(self._function, asked, **given)
                # A plain function may still return a coroutine, as a lambda around a client does.
                made = await made if inspect.isawaitable(made) else made
        except ModelError:
            raise
        except TimeoutError as error:
            raise ModelUnavailableError(f"{self.name} did not answer within {self._timeout:g} s") from error
        except Exception as error:  # the function may raise anything, and its next call may succeed
            raise ModelUnavailableError(f"{self.name} failed: {type(error).__name__}: {error}") from error
        if isinstance(made, Reply):
            counted = not made.usage.estimated and made.usage.prompt_tokens > 0
            tokens = (made.usage.prompt_tokens, made.usage.completion_tokens) if counted else (None, None)
            text = made.text or ("" if made.data is None else _as_text(made.data))
            return Completion(text=text, prompt_tokens=tokens[0], completion_tokens=tokens[1])
        return Completion(text="" if made is None else made if isinstance(made, str) else _text_in(made))


def _has_schema(function: ModelFunction) -> bool:
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(each.name == "schema" or each.kind is inspect.Parameter.VAR_KEYWORD for each in arguments)


def _text_in(made: object) -> str:
    """Return the text of a reply: of a message's content, of a list of parts, or of JSON values."""
    is_message = isinstance(made, Mapping) and made.keys() >= {"role", "content"}
    if is_message or (not isinstance(made, Mapping) and hasattr(made, "content")):
        return text_of(field_of(made, "content"))
    if isinstance(made, list) and any(isinstance(part, Mapping) and part.get("type") == "text" for part in made):
        return text_of(made)
    return _as_text(made)


def _as_text(made: object) -> str:
    try:
        return json.dumps(made, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(made)
