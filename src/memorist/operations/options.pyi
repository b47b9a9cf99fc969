# Written by tools/make_sync_stub.py; do not edit.
# ruff: noqa
# fmt: off
"""The arguments that narrow which records a verb is about, as keyword arguments."""

from memorist.operations.request import Kinds, Where
from memorist.records.origins import Trust
from memorist.records.times import TimeLike
from typing import TypedDict

__all__ = ["Bounds", "Narrowing"]

class Bounds(TypedDict, total=False):
    """The arguments that narrow records of any kind. Every part given must hold.

    Args:
        where: a condition on the metadata; see `memorist.records.filters.parse_where`.
        since: only what happened (or was stored) at this time or later.
        until: only what happened earlier than this.
        agent: only with this label.
        session: only with this label.
        verified: only verified ones (True), or only the others (False).
        min_trust: only records trusted at least so far, by the operator's rules: "low", "medium" or "high".
    """

    where: Where | None
    since: TimeLike | None
    until: TimeLike | None
    agent: str | None
    session: str | None
    verified: bool | None
    min_trust: Trust | None


class Narrowing(Bounds, total=False):
    """The arguments that narrow which records a verb is about: those of `Bounds`, and these.

    Args:
        kind: only these kinds: one, or several. Where none is named, what is listed and counted has no "state".
        payload: a condition on the kind's own fields.
        key: only the record with exactly this key.
        key_prefix: only records whose key begins so.
        from_source: only records of this source, or of one that begins with it and a colon: "import" is every import's.
    """

    kind: Kinds | None
    payload: Where | None
    key: str | None
    key_prefix: str | None
    from_source: str | None
