"""What a question seeks, told by its vector: a state, and which one; or the talk itself."""

from dataclasses import dataclass

from memorist.recall.heads import Heads, held_by, with_phrases
from memorist.recall.index import Floats
from memorist.recall.question import Question

_LEAN = 0.8
"""How far what says neither "I" nor "now" is ranked as a question for a state where it surely seems one."""

_UNLIKELY, _DOUBT = 0.4, 0.2
"""Up to which probability a question seeks no other state than the present one, and how much more makes it sure."""
_HARDLY = 0.05
"""What is ranked as a question for a state by no more is ranked as one for anything, which takes less time."""


@dataclass(frozen=True, slots=True)
class Sought:
    """How likely a question seeks something, each 0 to 1.

    Attributes:
        state: a state, of whoever asks or of a thing; it is how far the question is ranked as one for a state.
        former: of a state, the one before.
        every: of states, all.
        whether: of a state, whether it holds.
        talk: the talk itself, as "What did I ask you?", which questions answer.
        nothing: nothing, as greetings and thanks do; 0.5 where that is not known.
    """

    state: float = 0.0
    former: float = 0.0
    every: float = 0.0
    whether: float = 0.0
    talk: float = 0.0
    nothing: float = 0.5


def sought_by(heads: Heads, vector: Floats, question: Question) -> Sought:
    """Return what a question seeks."""
    read = with_phrases(vector[None], held_by(question.text, question.held))
    named = ("state", "then", "former", "all", "whether", "talk")
    state, then, former, every, whether, talk = (
        float(heads.likely(f"seeks_{name}", read)[0]) if f"seeks_{name}" in heads.weights else 0.0 for name in named
    )
    nothing = float(heads.likely("seeks_nothing", read)[0])
    state = max(state, whether, then if question.lasting else 0.0)
    former, every, whether = (min(max((each - _UNLIKELY) / _DOUBT, 0.0), 1.0) for each in (former, every, whether))
    state = max(2 * state - 1, 0.0)
    if not (question.first_person or question.present):
        # Of the lives of those who speak here, more is asked than their present state.
        state = 0.0 if question.speakers else _LEAN * state**2
    state = state if state >= _HARDLY else 0.0
    return Sought(state, former, every, whether, talk, nothing)
