"""Changes to the text of a JSON file that leave every other character of it as it was, comments included."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_ATOM = re.compile(r"[^\s,\]}/]+")
_MARKS = {"{": "}", "[": "]"}
_decode = json.JSONDecoder(strict=False)


@dataclass
class Node:
    """A value in a text, or a member of an object with its name.

    Args:
        value: the parsed value. start: where the value begins; for a member, where its name begins.
        opens: where the value itself begins.
        end: where it ends.
        comma: the position behind the comma that follows, or None.
        parts: of an object its members by name, of an array its values by position.
    """

    value: Any
    start: int
    opens: int
    end: int
    comma: int | None = None
    parts: dict[Any, "Node"] = field(default_factory=dict)

    def at(self, path: Sequence[Any]) -> "Node | None":
        """Return the node at a path of names and positions, or None."""
        node: Node | None = self
        for step in path:
            node = None if node is None else node.parts.get(step)
        return node


def parse(text: str) -> Node:
    """Return the value of a JSON text with the places of its parts; comments and trailing commas are allowed.

    Raises:
        ValueError: it is not JSON.
    """
    node = _value(text, _after_space(text, 0))
    if _after_space(text, node.end) != len(text):
        raise ValueError(f"unexpected text after the value, at character {node.end}")
    return node


def _after_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return position if found is None else found.end()


def _value(text: str, position: int) -> Node:
    mark = text[position : position + 1]
    if mark in ("{", "["):
        return _parts(text, position)
    if mark == '"':
        value, end = _decode.raw_decode(text, position)
        return Node(value, position, position, end)
    atom = _ATOM.match(text, position)
    if atom is None:
        raise ValueError(f"expected a value at character {position}")
    return Node(json.loads(atom[0]), position, position, atom.end())


def _parts(text: str, opens: int) -> Node:
    mark = text[opens]
    node = Node({} if mark == "{" else [], opens, opens, opens)
    position, more = _after_space(text, opens + 1), True
    while text[position : position + 1] != _MARKS[mark]:
        if not more:
            raise ValueError(f"expected a comma at character {position}")
        start, name = position, len(node.parts)
        if mark == "{":
            name, position = _name(text, position)
        part = _value(text, position)
        part.start = start
        node.parts[name] = part
        position = _after_space(text, part.end)
        if more := text[position : position + 1] == ",":
            part.comma = position + 1
            position = _after_space(text, position + 1)
    node.end = position + 1
    values = node.parts
    node.value = {name: each.value for name, each in values.items()}
    if mark == "[":
        node.value = [each.value for each in values.values()]
    return node


def _name(text: str, position: int) -> tuple[Any, int]:
    if text[position : position + 1] != '"':
        raise ValueError(f"expected a name at character {position}")
    name, end = _decode.raw_decode(text, position)
    position = _after_space(text, end)
    if text[position : position + 1] != ":":
        raise ValueError(f"expected a colon at character {position}")
    return name, _after_space(text, position + 1)


def with_first(text: str, path: Sequence[str], name: str | None, value: Any) -> str:
    """Return a text with a value inserted first into the object or array at a path, which is created if it is missing.

    Args:
        text: JSON, with an object outside.
        path: names, from the outside inwards.
        name: the new member's name in an object; None for an array.
        value: what to put in.

    Raises:
        ValueError: something else than an object or array stands on the path.
    """
    root = parse(text)
    for depth in range(len(path) + 1):
        node = root.at(path[:depth])
        if node is None:
            inner: Any = [value] if name is None else {name: value}
            for step in reversed(path[depth:]):
                inner = {step: inner}
            return with_first(text, path[: depth - 1], path[depth - 1], inner)
        wanted = list if depth == len(path) and name is None else dict
        if not isinstance(node.value, wanted):
            raise ValueError(f"{'.'.join(path[:depth]) or 'it'} is no {'array' if wanted is list else 'object'}")
    outer = root.at(path)
    assert outer is not None
    unit = _unit(text, root)
    margin = unit * (len(path) + 1)
    lines = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", "\n" + margin)
    put = f"\n{margin}{'' if name is None else json.dumps(name) + ': '}{lines}"
    inside = text[outer.opens + 1 : outer.end - 1]
    if outer.parts:
        put += ","
    elif not inside.strip():
        put, inside = f"{put}\n{unit * len(path)}", ""
    put = put.replace("\n", "\r\n") if "\r\n" in text else put
    return text[: outer.opens + 1] + put + inside + text[outer.end - 1 :]


def without(text: str, path: Sequence[Any]) -> str:
    """Return a text without the member or value at a path, and without the containers that this would leave empty."""
    root = parse(text)
    while len(path) > 1 and (outer := root.at(path[:-1])) is not None and len(outer.parts) == 1:
        path = path[:-1]
    outer, node = root.at(path[:-1]), root.at(path)
    if outer is None or node is None:
        return text
    start = len(text[: node.start].rstrip())
    if len(outer.parts) == 1:
        inside = text[outer.opens + 1 : start] + text[node.comma or node.end : outer.end - 1]
        return text[: outer.opens + 1] + (inside if inside.strip() else "") + text[outer.end - 1 :]
    if node.comma is not None:
        return text[:start] + text[node.comma :]
    before = list(outer.parts.values())[-2].comma
    assert before is not None
    return text[: before - 1] + text[before:start] + text[node.end :]


def _unit(text: str, root: Node) -> str:
    """Return the indentation of a text's first level."""
    first = next(iter(root.parts.values()), None)
    found = None if first is None else re.search(r"\n([ \t]+)$", text[: first.start])
    return found[1] if found else "  "
