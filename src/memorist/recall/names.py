"""Finds the speakers that a question names: in any case, by a short form, or with a typing error."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memorist.languages import role_of
from memorist.languages.sentences import UNSPACED
from memorist.recall.analysis import fold, stop_words, words
from memorist.recall.spelling import LONGEST, SHORTEST, a_slip_away
from memorist.system.regex import regex

_TOKEN = re.compile(r"[^\W_]+")
_CAPITAL = re.compile(r"[A-Z](?<!\bI)")
_UNSPACED, _HANGUL = re.compile(f"[{UNSPACED}]"), re.compile("[가-힣]")
_NAME, _DIGIT = re.compile(r"[^\W\d_]+"), re.compile(r"\d")
_SHORT_FORM = 3
"""Letters that a short form has at least: "Mel" for Melanie."""
_KNOWN = 1024
"""The names whose forms are remembered: every question is read with the same ones."""


@dataclass(frozen=True, slots=True)
class _Form:
    """A name or a word of it, `folded`, and in lower case where it is ASCII; `common` tells whether it is a stop word
    as well."""

    text: str
    folded: str
    lower: str | None
    common: bool
    pattern: re.Pattern[str]

    def may_be_in(self, text: str) -> bool:
        """Return whether a search for the pattern may find anything; of ASCII that is sure."""
        return self.lower is None or not text.isascii() or self.lower in text.lower()


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


@lru_cache(maxsize=_KNOWN)
def _forms(name: str) -> Sequence[_Form]:
    """Return a name and each of its words."""
    found = []
    for form in dict.fromkeys((name, *name.split())):
        if len(form) > 1 and (held := words(form)):
            common = all(word in stop_words() for word in held)
            lower = form.lower() if form.isascii() else None
            found.append(_Form(form, fold(form), lower, common, regex(_as_a_word(form), re.IGNORECASE)))
    return found


def _mentions(text: str, forms: Iterable[_Form]) -> list[str]:
    """Return the forms of a name that a text has, as it spells them.

    A name in lower case counts where the text writes none with a capital, or where the name is kept so.
    """
    found = []
    for form in forms:
        for match in form.pattern.finditer(text) if form.may_be_in(text) else ():
            capital = match[0][0].isupper()
            if form.common and (not capital or not match.start()):
                continue  # "Will I ..." is no question about Will
            if capital or form.text[0].islower() or not _CAPITAL.search(text[1:]):
                found.append(match[0])
    return list(dict.fromkeys(found))


def _as_a_word(form: str) -> str:
    """Return a pattern of a name as a word: anywhere in a script without spaces, in Korean with particles after it."""
    escaped = re.escape(form)
    if _UNSPACED.search(form):
        return escaped
    return rf"(?<!\w){escaped}(?=[가-힣]{{0,3}}(?!\w))" if _HANGUL.search(form) else rf"(?<!\w){escaped}(?!\w)"


def _meant(token: str, names: Mapping[str, Sequence[_Form]]) -> list[str]:
    """Return the speakers that a folded word is a short form of, or a slip away from."""
    return [speaker for speaker, forms in names.items() if any(_is_near(token, form.folded) for form in forms)]


def _is_near(token: str, form: str) -> bool:
    if len(token) >= _SHORT_FORM and form.startswith(token) and len(form) > len(token):
        return True
    # The cheap conditions hold for whatever is a slip away, and for little else.
    alike = SHORTEST <= len(token) <= LONGEST and token[0] == form[:1] and abs(len(token) - len(form)) <= 1
    return alike and form in a_slip_away(token)
