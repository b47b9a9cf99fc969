"""Finds names in a question: whether one of these people speaks in this memory, and how many names are unknown."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from memorist.languages import plain, tables_of
from memorist.recall.analysis import fold, words
from memorist.recall.names import named_in, own_names_in
from memorist.records.record import Hit

Recall: TypeAlias = Callable[..., Awaitable[list[Hit]]]
_NAME = re.compile(r"(?<![.!?:;\s\"'“(\[])\s+[\"'“(\[]?([^\W\d_][^\W_]+)")
"""A word that begins no sentence and no quotation."""
_MOST = 4
"""The most names that are looked up."""


@dataclass(frozen=True, slots=True)
class Named:
    """The people that a question names.

    Attributes:
        speaker: whether one of them speaks in the memory.
        unknown: the share of the names that no record and no speaker has, 0 to 1; 0 without names.
    """

    speaker: bool = False
    unknown: float = 0.0


async def named_among(
    recall: Recall, question: str, hits: Sequence[Hit], narrowing: Mapping[str, Any], user: str | None = None
) -> Named:
    """Return whom a question names.

    Args:
        recall: searches the memory, as `Memory.recall` does.
        question: its capitalised words are names, except at the beginning of a sentence, and except months and
            weekdays. None are where every noun has a capital.
        hits: what the question recalled; names that occur in them are not looked up.
        narrowing: which records count, as arguments of `recall`.
        user: whose records they are; not unknown by that name.
    """
    tables, names = tables_of(question), list[str]()
    if not any(each.table.get("capital_nouns") for each in tables):
        capital = dict.fromkeys(match[1] for match in _NAME.finditer(question) if match[1][0].isupper())
        own = {plain(word) for name in own_names_in(question, user or "") for word in words(name)}
        known = [own, *(each.stop | each.days for each in tables)]
        names = [name for name in capital if not any(plain(name) in each for each in known)]
    speakers = {str(hit.record.payload["speaker"]) for hit in hits if hit.record.payload.get("speaker")}
    spoken = named_in(question, speakers)
    held = {fold(spelling) for found in spoken.values() for spelling in found}
    held.update(word for hit in hits for word in hit.matched)
    missing = [name for name in names if fold(name) not in held and held.isdisjoint(words(name))][:_MOST]
    unknown = [name for name in missing if not await recall(name, mode="lexical", limit=1, **narrowing)]
    return Named(bool(spoken), len(unknown) / len(names) if names else 0.0)
