"""What stands around a memory in these tests: a chat model that answers by a script, a runner that takes notes."""

import json
from collections.abc import Callable, Mapping
from typing import Any

NOTE = (
    "<long_term_memory>The content below are retrieved from long-term memory, which maybe useful:\n"
    "Alice likes green tea</long_term_memory>"
)
"""What an agent is told of a memory that knows this of Alice."""


class Watched:
    """The runner of a memory's flows, with a note of what it was asked to record."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner
        self.recorded: list[list[str]] = []

    async def async_execute(self, name: str, **arguments: Any) -> Any:
        for each in arguments.get("trajectories", ()):
            self.recorded.append([message["content"] for message in each["messages"]])
        return await self._runner.async_execute(name=name, **arguments)


class Script:
    """An async function as a chat model: it answers each step with what is written for it, and notes what it saw."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.seen: list[tuple[str, dict[str, Any]]] = []

    async def __call__(self, messages: list[Mapping[str, str]], schema: Mapping[str, Any]) -> str:
        [step] = [
            name
            for name in ("facts", "decision", "experiences", "judgements", "guidelines", "summary")
            if name in schema["properties"]
        ]
        data = json.loads(messages[-1]["content"])
        self.seen.append((step, data))
        answer = self.answers[step]
        if isinstance(answer, Exception):
            raise answer
        return json.dumps(answer(data) if isinstance(answer, Callable) else answer)  # type: ignore[arg-type]

    def steps(self) -> list[str]:
        return [step for step, _ in self.seen]


def facts(*statements: str) -> dict[str, Any]:
    return {"facts": [{"statement": each, "date": "", "message": 1} for each in statements]}


def decision(name: str, fact: int = 1, statement: str = "") -> dict[str, Any]:
    return {"decision": name, "fact": fact, "statement": statement}
