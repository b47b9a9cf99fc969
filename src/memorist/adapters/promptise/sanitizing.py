"""Removes from recalled texts the marks that a model takes for the beginning of a chat turn.

The marks are searched in a folded view of the text (compatibility forms, case, white space, invisible characters,
letters that look like Latin ones), and cut out of the text itself; a text without marks is returned unchanged.
"""

import re
import unicodedata
from functools import lru_cache

from memorist.control_tokens import LOOK_ALIKES

_SAFE_LENGTH = 2000
"""Most characters of one recalled text in a prompt."""

_READ = 10
"""The most characters of a text that are read, as a multiple of the limit."""


def sanitize_memory_content(content: str) -> str:
    """Return a recalled text without the marks that a model could take for a turn of the chat.

    In any case, with white space between letters, with invisible characters and look-alikes, it removes the
    tags of a memory block; ``system:``, ``human:``, ``assistant:``; ``[INST]``, ``<<SYS>>``,
    ``### instruction:``, ``### response:`` and the special tokens of chat templates; it repeats this until
    none is left. A word that only contains one ("ecosystem: good") stays whole. A text of more than 2,000 characters
    is cut, and "... [truncated]" added. What is stored never changes.
    """
    read = content[: _SAFE_LENGTH * _READ]
    while (shorter := _without_marks(read)) != read:
        read = shorter
    safe = read.strip()
    if len(safe) > _SAFE_LENGTH or len(content) > _SAFE_LENGTH * _READ:
        return f"{safe[:_SAFE_LENGTH]}... [truncated]"
    return safe


# --- the marks, as they look in the folded view ------------------------------------------------------


def _any(*words: str) -> str:
    """Return a pattern for any of these words, whose letters may stand apart."""
    return "(?:" + "|".join(" ?".join(re.escape(letter) for letter in word) for word in words) + ")"


_SPEAKER = _any("system", "human", "assistant") + " ?:"
_TOKENS = _any(
    "im_start", "im_end", "im_sep", "system", "user", "assistant", "endoftext", "begin_of_text", "end_of_text",
    "start_header_id", "end_header_id", "eot_id", "eom_id", "python_tag",
)  # fmt: skip
_BLOCKS = rf"(?:{_any('memory')}[ _-]*{_any('context')}|{_any('long')}[ _-]*{_any('term')}[ _-]*{_any('memory')})"
_TEMPLATE = "|".join(
    [
        rf"< ?/? ?{_BLOCKS}(?:[^<>]{{0,100}}>)?",
        rf"\[ ?/? ?{_any('inst')} ?\]",
        rf"< ?< ?/? ?{_any('sys')} ?> ?>",
        rf"# ?# ?# ?{_any('instruction', 'response')} ?:",
        rf"< ?\| ?{_TOKENS} ?\| ?>",
        rf"< ?/? ?{_any('start_of_turn', 'end_of_turn')} ?>",
    ]
)
_MARK = re.compile(rf"{_TEMPLATE}|(?<!\w)(?<!\w-){_SPEAKER}")
_WITHIN = re.compile(_SPEAKER)
"""A speaker's mark, also where it is only the end of a longer word."""
_REACH = 300
"""No mark is longer, in characters of the view."""


def _without_marks(text: str) -> str:
    view, positions = _folded(text)
    gone = bytearray(len(text))
    position = 0
    while (found := _next_mark(view, position)) is not None:
        start, end = found
        first, last = positions[start], positions[end - 1]
        gone[first : last + 1] = b"\1" * (last + 1 - first)
        if start and end < len(view) and view[start - 1] == view[end] == " ":
            end += 1  # a run of white space is one character in the view, also if a cut has just created the run
        view = view[:start] + view[end:]
        del positions[start:end]
        position = max(0, start - _REACH)
    return "".join(letter for letter, cut in zip(text, gone, strict=True) if not cut) if any(gone) else text


def _next_mark(view: str, position: int) -> tuple[int, int] | None:
    """Return where the next mark begins and ends, from `position` on."""
    alone = _MARK.search(view, position)
    if alone is not None:
        return alone.span()
    for within in _WITHIN.finditer(view, position):
        if (around := _mark_around(view, *within.span())) is not None:
            return around
    return None


def _mark_around(view: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the position of the mark that cutting this one out would form, as in "syssystem:tem:"; or None."""
    while True:
        if start and view[start - 1 : start] == view[end : end + 1] == " ":
            end += 1
        left, right = view[max(0, start - _REACH) : start], view[end : end + _REACH]
        seam = len(left)
        whole = _over(_MARK, left + right, seam)
        found = whole or _over(_WITHIN, left + right, seam)
        if found is None:
            return None
        start, end = start - (seam - found.start()), end + (found.end() - seam)
        if whole is not None:
            return start, end


def _over(pattern: re.Pattern[str], text: str, seam: int) -> re.Match[str] | None:
    return next((found for found in pattern.finditer(text) if found.start() < seam < found.end()), None)


# --- the folded view ---------------------------------------------------------------------------------

_SEEN_AS = {**LOOK_ALIKES, "и": "u", "ν": "n", "η": "n", "γ": "y", "«": "<<", "»": ">>", "《": "<<", "》": ">>"}
_INVISIBLE = re.compile(
    "[\u034f\u0332-\u0338\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)


def _folded(text: str) -> tuple[str, list[int]]:
    """Return what the text looks like, white space as one space, and the position in the text of each character."""
    view: list[str] = []
    positions: list[int] = []
    for position, character in enumerate(text):
        for letter in _fold(character):
            if letter != " " or not view or view[-1] != " ":
                view.append(letter)
                positions.append(position)
    return "".join(view), positions


@lru_cache(maxsize=4096)
def _fold(character: str) -> str:
    if character.isspace() or character == "\u200b" or unicodedata.category(character) == "Cc":
        return " "  # a letter may stand apart, so that a mark is seen through them, and a word ends there
    if unicodedata.category(character) == "Cf" or _INVISIBLE.match(character):
        return ""
    plain = unicodedata.normalize("NFKC", character).casefold()
    return "".join(" " if letter.isspace() else _SEEN_AS.get(letter, letter) for letter in plain)
