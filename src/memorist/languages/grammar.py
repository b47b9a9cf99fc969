"""The templates of a language's table as patterns: each finds phrases that point at a time, of one kind.

A template is a regular expression in which names in braces stand for words of the table: {month}, {weekday}, {unit},
{n} for a number, {weekdays} for one weekday or several in a row. docs/languages.md lists them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from memorist.languages.hints import DIGIT, Hints, hints_in, hints_of
from memorist.languages.letters import same_letters
from memorist.languages.table import PLACE, Language, language, words_of

_EVERYWHERE = (
    r"(?<![\d.]){yyyy}(?P<mark>[-/]|\.(?=\d\d\.\d\d)){mm}(?P=mark){d}(?!\d)",
    r"(?<![\d.]){d}\. ?{mm}\. ?{yyyy}(?!\d)",
)
"""Dates in every language."""
_NUMBERS = {
    "y": r"(?P<y>(?:19|20)\d\d)",
    "yyyy": r"(?P<y>\d{4})",
    "yy": r"(?P<yy>\d\d)",
    "mm": r"(?P<mm>\d{1,2})",
    "d": r"(?P<d>\d{1,2})",
}
_LETTER = r"[^\W\d_]"
_ROW, _ROW_UNSPACED = (f"{_LETTER}{{0,4}}", r"(?:[^\w.!?]{1,3}(?:\w{1,3} )?)"), ("", r"[^\w.!?。！？]{0,2}\w?")
"""What may stand after each of several weekdays in a row, as the ending of a plural, and between two of them."""
_STEPS = (-3, 3, -2, 2, -1, 1, 0)
"""In this order, so that "the day before yesterday" is read before "yesterday"."""


class Words:
    """Words by what they mean: of the months their number, of the units their name."""

    def __init__(self, meant: Mapping[str, Iterable[str]]) -> None:
        self._forms = {same_letters(form): value for value, forms in meant.items() for form in forms}
        self.pattern = "|".join(sorted(self._forms, key=len, reverse=True))
        self.hints = hints_of(self._forms)

    def meaning(self, text: str) -> str:
        """Return what a text means that the pattern matched."""
        return next(value for form, value in self._forms.items() if re.fullmatch(form, text))


@dataclass(frozen=True, slots=True)
class Rule:
    """A template, and what it means.

    Attributes:
        pattern: finds its phrases.
        kind: "date", "month", "season", "year"; "counted" ("two weeks ago"), "until now" ("in the past month"),
            "period" ("last week"), "on" (a weekday), "weekday in week", "season of year" and "month of year".
        step: of a phrase that counts from the day it was said, in which direction and how far; None for a date.
        unit: the unit of a period, or the month and the day of a holiday, where no word of the phrase says it.
    """

    pattern: re.Pattern[str]
    kind: str
    step: int | None
    unit: str


class Grammar:
    """The phrases of one language that point at a time.

    Attributes:
        words: those that templates name in braces.
    """

    def __init__(self, of: Language) -> None:
        self._language = of
        self._table: Mapping[str, Any] = of.table["calendar"]
        self._cldr: Mapping[str, Any] = of.table["cldr"]
        self.words = self._words_named()
        self._rules = [
            (Rule(of.compiled([PLACE.sub(self._put, template)]), kind, step, unit), self._hints_in(template))
            for kind, step, unit, templates in self._templates()
            for template in templates
        ]

    @cached_property
    def dates(self) -> tuple[Sequence[Rule], Hints]:
        """All rules, in the order in which they are tried, and their hints."""
        return _with_hints(self._rules)

    @cached_property
    def recurring(self) -> tuple[Sequence[re.Pattern[str]], Hints]:
        """What finds the days of the week on which something recurs, as `weekdays`: "every Tuesday"; and the hints."""
        templates = self._table["phrases"]["recurring"]
        patterns = [self._language.compiled([PLACE.sub(self._put, template)]) for template in templates]
        return patterns, Hints(map(self._hints_in, templates))

    def weekdays_in(self, text: str) -> set[int]:
        """Return the days of the week that a plain text names, 0 for Monday."""
        named = self.words["weekdays"]
        return {int(named.meaning(found[0])) for found in re.finditer(named.pattern, text)}

    @cached_property
    def counting(self) -> tuple[Sequence[Rule], Hints]:
        """The rules that count from the day a phrase was said, and their hints."""
        return _with_hints([each for each in self._rules if each[0].step is not None])

    def weekday(self, text: str) -> tuple[int, int, int] | None:
        """Return the day of the week that a plain text names, long or short, and where its name begins and ends."""
        around = "({})" if self._language.spaced else "[(（]({})[)）]"  # a single letter is mostly no weekday
        short = {day: map(around.format, forms) for day, forms in self._named("weekdays_short", 0).items()}
        words = Words({day: [*forms, *short[day]] for day, forms in self._named("weekdays", 0).items()})
        found = self._language.compiled([words.pattern]).search(text)
        return None if found is None else (int(words.meaning(found[0])), found.start(), found.end())

    def _words_named(self) -> Mapping[str, Words]:
        months, short, weekdays = self._named("months", 1), self._named("months_short", 1), self._named("weekdays", 0)
        brief = self._named("weekdays_short", 0) if self._language.spaced else {day: [] for day in weekdays}
        given = ("units", "pairs", "periods", "seasons", "numbers")
        units, pairs, periods, seasons, numbers = (_by_meaning(self._table.get(what, {})) for what in given)
        periods |= {f"weekday {day}": forms for day, forms in weekdays.items()}
        periods |= {f"season {month}": forms for month, forms in seasons.items()}
        return {
            "long": Words(months),
            "month": Words({month: [*forms, *short[month]] for month, forms in months.items()}),
            "weekday": Words(weekdays),
            "weekdays": Words({day: [*forms, *brief[day]] for day, forms in weekdays.items()}),
            "unit": Words(units),
            "pair": Words(pairs),
            "season": Words(seasons),
            "what": Words(periods),
            "n": Words(numbers | {"": [r"\d{1,3}"]}),
            "solar": Words({str(at): words_of(forms) for at, forms in enumerate(self._table.get("solar", ()), 1)}),
        }

    def _named(self, what: str, first: int) -> dict[str, list[str]]:
        """Return the names of months or weekdays by their numbers: those of the CLDR, and those that the table adds."""
        added, left_out = self._table.get(what, {}), self._table.get("ambiguous", ())
        return {
            str(at): [*(form for form in forms if form not in left_out), *words_of(added.get(str(at), ()))]
            for at, forms in enumerate(self._cldr[what], first)
        }

    def _templates(self) -> Iterator[tuple[str, int | None, str, Sequence[str]]]:
        """Yield kind, step, unit and templates, the longer phrases before those that are a part of them."""
        phrases, left_out = self._table["phrases"], self._table.get("ambiguous", ())
        end = f"(?!{self._table['period_not_before']})" if "period_not_before" in self._table else ""
        yield "date", None, "", (*phrases["date"], *_EVERYWHERE)
        for day, templates in self._table["holidays"].items():
            yield "date", None, day, templates
        for kind in ("weekday in week", "season of year", "month of year"):
            for step in _STEPS:
                yield kind, step, "", phrases[kind].get(str(step), ())
        yield "until now", 0, "", phrases.get("lasting", ())  # before "in two weeks", which looks ahead
        for name, sign in (("ago", -1), ("ahead", 1)):
            yield "counted", sign, "", phrases[name]
        yield "until now", 0, "", phrases["past"]
        for step in _STEPS:
            yield "period", step, "", [each + end for each in phrases["period"].get(str(step), ())]
            for held in (self._table.get("fixed", {}), self._cldr["periods"]):
                for unit, texts in held.get(str(step), {}).items():
                    yield "period", step, unit, [each + end for each in _any_of(texts)]
        yield "on", 0, "", phrases["on"]
        for step in _STEPS:
            known = (each for each in self._cldr["days"].get(str(step), ()) if each not in left_out)
            yield "period", step, "day", _any_of([*known, *self._table["days"].get(str(step), ())])
        for kind in ("season", "month", "year"):
            yield kind, None, "", phrases.get(kind, ())

    def _hints_in(self, template: str) -> Sequence[frozenset[str]]:
        template = same_letters(template)
        places = PLACE.findall(template)
        known = [self.words[place].hints for place in places if place in self.words]
        digits = [frozenset((DIGIT,))] if not _NUMBERS.keys().isdisjoint(places) else []
        return [each for each in known if each] + hints_in(PLACE.sub("()", template)) + digits

    def _put(self, place: re.Match[str]) -> str:
        if place[1] == "weekdays":
            ending, between = _ROW if self._language.spaced else _ROW_UNSPACED
            each = f"(?:(?:{self.words['weekday'].pattern}){ending}|(?:{self.words['weekdays'].pattern})(?!{_LETTER}))"
            return f"(?P<weekdays>{each}(?:{between}{each}){{0,6}})"
        if place[1] in self.words:
            return f"(?P<{place[1]}>{self.words[place[1]].pattern})"
        return _NUMBERS[place[1]] + (self._table["ordinal"] if place[1] == "d" else "")


@cache
def grammar(code: str) -> Grammar:
    """Return the phrases of a language that has a table."""
    return Grammar(language(code))


def _with_hints(rules: Sequence[tuple[Rule, Sequence[frozenset[str]]]]) -> tuple[Sequence[Rule], Hints]:
    return [rule for rule, _ in rules], Hints(hints for _, hints in rules)


def _by_meaning(held: Mapping[str, str | list[str]]) -> dict[str, list[str]]:
    return {value: [form.lower() for form in words_of(forms)] for value, forms in held.items()}


def _any_of(texts: Sequence[str]) -> list[str]:
    """Return one template of fixed texts, the longer before those that are a part of them."""
    return [f"(?:{'|'.join(sorted(texts, key=len, reverse=True))})"] if texts else []
