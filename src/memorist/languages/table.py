"""The table of one language, read when a text first needs it."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from memorist.errors import InvalidInputError, shown
from memorist.languages.hints import Hints, hints_in
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
    "project",
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
    (
        "question_end",
        "own",
        "past",
        "is",
        "did",
        "was",
        "lasted",
        "whether",
        "corrects",
        "no_state",
        "event",
        "project",
    )
)
"""Lists that a table may leave out: a question's end, which most languages write as a mark; what stands for "I" where
that word is dropped; the past of a statement; a correction; and those that tell a question for a state, without which
only "now" and "before" do; and what names a project, for the instructions that are a coding project's."""

_MARKING: Sequence[Phrases] = ("first_person", "timed", "corrects", "standing")
"""Lists that are looked for in each text that is stored."""
PLACE = re.compile(r"\{([a-z_]+)\}")
"""A name in braces, which stands for a pattern kept elsewhere."""
_FOLDER = Path(__file__).with_name("tables")
CODES = tuple("en de fr es pt it nl pl ru uk tr ar fa hi zh ja ko vi th id".split())
"""The languages that have a table, as ISO 639-1 names them."""

LIFE_CHANGES = ("a move", "a new job", "another vehicle", "a separation", "the loss of a pet")
"""The life events that tables know, all of them or none."""


@dataclass(frozen=True, slots=True)
class LifeChange:
    """What a table knows of one life event.

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
        self._compiled: dict[tuple[str, ...], re.Pattern[str]] = {}
        self._read: tuple[str, frozenset[str]] = "", frozenset()

    def says(self, what: Phrases, text: str) -> bool:
        """Return whether a text, which `plain` returned, holds a phrase of one of the lists."""
        return self._may_say(what, text) and self.pattern(what).search(text) is not None

    def pattern(self, what: Phrases) -> re.Pattern[str]:
        """Return what finds the phrases of a list in a text that `plain` returned."""
        if what not in self._patterns:
            self._patterns[what] = self.compiled(self._phrases(what))
        return self._patterns[what]

    def _phrases(self, what: Phrases) -> list[str]:
        phrases = words_of(self.table.get(what, ()))
        if what == "timed":  # "may" is mostly no month
            known = (name for names in ("months", "weekdays") for each in self.table["cldr"][names] for name in each)
            phrases += [name for name in known if name not in self.stop]
        return phrases

    def _may_say(self, what: str, text: str) -> bool:
        """Return whether a text, which `plain` returned, has letters that a phrase of a list cannot do without."""
        names, hints = self._marks
        if what not in names:
            return True
        read = self._read  # taken once, since another thread may set it
        if text != read[0]:
            self._read = read = text, frozenset(names[position] for position in hints.possible(text))
        return what in read[1]

    @cached_property
    def _marks(self) -> tuple[Sequence[str], Hints]:
        """The lists that are looked for in each text that is stored, and the life events, with their hints."""
        lists: dict[str, Sequence[str]] = {what: self._phrases(what) for what in _MARKING}
        lists |= {name: each["told"] for name, each in self.table.get("life_changes", {}).items()}
        hints = [self._hints_of(phrases) for phrases in lists.values()]
        return list(lists), Hints([each] if each else [] for each in hints)

    def _hints_of(self, phrases: Sequence[str]) -> frozenset[str]:
        """Return letters of which a text that holds any of the phrases has some; none if that cannot be told."""
        found: set[str] = set()
        for phrase in phrases:
            sets = hints_in(same_letters(self._whole(phrase)))
            if not sets:
                return frozenset()
            found |= max(sets, key=lambda each: min(map(len, each)))
        return frozenset(found)

    @cached_property
    def life_changes(self) -> Mapping[str, LifeChange]:
        """The life events by their names, which are English; none where the table has none."""
        return {
            name: LifeChange(each["words"], *(self.compiled(each[part]) for part in ("told", "touches", "asked")))
            for name, each in self.table.get("life_changes", {}).items()
        }

    def may_name_user(self, text: str) -> bool:
        """Return whether a text, which `plain` returned, has letters that "the user" cannot do without."""
        return not self._user_hints or any(hint in text for hint in self._user_hints)

    @cached_property
    def _user_hints(self) -> frozenset[str]:
        return self._hints_of(self.table["user"])

    def changes(self, part: Literal["told", "asked"], text: str) -> list[str]:
        """Return the names of the life events that a text, which `plain` returned, tells or asks after."""
        if part == "asked":
            return [name for name, each in self.life_changes.items() if each.asked.search(text)]
        return [
            name for name, each in self.life_changes.items() if self._may_say(name, text) and each.told.search(text)
        ]

    def compiled(self, phrases: Sequence[str]) -> re.Pattern[str]:
        """Return what finds any of some phrases as whole words, compiled at its first use."""
        given = tuple(phrases)
        if (known := self._compiled.get(given)) is None:
            found = f"{self._left}(?:{'|'.join(map(self._whole, given))}){self._right}" if given else r"(?!)"
            known = self._compiled[given] = regex(same_letters(bounded(found)))
        return known

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
        raise InvalidInputError(f"{shown(code)} is not a language with a table; available: {', '.join(CODES)}")
    return Language(code, json.loads((_FOLDER / f"{code}.json").read_bytes()))


def words_of(entry: str | Iterable[str]) -> list[str]:
    """Return the entries of a list, which a table may also write as one text with spaces."""
    return entry.split() if isinstance(entry, str) else list(entry)
