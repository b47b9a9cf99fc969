"""Text into index terms.

One analyser for documents and queries, the same for all languages: Unicode words, letters that many write one for the
other as one, pairs of letters where no space parts the words. Three English refinements cost nothing elsewhere: a short
stop list, a light stemmer, and identifier splitting (``getUserName``, ``math.hypot``, ``snake_case``). The forms of a
word in other languages are looked for when a question asks for it; see `memorist.recall.forms`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

from memorist.languages import language, tables_of
from memorist.languages.letters import same_letters
from memorist.languages.sentences import UNSPACED
from memorist.system.regex import regex

_INDIC = r"\u0900-\u0963\u0966-\u0dff"
"""Letters and vowel signs of the scripts of India, without the stop between sentences."""
_WORD = re.compile(rf"(?:[^\W_]|[{_INDIC}{UNSPACED}])+(?:['’](?:[^\W_]|[{_INDIC}])+)*")
_FORMER_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PAIRED = regex(rf"[{UNSPACED}\uac00-\ud7af]+")
"""Letters that are indexed in pairs: of scripts without spaces, and of Korean, whose words have endings."""
_ADDED = regex(r"[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u200d]+")
"""Marks that are written or left out: accents apart from their letter, vowels of Hebrew and Arabic, the tatweel."""
_FOLDED = str.maketrans("ıँ", "iं")


@cache
def stop_words() -> frozenset[str]:
    """Return the words that are never index terms."""
    return language("en").stop


def fold(text: str) -> str:
    """Compatibility-normalise, drop accents, lower-case."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text)
    stripped = "".join(c for c in decomposed if not unicodedata.combining(c))
    return unicodedata.normalize("NFKC", stripped).casefold().translate(_FOLDED)


def _undouble(word: str) -> str:
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return word


_VOWEL = re.compile(r"[aeiouy]")


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A light English stemmer (plural, -ed, -ing, -ly, final e and y).

    Deliberately weaker than Snowball: it joins inflections of one word, not derivations.
    """
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    w = word
    if w.endswith("ies") and len(w) > 4:
        w = w[:-3] + "y"
    elif w.endswith(("sses", "shes", "ches", "xes", "zes")):
        w = w[:-2]
    elif w.endswith("s") and not w.endswith(("ss", "us", "is")):
        w = w[:-1]
    if w.endswith("ied") and len(w) > 4:
        w = w[:-3] + "y"
    elif w.endswith("ed") and len(w) > 4 and _VOWEL.search(w[:-2]) and not w.endswith("eed"):
        w = _undouble(w[:-2])
    elif w.endswith("ing") and len(w) > 5 and _VOWEL.search(w[:-3]):
        w = _undouble(w[:-3])
    if w.endswith("ly") and len(w) > 5:
        w = w[:-2]
    if w.endswith("e") and len(w) > 4:
        w = w[:-1]
    if w.endswith("y") and len(w) > 3 and w[-2] not in "aeiou":
        w = w[:-1] + "i"
    return w


def _parts(token: str) -> list[str]:
    """The words inside one token: camel-case humps; possessives and contractions trimmed."""
    bare = token.replace("’", "'")
    if "'" in bare:
        head, _, tail = bare.partition("'")
        bare = head if tail.lower() in {"s", "d", "ll", "ve", "re", "m"} else bare.replace("'", "")
    return [bare] if bare.islower() or bare.isupper() else _CAMEL.split(bare)


def words(text: str) -> list[str]:
    """Folded words in order, stop words included, unstemmed."""
    if text.isascii():
        return _split(text, _WORD)
    return _split(same_letters(_ADDED.sub("", text)), _WORD)


def _split(text: str, word: re.Pattern[str]) -> list[str]:
    out: list[str] = []
    for token in word.findall(_THOUSANDS.sub("", text) if "," in text else text):
        if token.isascii() and token.islower() and "'" not in token:  # most are
            out.append(token)
            continue
        for part in _parts(token):
            folded = fold(part)
            if not folded.isascii() and _PAIRED.search(folded):
                for run in _PAIRED.findall(folded):
                    out.extend(run[i : i + 2] for i in range(max(1, len(run) - 1)))
                out.extend(w for w in _PAIRED.split(folded) if w)
            elif folded:
                out.append(folded)
    return out


def terms(text: str) -> list[str]:
    """Index terms of `text`: stop words dropped, stemmed. Falls back to all words when none is left."""
    return _terms_in(words(text))


def former_terms(text: str) -> list[str]:
    """Return the index terms that a text had before its letters had one form each; none of an ASCII text."""
    return [] if text.isascii() else _terms_in(_split(text, _FORMER_WORD))


def _terms_in(found: list[str]) -> list[str]:
    stop = stop_words()
    kept = [stem(word) for word in found if word not in stop]
    return kept or [stem(word) for word in found]


def asked_terms(text: str) -> list[str]:
    """Return the index terms of a question, without the stop words of its languages where others are left."""
    found = terms(text)
    tables = tables_of(text)
    if [each.code for each in tables] == ["en"]:
        return found
    stop = {term for each in tables for term in stop_terms(each.code)}
    return [term for term in found if term not in stop] or found


@cache
def stop_terms(code: str) -> frozenset[str]:
    """Return the index terms that the stop words of a language become."""
    return frozenset(stem(word) for each in language(code).stop for word in words(each))


@cache
def any_terms(code: str) -> frozenset[str]:
    """Return the index terms of the words that texts about anything share: of the user, and of any change."""
    return frozenset(stem(word) for word in words(language(code).table.get("of_anything", "")))
