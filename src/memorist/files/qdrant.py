"""Reads the points in the folder of Qdrant's local client.

The client pickles its points. Unpickling runs code that the file names, so the client is not used: the pickles are read
here by a machine that builds numbers, texts, lists and objects, knows the client's few classes by name alone, and can
call nothing.
"""

import json
import pickletools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memorist.errors import FormatError
from memorist.files.foreign import MALFORMED, foreign
from memorist.files.regular import opened

_MODULE = "qdrant_client.http.models.models"
_CLASSES = ("PointStruct", "SparseVector")
_META = 10_000_000
_AT_ONCE = 200
_DEEPEST = 100
_LARGEST = 16_000_000
"""The most that a payload may take. Parts of a pickle may be shared, so its content may be far larger than the file."""
_EACH = 200
"""The size that each value of a payload counts, in addition to the characters of a text."""
_ROWS = "SELECT rowid, id, point FROM points WHERE rowid > ? ORDER BY rowid LIMIT ?"


@dataclass(frozen=True, slots=True)
class Point:
    """A point without its vector, or why it cannot be read."""

    collection: str
    id: object
    payload: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None


def points(store: Path) -> Iterator[Point]:
    """Yield the points in a folder, in the order of storing; the client may be using it meanwhile.

    Raises:
        FormatError: the folder, or one of its files, cannot be read.
    """
    for collection in _collections(store):
        file = store / "collection" / collection / "storage.sqlite"
        if not file.is_file():
            continue
        if not file.resolve().is_relative_to(store.resolve()):
            raise FormatError(f"{collection} is a link out of the folder")
        with foreign(file) as connection:
            after = -(2**63)
            while rows := connection.execute(_ROWS, (after, _AT_ONCE)).fetchall():  # no lock is held between
                yield from (_point(collection, *row) for row in rows)
                after = rows[-1][0]


def _collections(store: Path) -> list[str]:
    """Return the collections that have a folder of their own here."""
    try:
        with opened(store / "meta.json") as stream:
            named = json.loads(stream.read(_META))["collections"]
        return sorted(name for name in named if Path(name).name == name)
    except (OSError, *MALFORMED) as error:
        raise FormatError(f"the Qdrant store in {store} cannot be read: {error}") from error


def _point(collection: str, row: int, key: object, data: object) -> Point:
    try:
        if not isinstance(data, bytes):
            raise FormatError("it is not a point")
        found = unpickled(data)
        payload = found.get("payload")
        return Point(collection, _Copy().of(found["id"]), _Copy().of(payload or {}))
    except (FormatError, *MALFORMED) as error:
        return Point(collection, f"in row {row}", problem=str(error) or type(error).__name__)


# --- pickles ---------------------------------------------------------------------------------------------


def unpickled(data: bytes) -> dict[str, Any]:
    """Return the fields of a pickled point.

    Raises:
        FormatError: the pickle holds something that a point does not have, such as a function to call.
        ValueError, IndexError, KeyError, TypeError: it is not a pickle, or damaged.
    """
    machine = _Machine()
    for opcode, argument, _ in pickletools.genops(data):
        machine.step(opcode.name, argument)
    [found] = machine.stack
    if not isinstance(found, dict):
        raise FormatError("it is not a point")
    return found


_PUSHED = frozenset(
    "BININT BININT1 BININT2 LONG1 BINFLOAT SHORT_BINUNICODE BINUNICODE BINUNICODE8 INT LONG FLOAT UNICODE".split()
)
_CONSTANTS: Mapping[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_EMPTY: Mapping[str, Any] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class _Class:
    """Stands for one of the client's classes; its objects are dicts of their fields."""


class _Machine:
    def __init__(self) -> None:
        self.stack: list[Any] = []
        self._marked: list[list[Any]] = []
        self._memo: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        if name in _PUSHED:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            self.stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            self.stack[-_TUPLES[name] :] = [tuple(self.stack[-_TUPLES[name] :])]
        elif name in ("MEMOIZE", "BINPUT", "LONG_BINPUT"):
            self._memo[len(self._memo) if argument is None else argument] = self.stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            self.stack.append(self._memo[argument])
        elif name == "MARK":
            self._marked.append(self.stack)
            self.stack = []
        elif name not in ("PROTO", "FRAME", "STOP"):
            self._build(name, argument)

    def _build(self, name: str, argument: Any) -> None:
        match name:
            case "APPEND":
                value = self.stack.pop()
                _as(list, self.stack[-1]).append(value)
            case "APPENDS":
                values = self._since_mark()
                _as(list, self.stack[-1]).extend(values)
            case "SETITEM":
                value, key = self.stack.pop(), self.stack.pop()
                _as(dict, self.stack[-1])[key] = value
            case "SETITEMS":
                values = self._since_mark()
                _as(dict, self.stack[-1]).update(zip(values[::2], values[1::2], strict=True))
            case "ADDITEMS":
                self._since_mark()  # which fields were given does not matter
            case "TUPLE":
                self.stack.append(tuple(self._since_mark()))
            case "GLOBAL":
                self.stack.append(_known(*argument.split(" ", 1)))
            case "STACK_GLOBAL":
                what, module = self.stack.pop(), self.stack.pop()
                self.stack.append(_known(module, what))
            case "NEWOBJ":
                given, made = self.stack.pop(), self.stack.pop()
                if given != () or not isinstance(made, _Class):
                    raise FormatError("it makes an object of a class that points do not have")
                self.stack.append({})
            case "BUILD":
                state = _as(dict, self.stack.pop())
                _as(dict, self.stack[-1]).update(_as(dict, state.get("__dict__", state)))
            case _:
                raise FormatError(f"it would run code ({name})")

    def _since_mark(self) -> list[Any]:
        values, self.stack = self.stack, self._marked.pop()
        return values


def _known(module: object, name: object) -> _Class:
    if module != _MODULE or name not in _CLASSES:
        raise FormatError(f"it would run code ({module}.{name})"[:200])
    return _Class()


def _as(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise FormatError("it is not a point")
    return value


class _Copy:
    """Copies JSON values, each part by itself, up to a depth and a size."""

    def __init__(self) -> None:
        self._left = _LARGEST

    def of(self, value: Any, depth: int = 0) -> Any:
        self._left -= _EACH + (len(value) if isinstance(value, str) else 0)
        if self._left < 0 or depth > _DEEPEST:
            raise FormatError("its payload is too large, or nested too deeply")
        if isinstance(value, dict):
            return {self.of(str(name), depth): self.of(each, depth + 1) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.of(each, depth + 1) for each in value]
        if value is None or isinstance(value, str | int | float):
            return value
        raise FormatError("its payload is not JSON")
