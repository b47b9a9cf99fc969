"""Heads: what a text does, told by its vector.

A head is a logistic regression on an embedder's vectors. The heads of a question tell what it asks for, and read which
of `PHRASES` it holds, too. Those of a record tell whether it only asks, says that it does not know, is small talk, or
instructs. They are learned from the labelled short texts that are shipped beside this module, so that any embedder has
them, in any language that it knows.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from time import perf_counter
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from memorist.embedders import BatchedEmbedder, Role
from memorist.errors import InvalidInputError
from memorist.languages import Phrases
from memorist.languages.phrases import spans
from memorist.recall.artefact import artefact
from memorist.recall.index import Floats
from memorist.recall.question import PHRASES, phrases_in
from memorist.system.handles import read_file, read_text
from memorist.system.places import folder
from memorist.system.writing import replacing

_ASKS = frozenset("now then former event all whether state_words event_words time person general talk".split())
_STATE = frozenset(("now", "then", "whether", "all", "former", "state_words"))
_EVENT = frozenset(("event", "event_words"))
_HELD = 0.3
"""The number that stands for a phrase that is held, beside a unit vector."""
_READ = len(PHRASES) + 2
"""The numbers that a question's heads read beside its vector: of phrases, and of the times that it names."""
_ANY_DAY = datetime(2026, 6, 15, tzinfo=UTC)
"""The present for times in labelled texts; whether a text names a time hardly depends on it."""
_RIDGE = 0.1
_STEPS = 30
"""Steps of Newton's method; it converges in fewer than ten."""
_ENOUGH = 1e-6
_SOME, _LONG = 3, 1.0
"""Of the labelled texts every so manieth teaches another embedder than the bundled one; seconds from which on what it
was taught is kept."""
_LEARNED: dict[str, Heads] = {}
"""What this process learned, for the next memory with the same embedder."""
_HELD_OUT, _GOOD = 5, 0.75
"""Every so manieth text tests a head, which must be right of so many of those that are meant and of the others."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What a head tells apart: texts with one of the labels `yes` from those with one of `no`."""

    role: Role
    yes: frozenset[str]
    no: frozenset[str] | None = None


AIMS: Mapping[str, Aim] = {
    "asks": Aim(Role.DOCUMENT, _ASKS),
    "unknowing": Aim(Role.DOCUMENT, frozenset(("unknown",))),
    "chats": Aim(Role.DOCUMENT, frozenset(("chat",))),
    "instructs": Aim(Role.DOCUMENT, frozenset(("instruct",))),
    "seeks_nothing": Aim(Role.QUERY, frozenset(("chat",))),
    "seeks_talk": Aim(Role.QUERY, frozenset(("talk",))),
    "seeks_state": Aim(Role.QUERY, _STATE, _EVENT),
    "seeks_former": Aim(Role.QUERY, frozenset(("former",)), _STATE - {"former"}),
    "seeks_all": Aim(Role.QUERY, frozenset(("all",)), _STATE - {"all"}),
    "seeks_whether": Aim(Role.QUERY, frozenset(("whether",)), (_STATE | _EVENT) - {"whether"}),
    "seeks_then": Aim(Role.QUERY, frozenset(("then",)), _EVENT),
}
"""What each head tells, by its name."""


@dataclass(frozen=True, slots=True)
class Heads:
    """The weights of each head by its name, the constant last."""

    weights: Mapping[str, Floats]

    def likely(self, name: str, vectors: Floats) -> Floats:
        """Return how likely a head says yes of each vector, 0 to 1; 0.5 where the head is not known."""
        likely: Floats = (1 / (1 + np.exp(-self.odds(name, vectors)))).astype(np.float32)
        return likely

    def odds(self, name: str, vectors: Floats) -> Floats:
        """Return the logarithms of the odds of the same."""
        found = self.weights.get(name)
        if found is None:
            return np.zeros(len(vectors), np.float32)
        odds: Floats = vectors @ found[:-1] + found[-1]
        return odds


def with_phrases(vectors: Floats, held: NDArray[np.bool_]) -> Floats:
    """Return what the heads of a question read: the vectors of questions, and what `held_by` tells of each.

    Shape (len(vectors), dimensions + len(PHRASES) + 2).
    """
    read: Floats = np.concatenate([vectors, np.float32(_HELD) * held.astype(np.float32)], axis=1)
    return read


def held_by(text: str, phrases: Collection[Phrases]) -> NDArray[np.bool_]:
    """Return which of `PHRASES` a text holds, whether it names a time, and whether a long one; shape (1, their number).

    Args:
        text: a question.
        phrases: those that it holds, as `phrases_in` says.
    """
    return np.array([[*(each in phrases for each in PHRASES), *_times_in(text)]], bool)


def held_in_labelled() -> NDArray[np.bool_]:
    """Return the same of each labelled text, read anew."""
    return np.concatenate([held_by(text, phrases_in(text)) for _, text in labelled()])


def _kept_of_labelled() -> NDArray[np.bool_]:
    """Return the same as it is kept in the artefact, since reading it takes seconds."""
    bits = np.frombuffer(b64decode(artefact()["phrases"]), np.uint8)
    return np.unpackbits(bits, count=len(labelled()) * _READ).reshape(-1, _READ).astype(bool)


def _times_in(text: str) -> tuple[bool, bool]:
    """Return whether a text names a time, and whether it names months, seasons or years alone."""
    named = spans(text, _ANY_DAY)
    return bool(named), bool(named) and all(span.grain in ("month", "season", "year") for span in named)


@cache
def labelled() -> Sequence[tuple[str, str]]:
    """Return the labelled short texts, as (label, text)."""
    lines = read_text(Path(__file__).with_name("short_texts.tsv")).splitlines()
    pairs = (line.split("\t", 1) for line in lines if line and not line.startswith("#"))
    return [(label, text) for label, text in pairs]


async def heads_of(embedder: BatchedEmbedder) -> Heads:
    """Return the heads of an embedder: those that were kept under its fingerprint, or what some hundred texts teach.

    They are kept in the user's cache folder where learning took more than a second, as with a model at an endpoint.

    Raises:
        EmbedderError: it cannot embed the texts.
    """
    name = _name_of(f"{embedder.fingerprint}@{embedder.dimensions}")
    if name in _LEARNED:
        return _LEARNED[name]
    file: Path | None = None
    with suppress(InvalidInputError):  # a user without a home has no cache
        file = folder("cache") / "heads" / name
    if file is not None and (kept := _kept(file, embedder.dimensions)) is not None:
        return kept
    start = perf_counter()
    heads = _LEARNED[name] = await learned(embedder, every=_SOME)
    if file is not None and perf_counter() - start > _LONG:
        with suppress(OSError):  # it is a cache: the next process learns them anew
            file.parent.mkdir(parents=True, exist_ok=True)
            with replacing(file) as stream:
                np.savez(stream, **heads.weights)  # type: ignore[arg-type]  # arrays by name
    return heads


def _name_of(fingerprint: str) -> str:
    """Return the name of the file of an embedder's heads, which changes with what they are learned from."""
    digest = blake2b(f"{fingerprint}\0{labelled()}\0{AIMS}\0{PHRASES}".encode(), digest_size=16)
    return f"{digest.hexdigest()}.npz"


def _kept(file: Path, dimensions: int) -> Heads | None:
    """Return the heads in a file; None where there is none that can be read."""
    try:
        with np.load(BytesIO(read_file(file)), allow_pickle=False) as stored:
            weights = {name: stored[name].astype(np.float32) for name in stored.files if name in AIMS}
    except (OSError, ValueError, EOFError, BadZipFile):
        return None
    sizes = {name: dimensions + 1 + (_READ if AIMS[name].role is Role.QUERY else 0) for name in weights}
    fitting = all(each.shape == (sizes[name],) and np.isfinite(each).all() for name, each in weights.items())
    return Heads(weights) if fitting else None


async def learned(embedder: BatchedEmbedder, *, every: int = 1) -> Heads:
    """Return the heads of an embedder, which is asked to embed labelled texts as each role.

    Args:
        embedder: whose vectors the heads read.
        every: only every so manieth text is embedded.

    Raises:
        EmbedderError: it cannot embed them.
    """
    texts = [text for _, text in labelled()[::every]]
    vectors = {
        Role.DOCUMENT: await embedder.embed(texts, Role.DOCUMENT),
        Role.QUERY: with_phrases(await embedder.embed(texts, Role.QUERY), _kept_of_labelled()[::every]),
    }
    labels = np.array([label for label, _ in labelled()[::every]])
    heads = {name: _head(vectors[aim.role], labels, aim) for name, aim in AIMS.items()}
    return Heads({name: head for name, head in heads.items() if head is not None})


def _head(vectors: Floats, labels: NDArray[np.str_], aim: Aim) -> Floats | None:
    """Return the weights of a head; None where what most of the texts teach does not tell the others apart."""
    yes = np.isin(labels, list(aim.yes))
    counted = np.ones(len(labels), bool) if aim.no is None else yes | np.isin(labels, list(aim.no))
    vectors, yes = vectors[counted], yes[counted]
    held_out = np.arange(len(yes)) % _HELD_OUT == 0
    taught = Heads({"": regression(vectors[~held_out], yes[~held_out])})
    right = (taught.odds("", vectors[held_out]) > 0) == yes[held_out]
    balanced = (right[yes[held_out]].mean() + right[~yes[held_out]].mean()) / 2
    return regression(vectors, yes) if balanced >= _GOOD else None


def regression(vectors: Floats, labels: NDArray[np.bool_], ridge: float = _RIDGE) -> Floats:
    """Return the weights of a logistic regression, the constant last, by Newton's method; both sides weigh alike.

    Args:
        vectors: unit rows.
        labels: which of them are to be told from the rest.
        ridge: how strongly the weights are drawn to 0.
    """
    told = np.c_[vectors.astype(np.float64), np.ones(len(vectors))]
    prior = np.diag([*[ridge] * vectors.shape[1], _ENOUGH])
    each = np.where(labels, 0.5 / max(labels.mean(), _ENOUGH), 0.5 / max(1 - labels.mean(), _ENOUGH))
    weights = np.zeros(told.shape[1])
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-told @ weights))
        slope = told.T @ (each * (likely - labels)) + prior @ weights
        step = np.linalg.solve((told * (each * likely * (1 - likely))[:, None]).T @ told + prior, slope)
        weights -= step
        if np.abs(step).max() < _ENOUGH:
            break
    return weights.astype(np.float32)
