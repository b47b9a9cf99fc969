"""The fitted numbers of ranking and of contexts: `ranking.json`, which commands below `bench` write.

weights      what each feature counts where a question asks for anything, and where it surely asks for a state
heads        what a text does, told by a vector of the bundled model (see `heads`)
phrases      which phrases each of the labelled texts holds, as bits (see `heads`)
pairs        what tells that two records speak of the same thing (see `replaced`)
confidence   what tells whether a memory holds the answer (see `memorist.context.confidence`)
telling      from what on a record is told in a context, and how much of it (see `memorist.context.composing`)
provenance   the data, by name and sha256, the command, and what was measured with each set left out
"""

import json
from base64 import b64decode
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorist.system.handles import read_text

NAME = "ranking.json"


@cache
def artefact() -> Mapping[str, Any]:
    """Return the artefact, which is read once."""
    read: Mapping[str, Any] = json.loads(read_text(Path(__file__).with_name(NAME)))
    return read


def weights_of(profile: str) -> Mapping[str, float]:
    """Return what each feature counts for a question of a profile: "any" or "state"."""
    found: Mapping[str, float] = artefact()["weights"][profile]
    return found


def numbers(coded: str) -> NDArray[np.float32]:
    """Return numbers that are kept as halves in base64."""
    return np.frombuffer(b64decode(coded), np.float16).astype(np.float32)
