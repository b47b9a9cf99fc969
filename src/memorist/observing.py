"""What is noted of a call while it is answered: how long its parts take, and what ranks for its question."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field

from memorist.origins import PYTHON, Door
from memorist.records import Hit

__all__ = ["BEYOND", "Observation", "door", "observation", "observed", "part", "through"]

BEYOND = 5
"""How many candidates below the cut are noted."""


@dataclass(slots=True)
class Observation:
    """The notes on one call.

    Attributes:
        question: what is asked; other questions that the same call asks of recall are not noted in `ranked`.
        ranked: the hits of the question and those just below the cut, in no order; empty before it was ranked.
        parts: how long each part took, in seconds.
    """

    question: str
    ranked: list[Hit] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)


_observation: ContextVar[Observation | None] = ContextVar("memorist_observation", default=None)
_door: ContextVar[Door] = ContextVar("memorist_door", default=PYTHON)
_UNTIMED = nullcontext()


def observation() -> Observation | None:
    """Return the notes on the call that is being answered; None if nobody takes any."""
    return _observation.get()


@contextmanager
def observed(notes: Observation) -> Iterator[None]:
    """Take notes on what is answered inside."""
    token = _observation.set(notes)
    try:
        yield
    finally:
        _observation.reset(token)


def part(name: str) -> AbstractContextManager[None]:
    """Note how long a part of a call takes; parts of one name add up."""
    return _UNTIMED if (notes := _observation.get()) is None else _timed(notes, name)


@contextmanager
def _timed(notes: Observation, name: str) -> Iterator[None]:
    begun = time.perf_counter()
    try:
        yield
    finally:
        notes.parts[name] = notes.parts.get(name, 0.0) + time.perf_counter() - begun


def door() -> Door:
    """Return the door through which calls come here."""
    return _door.get()


@contextmanager
def through(door: Door) -> Iterator[None]:
    """Let the calls inside come through a door, which lies inside the one that this call came through."""
    outer = _door.get()
    token = _door.set(door if outer is PYTHON else door.within(outer))
    try:
        yield
    finally:
        _door.reset(token)
