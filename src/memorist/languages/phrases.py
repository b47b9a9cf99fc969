"""Reads the phrases of a text that point at a stretch of time: "two weeks ago", "last Saturday", "am 14. August".

The phrases of a language are templates in its table: regular expressions in which names in braces stand for words of
the table. A duration ("for two weeks") and a question for a time ("how many days ago did …") point nowhere.
"""

import re
from calendar import isleap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeAlias, cast

from memorist.languages import calendar
from memorist.languages.calendar import Grain, Span
from memorist.languages.hints import DIGIT, Hints, hints_in, hints_of
from memorist.languages.letters import plain
from memorist.languages.table import Language, language, tables_of, words_of


@dataclass(frozen=True, slots=True)
class Phrase:
    """Where a text points at a time.

    Attributes:
        start: where the phrase begins in the text.
        end: where it ends.
        span: the time.
        step: of a phrase that counts from the day it was said, in which direction: -1, 0 or 1; None for a date.
        language: whose words it is in.
    """

    start: int
    end: int
    span: Span
    step: int | None
    language: str


def phrases(text: str, now: datetime, years: Sequence[int] = (), *, dates: bool = True) -> list[Phrase]:
    """Return the phrases of a text that point at a time, in their order.

    Args:
        text: in any languages.
        now: when it was said.
        years: those to try for a date without a year, one phrase each; by default the latest that is not in the future.
        dates: whether to read dates, not only what counts from `now`.
    """
    found: list[Phrase] = []
    left = plain(text)
    for each in tables_of(text):
        left = grammar(each.code).read(left, now, years, found, dates=dates)
    return sorted(found, key=lambda phrase: phrase.start)


def spans(text: str, now: datetime, years: Sequence[int] = ()) -> list[Span]:
    """Return the stretches of time that a text points at; the arguments are those of `phrases`."""
    return [phrase.span for phrase in phrases(text, now, years)]


def date_in(text: str) -> datetime | None:
    """Return the midnight that begins the day which a text names, None if it is not just a date with its year.

    Raises:
        ValueError: no calendar has that day.
    """
    found = (grammar(each.code).date(plain(text)) for each in tables_of(text))
    return next((day for day in found if day is not None), None)


def weekday_in(text: str) -> tuple[int | None, str]:
    """Return the day of the week that a text names, 0 for Monday, and the rest of the text; None if it names none."""
    for each in tables_of(text):
        if (named := grammar(each.code).weekday(plain(text))) is not None:
            text = f"{text[: named[1]]} {text[named[2] :]}"
            return named[0], " ".join(text.split()).strip(_BESIDE_WEEKDAY)
    return None, " ".join(text.split()).strip(_BESIDE_WEEKDAY)


_EVERYWHERE = (
    r"(?<![\d.]){yyyy}(?P<mark>[-/]|\.(?=\d\d\.\d\d)){mm}(?P=mark){d}(?!\d)",
    r"(?<![\d.]){d}\. ?{mm}\. ?{yyyy}(?!\d)",
)
"""Dates in every language."""
_NUMBERS = {"y": r"(?P<y>(?:19|20)\d\d)", "yyyy": r"(?P<y>\d{4})", "mm": r"(?P<mm>\d{1,2})", "d": r"(?P<d>\d{1,2})"}
_PLACE = re.compile(r"\{([a-z]+)\}")
_BESIDE_WEEKDAY = " ,.()（）"
"""What may stand between a date and the day of the week."""
_GONE = "\0"
"""Stands for each letter that was read, so that the next rule finds nothing there."""


class _Words:
    """Words by what they mean: of the months their number, of the units their name."""

    def __init__(self, meant: Mapping[str, Iterable[str]]) -> None:
        self._forms = {form: value for value, forms in meant.items() for form in forms}
        self.pattern = "|".join(sorted(self._forms, key=len, reverse=True))
        self.hints = hints_of(self._forms)

    def meaning(self, text: str) -> str:
        """Return what a text means that the pattern matched."""
        return next(value for form, value in self._forms.items() if re.fullmatch(form, text))


@dataclass(frozen=True, slots=True)
class _Rule:
    """A template and what it means."""

    pattern: re.Pattern[str]
    step: int | None
    mean: "_Meaning"


class Grammar:
    """The phrases of one language that point at a time."""

    def __init__(self, of: Language) -> None:
        self._language = of
        self._table: Mapping[str, Any] = of.table["calendar"]
        self._words = self._words_named()
        templates = [(step, mean, each) for step, mean, found in self._templates() for each in found]
        rules = [(_Rule(self._compiled(each), step, mean), self._hints_in(each)) for step, mean, each in templates]
        counting = [each for each in rules if each[0].step is not None]
        self._rules = {some: ([rule for rule, _ in among], Hints(hints for _, hints in among))
                       for some, among in ((True, rules), (False, counting))}  # fmt: skip

    def read(self, text: str, now: datetime, years: Sequence[int], found: list[Phrase], *, dates: bool) -> str:
        """Note the phrases of a plain text, and return it with a filler in their place.

        Args:
            text: what `plain` returned.
            now: as for `phrases`, like `years` and `dates`.
            years: see there.
            found: where the phrases go.
            dates: see there.
        """
        rules, hints = self._rules[dates]
        for rule in map(rules.__getitem__, hints.possible(text)):

            def take(match: re.Match[str], rule: _Rule = rule) -> str:
                # A date that no calendar has, or before its beginning, points nowhere.
                with suppress(ValueError, OverflowError):
                    for span in rule.mean(self, match, now, years):
                        found.append(Phrase(match.start(), match.end(), span, rule.step, self._language.code))
                return _GONE * len(match[0])

            text = rule.pattern.sub(take, text)
        return text

    def date(self, text: str) -> datetime | None:
        """Return the day that a plain text names, None if it is not just a date with its year."""
        for rule in self._rules[True][0]:
            match = rule.pattern.fullmatch(text) if rule.mean is Grammar._dates else None
            if match is not None and match.groupdict().get("y") is not None:
                return datetime(int(match["y"]), self._month(match), int(match["d"]))
        return None

    def weekday(self, text: str) -> tuple[int, int, int] | None:
        """Return the day of the week that a plain text names, long or short, and where its name begins and ends."""
        short = self._named("weekdays_short", 0)
        words = _Words({day: [*forms, *short[day]] for day, forms in self._named("weekdays", 0).items()})
        found = self._language.compiled([words.pattern]).search(text)
        return None if found is None else (int(words.meaning(found[0])), found.start(), found.end())

    # --- the templates -------------------------------------------------------------------------------------

    def _words_named(self) -> Mapping[str, _Words]:
        """Return the words that templates name in braces."""
        weekdays = self._named("weekdays", 0)
        given = ("units", "periods", "seasons", "numbers")
        units, periods, seasons, numbers = (_by_meaning(self._table[what]) for what in given)
        periods |= {f"weekday {day}": forms for day, forms in weekdays.items()}
        periods |= {f"season {month}": forms for month, forms in seasons.items()}
        return {
            "month": _Words(self._named("months", 1)),
            "weekday": _Words(weekdays),
            "unit": _Words(units),
            "what": _Words(periods),
            "n": _Words(numbers | {"": [r"\d{1,3}"]}),
        }

    def _named(self, what: str, first: int) -> dict[str, list[str]]:
        """Return the names of months or weekdays by their numbers, those of the CLDR and those that the table adds."""
        added = self._table.get(what, {})
        known = self._language.table["cldr"][what]
        return {str(at): [*forms, *words_of(added.get(str(at), ()))] for at, forms in enumerate(known, first)}

    def _templates(self) -> Iterator[tuple[int | None, "_Meaning", Iterable[str]]]:
        """Yield the templates with what they mean, the longer phrases before those that are a part of them."""
        phrases, cldr = self._table["phrases"], self._language.table["cldr"]
        end = f"(?!{self._table['period_not_before']})" if "period_not_before" in self._table else ""
        yield None, Grammar._dates, (*phrases["date"], *_EVERYWHERE)
        for day, templates in self._table["holidays"].items():
            yield None, _holiday(*map(int, day.split("-"))), templates
        for name, sign in (("ago", -1), ("ahead", 1)):
            yield sign, _counted(sign), phrases[name]
        yield 0, Grammar._until_now, phrases["past"]
        for step in _STEPS:
            yield step, _day_of_week(step), phrases["weekday in week"].get(str(step), ())
        for step in _STEPS:
            for unit, texts in cldr["periods"].get(str(step), {}).items():
                yield step, _fixed(unit, step), [each + end for each in _any_of(texts)]
            yield step, _period(step), [text + end for text in phrases["period"].get(str(step), ())]
        yield 0, _period(-1), phrases["on"]
        for step in (-3, 3, *_STEPS):
            days = (*cldr["days"].get(str(step), ()), *self._table["days"].get(str(step), ()))
            yield step, _fixed("day", step), _any_of(days)
        yield None, Grammar._months, phrases["month"]
        yield None, Grammar._year, phrases["year"]

    def _compiled(self, template: str) -> re.Pattern[str]:
        return self._language.compiled([_PLACE.sub(self._put, template)])

    def _hints_in(self, template: str) -> Sequence[frozenset[str]]:
        places = _PLACE.findall(template)
        known = [self._words[place].hints for place in places if place in self._words]
        digits = [frozenset((DIGIT,))] if {"d", "mm", "y", "yyyy"}.intersection(places) else []
        return [each for each in known if each] + hints_in(_PLACE.sub("()", template)) + digits

    def _put(self, place: re.Match[str]) -> str:
        if place[1] in self._words:
            return f"(?P<{place[1]}>{self._words[place[1]].pattern})"
        return _NUMBERS[place[1]] + (self._table["ordinal"] if place[1] == "d" else "")

    # --- what they mean ------------------------------------------------------------------------------------

    def _dates(self, match: re.Match[str], now: datetime, years: Sequence[int]) -> Iterator[Span]:
        month, day = self._month(match), int(match["d"])
        for year in _years(match, now, month, day, years):
            yield calendar.days(datetime(year, month, day, tzinfo=UTC))

    def _months(self, match: re.Match[str], now: datetime, years: Sequence[int]) -> Iterator[Span]:
        month = self._month(match)
        for year in _years(match, now, month, 1, years):
            yield calendar.months(datetime(year, month, 1, tzinfo=UTC), 1, "month")

    def _year(self, match: re.Match[str], _: datetime, __: Sequence[int]) -> Iterator[Span]:
        yield calendar.months(datetime(int(match["y"]), 1, 1, tzinfo=UTC), 12, "year")

    def _until_now(self, match: re.Match[str], now: datetime, _: Sequence[int]) -> Iterator[Span]:
        yield calendar.until_now(now, *self.count(match))

    def _month(self, match: re.Match[str]) -> int:
        named = match.groupdict()
        return int(named["mm"]) if named.get("mm") else int(self.meaning("month", match))

    def count(self, match: re.Match[str]) -> tuple[int, Grain]:
        """Return how many units a phrase counts, and which."""
        count = match.groupdict().get("n")
        number = 1 if count is None else int(self._words["n"].meaning(count) or count)
        return number, cast("Grain", self.meaning("unit", match))

    def meaning(self, what: str, match: re.Match[str]) -> str:
        """Return what the word of a phrase means that stands in a place of its template."""
        return self._words[what].meaning(match[what])


_Meaning: TypeAlias = Callable[[Grammar, re.Match[str], datetime, Sequence[int]], Iterable[Span]]
_STEPS = (-2, 2, -1, 1, 0)


@cache
def grammar(code: str) -> Grammar:
    """Return the phrases of a language that has a table."""
    return Grammar(language(code))


def _holiday(month: int, day: int) -> _Meaning:
    def mean(_: Grammar, match: re.Match[str], now: datetime, years: Sequence[int]) -> Iterator[Span]:
        for year in _years(match, now, month, day, years):
            yield calendar.days(datetime(year, month, day, tzinfo=UTC))

    return mean


def _counted(sign: int) -> _Meaning:
    def mean(words: Grammar, match: re.Match[str], now: datetime, _: Sequence[int]) -> Iterator[Span]:
        count, unit = words.count(match)
        yield calendar.counted(now, sign * count, unit)

    return mean


def _day_of_week(step: int) -> _Meaning:
    def mean(words: Grammar, match: re.Match[str], now: datetime, _: Sequence[int]) -> Iterator[Span]:
        yield calendar.day_of_week(now, step, int(words.meaning("weekday", match)))

    return mean


def _period(step: int) -> _Meaning:
    def mean(words: Grammar, match: re.Match[str], now: datetime, _: Sequence[int]) -> Iterator[Span]:
        place = "what" if "what" in match.groupdict() else "weekday"
        meant = words.meaning(place, match)
        yield calendar.period(now, step, meant if place == "what" else f"weekday {meant}")

    return mean


def _fixed(unit: str, step: int) -> _Meaning:
    def mean(_: Grammar, __: re.Match[str], now: datetime, ___: Sequence[int]) -> Iterator[Span]:
        yield calendar.period(now, step, unit)

    return mean


def _years(match: re.Match[str], now: datetime, month: int, day: int, years: Sequence[int]) -> Sequence[int]:
    """Return the years a date may be of: its own, those given, or the latest that is not in the future."""
    year = match.groupdict().get("y")
    if year:
        return [int(year)]
    if years:
        return [each for each in years if (month, day) != (2, 29) or isleap(each)]
    return [now.year if (month, day) <= (now.month, now.day) else now.year - 1]


def _by_meaning(held: Mapping[str, str | list[str]]) -> dict[str, list[str]]:
    return {value: [form.lower() for form in words_of(forms)] for value, forms in held.items()}


def _any_of(texts: Sequence[str]) -> list[str]:
    """Return one template of fixed texts, the longer before those that are a part of them."""
    return [f"(?:{'|'.join(sorted(texts, key=len, reverse=True))})"] if texts else []
