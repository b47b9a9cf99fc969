"""How much of a long text a tool returns to a model: an excerpt that says what it leaves out."""

from memorist.errors import InvalidInputError

MOST_TEXT = 100_000
"""Characters of content in one answer: about 25,000 tokens, which a model can read and a user can pay."""
MOST_TOKENS = MOST_TEXT // 4
MOST_RESULTS = 500
_LONGEST, _SHORTEST = 4_000, 200
"""The longest excerpt of a text, and the shortest, where many share an answer."""


def share(results: int) -> int:
    """Return how many characters of each text to show, where an answer has so many results."""
    return max(_SHORTEST, min(_LONGEST, MOST_TEXT // max(results, 1)))


def marked(text: str, most: int, more: str = "") -> str:
    """Return a text, or its first characters with a mark that says how many there are, and how to get `more`."""
    return text if len(text) <= most else f"{text[:most]}… [{most:,} of {len(text):,} characters{more}]"


def check_most(name: str, value: int, most: int) -> int:
    """Return a number that a model asks for, if it is not too large.

    Raises:
        InvalidInputError: it is.
    """
    if value > most:
        raise InvalidInputError(f"{name} is {most:,} at most in a tool, not {value:,}")
    return value
