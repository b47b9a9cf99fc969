"""A chat model that answers by a script, for the steps by which a model helps memory."""

import json
from collections.abc import Callable, Mapping
from typing import Any


class Script:
    """An async function as a chat model: it answers each step with what is written for it, and notes what it saw."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.seen: list[tuple[str, dict[str, Any]]] = []

    async def __call__(self, messages: list[Mapping[str, str]], schema: Mapping[str, Any]) -> str:
        [step] = [name for name in ("facts", "decision", "experiences", "judgements", "guidelines", "summary")
                  if name in schema["properties"]]  # fmt: skip
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
