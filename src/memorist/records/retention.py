"""Rules for how long records are kept: an age for some, for ever for others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from memorist.errors import InvalidInputError, shown
from memorist.records.codec import Plain
from memorist.records.filters import Filter, make_filter
from memorist.records.times import parse_duration

FOREVER = "forever"
_FIELDS = ("keep", "kind", "session", "where")


@dataclass(frozen=True, slots=True)
class Rule:
    """How long records that pass a filter are kept.

    Args:
        keep: an age as "90d" or "12h", counted from `Record.at`; or "forever", which no other rule overrides.
        kind: only of this kind, or these kinds.
        session: only with this label.
        where: only with such metadata.

    Raises:
        InvalidInputError: an argument is wrong, or `keep` is not longer than zero.
    """

    keep: str
    kind: str | tuple[str, ...] | None = None
    session: str | None = None
    where: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.keep != FOREVER and not (isinstance(self.keep, str) and parse_duration(self.keep)):
            raise InvalidInputError(f"keep must be an age such as '90d', or {FOREVER!r}, not {shown(self.keep)}")
        if self.session is not None and not isinstance(self.session, str):
            raise InvalidInputError(f"session must be a string, not {shown(self.session)}")
        self.filter(None)

    def filter(self, now: datetime | None) -> Filter:
        """Return which records the rule is about; with a time, those that are too old by then."""
        age = None if now is None or self.keep == FOREVER else timedelta(seconds=parse_duration(self.keep) or 0)
        chosen: dict[str, Any] = {"kind": self.kind, "session": self.session, "where": self.where}
        return make_filter(**chosen, until=None if age is None or now is None else now - age, superseded=True)

    @property
    def about(self) -> str:
        """What the rule is about, as "kind fact or note, session s1"; "all" for every record."""
        told = {name: " or ".join(each) if isinstance(each, tuple) else each for name, each in self.to_dict().items()}
        return ", ".join(f"{name} {each}" for name, each in told.items() if name != "keep") or "all"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        values = {name: getattr(self, name) for name in _FIELDS}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Rule":
        """Return the rule that `to_dict` serialised."""
        [rule] = parse_rules("rules", [plain])
        return rule


RuleLike: TypeAlias = Rule | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RetentionReport(Plain):
    """The rules, and how many records of each kind are too old by them now."""

    rules: tuple[Rule, ...]
    due: Mapping[str, int]


def parse_rules(name: str, value: Any) -> tuple[Rule, ...]:
    """Return rules, given as such or as mappings of their fields.

    Raises:
        InvalidInputError: one is wrong; the text says which.
    """
    if isinstance(value, str | Mapping | Rule) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{name} must be a list of rules, not {type(value).__name__}")
    return tuple(each if isinstance(each, Rule) else _rule(name, each) for each in value)


def _rule(name: str, value: Any) -> Rule:
    if not isinstance(value, Mapping) or "keep" not in value or not set(value) <= set(_FIELDS):
        raise InvalidInputError(
            f"each rule of {name} must have keep and may have {', '.join(_FIELDS[1:])}; not {shown(value)}"
        )
    kind = value.get("kind")
    return Rule(**{**value, "kind": tuple(kind) if isinstance(kind, list) else kind})
