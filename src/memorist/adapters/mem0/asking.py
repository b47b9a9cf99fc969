"""The arguments of `get_all` and `search`, in the forms of mem0 1.x and 2.x."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memorist.adapters.mem0.checks import IDS, Owner, check_search, owner_of
from memorist.adapters.mem0.filters import Split, split
from memorist.adapters.mem0.shapes import expired, flat, item
from memorist.errors import InvalidInputError
from memorist.records.record import Hit, Record

_TOP_K, _TOP_K_1 = 20, 100
"""The most results by default: in the form of mem0 2.x, and in that of 1.x."""
_THRESHOLD = 0.1


@dataclass(frozen=True, slots=True)
class Selection:
    """Whose memories, which, and how many; `is_first_form` if the ids are arguments, as in mem0 1.x."""

    owner: Owner
    split: Split
    top_k: int
    is_first_form: bool

    def floor(self, threshold: Any) -> float:
        """Return the least similarity.

        Raises:
            InvalidInputError: it is not a number from 0 to 1.
        """
        check_search(threshold, self.top_k)
        if threshold is None:
            return 0.0 if self.is_first_form else _THRESHOLD
        return float(threshold)

    def test(self, show_expired: bool, now: datetime) -> Callable[[Record], bool]:
        """Return the test that a record from the store must pass at this time."""
        check = self.split.check

        def passes(record: Record) -> bool:
            return (show_expired or not expired(record, now)) and (check is None or check(flat(record)))

        return passes


def selection_of(ids: Mapping[str, Any], filters: Mapping[str, Any] | None, top_k: Any, limit: Any) -> Selection:
    """Return what the arguments ask for; ids that are arguments override those in the filters.

    Raises:
        InvalidInputError: no id is given, or one of the arguments makes no sense.
    """
    if filters is not None and not isinstance(filters, Mapping):
        raise InvalidInputError(f"filters must be a dict, not {type(filters).__name__}")
    given = {name: value for name, value in ids.items() if value is not None}
    top_k = limit if top_k is None else top_k
    if top_k is None:
        top_k = _TOP_K_1 if given else _TOP_K
    check_search(None, top_k)
    rest = dict(filters or {})
    named = {name: rest.pop(name) for name in IDS if name in rest}
    if not any(value is not None for value in (*named.values(), *given.values())):
        raise InvalidInputError(
            "filters must contain at least one of: user_id, agent_id, run_id. Example: filters={'user_id': 'u1'}"
        )
    return Selection(owner_of({**named, **given}), split(rest), top_k, bool(given))


def shown(hit: Hit, floor: float, *, explain: bool) -> dict[str, Any]:
    """Return a hit in the form of a search result of mem0."""
    found = item(hit.record, score=hit.score)
    if explain:
        found["score_details"] = {
            **hit.signals,
            "semantic_score": hit.similarity,
            "bm25_score": hit.signals.get("words", 0.0),
            "entity_boost": 0.0,  # mem0's links between entities have no counterpart here
            "raw_score": hit.score,
            "max_possible_score": 1.0,
            "final_score": hit.score,
            "threshold": floor,
        }
    return found
