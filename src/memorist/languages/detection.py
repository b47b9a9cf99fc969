"""The languages that a text may be in, by its letters and its most common words."""

import json
import unicodedata
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from memorist.languages.letters import plain
from memorist.languages.table import CODES, Language, Phrases, language, words_of
from memorist.system.regex import regex

WORDS = Path(__file__).with_name("words.json")
"""Words and letters by the languages that have them; tools/words.py writes it."""
_DEFAULT = "en"
_READ = 600
"""The characters of a text that are looked at."""
_SCRIPTS = (
    (0x41, "Latin"), (0x370, "el"), (0x400, "Cyrillic"), (0x530, "hy"), (0x590, "he"), (0x600, "Arabic"), (0x700, ""),
    (0x750, "Arabic"), (0x780, ""), (0x900, "hi"), (0x980, "bn"), (0xA00, "pa"), (0xA80, "gu"), (0xB00, "or"),
    (0xB80, "ta"), (0xC00, "te"), (0xC80, "kn"), (0xD00, "ml"), (0xD80, "si"), (0xE00, "th"), (0xE80, "lo"),
    (0xF00, "bo"), (0x1000, "my"), (0x10A0, "ka"), (0x1100, "ko"), (0x1200, "am"), (0x13A0, ""), (0x1780, "km"),
    (0x1800, "mn"), (0x1E00, "Latin"), (0x1F00, "el"), (0x2000, ""), (0x3041, "ja"), (0x3100, ""), (0x31F0, "ja"),
    (0x3200, ""), (0x3400, "Han"), (0xA000, ""), (0xAC00, "ko"), (0xD7B0, ""), (0xF900, "Han"), (0xFB00, "Latin"),
    (0xFB50, "Arabic"), (0xFE00, ""), (0xFE70, "Arabic"), (0xFF00, "Latin"), (0xFF66, "ja"), (0xFFA0, ""),
    (0x20000, "Han"), (0x32000, ""),
)  # fmt: skip
"""Where each script begins, by its name, or by its language where one language alone is written in it."""
_UNKNOWN = ("", "bo")
"""Scripts that the multilingual model was not trained on."""
_STARTS = [start for start, _ in _SCRIPTS]
SHARED: Mapping[str, list[str]] = {
    "Latin": (
        "en de fr es pt it nl pl tr vi id hi sv da nb fi hu ro cs sk hr sl et lv lt sq eu cy ga af ca gl sw tl ms eo is"
    ).split(),
    "Cyrillic": ["ru", "uk"],
    "Arabic": ["ar", "fa"],
}
"""Languages that share a script and are told apart by their words. Hindi is also written in Latin letters."""
_WORD = regex(r"[^\W\d_]+")
_OTHER_LETTER = regex(r"[^\W\d_a-zA-Z\u00aa-\u024f\u1e00-\u1eff\uff21-\uff5a]")
_LATIN_LETTER = regex(r"[a-zA-Z\u00c0-\u024f\u1e00-\u1eff\uff21-\uff5a]")
_CODE = regex(r"[\\/_={}<>|$#@`]|\w\(|\w[.:]\w")
_IDEOGRAPH = regex(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_SPANISH = "¿¡"
"""Marks of Spanish, which its shortest questions begin with."""
_SENTENCE = 4
"""So many words make a sentence, and an English one has one that tells it."""
_EVIDENT = 0.3
"""The share of English words of three letters and more in an ASCII text, above which no other language is tried."""
_GLANCE = 200
"""The number of characters from which evident English is recognised."""
_PART = 0.12
"""The least share of a text's different letters that are of a script, for a text that is also in it."""
_NEAR = 0.55
"""The least score of a language as a share of the best one, for a text that may be in either."""
_ENOUGH = 0.5
"""The least score of a language that is known by its words alone."""
_LONG = 12
"""Chinese characters without kana that are more than a Japanese name."""


@lru_cache(maxsize=1024)
def languages_of(text: str) -> tuple[str, ...]:
    """Return the ISO 639-1 codes of the languages that a text may be in, the likeliest first; () if nothing tells.

    Where several are likely, all are returned: a text may hold several, and similar ones are hard to tell apart. A
    language need not have a table.
    """
    text = text[:_READ]
    found = dict.fromkeys("es" for mark in _SPANISH if mark in text)
    if text.isascii() or not any(letter > "\x7f" and letter.isalpha() for letter in set(text)):
        return tuple(found | dict.fromkeys(_by_words(text, "Latin", plainly=True)))
    scripts = _scripts(text)
    total = sum(scripts.values())
    for script, count in scripts.items():
        if script == "Han":
            if "ja" not in scripts:
                found["zh"] = None
                if count <= _LONG:
                    found["ja"] = None
        elif script in SHARED:
            found.update(dict.fromkeys(_by_words(text, script, alone=len(scripts) == 1)))
        elif count >= _PART * total:
            found[script] = None
    return tuple(found)


def tables_of(text: str) -> list[Language]:
    """Return the languages that a text may be in and that have a table, likely ones first; English if none fits."""
    return list(_tables(languages_of(text)))


@lru_cache(maxsize=1024)
def _tables(codes: tuple[str, ...]) -> tuple[Language, ...]:
    return tuple(language(code) for code in codes if code in CODES) or (language(_DEFAULT),)


def said(what: Phrases, text: str) -> bool:
    """Return whether a text holds a phrase of a list in a language that it may be in."""
    given = plain(text)
    return any(each.says(what, given) for each in tables_of(text))


@lru_cache(maxsize=1024)
def role_of(speaker: str) -> str | None:
    """Return the role that a speaker's name is, "user", "assistant" or "system"; None for the name of a person."""
    name = plain(speaker)
    roles = (item for each in tables_of(speaker) for item in each.table["roles"].items())
    return next((role for role, names in roles if name in map(plain, words_of(names))), None)


def languages_with(text: str) -> tuple[str, ...]:
    """Return the languages in Latin letters that have any of a text's words: too many of them for `languages_of`."""
    known = _told("Latin").words
    found = dict.fromkeys(code for word in _WORD.findall(plain(text)) for code in known.get(word, "").split())
    return tuple(code for code in found if code in CODES)


def share_script(one: str, other: str) -> bool:
    """Return whether two languages are written in one script, so that only their words tell them apart."""
    return one == other or any(one in codes and other in codes for codes in SHARED.values())


def _scripts(text: str) -> dict[str, int]:
    """Return how many different letters of each script a text has, those of most first."""
    found = Counter(_SCRIPTS[bisect_right(_STARTS, ord(each)) - 1][1] for each in set(text) if each.isalpha())
    del found[""]
    return dict(found.most_common())


def is_english(text: str) -> bool:
    """Return whether a text is English, or shows no language at all: a name, an identifier, a number.

    This decides which of the bundled models embeds it.
    """
    text = text[:_READ]
    if not text.isascii() and _mostly_other_letters(text):
        return False
    english = other = 0.0
    words, weights = _WORD.findall(text), _weights()
    lower = str.lower if text.isascii() else plain
    for word in words:
        weight = weights.get(lower(word))
        if weight is None:
            if not word.isascii():
                other += 0.5 if word[0].isupper() else 1  # a name may stand in an English text
        elif weight > 0:
            english += weight
        elif weight < 0 and not (word.isupper() and len(word) > 1):  # "MIT" is not German
            other += 1
    if english or other:
        return english >= other
    return len(words) < _SENTENCE or _CODE.search(text) is not None or not text.rstrip().endswith((".", "!", "?", "…"))


def is_known(text: str) -> bool:
    """Return whether most letters of a text are of a script that the bundled models know.

    A text in another script, such as Tibetan or Cherokee, is found by its words alone.
    """
    letters = [each for each in unicodedata.normalize("NFKC", text[:_READ]) if each.isalpha()]
    unknown = sum(_SCRIPTS[bisect_right(_STARTS, ord(each)) - 1][1] in _UNKNOWN for each in letters)
    return 2 * unknown <= len(letters)


def _mostly_other_letters(text: str) -> bool:
    """Return whether more of a text is in another script than the Latin one."""
    other = len(_OTHER_LETTER.findall(text))
    return other > 0 and other + len(_IDEOGRAPH.findall(text)) >= len(_LATIN_LETTER.findall(text))


def _by_words(text: str, script: str, *, alone: bool = True, plainly: bool = False) -> list[str]:
    """Return the likely ones of the languages that share a script, best first.

    Args:
        text: the text.
        script: the script.
        alone: whether the text is in no other script.
        plainly: whether all of its letters are ASCII.
    """
    told = _told(script)
    if plainly:
        words = _WORD.findall(text[:_GLANCE].lower())
        evident = sum(map(_evident().__contains__, words))
        if evident > max(1, _EVIDENT * len(words)):
            return [_DEFAULT]
    words = _WORD.findall(plain(text))
    if script == "Latin" and not alone and sum(map(str.isascii, words)) < 2:
        return []
    scores: dict[str, float] = defaultdict(float)
    telling = [told.words.get(word, "") for word in words]
    if not plainly:
        telling += [told.letters.get(letter, "") for letter in set(text.lower())]
    for codes in map(str.split, telling):
        for code in codes:
            scores[code] += 1 / len(codes)
    best = max(scores.values(), default=0.0)
    if best < _ENOUGH:
        return [] if script == "Latin" else list(SHARED[script])
    return [code for code, score in sorted(scores.items(), key=lambda each: -each[1]) if score >= _NEAR * best]


@cache
def _weights() -> Mapping[str, float]:
    """Return how much a Latin word tells of English: the less, the more languages have it; -1 if English has it not."""

    def weight(codes: str) -> float:
        if codes.startswith(_DEFAULT):
            return 1 / min(len(codes.split()), 3)
        return 0 if _DEFAULT in codes else -1

    return {word: weight(codes) for word, codes in _told("Latin").words.items()}


@cache
def _evident() -> frozenset[str]:
    """Return the words of three letters and more that tell of English."""
    return frozenset(word for word, weight in _weights().items() if len(word) > 2 and weight > 0)


class _Told(NamedTuple):
    """The letters and the words that tell the languages of a script, each with the codes of those, English first."""

    letters: Mapping[str, str]
    words: Mapping[str, str]


@cache
def _told(script: str) -> _Told:
    return _Told(**json.loads(WORDS.read_bytes())[script])
