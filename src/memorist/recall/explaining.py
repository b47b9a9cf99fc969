"""What each signal adds to a hit's sum, and what people call it."""

from collections.abc import Mapping

from memorist.recall.artefact import weights_of

LABELS: Mapping[str, str] = {
    "meaning": "its meaning",
    "meaning_around": "meaning around it",
    "words": "its words",
    "words_around": "words around it",
    "pairs": "words side by side",
    "speaker": "who said it",
    "first_person": "said by the user",
    "time": "when it was",
    "told_time": "the days it tells of",
    "planned": "planned for then",
    "says_when": "says when",
    "standing": "an instruction or preference",
    "reply": "answers a similar question",
    "conversation": "its conversation",
    "states_around": "others of the same fit",
    "replaces": "replaces an earlier state",
    "latest": "is new",
    "former": "was the earlier state",
    "replaced": "a later state replaces it",
    "not_yet": "happened after the time asked about",
    "asks": "asks",
    "asks_only": "only asks",
    "asking": "seems only to ask",
    "asks_covered": "asks in the same words",
    "nothing_new": "says nothing new",
    "unknowing": "says it is not known",
    "unanswered": "was not answered",
    "other_reply": "answers another question",
    "chats": "small talk",
    "instructs": "instructs",
    "impersonal": "says nothing of its speaker",
    "generic": "near to any question",
    "echo": "repeats the question",
    "repeats": "repeats another record",
    "assistant": "an assistant says it",
}
"""What each signal is called."""


def contributions(signals: Mapping[str, float]) -> dict[str, float]:
    """Return how much each signal of a hit adds to its sum, or takes from it, by the signal's name.

    Args:
        signals: a hit's, of a recall with `explain`.
    """
    common, state, share = weights_of("any"), weights_of("state"), signals.get("seeks_state", 0.0)
    return {
        name: (common[name] + share * (state[name] - common[name])) * value
        for name, value in signals.items()
        if name in common
    }
