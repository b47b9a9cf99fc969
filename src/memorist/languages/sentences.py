"""Where sentences end, what asks, and how long a text is, in any script."""

from memorist.languages.letters import plain
from memorist.languages.table import Language
from memorist.system.regex import regex

QUESTION_MARKS = ("?", "？", "؟")
_STOPS = ".!?。！？؟।…\"'”’」』)） "
_END = regex(r"(?<=[.!?؟।])\s+|(?<=[。！？])\s*|\n+")
UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""The letters of scripts that put no space between words, as a part of a character class."""
_LETTER = regex(f"[{UNSPACED}]")
_WORD = regex(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text; a line ends one too."""
    return [each for each in _END.split(text) if each]


def words_in(text: str) -> list[str]:
    """Return the words of a text as far as spaces part them; of a script without spaces each letter."""
    return _WORD.findall(text)


def length_of(text: str) -> int:
    """Return how long a text is: in words, or in letters where it is written without spaces."""
    return len(text) if unspaced(text) else len(text.split())


def unspaced(text: str) -> bool:
    """Return whether most of a text is written without spaces between words."""
    return not text.isascii() and 2 * len(_LETTER.findall(text)) > len(text)


def asks(sentence: str, tables: list[Language]) -> bool:
    """Return whether a sentence is a question: by its mark, or by its end in a language that writes none."""
    if sentence.rstrip().endswith(QUESTION_MARKS):
        return True
    given = plain(sentence).rstrip(_STOPS)
    ends = (each.pattern("question_end").finditer(given) for each in tables if each.table["question_end"])
    return any(found.end() == len(given) for matches in ends for found in matches)
