"""The texts that a model reads."""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from memorist.adapters.local2.books import Episode

# Both begin anywhere in a line: an answer may introduce what it quotes ("I recall: [Memory …]").
_TOPIC = re.compile(r"(?:^[> \t]*)?\[Memory: ([^\]\n]+)\](?: \(from [a-z ]{1,90}\))?[ \t]*\n?", re.MULTILINE)
_RECALL = re.compile(
    r"(?:^[> \t]*)?\[Memory recall [—–-] [^\]\n]*\][^\n]*(?:\n|\Z)"
    r"(?:(?:[> \t]*\n)*[> \t]*\d+\. \(relevance: [^)\n]*\)[^\n]*(?:\n|\Z)"  # an item, and its lines:
    r"(?:[> \t]*[QA]: [^\n]*(?:\n|\Z)|(?:[> \t]*\n)*>?[ \t]{2,}\S[^\n]*(?:\n|\Z))*)*"
    r"(?:[> \t]*\n)*",
    re.MULTILINE,
)

SAVED = "Memory saved."
NOTHING = "No memories found."
WHAT_TO_PASS = (
    "Pass topic (an exact key, such as 'user.name') to look up a standing fact, "
    "or query (free text) to search past conversations."
)


def saved_text(topic: str) -> str:
    """Return the confirmation that a topic was saved."""
    return f"Memory saved: {topic}"


def topic_text(topic: str, content: str | None, note: str = "") -> str:
    """Return the text of a topic's value, below what is said of its origin."""
    return NOTHING if content is None else f"[Memory: {topic}]{_beside(note)}\n{content}"


def exchange(query: str, answer: str) -> str:
    """Return a question and its answer as one text."""
    return f"Q: {query}\nA: {answer}"


def episodes_text(found: Iterable[Episode], now: datetime) -> str:
    """Return what a search found `now`, numbered, each with its day in UTC."""
    items = [
        f"{number}. (relevance: {each.similarity:.2f}) {each.at.astimezone(UTC):%Y-%m-%d}{_beside(each.note)}\n"
        f"{_indented(each.content)}"
        for number, each in enumerate(found, start=1)
    ]
    return "\n\n".join([f"[Memory recall — {now:%Y-%m-%d}]", *items]) if items else NOTHING


def _beside(note: str) -> str:
    return f" {note}" if note else ""


def _indented(content: str) -> str:
    """Return an episode indented by three spaces; further lines of a question or an answer by six."""
    lines: list[str] = []
    under, answered = "", False
    for line in content.splitlines():
        if (not lines and line.startswith("Q: ")) or (under and not answered and line.startswith("A: ")):
            answered, under = line.startswith("A: "), "   "
            lines.append(f"   {line}")
        else:
            lines.append(f"   {under}{line}".rstrip())
    return "\n".join(lines)


def without_quoted(text: str, value_of: Callable[[str], str | None]) -> str:
    """Return a text without the recalled topics and episodes that it quotes in the layouts of this module.

    Args:
        text: such as an answer of a model.
        value_of: returns a topic's value, which is removed with its header. Where the text goes on with another
            value, the next line is removed. A header amid a line that names no topic is part of the answer.
    """

    def end_of(header: re.Match[str]) -> int:
        value = value_of(header[1].strip())
        if value is not None and text.startswith(value, header.end()):
            return header.end() + len(value)
        begins_line = header.start() == 0 or text[header.start() - 1] == "\n"
        if value is None and not begins_line and not header[0].endswith("\n"):
            return header.start()
        line = text.find("\n", header.end())
        return len(text) if line < 0 else line

    kept, position = [], 0
    for header in _TOPIC.finditer(text):
        if header.start() >= position:
            kept.append(text[position : header.start()])
            position = end_of(header)
    left = _RECALL.sub("", "".join([*kept, text[position:]]))
    return text if left == text else left.strip()
