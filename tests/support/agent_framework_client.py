"""A chat client of Agent Framework that answers from a script, and keeps what it was given."""

from collections.abc import AsyncIterable, Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import (
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)


class ScriptedClient(FunctionInvocationLayer, BaseChatClient):  # type: ignore[misc]
    """Gives one answer a call: a text, or the name and the arguments of a tool to call."""

    def __init__(self, *answers: str | tuple[str, dict[str, Any]]) -> None:
        super().__init__()
        self.answers = list(answers)
        self.inputs: list[list[Message]] = []

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[Any] | ResponseStream[Any, Any]:
        self.inputs.append(list(messages))
        answer = self.answers.pop(0)
        content = (
            Content.from_text(answer)
            if isinstance(answer, str)
            else Content.from_function_call(f"c{len(self.inputs)}", answer[0], arguments=answer[1])
        )

        async def updates() -> AsyncIterable[ChatResponseUpdate]:
            yield ChatResponseUpdate(role="assistant", contents=[content])

        async def response() -> ChatResponse:
            return ChatResponse(messages=[Message("assistant", [content])])

        if stream:
            return ResponseStream(updates(), finalizer=ChatResponse.from_updates)
        return response()
