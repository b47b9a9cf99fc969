"""Records that say the same as another, found among all of a wall in time that grows with their number.

To compare each with each would take minutes from 100,000 on. Vectors that are near lie on the same side of most random
planes, so each is compared with a few neighbours in the order of its sides, under several sets of planes. Of two texts
with a cosine of .97, nineteen in twenty pairs are compared so.
"""

import re
from collections.abc import Iterator

import numpy as np

from memorist.recall.index import Rows, WallIndex

_TABLES, _PLANES, _NEIGHBOURS = 12, 14, 4
_NEAR = 0.94
"""The least cosine of two vectors of texts that say the same."""
_SHARED = 0.8
"""The least share of the words of both that both have."""
_AT_ONCE = 4096
_NUMBER = re.compile(r"\d+")
_SEED = 20240601


def alike(index: WallIndex, rows: Rows) -> list[tuple[int, int, float]]:
    """Return pairs of rows that say the same, each with the cosine of their vectors, the likest first.

    They have the same kind and label, nearly the same words, and the same numbers.

    Args:
        index: the wall's; the caller holds its lock.
        rows: those to compare.
    """
    found = dict[tuple[int, int], float]()
    kinds, agents = index.column("kind"), index.column("agent")
    for one, other in _candidates(index, rows):
        same = (kinds[one] == kinds[other]) & (agents[one] == agents[other])
        one, other = one[same], other[same]
        for start in range(0, len(one), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            cosines = np.einsum("ij,ij->i", index.vectors.take(one[some]), index.vectors.take(other[some]))
            near = np.flatnonzero(cosines >= _NEAR)
            for place in near.tolist():
                pair = int(one[some][place]), int(other[some][place])
                found[min(pair), max(pair)] = float(cosines[place])
    pairs = [(one, other, near) for (one, other), near in found.items() if _same_words(index, one, other)]
    return sorted(pairs, key=lambda each: (-each[2], each[0], each[1]))


def _candidates(index: WallIndex, rows: Rows) -> Iterator[tuple[Rows, Rows]]:
    """Yield rows and a neighbour of each, in one order after the other."""
    planes = (
        np.random.default_rng(_SEED).standard_normal((_TABLES * _PLANES, index.vectors.dimensions)).astype(np.float32)
    )
    sides = np.zeros((_TABLES, len(rows)), np.int32)
    powers = 1 << np.arange(_PLANES, dtype=np.int32)
    for start in range(0, len(rows), _AT_ONCE):
        above = index.vectors.take(rows[start : start + _AT_ONCE]) @ planes.T > 0
        for table in range(_TABLES):
            bits = above[:, table * _PLANES : (table + 1) * _PLANES]
            sides[table, start : start + _AT_ONCE] = bits @ powers
    for side in sides:
        order = rows[np.argsort(side, kind="stable")]
        for step in range(1, _NEIGHBOURS + 1):
            yield order[:-step], order[step:]


def _same_words(index: WallIndex, one: int, other: int) -> bool:
    """Whether nearly all words of two rows are the same, and all numbers."""
    texts = index.terms(one), index.terms(other)
    here, there = (set(each.split()) for each in texts)
    if len(here & there) < _SHARED * len(here | there):
        return False
    return sorted(_NUMBER.findall(texts[0])) == sorted(_NUMBER.findall(texts[1]))
