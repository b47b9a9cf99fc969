"""A model of ADK that answers from a script, and keeps what it was given."""

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, FunctionCall, Part
from pydantic import Field


class ScriptedModel(BaseLlm):
    """Gives one answer a call: a text, or the name and the arguments of a tool to call."""

    model: str = "scripted"
    answers: list[Any]
    inputs: list[list[Content]] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.inputs.append(list(llm_request.contents))
        answer = self.answers.pop(0)
        part = (
            Part(text=answer)
            if isinstance(answer, str)
            else Part(function_call=FunctionCall(name=answer[0], args=answer[1]))
        )
        yield LlmResponse(content=Content(role="model", parts=[part]))
