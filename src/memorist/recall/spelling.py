"""Corrects typing errors: replaces a word that no record contains by a similar word that some record contains."""

import string
from collections.abc import Iterable, Iterator

from memorist.recall.postings import Postings

SHORTEST = 5
"""The least letters of a word: too many others are similar to a shorter one."""
LONGEST = 40
"""The most letters of a word: longer runs are not words, and each letter costs some fifty lookups."""


def respelled(terms: Iterable[str], posted: Postings) -> dict[str, str]:
    """Return, for each term that no record contains, the most common term one slip away; others are left out.

    A slip is one letter left out, put in or changed, or two neighbours swapped (Damerau, 1964), and never the
    first letter. Words with other letters than a to z, short and overlong ones are taken as they are.

    Args:
        terms: analysed terms.
        posted: the postings of all records.
    """
    found = {}
    for term in terms:
        if SHORTEST <= len(term) <= LONGEST and term.isascii() and term.isalpha() and not posted.holders(term):
            spellings = list(a_slip_away(term))
            held = posted.among(set(spellings))  # of hundreds, hardly any
            if held:
                found[term] = max((near for near in spellings if near in held), key=posted.holders)
    return found


def a_slip_away(word: str) -> Iterator[str]:
    """Yield the words one slip away from a word, some several times."""
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
