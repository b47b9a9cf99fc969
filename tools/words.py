"""Writes the words that tell languages apart, as memorist.languages.detection reads them: words.json.

`python tools/words.py [--check]` gathers them from all tables and from `tables/common.json`, which adds common words to
them and to languages without a table, and under "like en" lists words of other languages that are English words too.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memorist.languages import CODES, Language, Phrases, language, plain
from memorist.languages.detection import SHARED, WORDS
from memorist.languages.table import words_of

COMMON = WORDS.parent / "tables" / "common.json"
_LISTED: tuple[Phrases, ...] = ("first_person", "who", "when", "where", "how_many", "timed", "manners", "before", "now")
"""The lists of a table whose words tell its language, beside its stop words and those of its calendar."""
_NAMED = ("days", "numbers", "units", "periods", "seasons")
_WORD = re.compile(r"[^\W\d_]+")
_ENDS = re.compile(r"([^\W\d_]+)\[([^\W\d_]+)\]\??")
"""A word whose last letter may be one of several."""
_WHOLE = 4
"""Letters of a word in a pattern; shorter runs are mostly endings."""


def told(of: Language) -> Iterator[str]:
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


def written() -> str:
    """Return the content of words.json: by script the letters and words, each with the languages that have it."""
    common = {code: words.split() for code, words in json.loads(COMMON.read_text(encoding="utf-8")).items()}
    held = {script: of_script(codes, common) for script, codes in SHARED.items()}
    words = held["Latin"]["words"]
    for word in words.keys() & common["like en"]:
        words[word] += " en" if "en" not in words[word].split() else ""
    return json.dumps(held, ensure_ascii=False, indent=0) + "\n"


def of_script(codes: Sequence[str], common: Mapping[str, Sequence[str]]) -> dict[str, dict[str, str]]:
    """Return the letters and the words that tell some languages."""
    found: dict[str, dict[str, str]] = {"letters": {}, "words": {}}
    for code in codes:
        texts = [*(told(language(code)) if code in CODES else ()), *common.get(code, ())]
        words = {word for text in texts for word in _WORD.findall(plain(text))}
        letters = language(code).table["letters"] if code in CODES else ""
        for name, each in (("letters", letters), ("words", sorted(words))):
            for one in each:
                found[name][one] = f"{found[name].get(one, '')} {code}".strip()
    return found


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(WORDS.read_text(encoding="utf-8") != written() and "words.json is outdated: python tools/words.py")
    WORDS.write_text(written(), encoding="utf-8")
