"""Recall, from a query to hits: bring the wall's index up to date, rank, and fetch what was found."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from typing import TypeVar, cast

from memorist.embedders import BatchedEmbedder, Role
from memorist.errors import EmbedderError, InvalidInputError, embedder_mismatch
from memorist.operations.calls import BEYOND, Notes, part
from memorist.operations.requests import Recall
from memorist.recall.analysis import terms, words
from memorist.recall.calibration import within_one
from memorist.recall.index import Floats, WallIndex
from memorist.recall.keeping import Keeper
from memorist.recall.large import Large, gathered
from memorist.recall.parts import given_vector
from memorist.recall.question import MAX_TEXT, UNREAD, Question, read_question
from memorist.recall.rank import Ranked, Search, rank
from memorist.recall.replaced import LEAST, score_of
from memorist.recall.scale import Scale, measure
from memorist.records.filters import Filter
from memorist.records.record import Hit, Record, Replaced
from memorist.records.scope import Wall
from memorist.records.times import Clock, now, to_micros
from memorist.stores.base import Store
from memorist.system.aside import aside, is_large

_T = TypeVar("_T")
_INLINE_ROWS = 4096
"""The most rows that are ranked on the caller's thread, which is quicker than waking another thread."""
_INLINE_TERMS = 64
"""The most terms of a question for ranking on the caller's thread."""
_WORD_CANDIDATES = 400
_PAUSE = 0.002
"""Seconds between two checks whether another caller has read a wall's index."""
_RESCORED = 100
"""Hits beyond the limit whose similarity is computed from whole vectors where the scan was approximate."""


def terms_of(record: Record) -> str:
    """Return the analysed terms of a record's text, as stores keep them."""
    return " ".join(terms(record.text))


class Recaller:
    """Ranks over a store, with an index in memory for each recently used wall.

    Args:
        store: where the records are.
        embedder: for the queries.
        cache_bytes: the most that all indexes together may hold; the least recently used are dropped first.
        largest_index: a wall of more records is not read, where the store finds candidates by itself.
        clock: returns the present, by which questions about time are read.
    """

    def __init__(
        self,
        store: Store,
        embedder: BatchedEmbedder,
        cache_bytes: int,
        largest_index: int = 250_000,
        clock: Clock = now,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._cache_bytes = cache_bytes
        self._largest_index = largest_index
        self._clock = clock
        self._generations: dict[Wall, str] = {}
        self._indexes: OrderedDict[Wall, WallIndex] = OrderedDict()
        self._lock = threading.Lock()
        self._scale: Scale | None = None
        self._keeper: Keeper | None = None
        self._restoring: set[Wall] = set()

    async def close(self) -> None:
        """Wait for indexes that are being kept, and forget them all."""
        if self._keeper is not None:
            await self._keeper.close()
        self.drop()

    def drop(self, wall: Wall | None = None) -> None:
        """Forget the index of a wall, or all of them. They are only caches."""
        with self._lock:
            if wall is None:
                self._indexes.clear()
                self._generations.clear()
            else:
                self._indexes.pop(wall, None)
                self._generations.pop(wall, None)

    async def recall(
        self, walls: Sequence[Wall], request: Recall, filter: Filter, notes: Notes | None = None
    ) -> list[Hit]:
        """Return the best hits behind all of `walls`, best first.

        Args:
            walls: where to look.
            request: what is asked.
            filter: which records the request is about.
            notes: receives the duration of each part and, if it belongs to this question, the records just below the
                cut.
        """
        if request.limit < 1 or (not request.query.strip() and request.vector is None):
            return []
        with part(notes, "index"):
            known = {wall: index for wall in walls if (index := await self._known(wall)).rows}
        if not known:
            return []
        question = _read(request, known.values(), self._clock())
        with part(notes, "embedding"):
            vector = await self._embedded(request, question)
        beyond = BEYOND if notes is not None and notes.question == request.query else 0
        asked = Search(request, filter, request.limit + beyond, question, vector, to_micros(self._clock()))
        hits: list[Hit] = []
        for wall, index in known.items():
            hits += await self._behind(wall, index, asked, notes)
        hits.sort(key=lambda hit: (-hit.score, -hit.similarity))
        return hits[: request.limit]

    async def standing(
        self, walls: Sequence[Wall], filter: Filter, wanted: Set[str], limit: int
    ) -> list[Record] | None:
        """Return short records marked as standing that the user or nobody says: most of the wanted terms, then newest.

        Returns:
            At most `limit` of each wall; None where a wall is not held whole.
        """
        found: list[Record] = []
        for wall in walls:
            index = await self._known(wall)
            if isinstance(index, Large):
                return None
            with index.lock:
                numbers = index.standing(filter, to_micros(self._clock()), wanted, limit)
            found += (await self._store.fetch(wall, numbers)).values() if numbers else ()
        return found

    async def whole(self, wall: Wall) -> tuple[WallIndex, Scale]:
        """Return the index of a wall with all that was stored before this call, and the scale of its cosines.

        Raises:
            InvalidInputError: the wall has too many records to be held whole.
        """
        index = await self._known(wall)
        if isinstance(index, Large):
            raise InvalidInputError(
                f"this needs all records of a user in memory, and here are more than {self._largest_index:,}; let the "
                "operator raise MEMORIST_LARGEST_INDEX"
            )
        return index, await self._measured(Recall(query="")) if index.rows else Scale()

    async def _embedded(self, request: Recall, question: Question) -> Floats | None:
        if request.mode == "lexical":
            return None
        if request.vector is None:
            text = request.query[:MAX_TEXT] if request.mode == "dense" else question.embed  # by the plain cosine alone
            rows = await self._embedder.embed([text], Role.QUERY)
        else:
            rows = given_vector(request.vector, self._embedder.dimensions)
        vector: Floats = rows[0]
        return vector

    async def _measured(self, request: Recall) -> Scale:
        """Return the scale of the embedder's cosines, measured once.

        If the caller brought the vector, the embedder may be unavailable; then the cosines are used unchanged.
        """
        if self._scale is None:
            try:
                self._scale = await measure(self._embedder)
            except EmbedderError:
                if request.vector is None:
                    raise
                return Scale()
        return self._scale

    async def _behind(self, wall: Wall, known: WallIndex | Large, asked: Search, notes: Notes | None) -> list[Hit]:
        """Rank behind one wall, and fetch. Records that were deleted meanwhile are left out."""
        request = asked.request
        with part(notes, "signals"):
            index, ranked = await self._ranked(wall, known, asked)
        if ranked is None:
            return []
        best = ranked.best(request, request.limit)
        wider = ranked.best(request, asked.limit, reaching=False) if asked.limit > request.limit else None
        shown = best if wider is None else wider
        numbers = {*best.numbers.tolist(), *best.replacing(), *shown.numbers.tolist(), *shown.replacing()}
        with part(notes, "fetch"):
            records = await self._store.fetch(wall, list(numbers))
        if notes is not None and wider is not None:
            notes.ranked += await aside(lambda: _hits(index, wider, records, asked), records)
        return await aside(lambda: _hits(index, best, records, asked), records)

    async def _ranked(self, wall: Wall, known: WallIndex | Large, asked: Search) -> tuple[WallIndex, Ranked | None]:
        """Return the ranked index and the result; None if the index has no rows."""
        request = asked.request
        if request.mode == "hybrid":
            scale = await self._measured(request)
            moved = request.vector is None and self._embedder.moves(asked.question.embed)
            asked = replace(asked, scale=replace(scale, moved=moved))
        if isinstance(known, Large):
            index, asked = await gathered(self._store, wall, known, asked)
            if not index.rows:
                return index, None
        else:
            index, asked = known, await self._asked(wall, known, asked)
        ranked = await self._run(index, asked.question, lambda: rank(index, asked))
        if ranked.unsure and asked.vector is not None:
            if request.mode == "hybrid":
                ranked = ranked.best(request, request.limit + _RESCORED)
            ranked = ranked.with_exact(await self._store.vectors(wall, ranked.numbers.tolist()), asked.vector)
        return index, ranked

    async def _asked(self, wall: Wall, index: WallIndex, asked: Search) -> Search:
        """Return the `Search` for a wall that is held whole, with the parts that only the store knows."""
        chosen = await self._store.matching(wall, asked.filter) if asked.filter.reads_fields else None
        found = None
        if asked.request.mode != "dense" and not index.has_postings:
            found = await self._store.search_words(wall, list(asked.question.terms), _WORD_CANDIDATES)
        return replace(asked, chosen=chosen, found=found)

    async def _run(self, index: WallIndex, question: Question, work: Callable[[], _T]) -> _T:
        def locked() -> _T:
            with index.lock:
                return work()

        brief = index.rows <= _INLINE_ROWS and len(question.terms) <= _INLINE_TERMS
        return locked() if brief and not is_large(index.unposted) else await asyncio.to_thread(locked)

    async def _known(self, wall: Wall) -> WallIndex | Large:
        """Return the wall's index or, if the wall is too large for an index, the statistics for asking the store."""
        await self._embedder.ready()
        with self._lock:
            index = self._indexes.get(wall)
        if index is not None and index.living <= self._largest_index:
            index = await self._up_to_date(wall)
            if index.living <= self._largest_index:
                return index
        outline = None
        if self._store.searches_large:
            outline = await self._store.outline(wall, self._largest_index)
        if outline is None:
            return await self._up_to_date(wall)
        with self._lock:
            self._indexes.pop(wall, None)
        if self._generations.get(wall) != outline.generation:
            await self._check_fingerprint()
            self._generations[wall] = outline.generation
        return Large(outline, self._embedder.dimensions)

    async def _up_to_date(self, wall: Wall) -> WallIndex:
        """Return the wall's index with all that was stored before this call."""
        while True:
            index = self._cached(wall)
            if index.generation is None:
                index = await self._restored(wall, index)
                await self._check_fingerprint()
            since = index.generation, index.epoch
            changed = await self._store.entries(wall, *since)
            if index.generation not in (None, changed.generation):  # a purge, or new vectors: begin anew
                self.drop(wall)
                continue
            if (changed.generation, changed.epoch) != since:
                with index.lock:
                    undisturbed = (index.generation, index.epoch) == since
                    if undisturbed:
                        index.update(changed)
                if not undisturbed:  # another call has applied changes meanwhile, though perhaps not all of these
                    continue
                self._bound(wall)
            if not changed.more:
                if index.mostly_dead:
                    self.drop(wall)
                elif self._keeper is not None:
                    self._keeper.keep(wall, index)
                return index

    async def _restored(self, wall: Wall, empty: WallIndex) -> WallIndex:
        """Return the wall's index from the store, or an empty one; of several concurrent callers only one reads it."""
        segments = self._store.segments
        if segments is None:
            return empty
        while wall in self._restoring:  # noqa: ASYNC110 - an event would belong to one loop
            await asyncio.sleep(_PAUSE)
        with self._lock:
            self._keeper = self._keeper or Keeper(segments, self._embedder.dimensions)
            if self._keeper.knows(index := self._indexes.get(wall, empty)):
                return index
            self._restoring.add(wall)
        try:
            index = await self._keeper.restored(wall)
            with self._lock:
                self._indexes[wall] = index
            self._bound(wall)
            return index
        finally:
            self._restoring.discard(wall)

    def _cached(self, wall: Wall) -> WallIndex:
        with self._lock:
            index = self._indexes.get(wall)
            if index is None:
                index = self._indexes[wall] = WallIndex(self._embedder.dimensions)
            self._indexes.move_to_end(wall)
            return index

    def _bound(self, wall: Wall) -> None:
        """Drop the least recently used indexes until the rest fit; the index in use stays."""
        with self._lock:
            total = sum(index.nbytes for index in self._indexes.values())
            for other in list(self._indexes):
                if total <= self._cache_bytes or other == wall:
                    return
                total -= self._indexes.pop(other).nbytes

    async def _check_fingerprint(self) -> None:
        stored, mine = await self._store.fingerprint(), self._embedder.fingerprint
        if stored is not None and stored != mine and not await self._embedder.suits(stored):
            raise embedder_mismatch(stored, mine)


def _read(request: Recall, walls: Iterable[WallIndex | Large], moment: datetime) -> Question:
    """Read the question with the speakers and years behind the walls; the plain cosine needs neither."""
    if request.mode == "dense":
        return UNREAD
    speakers = {name for wall in walls for name in wall.speakers if name is not None}
    years = sorted({year for wall in walls for year in wall.years()}) if request.now is None else ()
    asked_at = cast(datetime, request.now or moment)  # requests hold times as datetimes
    return read_question(request.query[:MAX_TEXT], speakers=speakers, now=asked_at, years=years)


def _hits(index: WallIndex, best: Ranked, records: Mapping[int, Record], search: Search) -> list[Hit]:
    """Return the hits whose records still exist."""
    request, vector = search.request, search.vector
    asked = {term: word for word in words(request.query[:MAX_TEXT]) for term in terms(word)}
    scores, similarities = best.scores(request.mode).tolist(), within_one(best.similarities).tolist()
    signals = best.signals if request.explain else {}
    if "meaning" in signals and vector is not None:
        signals = {**signals, "background": best.scale.background(vector, index.vectors.take(best.rows))}
    if signals and request.mode == "hybrid":
        signals = {**signals, "share": best.crowd.share(best.total())}
    hits = []
    for position, (row, number) in enumerate(zip(best.rows.tolist(), best.numbers.tolist(), strict=True)):
        if number not in records:
            continue
        record = records[number]
        held = asked.keys() & (index.terms(row).split() or terms(record.text)) if asked else ()
        matched = tuple(dict.fromkeys(word for term, word in asked.items() if term in held)) if held else ()
        told = {name: float(values[position]) for name, values in signals.items()}
        replaced = _replaced(record, best, position, records)
        hits.append(Hit(record, similarities[position], scores[position], matched, told, replaced))
    return hits


def _replaced(record: Record, best: Ranked, position: int, records: Mapping[int, Record]) -> Replaced | None:
    """Return what most likely replaced a record."""
    if best.by is None or best.likely is None or (later := records.get(int(best.by[position]))) is None:
        return None
    score = score_of(float(best.likely[position]), record.text, later.text)
    return Replaced(later.id, later.at, score) if score >= LEAST else None
