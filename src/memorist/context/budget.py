"""A budget of tokens, by the caller's counter or by characters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from memorist.errors import InvalidInputError

CountTokens: TypeAlias = Callable[[str], int]
"""Returns how many tokens a text takes."""

LEAST_TOKENS = 32
"""The tokens that the frame and one short line take."""
_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a text may be.

    Args:
        tokens: at most so many.
        counter: counts them; by default four characters are a token, rounded up.
    """

    tokens: int
    counter: CountTokens | None = None

    def __post_init__(self) -> None:
        if self.tokens < LEAST_TOKENS:
            raise InvalidInputError(f"tokens must be at least {LEAST_TOKENS}, enough for one line, not {self.tokens}")
        if self.counter is not None and not callable(self.counter):
            raise InvalidInputError(f"count_tokens must be callable, not {type(self.counter).__name__}")

    def count(self, text: str) -> int:
        """Return how many tokens `text` takes.

        Raises:
            InvalidInputError: the counter does not return a whole number of 0 or more. Its own exceptions are passed
                on.
        """
        if self.counter is None:
            return -(-len(text) // _CHARACTERS_A_TOKEN)
        counted = self.counter(text)
        if isinstance(counted, bool) or not isinstance(counted, int) or counted < 0:
            raise InvalidInputError(f"count_tokens must return a whole number from 0, not {counted!r}")
        return counted
