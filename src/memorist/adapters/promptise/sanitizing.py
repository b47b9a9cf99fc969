"""Removes from recalled texts what a model takes for the beginning of a chat turn."""

from collections.abc import Iterator

from memorist.framing.control_tokens import Span, spans, view_of
from memorist.system.regex import regex

_SAFE_LENGTH = 2000
"""Most characters of one recalled text in a prompt."""
_READ = 10 * _SAFE_LENGTH
"""Most characters of a text that are read."""
_AROUND = 40
"""The characters on either side of a name in which a mark around it is looked for."""
_ROUNDS = 8
"""A text in which removing marks forms new ones more often than this loses all its brackets and colons."""

_APART = "[\\s\u200b]*"
_NAMES = "|".join(_APART.join(name) for name in ("system", "human", "assistant"))
_SPEAKER = regex(f"(?:{_NAMES}){_APART}:")
_IN_WORD = regex(r"\w-?\Z")
_MARKING = regex(r"[][<>«»|:#]")


def sanitize_memory_content(content: str) -> str:
    """Return a recalled text without what a model could take for a turn of the chat.

    The control tokens that `memorist.framing.control_tokens` knows are removed, with ``system:``, ``human:`` and
    ``assistant:`` at the beginning of a word, in any case and disguise, until none is left. A word that only contains
    one ("ecosystem: good") stays whole, unless a mark was split around that. A text of more than 2,000 characters
    is cut, and "... [truncated]" added. What is stored never changes.
    """
    left = content[:_READ]
    for _ in range(_ROUNDS):
        if not (marks := [*spans(left), *_speakers(left)]):
            break
        left = _without(left, marks)
    else:
        left = _without(left, [each.span() for each in _MARKING.finditer(view_of(left))])
    safe = left.strip()
    if len(safe) > _SAFE_LENGTH or len(content) > _READ:
        return f"{safe[:_SAFE_LENGTH]}... [truncated]"
    return safe


def _speakers(text: str) -> Iterator[Span]:
    for found in _SPEAKER.finditer(view_of(text)):
        start, end = found.span()
        if not _IN_WORD.search(text[max(0, start - 2) : start]) or _hides(text, start, end):
            yield start, end


def _hides(text: str, start: int, end: int) -> bool:
    """Return whether a name within a word is put there to hide a mark, which stands around it: ``syssystem:tem:``."""
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    around = before + after
    marks = [*spans(around), *(each.span() for each in _SPEAKER.finditer(view_of(around)))]
    return any(first < len(before) < last for first, last in marks)


def _without(text: str, marks: list[Span]) -> str:
    gone = {position for start, end in marks for position in range(start, end)}
    return "".join(letter for position, letter in enumerate(text) if position not in gone)
