"""The calendar: one reading of a phrase, for questions, notes and marks alike."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.context.dates import dated
from memorist.languages import CODES
from memorist.languages.grammar import grammar
from memorist.languages.phrases import phrases, spans
from memorist.recall.question import read_question


def days(text: str, said: datetime) -> list[tuple[str, str]]:
    """Return the spans as dates, the end excluded."""
    found = [
        (datetime.fromtimestamp(span.start, UTC), datetime.fromtimestamp(span.end, UTC)) for span in spans(text, said)
    ]
    return [(f"{start:%Y-%m-%d}", f"{end:%Y-%m-%d}") for start, end in found]


@pytest.mark.parametrize(
    ("text", "said", "span", "note"),
    [
        ("last summer", datetime(2023, 10, 15), ("2023-06-01", "2023-09-01"), "summer 2023"),
        ("last summer", datetime(2023, 5, 15), ("2022-06-01", "2022-09-01"), "summer 2022"),
        ("last winter", datetime(2023, 2, 15), ("2021-12-01", "2022-03-01"), "winter 2021"),
        ("last weekend", datetime(2023, 5, 21), ("2023-05-13", "2023-05-15"), "weekend of 13 May 2023"),  # a Sunday
        ("last weekend", datetime(2023, 5, 20), ("2023-05-13", "2023-05-15"), "weekend of 13 May 2023"),
        ("last weekend", datetime(2023, 5, 22), ("2023-05-20", "2023-05-22"), "weekend of 20 May 2023"),
        ("this weekend", datetime(2023, 5, 21), ("2023-05-20", "2023-05-22"), "weekend of 20 May 2023"),
        ("next weekend", datetime(2023, 5, 17), ("2023-05-27", "2023-05-29"), "weekend of 27 May 2023"),
        ("last week", datetime(2023, 5, 21), ("2023-05-08", "2023-05-15"), "week of 8 May 2023"),
        ("the week before last", datetime(2023, 5, 21), ("2023-05-01", "2023-05-08"), "week of 1 May 2023"),
        ("last Friday", datetime(2023, 5, 19), ("2023-05-12", "2023-05-13"), "12 May 2023"),  # a Friday
        ("next Friday", datetime(2023, 5, 19), ("2023-05-26", "2023-05-27"), "26 May 2023"),
        ("Friday last week", datetime(2023, 5, 20), ("2023-05-12", "2023-05-13"), "12 May 2023"),
        ("the day after tomorrow", datetime(2023, 12, 30), ("2024-01-01", "2024-01-02"), "1 Jan 2024"),
        ("last month", datetime(2023, 1, 31), ("2022-12-01", "2023-01-01"), "Dec 2022"),
        ("next month", datetime(2023, 1, 31), ("2023-02-01", "2023-03-01"), "Feb 2023"),
        ("three days ago", datetime(2023, 3, 1, 23), ("2023-02-25", "2023-02-27"), "26 Feb 2023"),
    ],
)
def test_a_phrase_is_one_time_for_recall_and_for_the_context(
    text: str, said: datetime, span: tuple[str, str], note: str
) -> None:
    said = said.replace(tzinfo=UTC)
    assert days(f"What happened {text}?", said) == [span]
    assert read_question(f"What happened {text}?", now=said).spans == tuple(spans(text, said))
    assert dated(f"It was {text}.", said).endswith(f"({note}).")


def test_a_count_of_months_ends_where_the_shorter_month_ends() -> None:
    [phrase] = phrases("a month ago", datetime(2023, 3, 31, tzinfo=UTC))
    assert phrase.span.middle.date().isoformat() == "2023-02-28"


def test_a_phrase_tells_where_it_stands() -> None:
    text = "On 3 May we left, and yesterday we came back"
    found = phrases(text, datetime(2023, 5, 20, tzinfo=UTC))
    assert [text[phrase.start : phrase.end] for phrase in found] == ["3 May", "yesterday"]
    assert [phrase.step for phrase in found] == [None, -1]


FRAGMENTS = (
    "on 14 august, 2021; may 3rd 2022; in june; on 3.2.2023; 2023-02-03; in 1999; new year's eve; valentines day;"
    " halloween; christmas; independence day; the fourth of july; st. patrick's day; a few; years; back; two; weeks;"
    " earlier; ago; past; last; previous; 3; month; week; night; summer; on; saturday; this; morning; today;"
    " day before; yesterday; ٣; next; coming; in; of; before last; tomorrow; day after"
).split("; ")


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8))
def test_no_phrase_is_passed_over_for_want_of_a_hint(said: list[str]) -> None:
    text = " ".join(said)
    for rules, hints in (grammar("en").dates, grammar("en").counting):
        found = {at for at, rule in enumerate(rules) if rule.pattern.search(text)}
        assert found <= set(hints.possible(text))


@given(st.text(max_size=80), st.datetimes(timezones=st.just(UTC)), st.sampled_from(CODES))
def test_no_text_and_no_time_is_too_odd(text: str, now: datetime, code: str) -> None:
    for span in spans(f"{text} 3 weeks ago {now.year} last summer", now):
        assert span.start < span.end
