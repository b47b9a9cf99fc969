"""A wall too large to be read whole: its store finds the candidates, and only those are ranked here.

The ranking is the same as for other walls: it uses the word statistics of the whole wall, and the candidates'
neighbours in the conversation. So the results are the same for all records among the candidates.
"""

from dataclasses import replace

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


async def gathered(
    store: Store, wall: Wall, outline: Outline, dimensions: int, asked: Search
) -> tuple[WallIndex, Search]:
    """Return an index of the candidates alone, and the `Search` for `rank`."""
    terms = [] if asked.request.mode == "dense" else list(asked.question.terms)
    limit = min(max(asked.limit, CANDIDATES), MOST)
    found = await store.candidates(wall, Wanted(outline, asked.vector, terms, asked.filter, limit))
    index = WallIndex.of_some(dimensions, found.entries, outline.speakers, found.dialogues)
    words = Statistics(outline.rows, outline.length, found.holders)
    chosen = np.array(found.chosen, np.int64)
    return index, replace(asked, chosen=chosen, known=words)
