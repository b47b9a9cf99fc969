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

    `memorist.records.filters.parse_where` tells what a condition can be.

    Args:
        where: a condition on the metadata, such as {"trip": "Lisbon"} or {"nights": {"$gte": 3}}.
        since: only what happened (or was stored) at this time or later.
        until: only what happened earlier than this.
        agent: only what this agent stored.
        session: only of this conversation.
        verified: only verified ones (true), or only the others (false).
        min_trust: only records trusted at least so far, by the operator's rules: "low", "medium" or "high". By the
            default rules "medium" leaves out what tools and web pages say.
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
        payload: likewise, a condition on the kind's own fields.
        key: only the record with exactly this key.
        key_prefix: only records whose key begins so.
        from_source: only records of this source, or of one that begins with it and a colon: "import" is every import's.
    """

    kind: Kinds | None
    payload: Where | None
    key: str | None
    key_prefix: str | None
    from_source: str | None
