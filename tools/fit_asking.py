"""Fits the direction in which questions for a state lie from those for an event: `_STATES` in recall/scale.py.

`python tools/fit_asking.py FILE...`; each file holds lines of a label, S for a state and E for an event, a tab, the
form of the question ("q1" with "I", "q3" without, "ph" of the words of a search), a tab, and the question. It prints
how well each file is told by what the others teach, and the direction that all teach.

The bundled one is a logistic regression on 2,400 questions to 400 topics, written in pairs for this ("dentist name",
"dentist visit tooth pulled") by four who had seen neither the code nor a benchmark: of private life, of software and
office work, of shops, schools and other people, and, in German, French, Spanish, Russian and Japanese, of all these;
and on 71 greetings, thanks and bits of nonsense, which ask for no state.
"""

import asyncio
import sys
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memorist.embedders import BatchedEmbedder, BundledEmbedder, Role, Vectors

RIDGE = 0.3
"""Flat from 0.1 to 1."""
STEPS = 30
"""As many to 1 in the signed bytes; `_STATES_STEPS` in recall/scale.py."""


def fitted(vectors: Sequence[Vectors], states: Sequence[Sequence[bool]]) -> Vectors:
    """Return the weights of a logistic regression, the constant last, by Newton's method; of each file its rows."""
    told, labels = np.concatenate(vectors).astype(np.float64), np.concatenate(states).astype(np.float64)
    prior = np.diag([*[RIDGE] * told.shape[1], 1e-6])
    told = np.c_[told, np.ones(len(told))]
    weights = np.zeros(told.shape[1])
    for _ in range(30):
        likely = 1 / (1 + np.exp(-told @ weights))
        slope = told.T @ (likely - labels) + prior @ weights
        weights -= np.linalg.solve((told * (likely * (1 - likely))[:, None]).T @ told + prior, slope)
    return weights.astype(np.float32)


async def main(files: Sequence[str]) -> None:
    """Fit and print; see above."""
    embedder = BatchedEmbedder(BundledEmbedder())
    read = [[line.split("\t")[:3] for line in Path(file).read_text().splitlines() if line] for file in files]
    vectors = [await embedder.embed([text.strip() for *_, text in lines], Role.QUERY) for lines in read]
    states = [[label == "S" for label, *_ in lines] for lines in read]
    for left, file in enumerate(files):
        others = [at for at in range(len(files)) if at != left]
        if others:
            weights = fitted([vectors[at] for at in others], [states[at] for at in others])
            right = (vectors[left] @ weights[:-1] + weights[-1] > 0) == np.array(states[left])
            forms = {form: right[[form == each for _, each, _ in read[left]]] for form in ("q1", "q3", "ph")}
            print(Path(file).name, *(f"{form} {told.mean():.1%}" for form, told in forms.items() if len(told)))
    weights = fitted(vectors, states)
    coded = np.clip(np.rint(weights * STEPS), -127, 127).astype(np.int8)
    print(f"off by {np.abs(coded / STEPS - weights).max():.3f} at most, of {np.abs(weights).max():.1f}")
    print(b64encode(coded.tobytes()).decode())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
