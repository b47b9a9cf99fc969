"""Recall, from a query to hits: embed the question, rank behind each wall, and fetch what was found."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import cast

import numpy as np

from memorist.embedders import BatchedEmbedder, Role
from memorist.errors import EmbedderError, InvalidInputError
from memorist.operations.calls import BEYOND, Notes, part
from memorist.operations.requests import Recall
from memorist.recall.analysis import terms, words
from memorist.recall.calibration import within_one
from memorist.recall.index import Floats, WallIndex
from memorist.recall.indexes import Indexes
from memorist.recall.large import gathered
from memorist.recall.passages import given_vector
from memorist.recall.question import MAX_TEXT, UNREAD, Question, read_question
from memorist.recall.rank import Ranked, Search, rank
from memorist.recall.replaced import LEAST, score_of
from memorist.recall.scale import Scale, measure
from memorist.recall.standing import standing_in
from memorist.records.filters import Filter
from memorist.records.record import Hit, Record, Replaced
from memorist.records.scope import Wall
from memorist.records.times import Clock, now, to_micros
from memorist.records.zones import read_in
from memorist.stores.base import Outline, Store
from memorist.system.offload import is_large, offload

_INLINE_ROWS = 8192
"""The most rows that are ranked on the caller's thread, which is quicker than waking another thread."""
_INLINE_TERMS = 64
"""The most terms of a question for ranking on the caller's thread."""
_WORD_CANDIDATES = 400
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
        self.indexes = Indexes(store, embedder, cache_bytes, largest_index)
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._scale: Scale | None = None

    async def recall(
        self, walls: Sequence[Wall], request: Recall, filter: Filter, notes: Notes | None = None, zone: tzinfo = UTC
    ) -> list[Hit]:
        """Return the best hits behind all of `walls`, best first.

        Args:
            walls: where to look.
            request: what is asked.
            filter: which records the request is about.
            notes: receives the duration of each part and, if it belongs to this question, the records just below the
                cut.
            zone: whose days the question means.
        """
        if request.limit < 1 or (not request.query.strip() and request.vector is None):
            return []
        with part(notes, "index"):
            known = {wall: index for wall in walls if (index := await self.indexes.of(wall)).rows}
        if not known:
            return []
        question = _read(request, known, self._clock(), zone)
        vector: Floats | None = None
        with part(notes, "embedding"):
            if request.vector is not None and request.mode != "lexical":
                vector = given_vector(request.vector, self._embedder.dimensions)[0]
            elif request.mode != "lexical":  # the plain cosine alone needs nothing but the words
                text = request.query[:MAX_TEXT] if request.mode == "dense" else question.embed
                vector = (await self._embedder.embed([text], Role.QUERY))[0]
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
        """Return the standing instructions in force that people or nobody says: most of the wanted terms, then newest.

        Returns:
            At most `limit` of each wall; None where a wall is not held whole.
        """
        found: list[Record] = []
        for wall in walls:
            index = await self.indexes.of(wall)
            if isinstance(index, Outline):
                return None
            if not index.rows:
                continue
            scale = await self._measured(Recall(query=""))
            read = partial(standing_in, index, filter, to_micros(self._clock()), wanted, limit, scale)
            numbers = await index.alone(read)
            found += (await self._store.fetch(wall, numbers)).values() if numbers else ()
        return found

    async def whole(self, wall: Wall) -> tuple[WallIndex, Scale]:
        """Return the index of a wall with all that was stored before this call, and the scale of its cosines.

        Raises:
            InvalidInputError: the wall has too many records to be held whole.
        """
        index = await self.indexes.of(wall)
        if isinstance(index, Outline):
            raise InvalidInputError(
                f"this needs all records of a user in memory, and there are more than {self.indexes.largest:,}; have "
                "the operator raise MEMORIST_LARGEST_INDEX"
            )
        return index, await self._measured(Recall(query="")) if index.rows else Scale()

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

    async def _behind(self, wall: Wall, known: WallIndex | Outline, asked: Search, notes: Notes | None) -> list[Hit]:
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
        texts = [record.content for record in records.values()]
        if notes is not None and wider is not None:
            notes.ranked += await offload(lambda: hits_of(index, wider, records, asked), texts)
        return await offload(lambda: hits_of(index, best, records, asked), texts)

    async def _ranked(self, wall: Wall, known: WallIndex | Outline, asked: Search) -> tuple[WallIndex, Ranked | None]:
        """Return the ranked index and the result; None if the index has no rows."""
        request = asked.request
        if request.mode == "hybrid":
            scale = await self._measured(request)
            moved = request.vector is None and self._embedder.moves(asked.question.embed)
            asked = replace(asked, scale=replace(scale, moved=moved))
        if isinstance(known, Outline):
            index, asked = await gathered(self._store, wall, known, self._embedder.dimensions, asked)
            if not index.rows:
                return index, None
        else:  # a wall that is held whole: the store alone knows some parts
            index = known
            chosen = await self._store.matching(wall, asked.filter) if asked.filter.reads_fields else None
            found = None
            if request.mode != "dense" and not index.has_postings:
                found = await self._store.search_words(wall, list(asked.question.terms), _WORD_CANDIDATES)
            asked = replace(asked, chosen=chosen, found=found)
        few = index.rows <= _INLINE_ROWS and len(asked.question.terms) <= _INLINE_TERMS
        ranked = await index.alone(lambda: rank(index, asked), brief=few and not is_large(index.unposted))
        if ranked.unsure and asked.vector is not None:
            if request.mode == "hybrid":
                ranked = ranked.best(request, request.limit + _RESCORED)
            ranked = ranked.with_exact(await self._store.vectors(wall, ranked.numbers.tolist()), asked.vector)
        return index, ranked


def _read(request: Recall, known: Mapping[Wall, WallIndex | Outline], moment: datetime, zone: tzinfo) -> Question:
    """Read the question with the users, speakers and years behind the walls; the plain cosine needs none."""
    if request.mode == "dense":
        return UNREAD
    speakers = {name for index in known.values() for name in index.speakers if name is not None}
    users = {wall.user for wall in known if wall.user is not None}
    years = sorted({year for index in known.values() for year in index.years}) if request.now is None else ()
    asked_at = read_in(cast(datetime, request.now or moment), zone)  # requests hold times as datetimes
    return read_question(request.query[:MAX_TEXT], speakers=speakers, users=users, now=asked_at, years=years)


def hits_of(index: WallIndex, best: Ranked, records: Mapping[int, Record], search: Search) -> list[Hit]:
    """Return the hits whose records still exist."""
    request, vector = search.request, search.vector
    asked = {f" {term} ": word for word in words(request.query[:MAX_TEXT]) for term in terms(word)}
    scores, similarities = best.scores(request.mode).tolist(), within_one(best.similarities).tolist()
    signals = best.signals if request.explain else {}
    if "meaning" in signals and vector is not None:
        signals = {**signals, "background": best.scale.background(vector, index.vectors.take(best.rows))}
    if signals and request.mode == "hybrid":
        share = best.crowd.share(best.total)
        signals = {
            **signals,
            "share": share,
            "instead": best.instead(share),
            "blind": np.full(len(share), 1 / best.crowd.count, np.float32),
            "sum": best.total,
            "small_talk": np.full(len(share), best.sought.nothing, np.float32),
            "seeks_state": np.full(len(share), best.sought.state, np.float32),
        }
    told = _by_hit(signals, len(best.rows))
    hits = []
    for position, (row, number) in enumerate(zip(best.rows.tolist(), best.numbers.tolist(), strict=True)):
        if number not in records:
            continue
        record = records[number]
        matched = _matched(asked, index.terms(row) or " ".join(terms(record.text))) if asked else ()
        replaced = None
        if best.by is not None and best.likely is not None and best.likely[position] >= LEAST:
            later = records.get(int(best.by[position]))
            if later is not None:
                score = score_of(float(best.likely[position]), record.text, later.text)
                replaced = Replaced(later.id, later.at, score) if score >= LEAST else None
        hits.append(Hit(record, similarities[position], scores[position], matched, told[position], replaced))
    return hits


def _matched(asked: Mapping[str, str], held: str) -> tuple[str, ...]:
    """Return the words of a question whose terms, with a space on each side, are among some that spaces part."""
    around = f" {held} "
    return tuple(dict.fromkeys([word for term, word in asked.items() if term in around]))


def _by_hit(signals: Mapping[str, Floats], count: int) -> list[dict[str, float]]:
    """Return the signals of each of so many hits, by name."""
    if not signals:
        return [{} for _ in range(count)]
    names = list(signals)
    each = zip(*(values.tolist() for values in signals.values()), strict=True)
    return [dict(zip(names, values, strict=True)) for values in each]
