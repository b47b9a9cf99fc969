"""A model of CrewAI that answers from a script, and keeps what it was given."""

from typing import Any

from crewai import BaseLLM
from pydantic import Field


class ScriptedModel(BaseLLM):
    """Gives one answer a call."""

    answers: list[Any]
    inputs: list[Any] = Field(default_factory=list)

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self.inputs.append(messages)
        return self.answers.pop(0)

    def supports_function_calling(self) -> bool:
        return False
