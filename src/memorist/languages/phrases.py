"""Reads the phrases of a text that point at a stretch of time: "two weeks ago", "last Saturday", "am 14. August".

A duration ("for two weeks") and a question for a time ("how many days ago did …") point nowhere.
"""

import re
from calendar import isleap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias, cast

from memorist.languages import calendar
from memorist.languages.calendar import Grain, Span
from memorist.languages.detection import languages_with, tables_of
from memorist.languages.grammar import Grammar, Rule, grammar
from memorist.languages.letters import plain

_GONE = "\0"
"""Stands for each letter that was read, so that later rules find nothing at this place."""
_BESIDE_WEEKDAY = " ,.()（）、،"
"""What may stand between a date and the day of the week."""
_BUDDHIST, _BUDDHIST_FROM = 543, 2400
"""How many years the Buddhist era is ahead, and the first year that counts as a Buddhist one."""


Lies: TypeAlias = Literal["behind", "ahead", "either"]
"""Where the day of "on Friday" or "on 3 May" lies, seen from when it was said."""
_STEPS: Mapping[Lies, Sequence[int]] = {"behind": (-1,), "ahead": (1,), "either": (-1, 1)}


@dataclass(frozen=True, slots=True)
class Phrase:
    """Where a text points at a time.

    Attributes:
        start: where the phrase begins in the text.
        end: where it ends.
        span: the time.
        step: of a phrase that counts from the day it was said, in which direction and how far; None for a date.
        language: whose words it is in.
        lasting: whether it is a stretch up to the day it was said, as "first time in seven years" tells of one.
    """

    start: int
    end: int
    span: Span
    step: int | None
    language: str
    lasting: bool = False


def phrases(
    text: str, now: datetime, years: Sequence[int] = (), *, dates: bool = True, lies: Lies = "behind"
) -> list[Phrase]:
    """Return the phrases of a text that point at a time, in their order.

    Args:
        text: in any languages.
        now: when it was said; its zone is that of the days.
        years: those to try for a date without a year, one phrase each; by default the year that `lies` tells.
        dates: whether to read dates, not only what counts from `now`.
        lies: where a weekday and a date without a year lie; if either way, there is a phrase for each, but for a month
            or a season only that of the one behind.
    """
    found: list[Phrase] = []
    left = plain(text)
    for each in tables_of(text):
        of = grammar(each.code)
        rules, hints = of.dates if dates else of.counting
        for position in hints.possible(left):

            def take(
                match: re.Match[str], of: Grammar = of, rule: Rule = rules[position], code: str = each.code
            ) -> str:
                start, end = match.span("phrase" if "phrase" in match.re.groupindex else 0)
                # A date that no calendar has, or before its beginning, points nowhere.
                with suppress(ValueError, OverflowError):
                    for span in _meant(of, rule, match, now, years, lies):
                        found.append(Phrase(start, end, span, rule.step, code, rule.kind == "until now"))
                before, after = match.string[match.start() : start], match.string[end : match.end()]
                return before + _GONE * (end - start) + after

            left = rules[position].pattern.sub(take, left)
    return sorted(found, key=lambda phrase: phrase.start)


def spans(text: str, now: datetime, years: Sequence[int] = (), *, lies: Lies = "behind") -> list[Span]:
    """Return the stretches of time that a text points at; the arguments are those of `phrases`."""
    return [phrase.span for phrase in phrases(text, now, years, lies=lies)]


def recurring_in(text: str) -> set[int]:
    """Return the days of the week, 0 for Monday, on which a text says that something recurs: "every Tuesday"."""
    given, found = plain(text), set[int]()
    for of in (grammar(each.code) for each in tables_of(text)):
        patterns, hints = of.recurring
        for position in hints.possible(given):
            for match in patterns[position].finditer(given):
                found |= of.weekdays_in(match["weekdays"])
    return found


def date_in(text: str) -> datetime | None:
    """Return the midnight that begins the day which a text names, None if the text is anything but a date with its
    year.

    Raises:
        ValueError: no calendar has that day.
    """
    # Programs write dates in English; others may have the name of a month that no other word tells the language of.
    for code in dict.fromkeys((*(each.code for each in tables_of(text)), "en", *languages_with(text))):
        of = grammar(code)
        for rule in of.dates[0]:
            match = rule.pattern.fullmatch(plain(text)) if rule.kind == "date" and not rule.unit else None
            if match is not None and (year := _year(match)) is not None:
                return _day(of, match, year).replace(tzinfo=None)
    return None


def weekday_in(text: str) -> tuple[int | None, str]:
    """Return the day of the week that a text names, 0 for Monday, and the rest of the text; None if it names none."""
    for code in dict.fromkeys((*(each.code for each in tables_of(text)), "en")):
        if (named := grammar(code).weekday(plain(text))) is not None:
            text = f"{text[: named[1]]} {text[named[2] :]}"
            return named[0], " ".join(text.split()).strip(_BESIDE_WEEKDAY)
    return None, " ".join(text.split()).strip(_BESIDE_WEEKDAY)


def _meant(
    of: Grammar, rule: Rule, match: re.Match[str], now: datetime, years: Sequence[int], lies: Lies
) -> Iterator[Span]:
    """Yield the times that a phrase points at: one, but for a weekday and for a date without a year."""
    step = rule.step or 0
    match rule.kind:
        case "counted":
            count, unit = _count(of, match)
            yield calendar.counted(now, step * count, unit)
        case "until now":
            yield calendar.until_now(now, *_count(of, match))
        case "weekday in week":
            yield calendar.day_of_week(now, step, int(_meaning(of, "weekday", match)))
        case "on":
            for one in _STEPS[lies]:
                yield calendar.period(now, one, _period(of, match))
        case "period":
            yield calendar.period(now, step, rule.unit or _period(of, match))
        case _:
            yield from _dated(of, rule, match, now, years, lies)


def _dated(
    of: Grammar, rule: Rule, match: re.Match[str], now: datetime, years: Sequence[int], lies: Lies
) -> Iterator[Span]:
    """Yield the times that a date points at: a day, a month, a season or a year."""
    match rule.kind:
        case "date":
            days = _days_of_year(rule.unit, now, years, lies) if rule.unit else _days(of, match, now, years, lies)
            for start in days:
                yield calendar.days(start.replace(tzinfo=now.tzinfo))
        case "month" | "month of year":
            for start in _starts(_month(of, match), 1, rule, match, now, years, lies):
                yield calendar.months(start, 1, "month")
        case "season" | "season of year":
            for start in _starts(int(_meaning(of, "season", match)), 3, rule, match, now, years, lies):
                yield calendar.months(start, 3, "season")
        case "year":
            yield calendar.months(datetime(_year(match) or 0, 1, 1, tzinfo=now.tzinfo), 12, "year")


def _days_of_year(day: str, now: datetime, years: Sequence[int], lies: Lies) -> Iterator[datetime]:
    """Yield the midnights of a day of the year, as "12-24", in UTC, in each of the years that it may be of."""
    month, number = map(int, day.split("-"))
    for year in _years(month, number, now, years, lies):
        yield datetime(year, month, number, tzinfo=UTC)


def _starts(
    month: int, months: int, rule: Rule, match: re.Match[str], now: datetime, years: Sequence[int], lies: Lies
) -> Iterator[datetime]:
    """Yield where so many months begin, in the year that a phrase names or in each of those that it may be of."""
    named = _year(match) if rule.step is None else now.year + rule.step
    side: Lies = "behind" if lies == "either" else lies
    for year in _years(month, 1, now, years, side, months) if named is None else (named,):
        yield datetime(year, month, 1, tzinfo=now.tzinfo)


def _days(of: Grammar, match: re.Match[str], now: datetime, years: Sequence[int], lies: Lies) -> Iterator[datetime]:
    """Yield the midnights of a date, in UTC, in each of the years that it may be of."""
    told = _year(match)
    if told is not None:
        yield _day(of, match, told)
    elif "solar" not in match.groupdict():
        for year in _years(_month(of, match), int(match["d"]), now, years, lies):
            yield _day(of, match, year)
    else:
        ahead = range(now.year - 622, now.year - 620) if not years else range(min(years) - 622, max(years) - 620)
        found = [_day(of, match, year) for year in ahead]
        yield from (
            [day for day in found if day.year in years]
            if years
            else [day for day in found if day.date() <= now.date()][-1:]
        )


def _day(of: Grammar, match: re.Match[str], year: int) -> datetime:
    day = int(match["d"])
    if "solar" in match.groupdict():
        return calendar.solar(year, int(_meaning(of, "solar", match)), day)
    return datetime(year, _month(of, match), day, tzinfo=UTC)


def _years(month: int, day: int, now: datetime, years: Sequence[int], lies: Lies, months: int = 0) -> Sequence[int]:
    """Return the years that a date without one may be of, if it lasts so many months: those given, the latest that is
    not in the future, or the next that is not over."""
    last = now.year if (month, day) <= (now.month, now.day) else now.year - 1
    coming = now.year if (month + months, day) >= (now.month, now.day) else now.year + 1
    found = {"behind": years or (last,), "ahead": (*years, coming), "either": (*years, last, coming)}[lies]
    return [each for each in dict.fromkeys(found) if (month, day) != (2, 29) or isleap(each)]


def _year(match: re.Match[str]) -> int | None:
    """Return the year that a phrase names."""
    named = match.groupdict()
    if named.get("yy"):
        return 2000 + int(named["yy"])
    year = int(named.get("y") or 0)
    return (year - _BUDDHIST if year >= _BUDDHIST_FROM else year) or None


def _month(of: Grammar, match: re.Match[str]) -> int:
    if "mm" in match.groupdict():
        return int(match["mm"])
    return int(_meaning(of, "long" if "long" in match.groupdict() else "month", match))


def _count(of: Grammar, match: re.Match[str]) -> tuple[int, Grain]:
    """Return how many units a phrase counts, and which."""
    named = match.groupdict()
    if "pair" in named:
        return 2, cast("Grain", _meaning(of, "pair", match))
    number = named.get("n")
    count = 1 if number is None else int(of.words["n"].meaning(number) or number)
    return count, cast("Grain", _meaning(of, "unit", match))


def _period(of: Grammar, match: re.Match[str]) -> str:
    if "weekday" in match.groupdict():
        return f"weekday {_meaning(of, 'weekday', match)}"
    return _meaning(of, "what", match)


def _meaning(of: Grammar, place: str, match: re.Match[str]) -> str:
    """Return what the word of a phrase means that stands in a place of its template."""
    return of.words[place].meaning(match[place])
