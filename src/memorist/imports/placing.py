"""Which record an item of a file is, where files of one name lie in several folders.

Such a file is known by its place: its name below the folders that are known. A path tells the folder that a file lies
in, a folder or a zip those inside of it, and a browser that sends one file none. So two places are of one file if
they are the same, or if one ends in the other and no other file could be meant. Records without a place are of builds
that knew a file by the name of its folder alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memorist.records.fingerprints import IMPORTED, digest
from memorist.records.kind import Kind
from memorist.records.record import Draft, Record

if TYPE_CHECKING:
    from memorist.imports.sources import Part
    from memorist.memory import Memory

__all__ = ["PLACE", "Placer", "Spot"]

PLACE = "place"
"""The field of a record's payload that holds the place of its file."""
_FILE, _IN_FILE = "file", "in_file"
"""Those with the file's name, by which records are looked up, and with what tells an item from others in it."""
_MOST_NAMES = 200
"""Most names in one filter."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where an item is: its file, and what tells it from others in it.

    Args:
        form: the name of the reader.
        part: the file.
        in_file: what tells the item from others in the file.
        own: the item's own id.
        before: the record's id as builds without places made it.
    """

    form: str
    part: Part
    in_file: str
    own: str
    before: str

    @property
    def place(self) -> str:
        """The place of the file."""
        return self.part.place

    def id(self, place: str, *more: str) -> str:
        """Return the id of the record of this item, were its file at a place."""
        return f"{self.form}-{digest('in file', place, self.in_file, *more)}"

    def earlier(self) -> dict[str, str]:
        """Return the ids that builds without places may have given the record, each with the place it rests on."""
        if self.own != self.part.name + self.in_file:
            return {}
        names = self.place.split("/")
        found = {self._before(self.part.title, names[-1]): names[-1]}
        for number in range(1, len(names)):
            folder, name = names[-number - 1], "/".join(names[-number:])
            found[self._before(folder, name)] = f"{folder}/{name}"
        return found

    def _before(self, title: str, name: str) -> str:
        return f"{self.form}-{digest(title, name + self.in_file)}"


@dataclass(frozen=True, slots=True)
class _Stored:
    """A record that an item may be, and the place of its file, as far as it is known."""

    record: Record
    place: str
    in_file: str


class Placer:
    """Finds the record of each item that is known by its file, among those that a memory has.

    Args:
        memory: of one user.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory.unlabelled()
        self._known: _Known | None = None

    async def placed(self, drafts: Sequence[tuple[Draft, Spot]]) -> list[Draft]:
        """Return the drafts with the ids of the records that their items are, or else with new ones."""
        ids = dict.fromkeys(id for _, spot in drafts for id in _ids(spot))
        there = {record.id: record for record in await self._memory.find([*ids])}
        return [await self._placed(draft, spot, there) for draft, spot in drafts]

    async def _placed(self, draft: Draft, spot: Spot, there: Mapping[str, Record]) -> Draft:
        if (record := _at_its_place(spot, there)) is not None:
            return _of(record, draft, spot, spot.place)
        if self._known is None:
            self._known = await self._look(spot.part.source.places)
        files = self._known.files_of(spot)
        sure = [each for each in files if _is_sure(each, spot)]
        if len(sure) == 1:
            place = max(*sure, spot.place, key=len)
            record = self._known.record(sure[0], spot)
            return _new(draft, spot, place, there) if record is None else _of(record, draft, spot, place)
        found = [record for each in files if (record := self._known.record(each, spot)) is not None]
        if not sure:
            stored = [*_unplaced(spot, there), *self._known.unplaced_of(spot)]
            ids = {each.record.id: each.record for each in stored if _is_sure(each.place, spot)}
            if len(ids) == 1:
                return _of(next(iter(ids.values())), draft, spot, spot.place)
            found += [each.record for each in stored]
        same = next((each for each in found if _said(each.payload) == _said(draft.payload or {})), None)
        if same is not None:
            return _of(same, draft, spot, str(same.payload.get(PLACE) or spot.place))
        return _new(draft, spot, spot.place, there)

    async def _look(self, places: Mapping[str, Sequence[str]]) -> _Known:
        """Return the records of files that are named as those with the places."""
        known = _Known()
        names = {"$in": [*places]} if len(places) <= _MOST_NAMES else {"$exists": True}
        async for record in self._memory.iterate(payload={_FILE: names}, kind=(Kind.NOTE, Kind.MESSAGE)):
            if PLACE in record.payload:  # a program's own field may have the name of the other
                known.add(str(record.payload[PLACE]), str(record.payload.get(_IN_FILE)), record)
        async for record in self._memory.iterate(where={_FILE: {"$exists": True}}, kind=Kind.NOTE):
            name, own = str(record.metadata[_FILE]), str(record.payload.get("id"))
            if PLACE not in record.payload and _name(name) in places and own.startswith(name):
                known.unplaced[_name(name)].append(_Stored(record, name, own.removeprefix(name)))
        return known


class _Known:
    """The records of files with certain names: by name, place and item, and those without a place by name."""

    def __init__(self) -> None:
        self._placed: defaultdict[str, dict[str, dict[str, Record]]] = defaultdict(dict)
        self.unplaced: defaultdict[str, list[_Stored]] = defaultdict(list)

    def add(self, place: str, in_file: str, record: Record) -> None:
        """Note a record of a file at a place."""
        self._placed[_name(place)].setdefault(place, {})[in_file] = record

    def record(self, place: str, spot: Spot) -> Record | None:
        """Return the record of an item, were its file at a place."""
        return self._placed[_name(place)][place].get(spot.in_file)

    def files_of(self, spot: Spot) -> list[str]:
        """Return the places that may be of an item's file; its own alone, where that is one of them."""
        places = self._placed[_name(spot.place)]
        return [spot.place] if spot.place in places else [each for each in places if _may_be(each, spot)]

    def unplaced_of(self, spot: Spot) -> Iterator[_Stored]:
        """Yield the records without a place that may be an item of a file further down."""
        for each in self.unplaced[_name(spot.place)]:
            is_its = each.in_file == spot.in_file and each.record.id.startswith(f"{spot.form}-")
            if is_its and f"/{each.place}".endswith(f"/{spot.place}"):
                yield each


def _name(place: str) -> str:
    return place.rpartition("/")[2]


def _ids(spot: Spot) -> Iterator[str]:
    """Yield the ids that an item's record may have."""
    names = spot.place.split("/")
    for number in range(len(names)):
        yield spot.id("/".join(names[number:]))
    yield spot.before
    yield from spot.earlier()


def _at_its_place(spot: Spot, there: Mapping[str, Record]) -> Record | None:
    """Return the record that is at an item's place, or that the same import stored before there were places."""
    for record in filter(None, map(there.get, _ids(spot))):
        if record.payload.get(PLACE) == spot.place and record.payload.get(_IN_FILE) == spot.in_file:
            return record
    before = there.get(spot.before)
    return before if before is not None and PLACE not in before.payload else None


def _unplaced(spot: Spot, there: Mapping[str, Record]) -> Iterator[_Stored]:
    for id, place in spot.earlier().items():
        if id in there and PLACE not in there[id].payload and _may_be(place, spot):
            yield _Stored(there[id], place, spot.in_file)


def _may_be(place: str, spot: Spot) -> bool:
    """Return whether a place may be that of an item's file: one ends in the other, and in no other file's."""
    if f"/{place}".endswith(f"/{spot.place}"):
        return True
    if not f"/{spot.place}".endswith(f"/{place}"):
        return False
    others = spot.part.source.places[_name(place)]
    return sum(f"/{each}".endswith(f"/{place}") for each in others) == 1


def _is_sure(place: str, spot: Spot) -> bool:
    """Return whether a place tells enough: no file of a folder is taken for one of which the name alone is known."""
    return "/" in place or len(spot.part.source.parts) == 1


def _said(payload: Mapping[str, Any]) -> str:
    return str(payload.get(IMPORTED))[:16]


def _of(record: Record, draft: Draft, spot: Spot, place: str) -> Draft:
    """Return a draft of a record that is there; with the place, where that says more than the record does."""
    known = record.payload.get(PLACE)
    says_enough = known == place or (known is None and "/" in spot.part.name)
    return replace(draft, id=record.id) if says_enough else _at(draft, spot, record.id, place)


def _new(draft: Draft, spot: Spot, place: str, there: Mapping[str, Record]) -> Draft:
    id = spot.id(place)
    return _at(draft, spot, spot.id(place, "again") if id in there else id, place)


def _at(draft: Draft, spot: Spot, id: str, place: str) -> Draft:
    where = {PLACE: place, _FILE: _name(place), _IN_FILE: spot.in_file}
    return replace(draft, id=id, payload={**(draft.payload or {}), **where})
