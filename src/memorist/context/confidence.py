"""How likely a memory holds the answer, from what recall found."""

import math
import re
from collections.abc import Mapping, Sequence

from memorist.recall.analysis import STOPWORDS, terms
from memorist.recall.marks import FIRST_PERSON
from memorist.records import Hit

__all__ = ["MIN_CONFIDENCE", "READ", "confidence_of", "features"]

MIN_CONFIDENCE = 0.1
"""Below it, a context tells nothing but what always holds."""
READ = 20
"""Hits that are looked at."""
_NAME = re.compile(r"[A-Z][^\W_]+")
_WORD = re.compile(r"[^\W_]+")


def confidence_of(question: str, hits: Sequence[Hit]) -> float:
    """Return how likely the memory holds the answer, 0 to 1; 0 without hits."""
    return max((hit.score for hit in hits), default=0.0)


def features(question: str, hits: Sequence[Hit]) -> Mapping[str, float]:
    """Return what confidence goes by; the hits are explained ones, best first."""
    best, read = hits[0], hits[:READ]
    wanted = _content(question)
    names = {word.casefold() for word in _NAME.findall(question) if word.casefold() in wanted}
    seen = [{word.casefold() for word in hit.matched} for hit in read]
    speakers = {word for hit in read for word in _WORD.findall(_speaker(hit).casefold())}
    together = set().union(*seen[:5])
    unknown = [name for name in names if name not in speakers and not any(name in each for each in seen)]
    plain = wanted - names or wanted
    count = max(len(plain), 1)
    return {
        "score": math.log(min(max(best.score, 1e-6), 1 - 1e-6) / (1 - min(max(best.score, 1e-6), 1 - 1e-6))),
        "meaning": max(_signal(hit, "meaning") for hit in read),
        "meaning_5": sum(sorted((_signal(hit, "meaning") for hit in read), reverse=True)[:5]) / 5,
        "around": max(_signal(hit, "meaning_around") for hit in read),
        "words": max(_signal(hit, "words") for hit in read),
        "words_around": max(_signal(hit, "words_around") for hit in read),
        "pairs": max(_signal(hit, "pairs") for hit in read),
        "covered": max(len(each & plain) for each in seen) / count,
        "covered_5": len(together & plain) / count,
        "unknown_names": float(len(unknown)),
        "any_unknown": float(bool(unknown)),
        "known_names": float(bool(names) and not unknown),
        "margin": best.score - read[-1].score,
        "length": math.log1p(len(plain)),
        "misplaced": _misplaced(read),
        "covered_all": len(set().union(*seen) & plain) / count,
        "uncovered": float(len(plain - set().union(*seen))),
        "gap": max(_signal(hit, "meaning") for hit in read) - sum(_signal(hit, "meaning") for hit in read) / len(read),
        "gap_words": max(_signal(hit, "words") for hit in read)
        - sum(_signal(hit, "words") for hit in read) / len(read),
        "best_words": _signal(best, "words"),
        "best_meaning": _signal(best, "meaning"),
        "best_around": _signal(best, "meaning_around"),
        "best_words_around": _signal(best, "words_around"),
        "best_covered": len(seen[0] & plain) / count,
        "score_5": sum(_logit(hit.score) for hit in read[:5]) / 5,
        "score_20": sum(_logit(hit.score) for hit in read) / len(read),
        "weighted": sum(1 - sum(word in each for each in seen) / len(seen) for word in plain if word in seen[0])
        / count,
        "once_3": sum(
            1 - sum(word in each for each in seen) / len(seen)
            for word in plain
            if any(word in each for each in seen[:3])
        )
        / count,
        "first_person": float(bool(FIRST_PERSON.search(question))),
        "text_length": math.log(sum(len(hit.record.content) for hit in read[:5]) / len(read[:5])),
        "person": float(any(_signal(hit, "speaker") for hit in read)),
        "similarity": max(hit.similarity for hit in read),
    }


def _content(question: str) -> set[str]:
    """Return the words of a question that are about something."""
    return {word.casefold() for word in _WORD.findall(question) if word.casefold() not in STOPWORDS and terms(word)}


def _logit(p: float) -> float:
    p = min(max(p, 1e-6), 1 - 1e-6)
    return math.log(p / (1 - p))


def _signal(hit: Hit, name: str) -> float:
    return hit.signals.get(name, 0.0)


def _speaker(hit: Hit) -> str:
    return str(hit.record.payload.get("speaker") or "")


def _misplaced(hits: Sequence[Hit]) -> float:
    """Return by how much the best that others said fits better than the best of the person asked about."""
    if not any("speaker" in hit.signals for hit in hits):
        return 0.0
    own = [_fit(hit) for hit in hits if _signal(hit, "speaker")]
    others = [_fit(hit) for hit in hits if not _signal(hit, "speaker")]
    return max(others, default=0.0) - max(own, default=0.0)


def _fit(hit: Hit) -> float:
    return _signal(hit, "words") + 4 * _signal(hit, "meaning")
