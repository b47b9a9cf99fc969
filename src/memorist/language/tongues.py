"""Detecting that an answer is clearly in another language than the texts it was made from."""

import re
import unicodedata
from collections import Counter
from functools import lru_cache

_COMMON = {
    "English": "the and is of to in that was for with has have are his her from at on they he she it this",
    "German": "der die das und ist nicht ein eine zu mit den von für sich auf im dem hat wird sie er ich",
    "French": "le la les et est une dans pour que qui des du au il elle sur avec pas sa son a été",
    "Spanish": "el la los las y es una en por que con para del su se al fue está más como lo",
    "Italian": "il la le e è una in per che con di del della si sono al ha non gli suo sua",
    "Portuguese": "o a os as e é uma em por que com para do da se ao foi está mais não seu sua",
    "Dutch": "de het een en is van in dat op te met voor zijn aan niet ze hij heeft er naar bij",
    "Polish": "i w na z do jest się nie to że jak po dla od przez ma jego jej być był była",
    "Swedish": "och i att det är en på som för med av den till inte har hon han från var ett om",
}
_WORDS = {language: frozenset(words.split()) for language, words in _COMMON.items()}
_ENOUGH = 3
"""A text is in a language if it has at least so many of its common words, and they are most of the common words."""


def other_language(answer: str, source: str) -> str | None:
    """Return the script or language of `answer` if it is clearly not one of `source`, else None."""
    script = _main_script(answer)
    if script is not None and script not in _scripts(source):
        return script
    theirs, ours = _language(answer), _language(source)
    return theirs if theirs is not None and ours is not None and theirs != ours else None


def _language(text: str) -> str | None:
    words = re.findall(r"[^\W\d_]+", text.lower())
    counts = {language: sum(word in common for word in words) for language, common in _WORDS.items()}
    (best, most), (_, second) = sorted(counts.items(), key=lambda item: -item[1])[:2]
    return best if most >= _ENOUGH and most >= 2 * second else None


def _main_script(text: str) -> str | None:
    counts = _scripts(text)
    script, most = max(counts.items(), key=lambda item: item[1], default=("", 0))
    return script if most >= 4 and most > 0.6 * sum(counts.values()) else None


def _scripts(text: str) -> Counter[str]:
    return Counter(_script(letter) for letter in text if letter.isalpha())


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    name = unicodedata.name(letter, "UNKNOWN").split()[0].title()
    return "Japanese" if name in ("Hiragana", "Katakana") else name
