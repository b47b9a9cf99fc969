"""How likely a memory holds the answer, from what recall found."""

import math
from collections.abc import Mapping, Sequence

from memorist.context.naming import Named
from memorist.records.record import Hit

WEIGHTS: Mapping[str, float] = {
    "found": 0.595,
    "meaning": 19.298,
    "person": 4.66,
    "size": -1.482,
    "unknown": -0.928,
    "constant": 2.032,
}
"""Fitted by bench/context/fit.py on questions that a memory can answer and on others that it cannot, in memories of 1
to 5,000 records; see docs/research/context.md."""
MIN_CONFIDENCE = 0.1
"""Below this confidence, a context tells only what always holds."""
_READ = 20
"""The number of hits that are considered."""
_BEST = 5
_LONG = 200
"""Characters from which on a text counts as long: longer messages are embedded in parts of about this size."""
_LEAST = 0.01
"""Probabilities nearer to 0 and 1 count as this one does."""


def confidence_of(hits: Sequence[Hit], named: Named) -> float:
    """Return how likely the memory holds the answer, 0 to 1; 0 without hits. The arguments are those of `features`."""
    if not hits:
        return 0.0
    total = sum(WEIGHTS[name] * value for name, value in features(hits, named).items())
    return 1 / (1 + math.exp(-min(max(total, -30.0), 30.0)))


def features(hits: Sequence[Hit], named: Named) -> Mapping[str, float]:
    """Return the numbers that confidence depends on, by name.

    Args:
        hits: those of the question, explained, best first; at least one.
        named: whom the question names.

    Returns:
        - `found`: the log odds of the sum of the scores, which is how many of the hits answer; records that say nearly
          the same share what one of them alone would have.
        - `meaning`: by how much the nearest is nearer than a question and a text that have nothing to do with each
          other: some questions ("hello") are near to everything, and so are some texts.
        - `person`: 1 where the question names somebody who speaks here, else 0.
        - `size`: the logarithm of the mean length of the best: a text of several sentences fits many a question by
          chance.
        - `unknown`: the share of the question's names that no record has.
        - `constant`: 1.
    """
    read = hits[:_READ]
    found = min(max(sum(hit.score for hit in read), _LEAST), 1 - _LEAST)
    nearest = max(read, key=lambda hit: hit.signals.get("meaning", 0.0))
    sizes = [min(len(hit.record.content), _LONG) for hit in read[:_BEST]]
    return {
        "found": math.log(found / (1 - found)),
        "meaning": nearest.signals.get("meaning", 0.0) - nearest.signals.get("background", 0.0),
        "person": float(named.speaker),
        "size": math.log(sum(sizes) / len(sizes)),
        "unknown": named.unknown,
        "constant": 1.0,
    }
