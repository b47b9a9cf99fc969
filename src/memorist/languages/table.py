"""The table of one language, read when a text first needs it."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from memorist.errors import InvalidInputError, shown
from memorist.languages.detection import languages_of
from memorist.regex import regex

Phrases: TypeAlias = Literal[
    "first_person",
    "who",
    "when",
    "where",
    "how_many",
    "how_long",
    "how_long_ago",
    "states",
    "timed",
    "standing",
    "conditional",
    "manners",
    "before",
    "now",
    "no_longer",
    "used_to",
    "several",
]
"""The lists of a table. docs/languages.md says what each holds."""

_FOLDER = Path(__file__).with_name("tables")
CODES = ("en",)
"""The languages that have a table, as ISO 639-1 names them."""
_DEFAULT = "en"


class Language:
    """The words of a language.

    Args:
        code: its ISO 639-1 code.
        table: the content of its file.

    Attributes:
        stop: words that only hold sentences together.
    """

    def __init__(self, code: str, table: Mapping[str, Any]) -> None:
        self.code = code
        self.name: str = table["name"]
        self.table = table
        self.stop = frozenset(words_of(table["stop"]))
        self._left, self._right = table.get("bounds", (r"(?<!\w)", r"(?!\w)"))
        self._patterns: dict[str, re.Pattern[str]] = {}

    def says(self, what: Phrases, text: str) -> bool:
        """Return whether a text, which `plain` returned, holds a phrase of one of the lists."""
        return self.pattern(what).search(text) is not None

    def pattern(self, what: Phrases) -> re.Pattern[str]:
        """Return what finds the phrases of a list in a text that `plain` returned."""
        if what not in self._patterns:
            self._patterns[what] = self.compiled(words_of(self.table.get(what, ())))
        return self._patterns[what]

    def compiled(self, phrases: Sequence[str]) -> re.Pattern[str]:
        """Return what finds any of some phrases as whole words, compiled at its first use."""
        return regex(f"{self._left}(?:{'|'.join(phrases)}){self._right}" if phrases else r"(?!)")


@cache
def language(code: str) -> Language:
    """Return a language by its ISO 639-1 code.

    Raises:
        InvalidInputError: there is no table of it.
    """
    if code not in CODES:
        raise InvalidInputError(f"{shown(code)} is no language with a table; there are {', '.join(CODES)}")
    return Language(code, json.loads((_FOLDER / f"{code}.json").read_bytes()))


def tables_of(text: str) -> list[Language]:
    """Return the languages that a text may be in, likely ones first; English where no table fits."""
    return [language(code) for code in languages_of(text) if code in CODES] or [language(_DEFAULT)]


def said(what: Phrases, text: str) -> bool:
    """Return whether a text, which `plain` returned, holds a phrase of a list in a language that it may be in."""
    return any(each.says(what, text) for each in tables_of(text))


def words_of(entry: str | Iterable[str]) -> list[str]:
    """Return the entries of a list, which a table may also write as one text with spaces."""
    return entry.split() if isinstance(entry, str) else list(entry)
