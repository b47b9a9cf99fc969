import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import InvalidInputError
from memorist.records.codec import plain
from memorist.records.record import Draft
from memorist.records.times import from_micros, in_words, iso, parse_bound, parse_expiry, parse_time, to_micros

MOMENT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
MOMENTS = st.datetimes(timezones=st.just(UTC))
ZONES = st.timedeltas(min_value=timedelta(hours=-23), max_value=timedelta(hours=23)).map(
    lambda delta: timezone(timedelta(minutes=delta // timedelta(minutes=1)))
)


@pytest.mark.parametrize(
    "value",
    [
        "8. Mai 2023 13:56", "Montag, 8. Mai 2023, 13:56", "8 mai 2023 13:56", "8 de mayo de 2023, 13:56",
        "8 мая 2023 г. 13:56",
        "2023年5月8日 13:56", "2023年5月8日（月）13:56",
        "2023년 5월 8일 13:56", "٨ مايو ٢٠٢٣ 13:56", "8 พฤษภาคม 2566 13:56",
        "8 Mayıs 2023 13:56", "8 मई 2023 13:56", "ngày 8 tháng 5 năm 2023 13:56", "۱۸ اردیبهشت ۱۴۰۲ 13:56",
    ],
)  # fmt: skip
def test_a_date_in_any_language_with_a_table(value: str) -> None:
    assert parse_time(value) == MOMENT


@pytest.mark.parametrize(
    "value",
    [
        MOMENT, MOMENT.replace(tzinfo=None), MOMENT.astimezone(timezone(timedelta(hours=5))), "2023-05-08T13:56:00Z",
        "2023-05-08T15:56+02:00", "2023-05-08 13:56", " 2023-05-08T13:56:00.000000 ", "1:56 pm on 8 May, 2023",
        "2023/05/08 (Mon) 13:56", "8 May 2023 13:56 UTC", "Mon, 08 May 2023 13:56:00 +0000",
        "May 8th, 2023 at 1:56 p.m.", "8-May-2023 13:56",
        "Mon, 08 May 2023 15:56:00 +0200 (CEST)", "Mon May  8 13:56:00 2023", "2023-05-08 13:56:00 UTC",
        "Mon May 08 2023 13:56:00 GMT+0000 (Coordinated Universal Time)", "8.5.2023 13:56", "2023-05-08t13:56z",
        "20230508T135600Z", "2023-05-08T13:56:00,000000000Z", 1683554160, 1683554160.0, "1683554160", 1683554160000,
        "1683554160000",
    ],
)  # fmt: skip
def test_a_time_in_any_common_form(value: Any) -> None:
    assert parse_time(value) == MOMENT


def test_without_a_time_of_day_it_is_midnight() -> None:
    for text in ("2023-05-08", "8 May 2023", "May-8-2023"):
        assert parse_time(text) == datetime(2023, 5, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "", "  ", "soon", "13:56", "the 8 May 2023", "8 May 2023 or later", "8 May 23", "2023-05-08x13:56",
        "202305081135600", "8 May 2023 13:56 pm", "8 May 2023 13:56 +05:75", "13:56 8 May 2023 14:56", "12.31.2023",
        "7 days ago", "90d", "May 2023", "8 May", "Monday", "2023", "2023-13-01", "2023-02-30", "0000-01-01",
        True, None, object(), [], b"2023-05-08", float("nan"), float("inf"), 1e300, -1e300, 10**30, 10**400,
        "9" * 400, "0001-01-01T00:00+05:00", "9999-12-31T23:59-05:00", "\ud800", "\0", "٣",
    ],
)  # fmt: skip
def test_what_names_no_point_in_time_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="point in time"):
        parse_time(value)


def test_an_ambiguous_date_is_an_error_with_both_readings() -> None:
    for text in ("10/11/2012", "10-11-2012 12:00", "Sat, 10/11/2012"):
        with pytest.raises(InvalidInputError, match="write 2012-11-10 or 2012-10-11"):
            parse_time(text)
    assert parse_time("13/11/2012") == parse_time("11/13/2012") == datetime(2012, 11, 13, tzinfo=UTC)
    assert parse_time("11/11/2012") == datetime(2012, 11, 11, tzinfo=UTC)


def test_a_dotted_date_has_the_day_first() -> None:
    assert parse_time("05.01.2024") == datetime(2024, 1, 5, tzinfo=UTC)
    assert parse_time("29.12.2023") == datetime(2023, 12, 29, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["EST", "CET", "PDT", "IST", "Europe/Oslo"])
def test_a_zone_without_an_offset_is_an_error(zone: str) -> None:
    for text in (f"8 May 2023 13:56 {zone}", f"2023-05-08 13:56 {zone}", f"2023-05-08T13:56{zone}"):
        with pytest.raises(InvalidInputError, match=rf"{zone}.*offset"):
            parse_time(text)


def test_a_weekday_that_is_not_the_dates_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match="2023-05-08 is a Monday"):
        parse_time("Tuesday, 8 May 2023")


def test_milliseconds_in_a_text_are_never_a_date() -> None:
    assert parse_time("1709012112359") == parse_time(1709012112359)


def test_an_error_shows_little_of_what_is_long() -> None:
    for value in ("1." * 200_000, 10**5000):
        with pytest.raises(InvalidInputError) as caught:
            parse_time(value)
        assert len(str(caught.value)) < 200


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


@pytest.mark.posix
def test_a_time_that_names_no_zone_is_sent_as_it_is_wherever_this_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as east:
        east.setenv("TZ", "EAST-13:45")
        time.tzset()
        draft = Draft(content="Likes tea", happened_at=MOMENT.replace(tzinfo=None))
        sent, written = plain(draft)["happened_at"], iso(MOMENT.replace(tzinfo=None))
    time.tzset()
    assert (sent, written) == ("2023-05-08T13:56:00.000000", "2023-05-08T13:56:00.000000Z")


@given(MOMENTS, MOMENTS)
def test_texts_sort_as_the_times_do(one: datetime, other: datetime) -> None:
    assert (iso(one) < iso(other)) == (one < other) == (to_micros(one) < to_micros(other))


def test_a_duration_bounds_a_read_backwards_and_an_expiry_forwards() -> None:
    for text, delta in {"90d": timedelta(days=90), "12 hours": timedelta(hours=12), "5min": timedelta(minutes=5),
                        "1 week": timedelta(weeks=1), "30s": timedelta(seconds=30)}.items():  # fmt: skip
        assert parse_bound(text, MOMENT) == MOMENT - delta
        assert parse_expiry(text, MOMENT) == MOMENT + delta
        for parse in (parse_bound, parse_expiry):
            assert parse(f"{text} ago", MOMENT) == MOMENT - delta
            assert parse(f"in {text}", MOMENT) == MOMENT + delta
            assert parse("2023-05-08", MOMENT) == datetime(2023, 5, 8, tzinfo=UTC)


@pytest.mark.parametrize("text", ["in 3 days ago", "999999999w", "d", "-3d", "3 months", "1.5h", "٣d", "1" * 200 + "d"])
def test_other_durations_are_refused(text: str) -> None:
    for parse in (parse_bound, parse_expiry):
        with pytest.raises(InvalidInputError):
            parse(text, MOMENT)


def test_an_expiry_in_numbers_is_from_now_on() -> None:
    assert parse_expiry(90, MOMENT) == MOMENT + timedelta(seconds=90)
    assert parse_expiry(-0.5, MOMENT) == MOMENT - timedelta(seconds=0.5)
    assert parse_expiry("2023-05-08", MOMENT) == datetime(2023, 5, 8, tzinfo=UTC)
    for wrong in (1e300, float("nan"), float("inf"), True, "soon"):
        with pytest.raises(InvalidInputError):
            parse_expiry(wrong, MOMENT)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (2592000.0, "30 days"),
        (86400, "1 day"),
        (7200, "2 hours"),
        (90, "90 seconds"),
        (60, "1 minute"),
        (0.5, "0.5 seconds"),
    ],
)
def test_a_duration_is_told_in_its_largest_whole_unit(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
