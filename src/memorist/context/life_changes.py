"""What may no longer hold: "my commute takes 20 minutes", said before a move.

The record itself was not replaced, so nothing tells that it is out of date but that something else changed on which it
depends. Which life events touch what, a language's table says.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from memorist.context.naming import Recall
from memorist.languages import role_of, tables_of
from memorist.languages.sentences import asks, sentences_of
from memorist.recall.life_events import READ, SAME, events_in, readings
from memorist.recall.replaced import TELLING
from memorist.recall.text_features import speaker_of
from memorist.records.origins import LEVELS, Trust
from memorist.records.record import Record

_LOOKED_AT = 40
"""The records in which changes are looked for."""
_REMEMBERED = 1024
"""The texts of which it is remembered what they tell and touch: changes are looked for in the same ones each time."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A change of somebody's life, as a memory tells it.

    Attributes:
        name: what it is, in English: "a move".
        record: the first record that tells of it.
    """

    name: str
    record: Record


async def changes_since(
    recall: Recall, records: Sequence[Record], narrowing: Mapping[str, Any], trust: Callable[[Record], Trust]
) -> Mapping[str, Changed]:
    """Return the latest life event after which a record may no longer hold, by the record's id.

    Args:
        recall: searches the memory, as `Memory.recall` does; it is not called where no record depends on a change.
        records: those that are to be told.
        narrowing: which records count, as arguments of `recall`.
        trust: returns the trust in a record; a change that is trusted less than a record does not touch it.
    """
    depending = {each.id: (each, names) for each in filter(_of_users, records) if (names := touched(each.text))}
    if not depending:
        return {}
    words = {word for _, names in depending.values() for searched in names.values() for word in searched}
    hits = await recall(" ".join(sorted(words)), mode="lexical", limit=_LOOKED_AT, **narrowing)
    changes = _first_of_each(sorted((hit.record for hit in hits), key=lambda record: record.at), trust)
    latest = {
        id: _latest(record, (each for each in changes if each.name in names), trust)
        for id, (record, names) in depending.items()
    }
    return {id: change for id, change in latest.items() if change is not None}


def _latest(record: Record, changes: Iterable[Changed], trust: Callable[[Record], Trust]) -> Changed | None:
    """Return the last of some changes, in the order of time, that came after a record and to the same person."""
    speaker, level, latest = speaker_of(record), LEVELS.index(trust(record)), None
    for each in changes:
        other, scope = speaker_of(each.record), each.record.scope
        apart = scope.session is None or scope.session != record.scope.session
        alike = scope.user == record.scope.user and (not speaker or not other or speaker == other)
        if each.record.at > record.at and apart and alike and LEVELS.index(trust(each.record)) >= level:
            latest = each
    return latest


def _first_of_each(records: Iterable[Record], trust: Callable[[Record], Trust]) -> list[Changed]:
    """Return the changes that records tell, which are in the order of time."""
    changes, last = list[Changed](), dict[tuple[str | None, ...], datetime]()
    for record in filter(_of_users, records):
        for name in _told_in(record.text[:READ]):
            who = name, speaker_of(record), record.scope.user, trust(record)
            if who not in last or record.at - last[who] > SAME:
                changes.append(Changed(name, record))
            last[who] = record.at
    return changes


@lru_cache(maxsize=_REMEMBERED)
def _told_in(text: str) -> Sequence[str]:
    """Return the names of the changes that the beginning of a text tells, in their order."""
    return sorted(events_in(text))


def touched(text: str) -> Mapping[str, Sequence[str]]:
    """Return the names of the changes after which what a text says of its speaker may no longer hold, each with the
    words by which it is found in the languages that the text may be in.

    A sentence counts that speaks of the speaker and asks nothing: "my commute takes an hour", not "is a commute of an
    hour usual?".
    """
    return _touched(text[:READ])


@lru_cache(maxsize=_REMEMBERED)
def _touched(text: str) -> Mapping[str, Sequence[str]]:
    """Return the same of the beginning of a text, which is all that is read."""
    tables, found = tables_of(text), dict[str, list[str]]()
    for table, given in readings(text, tables):
        if some := {name: each for name, each in table.life_changes.items() if each.touches.search(given)}:
            own = [sentence for sentence in sentences_of(given) if table.says("first_person", sentence)]
            own = [sentence for sentence in own if not asks(sentence, tables)]
            for name, each in some.items():
                if any(map(each.touches.search, own)):
                    found.setdefault(name, []).append(each.words)
    return found


def _of_users(record: Record) -> bool:
    """Return whether a record tells what a user said or is, and not what an assistant did."""
    return record.kind in TELLING and role_of(speaker_of(record)) != "assistant"
