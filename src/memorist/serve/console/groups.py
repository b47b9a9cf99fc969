"""Groups of similar records: their positions on a plane, and the words that distinguish each group."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memorist.recall.analysis import stop_words

_SAMPLE = 4000
_MOST_GROUPS = 8
_RECORDS_A_GROUP = 12
_ROUNDS = 12
_STARTS = 4
_SAME = 1e-3
_EDGE = 0.04
_WORD = re.compile(r"[^\W\d_]{3,}")
_WORDS = 3
_NAME = 20


@dataclass(frozen=True, slots=True)
class Group:
    """Alike records: their number, the words of their name, and the middle of their positions, 0 to 1."""

    count: int
    words: tuple[str, ...]
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of records, shape (records, 2), from 0 to 1, the group of each, and how many groups there are."""

    positions: Any
    group: Any
    groups: int


def lay_out(vectors: Any) -> Layout:
    """Return the records' positions on the plane that separates the groups best; similar records are close.

    Args:
        vectors: unit vectors, shape (records, dimensions). Groups and plane are made from a sample that is spread
            evenly over them, and every record is then placed.
    """
    number = len(vectors)
    sample = np.asarray(vectors[:: max(-(-number // _SAMPLE), 1)], dtype=np.float32)
    mean = sample.mean(axis=0)
    sample = _apart(sample, mean)
    wanted = int(np.clip(round((number / _RECORDS_A_GROUP) ** 0.5), 1, _MOST_GROUPS))
    centres, of_sample = _centres(sample, wanted)
    weights = np.bincount(of_sample, minlength=len(centres)).astype(np.float32)
    spread = centres * weights[:, None] ** 0.5 if len(centres) > 2 else sample
    _, _, axes = np.linalg.svd(spread, full_matrices=False)
    group, flat = np.empty(number, dtype=np.int64), np.zeros((number, 2), dtype=np.float32)
    for start in range(0, number, _SAMPLE):
        part = _apart(np.asarray(vectors[start : start + _SAMPLE], dtype=np.float32), mean)
        group[start : start + len(part)] = np.argmax(part @ centres.T, axis=1)
        placed = part @ axes[:2].T
        flat[start : start + len(part), : placed.shape[1]] = placed
    return Layout(_EDGE + _spread_out(flat) * (1 - 2 * _EDGE), group, len(centres))


def _apart(vectors: Any, mean: Any) -> Any:
    """Return the directions in which vectors differ from their mean.

    The vectors of texts of one user point much the same way: by their plain cosines one group would hold nearly all.
    """
    apart = vectors - mean
    lengths = np.linalg.norm(apart, axis=1, keepdims=True)
    return np.where(lengths > _SAME, apart / np.maximum(lengths, _SAME), 0.0)


def _spread_out(flat: Any) -> Any:
    """Return positions from 0 to 1. What lies far out is drawn in, so that it neither leaves nor crowds the others."""
    middle = np.median(flat, axis=0)
    usual = np.maximum(np.percentile(np.abs(flat - middle), 75, axis=0), _SAME)
    drawn = np.arcsinh((flat - middle) / usual)
    low, span = drawn.min(axis=0), np.ptp(drawn, axis=0)
    return np.where(span > _SAME, (drawn - low) / np.maximum(span, _SAME), 0.5)


def _centres(sample: Any, wanted: int) -> tuple[Any, Any]:
    """Return the centres of groups and each row's group: k-means on the sphere, the best of a few fixed starts."""
    best: tuple[float, Any, Any] | None = None
    for seed in range(_STARTS):
        held = _grown(sample, _first(sample, wanted, np.random.default_rng(seed)))
        near = sample @ held.T
        fit = float(near.max(axis=1).sum())
        if best is None or fit > best[0]:
            best = fit, held, np.argmax(near, axis=1)
    assert best is not None
    return best[1], best[2]


def _first(sample: Any, wanted: int, chance: np.random.Generator) -> Any:
    """Return rows to begin with, each drawn the likelier the farther it is from those before (k-means++)."""
    centres = [sample[int(chance.integers(len(sample)))]]
    far = np.clip(1 - sample @ centres[0], 0, None)
    while len(centres) < wanted and np.ptp(sample, axis=0).max() > _SAME and float(far.max()) > _SAME:
        centres.append(sample[int(chance.choice(len(sample), p=far / far.sum()))])
        far = np.minimum(far, np.clip(1 - sample @ centres[-1], 0, None))
    return np.stack(centres)


def _grown(sample: Any, held: Any) -> Any:
    """Return the centres after some rounds of k-means."""
    for _ in range(_ROUNDS):
        group = np.argmax(sample @ held.T, axis=1)
        held = np.stack(
            [_unit(sample[group == k].sum(axis=0)) if np.any(group == k) else held[k] for k in range(len(held))]
        )
    return held


def _unit(vector: Any) -> Any:
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


def names_of(texts: Sequence[str], layout: Layout) -> list[Group]:
    """Return the groups, the largest first, each named by the words that set it apart.

    A word counts once a text. Its weight is the share of the group's texts that hold it, less the share of all other
    texts, times the logarithm of how rare it is among all, so that words that occur in every text name no group.
    """
    inside = [Counter[str]() for _ in range(layout.groups)]
    first = dict[int, str]()
    for text, group in zip(texts, layout.group, strict=True):
        inside[group].update(set(_WORD.findall(text.casefold())) - stop_words())
        first.setdefault(int(group), text)
    whole = sum(inside, Counter[str]())
    groups = list[Group]()
    for number, words in enumerate(inside):
        mine = layout.group == number
        size = int(mine.sum())
        if not size:
            continue
        best = _words_apart(words, size, whole, len(texts))
        if not best:  # no word sets it apart: what is said most in it, or the beginning of a text
            best = [word for word, _ in words.most_common(_WORDS)] or [first[number][:_NAME]]
        x, y = np.median(layout.positions[mine], axis=0)
        groups.append(Group(size, tuple(best), float(x), float(y)))
    return sorted(groups, key=lambda each: -each.count)


def _words_apart(words: Counter[str], size: int, whole: Counter[str], texts: int) -> list[str]:
    """Return the words that set a group apart, the weightiest first.

    Args:
        words: how many of the group's texts hold each word.
        size: how many texts the group has.
        whole: how many of all texts hold each word.
        texts: how many texts there are.
    """
    weight = dict[str, float]()
    for word, held in words.items():
        if held == 1 and size >= _RECORDS_A_GROUP:
            continue
        elsewhere = (whole[word] - held) / max(texts - size, 1)
        weight[word] = (held / size - elsewhere) * math.log(texts / whole[word])
    apart = [word for word in weight if weight[word] > 0]
    return sorted(apart, key=lambda word: (-weight[word], word))[:_WORDS]
