"""The shared state of the local engine's handlers: the store, the embedder, the ranking and its cache."""

import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from typing import Any, TypeAlias

import numpy as np

from memorist.config import Settings
from memorist.embedders import BatchedEmbedder, open_embedder, unit_rows
from memorist.engine.base import Engine, WrappedEngine
from memorist.engine.cleaning import cleaned
from memorist.errors import EmbedderError, InvalidInputError, MemoristError
from memorist.operations import cursors
from memorist.operations.calls import Call
from memorist.operations.request import Narrowed
from memorist.recall import Recaller, embedded, given_vector, marks_of, terms_of
from memorist.recall.passages import parts_of
from memorist.recall.persistence import KEPT_FROM, keep
from memorist.recall.text_features import speaker_of
from memorist.records.filters import Filter
from memorist.records.origins import IMPORT, Door, Trust
from memorist.records.record import Action, Draft, Record, check_fields, size_of
from memorist.records.scope import Reach, Scope, Wall
from memorist.records.times import Clock, parse_expiry, parse_time
from memorist.stores import open_store
from memorist.stores.base import Put, Vector
from memorist.system.offload import offload

Analyses: TypeAlias = Mapping[Any, tuple[str, frozenset[str]]]
"""Terms and marks, by the data that determines them."""
_PAGE = 1000
_MOST_AHEAD = 1000


class Core:
    """The store, the embedder, the ranking, and the clock that stamps records."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = open_store(settings)
        if settings.index is not None:
            from memorist.indexes import indexed

            self.store = indexed(self.store, settings.index)
        self.embedder = BatchedEmbedder(open_embedder(settings.embedder))
        self.recaller = Recaller(
            self.store, self.embedder, settings.cache_bytes, settings.largest_index, settings.clock
        )
        self.default_zone = settings.home
        self._ticks = _Ticks(settings.clock)
        self._stored: Counter[Wall] = Counter()

    def note_stored(self, wall: Wall, count: int) -> None:
        """Note that so many records were stored behind a wall, or got vectors."""
        self._stored[wall] += count

    async def keep_indexes(self) -> None:
        """Have the store keep the index of each wall behind which many records were stored, for the next process."""
        for wall, count in self._stored.items():
            if count >= KEPT_FROM:
                with suppress(MemoristError):  # it is a cache: the next process builds it
                    await keep(self.store, wall, self.embedder.dimensions)
        self._stored.clear()

    @property
    def clock(self) -> Clock:
        """Returns the present."""
        return self.settings.clock

    def zone(self, call: Call) -> tzinfo:
        """Return the zone of a call."""
        return self.default_zone if call.zone is None else call.zone

    def stamp(self, drafts: Sequence[Draft], call: Call) -> list[Record]:
        """Return the records for the drafts, in order, each with a distinct time."""
        scope, door, zone = call.scope, call.door, self.zone(call)
        records = (draft.to_record(scope, self._ticks.next(), door, zone) for draft in drafts)
        warns = door.name != IMPORT.name  # of an archive, `memorist secrets` says it at once
        return [self.sized(cleaned(record, self.settings.secrets, warns=warns), door) for record in records]

    def sized(self, record: Record, door: Door) -> Record:
        """Return a record, if it is not larger than the door allows.

        Raises: InvalidInputError: the record is too large.
        """
        most = self.settings.largest_record
        if not door.is_open and (size := size_of(record)) > most:
            raise InvalidInputError(
                f"a record of {size:,} characters is too large; the limit is {most:,}, including its cue, metadata "
                "and payload. Store it in parts, or have the operator raise MEMORIST_LARGEST_RECORD"
            )
        return record

    def trust(self, scope: Scope) -> Callable[[Record], Trust]:
        """Return a function that returns the trust in a record read in `scope`, by the operator's rules."""
        return lambda record: self.settings.trust.of(record.origin.authors, scope.user)

    def dated(self, changes: Mapping[str, Any], call: Call) -> dict[str, Any]:
        """Return a revision's changes with their times as points in time."""
        moved, zone = dict(changes), self.zone(call)
        if changes.get("happened_at") is not None:
            moved["happened_at"] = parse_time(changes["happened_at"], zone)
        if changes.get("expires_at") is not None:
            moved["expires_at"] = parse_expiry(changes["expires_at"], self.clock(), zone)
        return moved

    def filter(self, request: Narrowed[Any], call: Call) -> Filter:
        """Return which records a request is about, asked now."""
        return request.filter(call.scope, self.clock(), self.settings.trust, self.zone(call))

    async def embed(
        self, records: Sequence[Record], given: Sequence[Any], *, later: bool = False
    ) -> list[Vector | None]:
        """Return a vector for each record that recall can find: the given one, or its text's embedding.

        With `later`, texts are not embedded: recall finds them by their words until `reindex` gives them vectors.
        """
        vectors: list[Vector | None] = [None] * len(records)
        wanted = [position for position, record in enumerate(records) if record.kind.recallable]
        if not wanted or (later and all(each is None for each in given)):
            return vectors
        await self.embedder.ready()
        fingerprint = self.embedder.fingerprint
        brought = [position for position in wanted if given[position] is not None]
        _set_at(vectors, brought, self._checked([given[position] for position in brought]))
        missing = [position for position in wanted if given[position] is None]
        if missing and not later:
            texts = [records[position] for position in missing]
            _set_at(vectors, missing, await embedded(self.embedder, texts))
        await self.store.bind(fingerprint, self.embedder.dimensions)
        return vectors

    def _checked(self, given: Sequence[Any]) -> Iterable[Vector]:
        """Return the vectors that a caller brought as unit vectors."""
        length = self.embedder.dimensions
        try:
            return unit_rows(given, len(given), length, "the vectors given")
        except EmbedderError:  # one by one, so that the error names the wrong one
            return np.concatenate([given_vector(each, length) for each in given])

    async def embed_ahead(self, records: Sequence[Record]) -> None:
        """Embed the texts of records that are about to be stored, as many as the embedder's cache surely keeps."""
        found = [record for record in records if record.kind.recallable]
        parts = await offload(lambda: [part for record in found for part in parts_of(record)], found)
        await self.embedder.embed(parts[:_MOST_AHEAD])

    async def analysed(self, records: Sequence[Record], zone: tzinfo | None = None) -> Analyses:
        """Return the analysed terms and the marks of the texts that recall finds, said in a zone."""
        zone = self.default_zone if zone is None else zone
        found = [record for record in records if record.kind.recallable]
        return await offload(lambda: {_key(each): (terms_of(each), marks_of(each, zone)) for each in found}, found)

    async def put(
        self,
        record: Record,
        action: Action,
        vector: Vector | None,
        analyses: Analyses | None = None,
        *,
        expected: int | None = None,
        keep_index: bool = False,
        source: str | None = None,
        derived_from: frozenset[str] = frozenset(),
        quotes: frozenset[tuple[Wall, str]] = frozenset(),
        zone: tzinfo | None = None,
        relabels: bool = False,
    ) -> Put:
        """Return the write that replaces the previous version by `record`; `analyses` may hold its text's analysis."""
        terms, marks = None, frozenset[str]()
        if record.kind.recallable and not keep_index:
            terms, marks = (analyses or {}).get(_key(record)) or (await self.analysed([record], zone))[_key(record)]
        return Put(
            record, action, record.version - 1 if expected is None else expected, vector, terms,
            keep_index=keep_index, source=source, marks=marks, derived_from=derived_from, quotes=quotes,
            relabels=relabels,
        )  # fmt: skip

    async def pages(self, reach: Reach, filter: Filter) -> AsyncIterator[Sequence[Record]]:
        """Yield every record that passes a filter, newest first, in pages."""
        after = None
        while True:
            found = await self.store.select(reach, filter, order="newest", limit=_PAGE + 1, after=after)
            page = cursors.make_page(found, _PAGE, "newest")
            yield page.records
            if page.next is None:
                return
            after = cursors.decode(page.next, "newest")

    def changed(self, old: Record, new: Record) -> Record:
        """Return `new` as the version after `old`, checked."""
        new = replace(new, updated_at=self._ticks.next(), version=old.version + 1)
        new = replace(new, **check_fields(new))
        same = (old.content, old.cue, old.metadata, old.payload) == (new.content, new.cue, new.metadata, new.payload)
        return new if same else cleaned(new, self.settings.secrets)


def _set_at(vectors: list[Vector | None], positions: Sequence[int], rows: Iterable[Vector]) -> None:
    for position, row in zip(positions, rows, strict=True):
        vectors[position] = row


def _key(record: Record) -> tuple[Any, ...]:
    """Return the data that determines a record's terms and marks."""
    return record.text, record.kind, speaker_of(record), record.at, record.at.utcoffset()


class Layer(WrappedEngine):
    """A layer of the engine in this process, which uses what the handlers do.

    Args:
        inner: the engine that answers.
        core: the store, the embedder and the clock.
    """

    def __init__(self, inner: Engine, core: Core) -> None:
        super().__init__(inner)
        self._core = core


class _Ticks:
    """Returns the present, but never the same time twice, so that times show the order of storing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = clock()
        self._lock = threading.Lock()

    def next(self) -> datetime:
        with self._lock:
            self._last = max(self._clock(), self._last + timedelta(microseconds=1))
            return self._last
