"""Text into index terms.

One analyser for documents and queries. It is language-neutral at its base (Unicode words, digits,
CJK bigrams) with three English refinements that cost nothing elsewhere: a short stop list, a light
stemmer, and identifier splitting (``getUserName``, ``math.hypot``, ``snake_case``).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from memorist.regex import regex

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CJK = regex(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0e7f]+")

STOPWORDS = frozenset(
    word
    for line in (
        "a about an and any are as at be been being but by can could did do does doing done for from",
        "had has have having he her hers him his how i if in into is it its itself me my myself of on or",
        "our ours s she so some such than that the their theirs them themselves then there these they this",
        "those to too us was we were what when where which while who whom whose why will with would you",
        "your yours yourself am im ive id ill youre youve hes shes theyre weve dont didnt doesnt isnt",
        "wasnt werent cant couldnt wont wouldnt havent hasnt hadnt thats whats theres lets",
        "please tell like may might should shall must ll ve re t d m",
    )
    for word in line.split()
)


def fold(text: str) -> str:
    """Compatibility-normalise, drop accents, lower-case."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text)
    stripped = "".join(c for c in decomposed if not unicodedata.combining(c))
    return unicodedata.normalize("NFKC", stripped).casefold()


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
    humps = _CAMEL.split(bare) if not (bare.islower() or bare.isupper()) else [bare]
    return humps if len(humps) > 1 else [bare]


def words(text: str) -> list[str]:
    """Folded words in order, stop words included, unstemmed."""
    out: list[str] = []
    for token in _WORD.findall(_THOUSANDS.sub("", text) if "," in text else text):
        if token.isascii() and token.islower() and "'" not in token:  # most are
            out.append(token)
            continue
        for part in _parts(token):
            folded = fold(part)
            if not folded.isascii() and _CJK.search(folded):
                for run in _CJK.findall(folded):
                    out.extend(run[i : i + 2] for i in range(max(1, len(run) - 1)))
                out.extend(w for w in _CJK.split(folded) if w)
            elif folded:
                out.append(folded)
    return out


def terms(text: str) -> list[str]:
    """Index terms of `text`: stop words dropped, stemmed. Falls back to all words when none is left."""
    plain = words(text)
    kept = [stem(w) for w in plain if w not in STOPWORDS]
    return kept or [stem(w) for w in plain]
