"""A wall too large to be read whole: its store finds the candidates, and only those are ranked here.

The ranking is the same as for other walls: it uses the word statistics of the whole wall, and the candidates'
neighbours in the conversation. So the results are the same for all records among the candidates.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memorist.recall.index import WallIndex
from memorist.recall.rank import Search
from memorist.recall.words import Statistics
from memorist.records.scope import Wall
from memorist.stores.base import Outline, Store, Wanted

CANDIDATES = 200
"""The number of candidates by vector, and by words; more if more hits are asked for."""
MOST = 5000
"""The most hits of such a wall: so many can still be ranked quickly together with their neighbours."""


@dataclass(frozen=True, slots=True)
class Large:
    """The statistics of such a wall, known before a question."""

    outline: Outline
    dimensions: int

    @property
    def rows(self) -> int:
        """How many records there are."""
        return self.outline.rows

    @property
    def speakers(self) -> Iterable[str]:
        """Who speaks."""
        return self.outline.speakers

    def years(self) -> Sequence[int]:
        """Return the years that the records are of."""
        return self.outline.years


async def gathered(store: Store, wall: Wall, known: Large, asked: Search) -> tuple[WallIndex, Search]:
    """Return an index of the candidates alone, and the `Search` for `rank`."""
    terms = [] if asked.request.mode == "dense" else list(asked.question.terms)
    limit = min(max(asked.limit, CANDIDATES), MOST)
    found = await store.candidates(wall, Wanted(known.outline, asked.vector, terms, asked.filter, limit))
    index = WallIndex.of_some(known.dimensions, found.entries, known.speakers, found.dialogues)
    words = Statistics(known.rows, known.outline.length, found.holders)
    chosen = np.array(found.chosen, np.int64)
    return index, replace(asked, chosen=chosen, known=words)
