"""How well a record's time fits the time that a question asks about."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memorist.languages.calendar import WEEK, Span


def time_fit(happened_at: NDArray[np.float64], asked: Sequence[Span], fades: float = WEEK) -> NDArray[np.float32]:
    """Return how well each record's time fits, 0 to 1: 1 inside a span, decreasing outside.

    People tell of things after they happened, so the fade after a span is slower (its own length,
    at least `fades` seconds) than before it (half of that). Records without a time (NaN) get 0.
    """
    fit = np.zeros(len(happened_at), np.float32)
    for span in asked:
        scale = max(span.end - span.start, fades)
        late = np.clip(happened_at - span.end, 0.0, None) / scale
        early = np.clip(span.start - happened_at, 0.0, None) / (0.5 * scale)
        fit = np.maximum(fit, np.nan_to_num(np.exp(-(late + early))).astype(np.float32))
    return fit
