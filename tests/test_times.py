from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import InvalidInputError
from memorist.times import from_micros, iso, parse_expiry, parse_time, to_micros

MOMENT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
MOMENTS = st.datetimes(timezones=st.just(UTC))
ZONES = st.timedeltas(min_value=timedelta(hours=-23), max_value=timedelta(hours=23)).map(
    lambda delta: timezone(timedelta(minutes=delta // timedelta(minutes=1)))
)


@pytest.mark.parametrize(
    "value",
    [
        MOMENT, MOMENT.replace(tzinfo=None), MOMENT.astimezone(timezone(timedelta(hours=5))), "2023-05-08T13:56:00Z",
        "2023-05-08T15:56+02:00", "2023-05-08 13:56", " 2023-05-08T13:56:00.000000 ", "1:56 pm on 8 May, 2023",
        "2023/05/08 (Mon) 13:56", "8 May 2023 13:56 UTC", 1683554160, 1683554160.0, "1683554160", 1683554160000,
        "1683554160000",
    ],
)  # fmt: skip
def test_a_time_in_any_common_form(value: Any) -> None:
    assert parse_time(value) == MOMENT
    assert parse_time(value).tzinfo is UTC


def test_without_a_time_of_day_it_is_midnight() -> None:
    assert parse_time("2023-05-08") == parse_time("8 May 2023") == datetime(2023, 5, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "", "  ", "soon", "13:56", "May 2023", "8 May", "Monday", "2023", "2023-13-01", "2023-02-30", "0000-01-01",
        True, None, object(), [], b"2023-05-08", float("nan"), float("inf"), 1e300, -1e300, 10**30, 10**400,
        "9" * 400, "0001-01-01T00:00+05:00", "9999-12-31T23:59-05:00", "\ud800", "\0", "٣",
    ],
)  # fmt: skip
def test_what_names_no_point_in_time_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="point in time"):
        parse_time(value)


@given(st.text() | st.text(alphabet="0123456789:-/., TZ+apmMayJunMonUTC()'", max_size=40))
def test_any_text_is_a_time_or_an_input_error(text: str) -> None:
    with suppress(InvalidInputError):
        assert parse_time(text).tzinfo is UTC


@given(MOMENTS, ZONES)
def test_a_moment_survives_every_form(moment: datetime, zone: timezone) -> None:
    assert from_micros(to_micros(moment)) == moment
    assert parse_time(iso(moment)) == moment
    assert parse_time(moment) == moment
    try:
        abroad = moment.astimezone(zone)
    except OverflowError:  # beyond the calendar there
        return
    assert parse_time(abroad.isoformat()) == moment
    assert iso(abroad) == iso(moment)


@given(MOMENTS, MOMENTS)
def test_texts_sort_as_the_times_do(one: datetime, other: datetime) -> None:
    assert (iso(one) < iso(other)) == (one < other) == (to_micros(one) < to_micros(other))


def test_an_expiry_in_numbers_is_from_now_on() -> None:
    assert parse_expiry(90, MOMENT) == MOMENT + timedelta(seconds=90)
    assert parse_expiry(-0.5, MOMENT) == MOMENT - timedelta(seconds=0.5)
    assert parse_expiry("2023-05-08", MOMENT) == datetime(2023, 5, 8, tzinfo=UTC)
    for wrong in (1e300, float("nan"), float("inf"), True, "soon"):
        with pytest.raises(InvalidInputError):
            parse_expiry(wrong, MOMENT)
