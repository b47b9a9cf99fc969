"""The benchmark of agents, with an agent of no framework on made-up rows."""

import asyncio
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "bench" / "agents"
TURNS = [
    {"id": "a", "session": "1", "speaker": "Ann", "text": "I adopted a small beagle."},
    {"id": "b", "session": "1", "speaker": "Bob", "text": "What is its name?"},
    {"id": "c", "session": "1", "speaker": "Ann", "text": "He is called Toby."},
    {"id": "d", "session": "2", "speaker": "Bob", "text": "My kitchen leaks again."},
]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "run", raising=False)
    yield importlib.import_module("run")
    for name in ("run", "scripted"):
        sys.modules.pop(name, None)


def test_turns_become_exchanges_session_by_session(run: ModuleType) -> None:
    assert run.sessions(TURNS) == {
        "1": [
            ("Ann: I adopted a small beagle.", "Bob: What is its name?"),
            ("Ann: He is called Toby.", "Goodbye."),
        ],
        "2": [("Bob: My kitchen leaks again.", "Goodbye.")],
    }


def test_evidence_is_the_share_of_gold_turns_in_the_prompt(run: ModuleType) -> None:
    prompt = "- Ann said: I adopted a SMALL beagle!\nWhich dog?"
    assert run.evidence(prompt, [TURNS[0]["text"], TURNS[3]["text"]]) == 0.5
    assert run.evidence("a beagle", [TURNS[0]["text"]]) == 0


def test_an_agent_that_forgets_nothing_has_all_evidence(run: ModuleType) -> None:
    agent: type[Any] = importlib.import_module("scripted").ScriptedAgent

    class Hoarder(agent):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.heard = ""

        async def turn(self, session: str, said: str, *, keep: bool) -> None:
            answer = self.script.reply(f"{self.heard}{said}")
            if keep:
                self.heard += f"{said}\n{answer}\n"

    questions = [{"question": "Which dogs?", "gold": ["a", "b"]}, {"question": "What leaks?", "gold": ["d", "gone"]}]
    found = asyncio.run(run.measured(Hoarder(), TURNS, questions))
    assert found["evidence"] == found["full"] == [100, 100]
    assert len(found["talk"]) == len(found["ask"]) == 2
    assert found["tokens"][0] == found["tokens"][1]
