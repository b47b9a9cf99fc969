"""Standing instructions in force: what the user wants from now on, and nothing that a later instruction replaced."""

from collections.abc import Set

import numpy as np

from memorist.recall.index import KINDS, Rows, WallIndex
from memorist.recall.replaced import replacements
from memorist.recall.scale import Scale
from memorist.recall.text_features import STANDING
from memorist.records.filters import Filter
from memorist.records.record import Kind

_SHORT = 60
"""The most terms of a record that may be a standing instruction as a whole."""
_INSTRUCTS, _CHATS = 0.93, 0.5
"""How likely a record must be an instruction by its vector, where its words do not say so; and how likely it may be
small talk. What is taken for an instruction is told whatever is asked, so it must be sure."""
_READ = 4096
"""The newest records whose vectors are read for instructions; of older ones the words decide."""
_REPLACED = 0.5
"""How likely two instructions must speak of the same for the later one to hold alone."""


def standing_in(index: WallIndex, filter: Filter, now: int, wanted: Set[str], limit: int, scale: Scale) -> list[int]:
    """Return the numbers of short records that instruct, which the user or nobody says; facts are left out.

    Where an assistant or nobody else speaks, a person with a name may be the user. Those that hold most of the
    `wanted` terms come first, then the newest. An instruction that a later one likely replaces or withdraws is left
    out.
    """
    people, named = [-1, *index.in_role("user")], index.in_role(None)
    if index.in_role("assistant") or len(named) == 1:
        people += named
    short = (index.column("length") <= _SHORT) & (index.column("kind") != KINDS[Kind.FACT])
    rows = np.flatnonzero(short & index.allowed(filter, now))
    rows = rows[index.spoken_by(people, rows)]
    rows = rows[np.argsort(-index.column("at")[rows], kind="stable")]
    rows = rows[index.column(STANDING)[rows] | _by_vector(index, rows, scale)]
    if not len(rows):
        return []
    shared = [-len(wanted & set(index.terms(row).split())) for row in rows.tolist()]
    rows = rows[np.argsort(shared, kind="stable")][:limit]
    found = replacements(index, rows, np.zeros(len(rows), np.float32), scale, None)
    holds = (found.by < 0) | (found.likely < _REPLACED)
    numbers: list[int] = index.column("number")[rows[holds]].tolist()
    return numbers


def _by_vector(index: WallIndex, rows: Rows, scale: Scale) -> Rows:
    """Return which of some rows, the newest first, instruct by their vectors."""
    message = index.column("kind")[rows] == KINDS[Kind.MESSAGE]
    read = np.flatnonzero(message)[:_READ]
    likely, chats = (index.likely(head, scale.heads.likely, rows[read]) for head in ("instructs", "chats"))
    instructs = np.zeros(len(rows), bool)
    instructs[read] = (likely >= _INSTRUCTS) & (chats < _CHATS)
    return instructs
