"""How likely a memory holds the answer, from what recall found."""

import math
from collections.abc import Mapping, Sequence
from itertools import filterfalse, islice

from memorist.context.naming import Named
from memorist.recall.artefact import artefact
from memorist.records.record import Hit

WEIGHTS: Mapping[str, float] = artefact()["confidence"]
"""Fitted by bench/context/fit.py on questions that a memory can answer and on others that it cannot, in memories of 1
to 5,000 records; see docs/research/context.md."""
MIN_CONFIDENCE: float = artefact()["telling"]["min_confidence"]
"""Below this confidence, a context tells only what always holds."""
SMALL_TALK: float = artefact()["telling"]["small_talk"]
"""How likely what is said must ask for nothing for a context to be silent, whatever was recalled: greetings, thanks and
laughter lie above it, and of the questions of the public sets one in two hundred, most of them calls of functions.
"""
_EMPTY = (("asks_only",), ("nothing_new",), ("unknowing",), ("asking", "unanswered"))
"""Features that together show that a record tells nothing: it only asks, says no word more than the question, or does
not know."""
_SURELY = 0.5
_READ = 20
"""The number of hits that are considered."""
_BEST = 5
_LONG = 200
"""Characters from which on a text counts as long: longer messages are embedded in parts of about this size."""
_TENS = 10.0
_LEAST = 0.01
"""Probabilities nearer to 0 and 1 count as this one does."""


def confidence_of(hits: Sequence[Hit], named: Named) -> float:
    """Return how likely the memory holds the answer, 0 to 1; 0 without hits, and where nothing is asked for.

    The arguments are those of `features`.
    """
    telling = list(islice(filterfalse(says_nothing, hits), _READ))
    if not telling or seeks_nothing(hits):
        return 0.0
    total = sum(WEIGHTS[name] * value for name, value in features(telling, named).items())
    return 1 / (1 + math.exp(-min(max(total, -30.0), 30.0)))


def says_nothing(hit: Hit) -> bool:
    """Return whether a record tells nothing for the question: it only asks, or says that it is not known."""
    signals = hit.signals
    for names in _EMPTY:
        for name in names:
            if signals.get(name, 0.0) < _SURELY:
                break
        else:
            return True
    return False


def seeks_nothing(hits: Sequence[Hit]) -> bool:
    """Return whether what was asked surely asks for nothing, as greetings and thanks do."""
    return bool(hits) and hits[0].signals.get("small_talk", 0.0) >= SMALL_TALK


def features(hits: Sequence[Hit], named: Named) -> Mapping[str, float]:
    """Return the numbers that confidence depends on, by name.

    Args:
        hits: those of the question that tell something, explained, best first; at least one.
        named: whom the question names.

    Returns:
        - `found`: the log odds of the sum of the scores, which is how many of the hits answer; records that say nearly
          the same share what one of them alone would have.
        - `meaning`: by how much the nearest is nearer than a question and a text that have nothing to do with each
          other: some questions ("hello") are near to everything, and so are some texts.
        - `person`: 1 where the question names somebody who speaks here, else 0.
        - `sum`: the sum of the weighed features of the best, in tens: how well it fits, whatever else is stored.
        - `small_talk`: the log odds of the question asking for nothing, as greetings and thanks do.
        - `size`: the logarithm of the mean length of the best: a text of several sentences fits many a question by
          chance.
        - `unknown`: the share of the question's names that no record has.
        - `constant`: 1.
    """
    read = hits[:_READ]
    found = min(max(sum(hit.score for hit in read), _LEAST), 1 - _LEAST)
    nearest = max(read, key=lambda hit: hit.signals.get("meaning", 0.0))
    talk = min(max(read[0].signals.get("small_talk", _LEAST), _LEAST), 1 - _LEAST)
    sizes = [min(len(hit.record.content), _LONG) for hit in read[:_BEST]]
    return {
        "found": math.log(found / (1 - found)),
        "meaning": nearest.signals.get("meaning", 0.0) - nearest.signals.get("background", 0.0),
        "person": float(named.speaker),
        "sum": max((hit.signals.get("sum", 0.0) for hit in read), default=0.0) / _TENS,
        "small_talk": math.log(talk / (1 - talk)),
        "size": math.log(sum(sizes) / len(sizes)),
        "unknown": named.unknown,
        "constant": 1.0,
    }
