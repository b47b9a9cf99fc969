"""A call: who asks, what is asked, through which door, and the notes taken while the call is answered."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import tzinfo

from memorist.audit.log import Act
from memorist.records.origins import Door
from memorist.records.record import Hit
from memorist.records.scope import Scope

BEYOND = 5
"""How many candidates below the cut are noted."""
_UNTIMED = nullcontext()


@dataclass(slots=True)
class Notes:
    """The notes on one call.

    Attributes:
        question: what is asked; other questions that the same call asks of recall are not noted in `ranked`.
        ranked: the hits of the question and those just below the cut, in no order; empty before it was ranked.
        parts: how long each part took, in seconds.
    """

    question: str
    ranked: list[Hit] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)


def part(notes: Notes | None, name: str) -> AbstractContextManager[None]:
    """Measure how long a part of a call takes, if notes are taken; parts of the same name add up."""
    return _UNTIMED if notes is None else _timed(notes, name)


@contextmanager
def _timed(notes: Notes, name: str) -> Iterator[None]:
    begun = time.perf_counter()
    try:
        yield
    finally:
        notes.parts[name] = notes.parts.get(name, 0.0) + time.perf_counter() - begun


@dataclass(frozen=True, slots=True)
class Call:
    """Who asks: passed as an argument to every step of an answer, so that every step knows its door.

    Args:
        scope: what is seen, and where records are written.
        door: the interface through which the call came in, such as REST.
        token: the id of the token that the caller brought; never its name, which may contain a user's name.
        verb: the verb, as the audit log names it; the engine sets it.
        notes: the notes taken while the call is answered; None if no notes are taken.
        zone: whose days are meant and told; None for the engine's.
    """

    scope: Scope
    door: Door
    token: str | None = None
    verb: str = ""
    notes: Notes | None = None
    zone: tzinfo | None = None

    @property
    def act(self) -> Act:
        """The caller as the audit log notes it."""
        return Act(self.verb, self.door.name, self.token)

    def of(self, verb: str) -> "Call":
        """Return the same caller's call of another verb."""
        return replace(self, verb=verb)

    def at(self, scope: Scope) -> "Call":
        """Return the same call in another scope."""
        return replace(self, scope=scope)

    def through(self, door: Door, token: str | None = None) -> "Call":
        """Return the same call with a door inside this call's door."""
        return replace(self, door=door.within(self.door), token=self.token if token is None else token)
