"""Detecting that an answer is clearly in another language than the texts it was made from."""

from memorist.languages import CODES, language, languages_of
from memorist.languages.detection import share_script

_ENOUGH = 8
"""The least words of texts by which two languages of one script are told apart."""

_MIXED = 0.4
"""The share of Latin letters above which a text is not one in another script."""


def other_language(answer: str, source: str) -> str | None:
    """Return the language of `answer` if it is clearly not one of `source`, else None."""
    theirs, ours = languages_of(answer), languages_of(source)
    letters = [letter for letter in answer if letter.isalpha()]
    latin = sum(letter < "\u0250" for letter in letters) > _MIXED * len(letters)
    if not theirs or not ours or not set(theirs).isdisjoint(ours) or (latin and not share_script(theirs[0], "en")):
        return None
    short = min(len(answer.split()), len(source.split())) < _ENOUGH
    if short and any(share_script(one, other) for one in theirs for other in ours):
        return None
    return language(theirs[0]).name if theirs[0] in CODES else theirs[0]
