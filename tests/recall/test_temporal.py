"""Time expressions in a question."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.languages.calendar import Span
from memorist.languages.phrases import Lies, spans
from memorist.recall.temporal import time_fit

NOW = datetime(2023, 5, 20, 15, tzinfo=UTC)  # a Saturday


def days(text: str, now: datetime = NOW, years: tuple[int, ...] = ()) -> list[tuple[str, str]]:
    """Return the spans as dates, the end excluded."""
    return [
        tuple(f"{datetime.fromtimestamp(each, UTC):%Y-%m-%d}" for each in (span.start, span.end))  # type: ignore[misc]
        for span in spans(text, now, years)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did I say yesterday?", ("2023-05-19", "2023-05-20")),
        ("the day before yesterday", ("2023-05-18", "2023-05-19")),
        ("Who came last Saturday?", ("2023-05-13", "2023-05-14")),
        ("what happened last weekend", ("2023-05-13", "2023-05-15")),
        ("plans made last month", ("2023-04-01", "2023-05-01")),
        ("In May 2022, where was I?", ("2022-05-01", "2022-06-01")),
        ("the trip on 14 August", ("2022-08-14", "2022-08-15")),
        ("the trip on August 14th, 2021", ("2021-08-14", "2021-08-15")),
        ("2023-02-03", ("2023-02-03", "2023-02-04")),
        ("what happened on 3.2.2023?", ("2023-02-03", "2023-02-04")),
        ("the call of 14. 08. 2022", ("2022-08-14", "2022-08-15")),
        ("who came on 14.8.?", ("2022-08-14", "2022-08-15")),
        ("what did we eat on Halloween", ("2022-10-31", "2022-11-01")),
        ("in 2020", ("2020-01-01", "2021-01-01")),
        ("where was she last summer?", ("2022-06-01", "2022-09-01")),
    ],
)
def test_an_expression_points_at_a_span_of_the_calendar(text: str, expected: tuple[str, str]) -> None:
    assert days(text) == [expected]


@pytest.mark.parametrize(
    ("text", "behind", "ahead"),
    [
        ("on Friday", "2023-05-19", "2023-05-26"),
        ("on Saturday", "2023-05-13", "2023-05-27"),  # today is one
        ("on 14 August", "2022-08-14", "2023-08-14"),
        ("on 20 May", "2023-05-20", "2023-05-20"),
        ("in December", "2022-12-01", "2023-12-01"),
        ("in May", "2023-05-01", "2023-05-01"),  # it has begun and is not over
        ("am Freitag", "2023-05-19", "2023-05-26"),
        ("tomorrow", "2023-05-21", "2023-05-21"),
    ],
)
def test_a_weekday_and_a_date_without_a_year_lie_behind_or_ahead(text: str, behind: str, ahead: str) -> None:
    def starts(lies: Lies) -> list[str]:
        return [f"{datetime.fromtimestamp(span.start, UTC):%Y-%m-%d}" for span in spans(text, NOW, lies=lies)]

    assert (starts("behind"), starts("ahead")) == ([behind], [ahead])
    whole_month = text.startswith("in ")
    assert starts("either") == ([behind] if whole_month else list(dict.fromkeys([behind, ahead])))


def test_ago_is_the_less_exact_the_longer() -> None:
    [(start, end)] = days("two weeks ago")
    assert start < "2023-05-06" < end
    [(start, end)] = days("two months ago")
    assert start <= "2023-03-05" and end >= "2023-04-04"
    assert days("two months back") == days("two months earlier") == [(start, end)]


def test_a_date_without_a_year_is_tried_in_every_year_given() -> None:
    assert days("in August", years=(2020, 2022)) == [("2020-08-01", "2020-09-01"), ("2022-08-01", "2022-09-01")]
    assert days("on 29 February", years=(2023, 2024)) == [("2024-02-29", "2024-03-01")]


@pytest.mark.parametrize(
    "text",
    [
        "How many days ago did I call?",
        "for two weeks",
        "May I come in?",
        "on February 30",
        "2023-13-45",
        "",
        "Flask 2.3.1",
        "on version 2.3.1",
        "10.0.0.2024",
        "on 31.2.2023",
        "3.14.2023",
    ],
)
def test_what_points_nowhere_gives_no_span(text: str) -> None:
    assert days(text) == []


@given(st.text(max_size=80), st.datetimes(timezones=st.just(UTC)))
def test_no_text_and_no_time_is_too_odd(text: str, now: datetime) -> None:
    for span in spans(text + " 3 weeks ago", now):
        assert span.start < span.end


def test_what_is_told_soon_after_fits_better_than_what_was_told_before() -> None:
    day = 86_400.0
    asked = [Span(100 * day, 101 * day)]
    inside, after, before, unknown = time_fit(np.array([100.5, 103, 98, np.nan]) * day, asked)
    assert inside == 1
    assert 1 > after > before > 0
    assert unknown == 0
