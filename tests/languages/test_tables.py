"""The tables of languages: each is complete, and reads the examples of its language."""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest

from memorist.errors import InvalidInputError
from memorist.languages import CODES, Phrases, language, said
from memorist.languages.calendar import counted, period
from memorist.languages.phrases import Phrase
from memorist.languages.table import OPTIONAL, PLACE, words_of
from memorist.languages.writing import noted


@pytest.mark.parametrize("code", CODES)
def test_a_table_is_complete(code: str) -> None:
    table = language(code)
    assert table.name and table.stop
    for what in {*get_args(Phrases)} - OPTIONAL:
        assert table.pattern(what).pattern != r"(?!)", what


@pytest.mark.parametrize("code", CODES)
def test_what_entries_share_is_named_by_some(code: str) -> None:
    table = language(code).table
    lists = [each for name, each in table.items() if name not in ("calendar", "cldr", "parts")]
    assert {*PLACE.findall(str((lists, table.get("parts"))))} == {*table.get("parts", ())}


@pytest.mark.parametrize("code", CODES)
def test_a_word_of_the_calendar_means_one_thing(code: str) -> None:
    calendar = language(code).table["calendar"]
    for what in ("units", "periods", "seasons", "numbers"):
        forms = [form for held in calendar[what].values() for form in words_of(held)]
        assert len(forms) == len(set(forms)), what
        assert all(form.count("(") == form.count(")") for form in forms), what
    assert all(
        words_of(held)[0] == re.sub(r"[][()?|*+\\]", "", words_of(held)[0]) for held in calendar["seasons"].values()
    )


@pytest.mark.parametrize("code", CODES)
def test_a_table_writes_every_grain(code: str) -> None:
    said = datetime(2023, 5, 10, tzinfo=UTC)
    for unit in ("day", "week", "weekend", "month", "year", "season 12"):
        span = period(said, -1, unit)
        assert noted(Phrase(0, 0, span, -1, code)).strip(" ()（）")
    assert noted(Phrase(0, 0, counted(said, -2, "week"), -1, code)) != noted(
        Phrase(0, 0, period(said, -2, "day"), -1, code)
    )


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("first_person", "We moved to Oslo"),
        ("when", "Which day was it?"),
        ("standing", "From now on, keep it short"),
        ("conditional", "Always name your sources when I ask about history"),
        ("preference", "I prefer window seats"),
        ("manners", "Good morning!"),
        ("no_longer", "I don't smoke anymore"),
    ],
)
def test_a_text_says_it(what: Phrases, text: str) -> None:
    assert said(what, text)


def test_a_language_without_a_table_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match="available: en"):
        language("tlh")


def test_the_words_that_tell_languages_apart_are_those_of_the_tables() -> None:
    tool = Path(__file__).parents[2] / "tools" / "words.py"
    made = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
