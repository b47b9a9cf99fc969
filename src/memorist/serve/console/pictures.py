"""Drawings of a memory, as plain numbers for a template: a map of its vectors, and bars over time."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from memorist.records import Record

__all__ = ["Bar", "Dot", "by_time", "embedding_map"]

WIDTH, HEIGHT, EDGE = 800, 480, 16
_LONGEST = 160
_MOST_BARS = 48


@dataclass(frozen=True, slots=True)
class Dot:
    """A record on the map: its position, kind, id and first words."""

    x: float
    y: float
    kind: str
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """The number of records in one span of time; `height` is in percent of the highest."""

    label: str
    count: int
    height: float


def embedding_map(records: Sequence[Record], vectors: Sequence[Any]) -> list[Dot]:
    """Return each record's position on the first two principal components of the vectors."""
    if not records:
        return []
    matrix = np.stack(vectors).astype(np.float64)
    matrix -= matrix.mean(axis=0)
    values, axes = np.linalg.eigh(matrix.T @ matrix)
    flat = matrix @ axes[:, np.argsort(values)[-2:][::-1]]
    low, span = flat.min(axis=0), np.ptp(flat, axis=0)
    room = np.array([WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE])
    positions = EDGE + np.where(span > 1e-9, (flat - low) / np.maximum(span, 1e-9), 0.5) * room
    return [
        Dot(round(float(x), 1), round(float(y), 1), str(record.kind), record.id, record.text[:_LONGEST])
        for record, (x, y) in zip(records, positions, strict=True)
    ]


def by_time(records: Sequence[Record]) -> list[Bar]:
    """Return the number of records for each day, week, month or year, whichever suits the drawing."""
    if not records:
        return []
    moments = sorted(record.at for record in records)
    days = (moments[-1] - moments[0]).days + 1
    begin = _day if days <= _MOST_BARS else _week if days <= 7 * _MOST_BARS else _month
    if begin is _month and days > 31 * _MOST_BARS:
        begin = _year
    counts = Counter(begin(moment) for moment in moments)
    first, last, spans = begin(moments[0]), begin(moments[-1]), []
    while first <= last:
        spans.append(first)
        first = begin(first + timedelta(days={_day: 1, _week: 7, _month: 32, _year: 367}[begin]))
    form = {_day: "%Y-%m-%d", _week: "%Y-%m-%d", _month: "%Y-%m", _year: "%Y"}[begin]
    highest = max(counts.values())
    return [Bar(f"{span:{form}}", counts[span], round(100 * counts[span] / highest, 1)) for span in spans]


def _day(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _week(moment: datetime) -> datetime:
    return _day(moment) - timedelta(days=moment.weekday())


def _month(moment: datetime) -> datetime:
    return _day(moment).replace(day=1)


def _year(moment: datetime) -> datetime:
    return _month(moment).replace(month=1)
