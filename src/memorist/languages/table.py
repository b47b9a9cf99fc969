"""The table of one language, read when a text first needs it."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from memorist.errors import InvalidInputError, shown
from memorist.languages.letters import same_letters
from memorist.system.regex import bounded, regex

Phrases: TypeAlias = Literal[
    "first_person",
    "own",
    "past",
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
    "preference",
    "manners",
    "before",
    "now",
    "no_longer",
    "used_to",
    "several",
    "question_end",
    "is",
    "did",
    "was",
    "lasted",
    "whether",
    "changed",
    "corrects",
    "no_state",
    "event",
]
"""The lists of a table. docs/languages.md says what each holds."""
OPTIONAL = frozenset(
    ("question_end", "own", "past", "is", "did", "was", "lasted", "whether", "corrects", "no_state", "event")
)
"""Lists that a table may leave out: a question's end, which most languages write as a mark; what stands for "I" where
that word is dropped; the past of a statement; a correction; and those that tell a question for a state, without which
only "now" and "before" do."""

PLACE = re.compile(r"\{([a-z_]+)\}")
"""A name in braces, which stands for a pattern kept elsewhere."""
_FOLDER = Path(__file__).with_name("tables")
CODES = tuple("en de fr es pt it nl pl ru uk tr ar fa hi zh ja ko vi th id".split())
"""The languages that have a table, as ISO 639-1 names them."""

LIFE_CHANGES = ("a move", "a new job", "another vehicle", "a separation", "the loss of a pet")
"""The changes of a life that tables know, all of them or none."""


@dataclass(frozen=True, slots=True)
class LifeChange:
    """What a table knows of one change of a life.

    Attributes:
        words: words of what tells it, by which such texts are found.
        told: finds it where somebody tells it of themselves.
        touches: finds what may no longer hold after it.
        asked: finds a question of theirs for what is so since.
    """

    words: str
    told: re.Pattern[str]
    touches: re.Pattern[str]
    asked: re.Pattern[str]


class Language:
    """The words of a language.

    Args:
        code: its ISO 639-1 code.
        table: the content of its file.

    Attributes:
        stop: words that only hold sentences together.
        spaced: whether spaces or other letters part its words.
        days: the names of months and weekdays, long and short.
    """

    def __init__(self, code: str, table: Mapping[str, Any]) -> None:
        self.code = code
        self.name: str = table["name"]
        self.table = table
        self.stop = frozenset(words_of(table["stop"]))
        self.days = frozenset(
            name.removesuffix("\\.?")
            for what in ("months", "months_short", "weekdays", "weekdays_short")
            for names in table["cldr"][what]
            for name in names
        )
        self.spaced = "bounds" not in table or any(table["bounds"])
        self._left, self._right = table.get("bounds", (r"(?<!\w)", r"(?!\w)"))
        self._patterns: dict[str, re.Pattern[str]] = {}

    def says(self, what: Phrases, text: str) -> bool:
        """Return whether a text, which `plain` returned, holds a phrase of one of the lists."""
        return self.pattern(what).search(text) is not None

    def pattern(self, what: Phrases) -> re.Pattern[str]:
        """Return what finds the phrases of a list in a text that `plain` returned."""
        if what not in self._patterns:
            phrases = words_of(self.table.get(what, ()))
            if what == "timed":  # "may" is mostly no month
                known = (
                    name for names in ("months", "weekdays") for each in self.table["cldr"][names] for name in each
                )
                phrases += [name for name in known if name not in self.stop]
            self._patterns[what] = self.compiled(phrases)
        return self._patterns[what]

    @cached_property
    def life_changes(self) -> Mapping[str, LifeChange]:
        """The changes of a life by their names, which are English; none where the table has none."""
        return {
            name: LifeChange(each["words"], *(self.compiled(each[part]) for part in ("told", "touches", "asked")))
            for name, each in self.table.get("life_changes", {}).items()
        }

    def changes(self, part: Literal["told", "asked"], text: str) -> list[str]:
        """Return the names of the changes of a life that a text, which `plain` returned, tells or asks after."""
        return [name for name, each in self.life_changes.items() if getattr(each, part).search(text)]

    def compiled(self, phrases: Sequence[str]) -> re.Pattern[str]:
        """Return what finds any of some phrases as whole words, compiled at its first use."""
        found = f"{self._left}(?:{'|'.join(map(self._whole, phrases))}){self._right}" if phrases else r"(?!)"
        return regex(same_letters(bounded(found)))

    def _whole(self, phrase: str) -> str:
        """Return a phrase with the parts of the table in the place of their names, which parts may hold, too."""
        return PLACE.sub(lambda name: self._whole(self.table["parts"][name[1]]), phrase)


@cache
def language(code: str) -> Language:
    """Return a language by its ISO 639-1 code.

    Raises:
        InvalidInputError: there is no table of it.
    """
    if code not in CODES:
        raise InvalidInputError(f"{shown(code)} is not a language with a table; there are {', '.join(CODES)}")
    return Language(code, json.loads((_FOLDER / f"{code}.json").read_bytes()))


def words_of(entry: str | Iterable[str]) -> list[str]:
    """Return the entries of a list, which a table may also write as one text with spaces."""
    return entry.split() if isinstance(entry, str) else list(entry)
