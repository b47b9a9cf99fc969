"""Writes a day, or the time that a phrase points at, in the words of a language."""

from datetime import date
from typing import Any

from memorist.languages.phrases import Phrase
from memorist.languages.table import language, words_of


def day_of(day: date, code: str = "en") -> str:
    """Return a day in words, as 7 May 2023."""
    return _filled(code, "day", day)


def noted(phrase: Phrase) -> str:
    """Return the time that a phrase points at in brackets, as it stands behind the phrase."""
    return str(_calendar(phrase.language)["written"].get("note", " ({})").format(meant_by(phrase)))


def meant_by(phrase: Phrase) -> str:
    """Return the time that a phrase points at, in its language and as exactly as the phrase says it."""
    span, code = phrase.span, phrase.language
    first, middle = span.first, span.middle
    match span.grain:
        case "year":
            return str(middle.year)
        case "month":
            return _filled(code, "month", middle)
        case "season":
            return _filled(code, "season", first, season=words_of(_calendar(code)["seasons"][str(first.month)])[0])
        case "week" if span.vague:
            return _filled(code, "around", middle, day=day_of(middle, code))
        case "week" | "weekend":
            return _filled(code, span.grain, first, day=day_of(first, code))
        case _:
            return day_of(middle, code)


def _calendar(code: str) -> Any:
    return language(code).table["calendar"]


def _filled(code: str, name: str, at: date, **more: str) -> str:
    forms = {**language(code).table["cldr"]["written"], **_calendar(code)["written"]}
    month = words_of(forms["months"])[at.month - 1]
    alone = words_of(forms["months_alone"])[at.month - 1]
    return str(forms[name].format(d=at.day, m=at.month, y=at.year, month=month, alone=alone, **more))
