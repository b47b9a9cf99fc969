"""Regular expressions: compiled when they are first used, as most programs that start use few of them; and bounded."""

import re
from typing import Any, cast


class _Pattern:
    def __init__(self, text: str, flags: int) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._given), name)
        setattr(self, name, value)  # it is found without this method from now on
        return value


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return what has the methods of a compiled regular expression. A wrong one raises `re.error` at its first use."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


_LONGEST = 200
"""The most letters that a repetition of one letter or class of letters may take: more than any word or clause has."""
_MOST = 10
"""The most times that a group is repeated: more filler words than anybody says in a row."""
_PART = regex(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[*+]|\{\d*,\}|.", re.DOTALL)
_ENDLESS = {"*": "{0,%d}", "+": "{1,%d}"}


def bounded(pattern: str, longest: int = _LONGEST) -> str:
    """Return a pattern whose every repetition ends, so that searching a text takes time in proportion to its length.

    A pattern that may take any number of words reads on to the end of a text of such words, from each of them: in a
    message of 40,000 letters that is a minute.

    Args:
        pattern: the pattern.
        longest: the most letters that a repetition of one letter, or of a class of letters, takes from now on.
    """
    found, quantified = list[str](), False
    for part in _PART.findall(pattern):
        is_open = part in _ENDLESS or (part[0] == "{" and part.endswith(",}"))
        if is_open and not quantified:
            most = _MOST if found[-1] == ")" else longest
            part = _ENDLESS[part] % most if part in _ENDLESS else f"{part[:-1]}{most}}}"
        # what stands behind a quantifier, makes it lazy or possessive
        quantified = not quantified and (is_open or (part == "?" and found[-1:] != ["("]) or part == "}")
        found.append(part)
    return "".join(found)
