"""The texts that a model gets to read."""

from collections.abc import Iterable
from datetime import UTC, datetime

from memorist.adapters.local2.books import Episode

__all__ = ["NOTHING", "SAVED", "WHAT_TO_PASS", "episodes_text", "exchange", "saved_text", "topic_text"]

SAVED = "Memory saved."
NOTHING = "No memories found."
WHAT_TO_PASS = (
    "Pass topic (an exact key, such as 'user.name') to look up a standing fact, "
    "or query (free text) to search past conversations."
)


def saved_text(topic: str) -> str:
    """Return what is said of a topic that was saved."""
    return f"Memory saved: {topic}"


def topic_text(topic: str, content: str | None) -> str:
    """Return a topic's value to read."""
    return NOTHING if content is None else f"[Memory: {topic}]\n{content}"


def exchange(query: str, answer: str) -> str:
    """Return a question and its answer as one text."""
    return f"Q: {query}\nA: {answer}"


def episodes_text(found: Iterable[Episode]) -> str:
    """Return what a search found, numbered, each with its day in UTC."""
    items = [
        f"{number}. (relevance: {each.similarity:.2f}) {each.at.astimezone(UTC):%Y-%m-%d}\n{_indented(each.content)}"
        for number, each in enumerate(found, start=1)
    ]
    return "\n\n".join([f"[Memory recall — {datetime.now(UTC):%Y-%m-%d}]", *items]) if items else NOTHING


def _indented(content: str) -> str:
    """Return an episode three spaces in; what a question or an answer goes on with stands under its first word."""
    lines: list[str] = []
    under, answered = "", False
    for line in content.splitlines():
        if (not lines and line.startswith("Q: ")) or (under and not answered and line.startswith("A: ")):
            answered, under = line.startswith("A: "), "   "
            lines.append(f"   {line}")
        else:
            lines.append(f"   {under}{line}".rstrip())
    return "\n".join(lines)
