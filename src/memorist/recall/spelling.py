"""Slips of the pen: a word asked for that nothing holds, taken for one a slip away that something does."""

import string
from collections.abc import Callable, Iterable, Iterator

SHORTEST = 5
"""Shorter words are a slip away from too many others."""
LONGEST = 40
"""Longer runs of letters are no words, and each letter costs some fifty lookups."""


def respelled(terms: Iterable[str], holders: Callable[[str], int]) -> dict[str, str]:
    """Return, for each term that nothing holds, the most common one that is a slip away; others are left out.

    A slip is one letter left out, put in or changed, or two neighbours swapped (Damerau, 1964), and never the
    first letter. Words with other letters than a to z, short and overlong ones are taken as they are.

    Args:
        terms: analysed terms.
        holders: how many records hold a term.
    """
    found = {}
    for term in terms:
        if SHORTEST <= len(term) <= LONGEST and term.isascii() and term.isalpha() and not holders(term):
            counted = [(holders(near), near) for near in a_slip_away(term)]
            count, best = max(counted, key=lambda each: each[0])
            if count:
                found[term] = best
    return found


def a_slip_away(word: str) -> Iterator[str]:
    """Yield what a slip of the pen makes of a word, some several times."""
    for position in range(1, len(word) + 1):
        before, after = word[:position], word[position:]
        if after:
            yield before + after[1:]
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        for letter in string.ascii_lowercase:
            yield before + letter + after
            if after:
                yield before + letter + after[1:]
