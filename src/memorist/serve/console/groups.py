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
    wanted = int(np.clip(round((number / _RECORDS_A_GROUP) ** 0.5), 1, _MOST_GROUPS))
    centres, of_sample = _centres(sample, wanted)
    weights = np.bincount(of_sample, minlength=len(centres)).astype(np.float32)
    spread = centres * weights[:, None] ** 0.5 if len(centres) > 2 else sample
    middle = np.average(centres, axis=0, weights=weights) if len(centres) > 2 else sample.mean(axis=0)
    _, _, axes = np.linalg.svd(spread - (middle * weights[:, None] ** 0.5 if len(centres) > 2 else middle))
    group, flat = np.empty(number, dtype=np.int64), np.zeros((number, 2), dtype=np.float32)
    for start in range(0, number, _SAMPLE):
        part = np.asarray(vectors[start : start + _SAMPLE], dtype=np.float32)
        group[start : start + len(part)] = np.argmax(part @ centres.T, axis=1)
        flat[start : start + len(part)] = (part - middle) @ axes[:2].T
    low, high = np.percentile(flat, [1, 99], axis=0)
    span = high - low
    scaled = np.where(span > 1e-6, (flat - low) / np.maximum(span, 1e-6), 0.5)
    return Layout(_EDGE + np.clip(scaled, -_EDGE / 2, 1 + _EDGE / 2) * (1 - 2 * _EDGE), group, len(centres))


def _centres(sample: Any, wanted: int) -> tuple[Any, Any]:
    """Return the centres of groups (k-means on the sphere, begun with the farthest points), and each row's group."""
    centres = [_unit(sample.mean(axis=0, keepdims=True))[0]]
    nearest = sample @ centres[0]
    centres[0] = sample[int(np.argmax(nearest))]
    nearest = sample @ centres[0]
    while len(centres) < wanted and float(nearest.min()) < 0.999:
        centres.append(sample[int(np.argmin(nearest))])
        nearest = np.maximum(nearest, sample @ centres[-1])
    held = np.stack(centres)
    for _ in range(_ROUNDS):
        group = np.argmax(sample @ held.T, axis=1)
        held = np.stack(
            [_unit(sample[group == k].sum(axis=0)) if np.any(group == k) else held[k] for k in range(len(held))]
        )
    return held, np.argmax(sample @ held.T, axis=1)


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
