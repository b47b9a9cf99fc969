"""A model of Strands that answers from a script, and keeps what it was given."""

import copy
import json
from collections.abc import AsyncGenerator, AsyncIterable
from typing import Any

from strands.models.model import Model


class ScriptedModel(Model):
    """Gives one answer a call: a text, or the name and the arguments of a tool to call."""

    def __init__(self, *answers: str | tuple[str, dict[str, Any]]) -> None:
        self.answers = list(answers)
        self.inputs: list[list[Any]] = []

    def update_config(self, **model_config: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> AsyncGenerator[dict[str, Any], None]:
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterable[Any]:  # type: ignore[override]
        self.inputs.append(copy.deepcopy(messages))
        answer = self.answers.pop(0)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(answer, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": answer}}}
        else:
            use = {"toolUseId": f"t{len(self.inputs)}", "name": answer[0]}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(answer[1])}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(answer, str) else "tool_use"}}
