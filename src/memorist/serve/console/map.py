"""The map: records placed close to similar ones, in named groups."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from starlette.responses import Response

from memorist.memory import Memory
from memorist.operations.arguments import one_of
from memorist.records.record import Record
from memorist.records.zones import local
from memorist.serve.console.groups import Group, Layout, lay_out, names_of
from memorist.serve.console.visits import Visit

WIDTH, HEIGHT = 1000, 480
_MOST_OF_USER, _MOST_OF_EVERYONE = 50_000, 10_000
_READ = 1000
_MOST_DOTS = 1500
_WITH_TEXTS = 5000
_LONGEST, _COUNTED = 90, 400
_COLUMNS, _ROWS = 60, 34
_COLOURS = ("kind", "session", "time", "user")
_SHADES = 8
_OTHER = 9
_FOUND = 12
_LETTER, _LINE = 8.5, 20.0
"""How wide a letter of a name is, and how high its line, in units of the drawing."""
_NOWHERE = Layout(np.empty((0, 2)), np.empty(0, dtype=np.int64), 0)


@dataclass(frozen=True, slots=True)
class Mapped:
    """A record as the map needs it: all of its fields but the long ones."""

    id: str
    kind: str
    user: str | None
    session: str | None
    at: Any
    text: str


async def draw(visit: Visit) -> Response:
    """Draw the map: as dots for a script or for few records, else as the density of each place."""
    memory, everyone = visit.memory, visit.everyone
    colour = one_of(*_COLOURS)("colour", visit.value("colour") or "kind")
    records, vectors = await _read(memory, everyone=everyone)
    question = visit.value("q") or ""
    hits = await memory.recall(question, limit=_FOUND) if question and not everyone else []
    found = {hit.record.id for hit in hits}
    total = await memory.count(everyone=everyone)
    layout = await asyncio.to_thread(lay_out, vectors) if records else _NOWHERE
    groups = await asyncio.to_thread(names_of, [each.text[:_COUNTED] for each in records], layout)
    places = places_of(groups)
    codes, legend = _coloured(records, colour, visit)
    kept = {"colour": None if colour == "kind" else colour, "everyone": everyone, "q": question}
    as_dots = len(records) <= _MOST_DOTS
    colours = [name for name in _COLOURS if name != "user" or everyone]
    return visit.page(
        "map.html",
        title="Map",
        count=len(records),
        total=total,
        groups=groups,
        places=places,
        legend=legend,
        colour=colour,
        colours=[(name, visit.link("/map", **{**kept, "colour": name})) for name in colours],
        everyone=everyone,
        others=visit.link("/map", **{**kept, "everyone": not everyone}) if visit.may_show_everyone else None,
        asked=question,
        found=len(found & {each.id for each in records}),
        dots=_dots(visit, records, layout, codes, found) if as_dots else [],
        cells=[] if as_dots else _cells(layout),
        labels=json.dumps(places),
        points=_points(records, layout, codes, found),
        width=WIDTH,
        height=HEIGHT,
        scripts=("map.js",),
    )


async def _read(memory: Memory, *, everyone: bool) -> tuple[list[Mapped], Any]:
    """Return the newest records that have a vector, and their vectors in half precision: enough for a drawing."""
    most = _MOST_OF_EVERYONE if everyone else _MOST_OF_USER
    records, rows, batch = list[Mapped](), list[Any](), list[Record]()
    async for record in memory.iterate(order="newest", page=_READ, everyone=everyone):
        batch.append(record)
        if len(batch) == _READ:
            await _add(memory, batch, records, rows, everyone=everyone)
            batch = []
            if len(records) >= most:
                break
    await _add(memory, batch, records, rows, everyone=everyone)
    return records[:most], np.stack(rows[:most]) if rows else None


async def _add(memory: Memory, batch: list[Record], records: list[Mapped], rows: list[Any], *, everyone: bool) -> None:
    walls: dict[str | None, list[Record]] = {}
    for record in batch:
        walls.setdefault(record.scope.user, []).append(record)
    for user, own in walls.items():
        wall = memory.scoped(user=user) if everyone and user is not None else memory
        vectors = await wall.vectors([each.id for each in own])
        for each in own:
            if each.id in vectors:
                text = each.text[:_COUNTED]
                records.append(Mapped(each.id, str(each.kind), each.scope.user, each.scope.session, each.at, text))
                rows.append(np.asarray(vectors[each.id], dtype=np.float16))


def places_of(groups: Sequence[Group]) -> list[tuple[float, float, str]]:
    """Return where the names of groups are written, each moved down until it covers none of those before."""
    taken = list[tuple[float, float, float]]()
    for each in sorted(groups, key=lambda group: group.y):
        half = len(" · ".join(each.words)) * _LETTER / 2
        x, y = min(max(each.x * WIDTH, half), WIDTH - half), each.y * HEIGHT
        while any(abs(y - other) < _LINE and abs(x - middle) < half + wide for middle, other, wide in taken):
            y += _LINE / 4
        taken.append((x, min(y, HEIGHT - 6), half))
    names = [" · ".join(each.words) for each in sorted(groups, key=lambda group: group.y)]
    return [(round(x, 1), round(y, 1), name) for (x, y, _), name in zip(taken, names, strict=True)]


def _coloured(records: Sequence[Mapped], colour: str, visit: Visit) -> tuple[list[str], list[tuple[str, str, int]]]:
    """Return the style of each record, and the legend: style, name and number."""
    if colour == "time":
        return _shaded(records, visit)
    values = [getattr(each, colour) or "none" for each in records]
    counts = Counter(values)
    if colour == "kind":
        return values, [(name, name, number) for name, number in counts.most_common()]
    most = [name for name, _ in counts.most_common(_OTHER - 1)]
    styles = {name: f"s{number}" for number, name in enumerate(most, 1)}
    legend = [(styles[name], name, counts[name]) for name in most]
    if (rest := len(values) - sum(counts[name] for name in most)) > 0:
        legend.append((f"s{_OTHER}", "others", rest))
    return [styles.get(value, f"s{_OTHER}") for value in values], legend


def _shaded(records: Sequence[Mapped], visit: Visit) -> tuple[list[str], list[tuple[str, str, int]]]:
    if not records:
        return [], []
    first, last = records[-1].at, records[0].at
    span = max((last - first).total_seconds(), 1.0)
    shades = [min(int((each.at - first).total_seconds() / span * _SHADES), _SHADES - 1) + 1 for each in records]
    counts = Counter(shades)
    starts = {shade: local(first + (last - first) / _SHADES * (shade - 1), visit.session.zone) for shade in counts}
    legend = [(f"t{shade}", f"from {starts[shade]:%Y-%m-%d}", counts[shade]) for shade in sorted(counts)]
    return [f"t{shade}" for shade in shades], legend


def _dots(
    visit: Visit, records: Sequence[Mapped], layout: Layout, styles: Sequence[str], found: set[str]
) -> list[dict[str, Any]]:
    return [
        {
            "x": round(float(x) * WIDTH, 1),
            "y": round(float(y) * HEIGHT, 1),
            "style": style,
            "text": record.text[:_LONGEST],
            "found": record.id in found,
            "link": visit.page_of(record.user, record.id),
        }
        for record, (x, y), style in zip(records, layout.positions, styles, strict=True)
    ]


def _cells(layout: Layout) -> list[tuple[int, int, float]]:
    """Return the places of a grid that hold records: column, row, and how dense, 0 to 1."""
    counts, _, _ = np.histogram2d(
        layout.positions[:, 0], layout.positions[:, 1], bins=(_COLUMNS, _ROWS), range=((0, 1), (0, 1))
    )
    dense = np.log1p(counts) / max(float(np.log1p(counts.max())), 1e-9)
    return [(int(column), int(row), round(float(dense[column, row]), 2)) for column, row in np.argwhere(counts > 0)]


def _points(records: Sequence[Mapped], layout: Layout, styles: Sequence[str], found: set[str]) -> str:
    """Return all records for the script, as JSON."""
    names = sorted(set(styles))
    place = {name: number for number, name in enumerate(names)}
    users = sorted({each.user or "" for each in records})
    where = {name: number for number, name in enumerate(users)}
    return json.dumps(
        {
            "x": np.round(layout.positions[:, 0] * WIDTH).astype(int).tolist(),
            "y": np.round(layout.positions[:, 1] * HEIGHT).astype(int).tolist(),
            "styles": names,
            "style": [place[style] for style in styles],
            "ids": [each.id for each in records],
            "users": users,
            "user": [where[each.user or ""] for each in records],
            "texts": [each.text[:_LONGEST] for each in records] if len(records) <= _WITH_TEXTS else [],
            "found": [number for number, each in enumerate(records) if each.id in found],
        },
        separators=(",", ":"),
    )
