"""Reflecting on an episode: what decided its outcome."""

from collections.abc import Mapping
from dataclasses import dataclass

from memorist.errors import InvalidInputError
from memorist.framing.frame import without_recalled
from memorist.kinds import Episode
from memorist.language.models import NO_USAGE, ChatModelSpec, Usage
from memorist.language.prompting import Prompts
from memorist.language.steps import NO_MODEL, TEXT, Problem, ask_texts, object_of

_FORM = object_of(reflection=TEXT)
_ROLLOUT = 12_000
"""The most characters of the steps taken; the end of them is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """The reflection on an episode, why a model did not write it (None if one did), and the usage."""

    text: str
    problem: Problem | None = None
    usage: Usage = NO_USAGE


async def reflect(
    episode: Episode | Mapping[str, str],
    *,
    model: ChatModelSpec | None = None,
    prompts: Prompts | None = None,
) -> Reflection:
    """Return what decided the outcome of an episode, and what to do another time.

    Args:
        episode: an `Episode`, or a mapping of its parts.
        model: without one, the reflection says in one line what was done and how it ended.
        prompts: by default the bundled ones.

    Raises:
        InvalidInputError: the parts make no episode, or the prompts cannot be read.
    """
    if isinstance(episode, Mapping):
        try:
            episode = Episode(**episode)
        except TypeError as error:
            raise InvalidInputError(f"an episode has no such part: {error}") from error
    if not isinstance(episode, Episode):
        raise InvalidInputError(f"an episode is an Episode or a mapping of its parts, not {type(episode).__name__}")
    if model is None:
        return Reflection(text=_plainly(episode), problem=NO_MODEL)
    data = {name: without_recalled(part)[-_ROLLOUT:] for name, part in episode.parts().items()}
    asked = await ask_texts(
        "Reflecting", model, "reflection", data, _FORM, prompts, sources=data.values(),
        read=lambda found: [found["reflection"].strip()],
    )  # fmt: skip
    text = asked.data[0] if asked.problem is None else _plainly(episode)
    return Reflection(text=text, problem=asked.problem, usage=asked.usage)


def _plainly(episode: Episode) -> str:
    about = episode.task or episode.question or ""
    if episode.error:
        return f"Failed: {about}: {episode.error}"
    end = episode.result or episode.answer
    return f"Done: {about}: {end}" if end else f"Ended without a result: {about}"
