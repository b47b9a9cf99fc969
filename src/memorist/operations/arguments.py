"""The rules for single arguments of a verb: which values each accepts, and the form in which it is stored.

A reader takes the argument's name and a value and returns the value as requests hold it, or raises an
`InvalidInputError` that names the argument. Every door uses these readers, through `memorist.operations.requests`.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from enum import Enum
from typing import Any, TypeAlias, TypeVar

from memorist.errors import InvalidInputError, UnknownArgumentError, shown
from memorist.records.content import whole_name, whole_text
from memorist.records.filters import MAX_DEPTH, parse_condition
from memorist.records.origins import Author, parse_authors
from memorist.records.record import Draft, Hit, Kind, Record, parse_kind
from memorist.records.scope import checked_name
from memorist.records.times import TimeLike, checked_bound, checked_expiry, read_time


class Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset.UNSET
"""The default of an argument that may be None: it is left out, and None removes the value."""
MAX_LIMIT = 10_000
MAX_TOKENS = 10_000_000
Reader: TypeAlias = Callable[[str, Any], Any]
_T = TypeVar("_T")
_SYNONYMS = {
    "user_id": "user", "tenant_id": "tenant", "agent_id": "agent", "run_id": "session", "session_id": "session",
    "thread_id": "session", "k": "limit", "top_k": "limit", "n": "limit", "n_results": "limit", "question": "query",
    "text": "content", "filter": "where", "filters": "where", "threshold": "min_score", "type": "kind",
}  # fmt: skip
"""What other libraries call an argument of ours."""


def optional(reader: Reader) -> Reader:
    """Return a reader that also takes None, for an argument left out."""
    return lambda name, value: None if value is None else reader(name, value)


def one_of(*choices: str) -> Reader:
    """Return a reader of one of these words."""

    def read(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise InvalidInputError(f"unknown {name} {shown(value)}; available: {', '.join(choices)}")
        return value

    return read


def several_of(*choices: str) -> Reader:
    """Return a reader of some of these words, in the order given."""
    read_one = one_of(*choices)
    return lambda name, value: tuple(read_one(name, each) for each in _several(name, "names", value))


def text(name: str, value: Any) -> str:
    """Return `value` if it is a string, with a mark for half a character; see `content.whole_text`."""
    return whole_text(_string(name, value))


def label(name: str, value: Any) -> str:
    """Return the name of a user, agent or session, as `scope.checked_name` does."""
    return checked_name(name, value)


def handle(name: str, value: Any) -> str:
    """Return an id or a key, as `content.whole_name` writes it; a `Record` or `Hit` stands for its id."""
    if isinstance(value, Hit):
        value = value.record
    return whole_name(_string(name, value.id if isinstance(value, Record) else value))


def _string(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a string, not {type(value).__name__}")
    return value


def handles(name: str, value: Any) -> tuple[str, ...]:
    """Return ids in the order given; a single id, `Record` or `Hit` is one."""
    return tuple(handle(name, each) for each in _several(name, "ids", value))


def handles_or_words(name: str, value: Any) -> tuple[str, ...]:
    """Return ids and texts in the order given; a single one may stand alone."""
    given = _several(name, "ids or texts", value)
    return tuple(text(name, each) if isinstance(each, str) else handle(name, each) for each in given)


def _several(name: str, what: str, value: Any) -> Iterable[Any]:
    if isinstance(value, str | Record | Hit):
        return (value,)
    if isinstance(value, Mapping | bytes) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{name} must be {what}, not {type(value).__name__}")
    return value


def flag(name: str, value: Any) -> bool:
    """Return `value` if it is a truth value."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be true or false, not {shown(value)}")
    return value


def limit(name: str, value: Any) -> int:
    """Return a number of results, from 0 to `MAX_LIMIT`; a negative one counts as 0."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInputError(f"{name} must be a whole number, not {shown(value)}")
    if value > MAX_LIMIT:
        raise InvalidInputError(f"{name} is {MAX_LIMIT:,} at most; use browse to read further pages")
    return max(value, 0)


def whole(name: str, value: Any, least: int = 0) -> int:
    """Return `value` if it is a whole number that is not below `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInputError(f"{name} must be a whole number of {least} or more, not {shown(value)}")
    return value


def tokens(name: str, value: Any) -> int:
    """Return a budget of tokens, up to `MAX_TOKENS`; the context checks the least budget."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInputError(f"{name} must be a whole number, not {shown(value)}")
    if value > MAX_TOKENS:
        raise InvalidInputError(f"{name} is {MAX_TOKENS:,} at most, not {shown(value)}")
    return value


def _number_in(what: str, least: float, most: float, *kinds: Any) -> Callable[[str, Any], Any]:
    def read(name: str, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
            raise InvalidInputError(f"{name} must be {what}, not {shown(value)}")
        return value

    return read


integer = _number_in("a whole number of 64 bits", -(2**63), 2**63 - 1, int)
number = _number_in("a finite number", -sys.float_info.max, sys.float_info.max, int, float)
probability = _number_in("a number from 0 to 1", 0, 1, int, float)
rating = _number_in("a number from -1 to 1", -1, 1, int, float)


def bound(name: str, value: Any) -> TimeLike:
    """Return a point in time that bounds a read; "7 days ago" stays as it is until the engine's clock dates it."""
    return _named(name, lambda: checked_bound(value))


def time(name: str, value: Any) -> datetime:
    """Return a time; one that names no zone stays without, until the engine knows the caller's."""
    return _named(name, lambda: read_time(value))


def expiry(name: str, value: Any) -> TimeLike:
    """Return when something expires; a number, seconds from now, stays as it is until the engine's clock dates it."""
    return _named(name, lambda: checked_expiry(value))


def kind(name: str, value: Any) -> Kind:
    """Return one kind."""
    return parse_kind(value)


def kinds(name: str, value: Any) -> tuple[Kind, ...]:
    """Return kinds; a single one may stand alone."""
    if isinstance(value, str):
        return (parse_kind(value),)
    if isinstance(value, Mapping | bytes) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{name} must be one kind or several, not {shown(value)}")
    return tuple(dict.fromkeys(parse_kind(each) for each in value))


def authors(name: str, value: Any) -> Author:
    """Return the authors with this name, or with these names."""
    return parse_authors(value)


def condition(name: str, value: Any) -> Mapping[str, Any]:
    """Return a condition on fields, checked, with its sets of values as lists."""
    try:
        plain = _listed(value)
    except RecursionError as error:
        raise InvalidInputError(f"a filter nests at most {MAX_DEPTH} deep") from error
    parse_condition(plain)
    return plain  # type: ignore[no-any-return]  # a mapping, or parse_condition refuses it


def mapping(name: str, value: Any) -> Mapping[str, Any]:
    """Return `value` if it is a mapping; its contents are checked with the record they become part of."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{name} must be a mapping, not {type(value).__name__}")
    return value


def vector(name: str, value: Any) -> Any:
    """Return an embedding as it was given; its size is checked against the embedder's."""
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__"):
        raise InvalidInputError(f"{name} must be a list of numbers, not {type(value).__name__}")
    return value


def drafts(name: str, value: Any) -> tuple[Draft, ...]:
    """Return records to be: texts, drafts, or mappings of a draft's fields."""
    if isinstance(value, str | Draft | Mapping):
        value = (value,)
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise InvalidInputError(
            "remember takes a string, a Draft, a mapping of a draft's fields, or a list of these, not "
            f"{type(value).__name__}"
        )
    made = tuple(each if isinstance(each, Draft) else draft_of(each) for each in value)
    for each in made:
        parse_kind(each.kind)
    return made


def records(name: str, value: Any) -> tuple[Record, ...]:
    """Return whole records."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{name} must be whole records, not {type(value).__name__}")
    given = tuple(value)
    for each in given:
        if not isinstance(each, Record):
            raise InvalidInputError(f"{name} must be whole records, not {type(each).__name__}")
    return given


def draft_of(content: Any, fields: Mapping[str, Any] | None = None) -> Draft:
    """Return a draft of a text and its fields, of a mapping of all fields, or the `Draft` given."""
    if isinstance(content, Draft):
        if fields:
            raise InvalidInputError("a Draft already has these fields; set them on the Draft")
        return content
    given = dict(content) if isinstance(content, Mapping) and not fields else {"content": content, **(fields or {})}
    unknown_arguments("a record", given, _DRAFT_FIELDS)
    if "content" not in given:
        raise InvalidInputError("a record needs content")
    return Draft(**given)


def unknown_arguments(verb: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise an UnknownArgumentError for the first name that is not known; it names the nearest right one."""
    for name in given:
        if name in known:
            continue
        from difflib import get_close_matches  # imported here, because most calls have no wrong name

        if (whose := _SYNONYMS.get(name, name)) in ("tenant", "user", "agent", "session") and whose not in known:
            raise UnknownArgumentError(
                f"{verb} takes no argument {shown(name)}; the scope is set "
                f"once: memory.scoped({whose}=…), or ?{whose}=… in the request's URL"
            )
        near = [_SYNONYMS[name]] if _SYNONYMS.get(name) in known else get_close_matches(str(name), list(known), 1)
        hint = f"did you mean {near[0]!r}?" if near else f"available: {', '.join(known)}"
        raise UnknownArgumentError(f"{verb} takes no argument {shown(name)}; {hint}")


def _named(name: str, read: Callable[[], _T]) -> _T:
    try:
        return read()
    except InvalidInputError as error:
        raise InvalidInputError(f"{name}: {error}") from error


def _listed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _listed(each) for name, each in value.items()}
    return [_listed(each) for each in value] if isinstance(value, list | tuple | set | frozenset) else value


_DRAFT_FIELDS = tuple(Draft.__dataclass_fields__)
