"""How likely a memory holds the answer, from what recall found."""

import math
import re
from collections.abc import Mapping, Sequence

from memorist.recall.analysis import STOPWORDS
from memorist.records import Hit

__all__ = ["MIN_CONFIDENCE", "confidence_of", "features"]

WEIGHTS: Mapping[str, float] = {
    "score": 1.01,
    "meaning": 5.73,
    "around": 6.87,
    "covered": -1.13,
    "misplaced": -0.51,
    "size": -0.88,
    "person": 1.66,
    "unknown": -2.17,
    "constant": -3.36,
}
"""Fitted by bench/context/fit.py on questions that a memory can answer and on such that it cannot, in memories of 1 to
5,000 records; see docs/context.md."""
MIN_CONFIDENCE = 0.15
"""Below it, a context tells nothing but what always holds."""
_READ = 20
"""Hits that are looked at."""
_BEST = 5
_LEAST = 1e-6
_WORD = re.compile(r"[^\W_]+")


def confidence_of(question: str, hits: Sequence[Hit], unknown: float = 0.0) -> float:
    """Return how likely the memory holds the answer, 0 to 1; 0 without hits. The arguments are those of `features`."""
    if not hits:
        return 0.0
    total = sum(WEIGHTS[name] * value for name, value in features(question, hits, unknown).items())
    return 1 / (1 + math.exp(-min(max(total, -30.0), 30.0)))


def features(question: str, hits: Sequence[Hit], unknown: float = 0.0) -> Mapping[str, float]:
    """Return what confidence goes by, by name. The hits are explained, best first.

    - `score`: the log odds that one of the hits answers; of many alike, each has its share of the score.
    - `meaning`: the nearest; `around`: the nearest together with its neighbours in the conversation.
    - `covered`: the share of the question's words in one hit.
    - `person`: whether somebody who speaks here is asked about by name; `misplaced`: by how much what others said
      fits better than what this person said.
    - `unknown`: the share of the names in the question that the memory never heard of.
    - `size`: the length of the hits, because a long text fits many a question by chance.
    """
    read = hits[:_READ]
    wanted = {word for word in _WORD.findall(question.casefold()) if word not in STOPWORDS}
    score = min(max(sum(hit.score for hit in read), _LEAST), 1 - _LEAST)
    sizes = [len(hit.record.content) for hit in read[:_BEST]]
    person = any("speaker" in hit.signals for hit in read)
    return {
        "score": math.log(score / (1 - score)),
        "meaning": max(_signal(hit, "meaning") for hit in read),
        "around": max(_signal(hit, "meaning_around") for hit in read),
        "covered": max(len(wanted.intersection(hit.matched)) for hit in read) / max(len(wanted), 1),
        "misplaced": _misplaced(read) if person else 0.0,
        "size": math.log(sum(sizes) / len(sizes)),
        "person": float(person),
        "unknown": unknown,
        "constant": 1.0,
    }


def _signal(hit: Hit, name: str) -> float:
    return hit.signals.get(name, 0.0)


def _misplaced(hits: Sequence[Hit]) -> float:
    own = [_fit(hit) for hit in hits if _signal(hit, "speaker")]
    others = [_fit(hit) for hit in hits if not _signal(hit, "speaker")]
    return max(others, default=0.0) - max(own, default=0.0)


def _fit(hit: Hit) -> float:
    """Return how well a hit fits by itself, whoever said it."""
    return _signal(hit, "words") + 4 * _signal(hit, "meaning")
