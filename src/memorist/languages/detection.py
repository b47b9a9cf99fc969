"""The languages that a text may be in, by its letters and its most common words."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from memorist.languages.letters import plain
from memorist.languages.table import CODES, Language, Phrases, language, words_of

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
_STARTS = [start for start, _ in _SCRIPTS]
_SHARED: Mapping[str, tuple[str, ...]] = {
    "Latin": ("en", "de", "fr", "es", "pt", "it", "nl", "pl", "tr", "vi", "id", "hi"),
    "Cyrillic": ("ru", "uk"),
    "Arabic": ("ar", "fa"),
}
"""Languages with a table that share a script. Hindi is also written in Latin letters."""
_WORD = re.compile(r"[^\W\d_]+")
_LISTED: tuple[Phrases, ...] = ("first_person", "who", "when", "where", "how_many", "timed", "manners", "before", "now")
"""The lists of a table whose words tell its language, beside its stop words and those of its calendar."""
_NAMED = ("days", "numbers", "units", "periods", "seasons")
_ENDS = re.compile(r"([^\W\d_]+)\[([^\W\d_]+)\]\??")
"""A word whose last letter may be one of several."""
_EVIDENT = 0.3
"""The share of English words of three letters and more in an ASCII text, above which no other language is tried."""
_WHOLE = 4
"""Letters of a word in a pattern; shorter runs are mostly endings."""
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
    if text.isascii() or not any(letter > "\x7f" and letter.isalpha() for letter in set(text)):
        return tuple(_by_words(text, "Latin", plainly=True))
    scripts = _scripts(text)
    total = sum(scripts.values())
    found: dict[str, None] = {}
    for script, count in scripts.items():
        if script == "Han":
            if "ja" not in scripts:
                found["zh"] = None
                if count <= _LONG:
                    found["ja"] = None
        elif script in _SHARED:
            found.update(dict.fromkeys(_by_words(text, script, alone=len(scripts) == 1)))
        elif count >= _PART * total:
            found[script] = None
    return tuple(found)


def tables_of(text: str) -> list[Language]:
    """Return the languages that a text may be in and that have a table, likely ones first; English if none fits."""
    return [language(code) for code in languages_of(text) if code in CODES] or [language(_DEFAULT)]


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
    vocabulary = _vocabulary("Latin")
    return tuple(dict.fromkeys(code for word in _WORD.findall(plain(text)) for code in vocabulary.get(word, ())))


def share_script(one: str, other: str) -> bool:
    """Return whether two languages are written in one script, so that only their words tell them apart."""
    return one == other or any(one in codes and other in codes for codes in _SHARED.values())


def _scripts(text: str) -> dict[str, int]:
    """Return how many different letters of each script a text has, those of most first."""
    found = Counter(_SCRIPTS[bisect_right(_STARTS, ord(each)) - 1][1] for each in set(text) if each.isalpha())
    del found[""]
    return dict(found.most_common())


def _by_words(text: str, script: str, *, alone: bool = True, plainly: bool = False) -> list[str]:
    """Return the likely ones of the languages that share a script, best first.

    Args:
        text: the text.
        script: the script.
        alone: whether the text is in no other script.
        plainly: whether all of its letters are ASCII.
    """
    if plainly:
        words = _WORD.findall(text[:_GLANCE].lower())
        if sum(map(_evident().__contains__, words)) > max(1, _EVIDENT * len(words)):
            return [_DEFAULT]
    words = _WORD.findall(plain(text))
    if script == "Latin" and not alone and sum(map(str.isascii, words)) < 2:
        return []
    scores = dict.fromkeys(_SHARED[script], 0.0)
    vocabulary, letters = _vocabulary(script), _letters(script)
    for word in words:
        for code in vocabulary.get(word, ()):
            scores[code] += 1 / len(vocabulary[word])
    if not plainly:
        for letter in letters.keys() & set(text.lower()):
            for code in letters[letter]:
                scores[code] += 1 / len(letters[letter])
    best = max(scores.values(), default=0.0)
    if best < _ENOUGH:
        return [] if script == "Latin" else list(_SHARED[script])
    return [code for code, score in sorted(scores.items(), key=lambda each: -each[1]) if score >= _NEAR * best]


@cache
def _evident() -> frozenset[str]:
    """Return the English words that are long enough not to be another language's by chance."""
    return frozenset(word for word in _vocabulary_of(_DEFAULT) if len(word) > 2)


@cache
def _vocabulary(script: str) -> Mapping[str, tuple[str, ...]]:
    """Return the words that tell a language of this script, each with the languages that have it."""
    found: dict[str, tuple[str, ...]] = {}
    for code in _SHARED[script]:
        for word in _vocabulary_of(code):
            found[word] = (*found.get(word, ()), code)
    return found


@cache
def _vocabulary_of(code: str) -> frozenset[str]:
    return frozenset(word for text in _told(language(code)) for word in _WORD.findall(plain(text)))


def _told(of: Language) -> Iterator[str]:
    """Yield the words of a language that tell it from others; of patterns, the longer runs of letters."""
    cldr, calendar = of.table["cldr"], of.table["calendar"]
    lists: list[Any] = [*map(of.table.__getitem__, ("stop", *_LISTED)), *cldr["months"], *cldr["weekdays"]]
    for named in (cldr["days"], of.table["roles"], *(calendar[each] for each in _NAMED)):
        lists += named.values()
    for entry in (each for held in lists for each in words_of(held)):
        if all(letter.isalpha() or letter in " '-’" for letter in entry):
            yield entry
        elif (ends := _ENDS.fullmatch(entry)) is not None:
            yield from (ends[1] + letter for letter in ("", *ends[2]))
        elif "[" not in entry and "\\" not in entry:
            yield from (word for word in _WORD.findall(entry) if len(word) >= _WHOLE)


@cache
def _letters(script: str) -> Mapping[str, tuple[str, ...]]:
    """Return the letters that tell a language of this script, each with the languages that have it."""
    found: dict[str, tuple[str, ...]] = {}
    for code in _SHARED[script]:
        for letter in language(code).table["letters"]:
            found[letter] = (*found.get(letter, ()), code)
    return found
