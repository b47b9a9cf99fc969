"""A wall too large to be read whole: its store finds the candidates, and only those are ranked here.

They are ranked as all the others are: their words against the statistics of the whole wall, their neighbours in the
conversation beside them. So what is found is the same, as long as it is among the candidates.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memorist.recall.index import WallIndex
from memorist.recall.rank import Search
from memorist.recall.words import Statistics
from memorist.scope import Wall
from memorist.stores.base import Outline, Store, Wanted

CANDIDATES = 200
"""As many are taken of the nearest, and of the best by words; more where more hits are asked for."""
MOST = 5000
"""The most hits that such a wall gives: with their neighbours they are still ranked in a moment."""


@dataclass(frozen=True, slots=True)
class Large:
    """What is known of such a wall before it is asked."""

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
    """Return an index of the candidates alone, and what `rank` is asked of it."""
    terms = [] if asked.request.mode == "dense" else list(asked.question.terms)
    limit = min(max(asked.limit, CANDIDATES), MOST)
    found = await store.candidates(wall, Wanted(known.outline, asked.vector, terms, asked.filter, limit))
    index = WallIndex.of_some(known.dimensions, found.entries, known.speakers, found.dialogues)
    words = Statistics(known.rows, known.outline.length, found.holders)
    chosen = np.array(found.chosen, np.int64)
    return index, replace(asked, chosen=chosen, known=words)
