"""Finds the speakers that a question names: in any case, by a short form, or with a typing error."""

import re
from collections.abc import Iterable, Mapping

from memorist.languages import role_of
from memorist.languages.sentences import UNSPACED
from memorist.recall.analysis import fold, stop_words, words
from memorist.recall.spelling import LONGEST, SHORTEST, a_slip_away

_TOKEN = re.compile(r"[^\W_]+")
_CAPITAL = re.compile(r"[A-Z](?<!\bI)")
_UNSPACED, _HANGUL = re.compile(f"[{UNSPACED}]"), re.compile("[가-힣]")
_NAME, _DIGIT = re.compile(r"[^\W\d_]+"), re.compile(r"\d")
_SHORT_FORM = 3
"""Letters that a short form has at least: "Mel" for Melanie."""


def named_in(text: str, speakers: Iterable[str]) -> dict[str, list[str]]:
    """Return the speakers that a text names, each with its spellings in the text."""
    names = {speaker: _forms(speaker) for speaker in speakers if role_of(speaker) is None}
    found = {speaker: spellings for speaker, forms in names.items() if (spellings := _mentions(text, forms))}
    known = {fold(spelling) for spellings in found.values() for spelling in spellings}
    for token in dict.fromkeys(match[0] for match in _TOKEN.finditer(text) if match.start()):
        if token[0].isupper() and fold(token) not in known and fold(token) not in stop_words():
            meant = _meant(fold(token), names)
            if len(meant) == 1:
                found.setdefault(meant[0], []).append(token)
    return found


def own_names_in(text: str, user: str) -> list[str]:
    """Return how a text names a user, written with a capital: by the whole name, as "Alice Smith" for the user
    "alice.smith", or by its first word. A user's name with a digit names nobody."""
    parts = [] if _DIGIT.search(user) else _NAME.findall(user.partition("@")[0])
    forms = dict.fromkeys((" ".join(parts), *parts[:1]))
    found = [spelling for form in forms if role_of(form) is None for spelling in _mentions(text, _forms(form)[:1])]
    return [spelling for spelling in found if not spelling[0].islower()]


def _forms(name: str) -> list[str]:
    """Return a name and each of its words."""
    return [form for form in dict.fromkeys((name, *name.split())) if len(form) > 1 and words(form)]


def _mentions(text: str, forms: Iterable[str]) -> list[str]:
    """Return the forms of a name that a text has, as it spells them.

    A name in lower case counts where the text writes none with a capital, or where the name is kept so.
    """
    lower = not _CAPITAL.search(text[1:])
    found = []
    for form in forms:
        common = all(word in stop_words() for word in words(form))
        for match in re.finditer(_as_a_word(form), text, re.IGNORECASE):
            capital = match[0][0].isupper()
            if common and (not capital or not match.start()):
                continue  # "Will I ..." is no question about Will
            if capital or lower or form[0].islower():
                found.append(match[0])
    return list(dict.fromkeys(found))


def _as_a_word(form: str) -> str:
    """Return a pattern of a name as a word: anywhere in a script without spaces, in Korean with particles after it."""
    escaped = re.escape(form)
    if _UNSPACED.search(form):
        return escaped
    return rf"(?<!\w){escaped}(?=[가-힣]{{0,3}}(?!\w))" if _HANGUL.search(form) else rf"(?<!\w){escaped}(?!\w)"


def _meant(token: str, names: Mapping[str, list[str]]) -> list[str]:
    """Return the speakers that a folded word is a short form of, or a slip away from."""
    near = set(a_slip_away(token)) if SHORTEST <= len(token) <= LONGEST else ()
    return [
        speaker
        for speaker, forms in names.items()
        if any(
            (len(token) >= _SHORT_FORM and form.startswith(token) and len(form) > len(token)) or form in near
            for form in map(fold, forms)
        )
    ]
