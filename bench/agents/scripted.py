"""What every agent of this benchmark is: one whose model says what it is told to say, and notes its prompt."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

Exchange = tuple[str, str]
"""What is said to the agent, and what it answers."""


@dataclass
class Script:
    """What a scripted model answers next, and the last prompt it was given, as text."""

    answer: str = ""
    prompt: str = ""

    def reply(self, prompt: str) -> str:
        """Note a prompt and return the answer."""
        self.prompt = prompt
        return self.answer


class ScriptedAgent(ABC):
    """An agent of some framework with some memory.

    Attributes:
        script: what its model answers and was given.
    """

    def __init__(self) -> None:
        self.script = Script()
        self._asked = 0

    async def talk(self, session: str, exchanges: Sequence[Exchange]) -> None:
        """Talk through one session and keep it."""
        for said, answer in exchanges:
            self.script.answer = answer
            await self.turn(session, said, keep=True)
        await self.end(session)

    async def ask(self, question: str) -> str:
        """Return the prompt with which a question reaches the model, in a session of its own that is not kept."""
        self._asked += 1
        self.script.answer = "Noted."
        await self.turn(f"question {self._asked}", question, keep=False)
        return self.script.prompt

    @abstractmethod
    async def turn(self, session: str, said: str, *, keep: bool) -> None:
        """Run the agent once."""

    async def end(self, session: str) -> None:
        """Keep a session where the framework does so at its end."""


class Thread(ABC):
    """One long conversation of some framework's agent in some store, whose model answers at once."""

    @abstractmethod
    async def fill(self, said: Sequence[Exchange]) -> None:
        """Append exchanges to the thread as its store keeps them, without running the agent."""

    @abstractmethod
    async def turn(self, said: str) -> None:
        """Run the agent once."""
