"""AgentScope's chat and embedding models, of version 1 or 2, as this project's."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from memorist.adapters.agentscope.types import agentscope_version
from memorist.embedders.callables import CallableEmbedder
from memorist.errors import ModelUnavailableError
from memorist.language.counting import Completion, CountingChatModel
from memorist.language.models import ChatMessage, ChatModel
from memorist.language.opening import open_chat_model
from memorist.language.reading import with_schema
from memorist.records.content import field_of


def as_chat_model(given: Any) -> ChatModel | None:
    """Return a chat model of this project: AgentScope's wrapped, anything else as `open_chat_model` takes it.

    None stays None.
    """
    if given is None:
        return None
    return AgentScopeChatModel(given) if _of_agentscope(given) else open_chat_model(given)


def as_embedder(given: Any) -> Any:
    """Return an embedder of this project: AgentScope's wrapped, anything else as it is."""
    return _embedder(given) if _of_agentscope(given) else given


class AgentScopeChatModel(CountingChatModel):
    """A chat model of AgentScope as one of this project.

    Args:
        model: a `ChatModelBase` of AgentScope, streaming or not.
    """

    def __init__(self, model: Any) -> None:
        super().__init__(_name_of(model))
        self._model = model

    async def _answer(self, messages: Sequence[ChatMessage], schema: Mapping[str, Any] | None) -> Completion:
        plain = [dict(message) for message in messages] if schema is None else with_schema(messages, schema)
        try:
            response = await self._model(_as_messages(plain))
            if inspect.isasyncgen(response):
                response = await _last(response)
        except Exception as error:  # the edge to a library that is not ours
            raise ModelUnavailableError(f"{self.name} failed: {type(error).__name__}: {error}") from error
        usage = getattr(response, "usage", None)
        return Completion(
            text="\n".join(str(field_of(each, "text")) for each in response.content if _says(each)),
            prompt_tokens=getattr(usage, "input_tokens", None),
            completion_tokens=getattr(usage, "output_tokens", None),
        )


def _as_messages(messages: list[dict[str, str]]) -> list[Any]:
    """Return the messages as this version's models take them."""
    if agentscope_version() != 2:
        return messages
    from agentscope.message import Msg, TextBlock

    return [Msg(name=each["role"], role=each["role"], content=[TextBlock(text=each["content"])]) for each in messages]


def _says(block: Any) -> bool:
    return field_of(block, "type") == "text" and bool(field_of(block, "text"))


async def _last(stream: Any) -> Any:
    """Return the last part of a stream, which holds the whole answer."""
    response = None
    async for part in stream:
        response = part
    if response is None:
        raise ValueError("it answered nothing")
    return response


def _embedder(model: Any) -> CallableEmbedder:
    async def embed(texts: list[str]) -> Any:
        return (await model(texts)).embeddings

    return CallableEmbedder(embed, dimensions=model.dimensions or 0, fingerprint=f"agentscope:{_name_of(model)}")


def _name_of(model: Any) -> str:
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    return name if isinstance(name, str) else type(model).__name__


def _of_agentscope(given: Any) -> bool:
    return any(base.__module__.partition(".")[0] == "agentscope" for base in type(given).__mro__)
