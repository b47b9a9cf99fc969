"""The spans and axes of the console's charts."""

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from memorist.serve.console.charts import drawn, nice_ticks, spans_between

pytestmark = pytest.mark.anyio


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("first", "last", "unit", "labels", "number"),
    [
        ("2024-05-01", "2024-05-03", "day", ["1 May 2024", "2 May 2024"], 3),
        ("2024-01-01", "2024-06-01", "week", ["1 Jan 2024", "8 Jan 2024"], 22),
        ("2022-11-30", "2024-01-01", "month", ["Nov 2022", "Dec 2022", "Jan 2023"], 15),
        ("1999-01-01", "2024-01-01", "year", ["1999", "2000"], 26),
        ("0001-01-01", "9999-12-31", "millennium", ["1", "1000", "2000"], 10),
        ("2024-05-01", "2024-05-01", "day", ["1 May 2024"], 1),
    ],
)
def test_spans_are_as_fine_as_the_time_allows(first: str, last: str, unit: str, labels: list[str], number: int) -> None:
    found, spans = spans_between(day(first), day(last))
    assert (found, [span.label for span in spans[: len(labels)]], len(spans)) == (unit, labels, number)
    assert spans[0].since <= day(first) and day(last) < spans[-1].until
    assert all(one.until == two.since for one, two in pairwise(spans)), "nothing falls between"


@pytest.mark.parametrize(
    ("highest", "ticks"), [(0, [0, 1]), (1, [0, 1]), (5, [0, 2, 4, 6]), (19, [0, 5, 10, 15, 20]), (900, [0, 500, 1000])]
)
def test_axes_have_round_numbers(highest: int, ticks: list[int]) -> None:
    assert nice_ticks(highest) == ticks


async def test_a_day_is_one_of_the_visitors_zone() -> None:
    moment, tokyo = datetime(2024, 5, 1, 23, 30, tzinfo=UTC), ZoneInfo("Asia/Tokyo")

    async def count(span: object) -> int:
        return 3

    chart = await drawn(moment, moment, tokyo, count, lambda span: f"/browse?since={span.since.isoformat()}")
    [column] = chart.columns
    assert (column.label, column.link) == ("2 May 2024", "/browse?since=2024-05-02T00:00:00+09:00")
    assert [tick.value for tick in chart.ticks] == [1, 2, 3] and [mark.text for mark in chart.marks] == ["2 May 2024"]
