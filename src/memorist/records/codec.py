"""Arguments and answers as JSON has them, and back, by their annotations."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from types import NoneType
from typing import Any, Self, get_args, get_origin

from memorist.records.times import parse_time, told
from memorist.system.hints import fields_of, once, read_hint

_AS_IT_IS = frozenset((str, int, float, bool, NoneType))


def is_inline(kind: Any) -> bool:
    """Return whether JSON has the fields of a type in the place of a field of that type, as those of a `Scope`."""
    return getattr(kind, "inline", False) is True


def plain(value: Any) -> Any:
    """Return an argument or an answer as JSON has it. A mapping is JSON already, or is refused where it is written."""
    if type(value) in _AS_IT_IS:
        return value
    if isinstance(value, datetime):
        return told(value)
    if isinstance(value, Enum):
        return getattr(value, "names", value.value)
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value.tolist() if type(value).__module__ == "numpy" else value


@once
def _laid_out(kind: Any) -> list[tuple[str, tuple[str, ...]]]:
    """Return the fields of a type, and of an inline one its own fields."""
    return [(name, tuple(fields_of(hint)) if is_inline(hint) else ()) for name, hint in fields_of(kind).items()]


class Plain:
    """A dataclass that JSON can hold, by the annotations of its fields."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; times are in ISO 8601."""
        told: dict[str, Any] = {}
        for name, inner in _laid_out(type(self)):
            value = getattr(self, name)
            if type(value) in _AS_IT_IS:
                told[name] = value
            elif inner:
                for each in inner:
                    told[each] = getattr(value, each)
            else:
                told[name] = dict(value) if isinstance(value, dict | Mapping) else plain(value)
        return told

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return what `to_dict` made `plain` of; fields that are not known here are passed over."""
        given = {}
        for name, hint in fields_of(cls).items():
            if is_inline(hint):
                given[name] = hint(**{inner: plain[inner] for inner in fields_of(hint)})
            elif name in plain:
                given[name] = decoder(hint)(plain[name])
        return cls(**given)


@once
def decoder(hint: Any) -> Callable[[Any], Any]:
    """Return what reads a value of an annotated type from JSON."""
    kinds, optional, _ = read_hint(hint)
    read = _decoder(kinds[0]) if len(kinds) == 1 else _same
    return (lambda value: None if value is None else read(value)) if optional and read is not _same else read


def _decoder(kind: Any) -> Callable[[Any], Any]:
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin in (list, tuple, Sequence):
        item, made = decoder(inner[0]), tuple if origin is tuple else list
        return lambda value: made(map(item, value))
    if origin is datetime:
        return parse_time
    if isinstance(origin, type) and issubclass(origin, Enum):
        return origin
    return getattr(origin, "from_dict", _same)


def _same(value: Any) -> Any:
    return value
