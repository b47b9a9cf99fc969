"""What an expression meant on the day it was said."""

from datetime import UTC, datetime, timedelta

import pytest

from memorist.context.dates import dated, since
from memorist.languages.writing import day_of

SAID = datetime(2023, 5, 10, 15, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("I went yesterday.", "I went yesterday (9 May 2023)."),
        ("the day before yesterday", "the day before yesterday (8 May 2023)"),
        ("Tomorrow we leave", "Tomorrow (11 May 2023) we leave"),
        ("We met last Friday!", "We met last Friday (5 May 2023)!"),
        ("see you next Friday", "see you next Friday (12 May 2023)"),
        ("two weeks ago", "two weeks ago (around 26 Apr 2023)"),
        ("a couple of days ago", "a couple of days ago (8 May 2023)"),
        ("It was last year.", "It was last year (2022)."),
        ("next month, I hope", "next month (Jun 2023), I hope"),
        ("10 years ago", "10 years ago (2013)"),
        ("last week", "last week (week of 1 May 2023)"),
        ("last weekend", "last weekend (weekend of 6 May 2023)"),
        ("last summer", "last summer (summer 2022)"),
        ("yesterday and yesterday", "yesterday (9 May 2023) and yesterday"),
        ("yesterday (Tuesday)", "yesterday (Tuesday)"),
        ("ninety-nine years ago", "ninety-nine years ago"),
        ("the last week of June's plan", "the last week of June's plan"),
        ("the last weekend in May", "the last weekend in May"),
        ("last weekend in Porto", "last weekend (weekend of 6 May 2023) in Porto"),
        ("on New Year's Eve", "on New Year's Eve"),
        ("no time at all", "no time at all"),
    ],
)
def test_relative_expressions_get_their_date(text: str, meant: str) -> None:
    assert dated(text, SAID) == meant


def test_what_no_calendar_has_is_left_alone() -> None:
    assert dated("99 years ago", datetime(50, 1, 1, tzinfo=UTC)) == "99 years ago"


@pytest.mark.parametrize(
    ("days", "ago"),
    [
        (0, "today"),
        (1, "yesterday"),
        (6, "6 days ago"),
        (21, "3 weeks ago"),
        (95, "3 months ago"),
        (1100, "3 years ago"),
    ],
)
def test_how_long_ago_a_day_was(days: int, ago: str) -> None:
    assert since(SAID - timedelta(days=days), SAID) == ago
    assert since(SAID + timedelta(days=1), SAID) == ""
    assert day_of(SAID) == "10 May 2023"
