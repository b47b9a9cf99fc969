"""A model of the OpenAI Agents SDK that answers from a script, and keeps what it was given."""

from collections.abc import AsyncIterator
from typing import Any

from agents import Model, ModelResponse, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class ScriptedModel(Model):
    """Gives one answer a call: a text, or the name and the arguments (JSON) of a tool to call."""

    def __init__(self, *answers: str | tuple[str, str]) -> None:
        self.answers = list(answers)
        self.inputs: list[Any] = []

    async def get_response(
        self, system_instructions: str | None, input: Any, *args: Any, **kwargs: Any
    ) -> ModelResponse:
        self.inputs.append(input)
        number, answer = len(self.inputs), self.answers.pop(0)
        if isinstance(answer, str):
            text = ResponseOutputText(text=answer, type="output_text", annotations=[])
            output: Any = ResponseOutputMessage(
                id=f"msg_{number}", role="assistant", type="message", status="completed", content=[text]
            )
        else:
            output = ResponseFunctionToolCall(
                id=f"fc_{number}", call_id=f"call_{number}", name=answer[0], arguments=answer[1], type="function_call"
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError
