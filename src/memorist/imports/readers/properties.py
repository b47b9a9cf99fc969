"""The properties of a note: the part of YAML that programs for notes write above a text.

Texts, lists in both forms, quotations, texts of several lines, and names below names. Every value is a text, or a list
or an object of texts: what a number or a date is, YAML decides otherwise than the programs do.
"""

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

_Lines: TypeAlias = list[str]
_LONGEST_NAME = 200
_NO_NAME = "#[]{},-"
"""What a name does not begin with."""
_BLOCK = re.compile(r"([|>])[+-]?\d?[+-]?\d?(?:\s+#.*)?$")
_COMMENT = re.compile(r"(?:^|\s)#(?:\s.*)?$")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_NOTHING = ("", "~", "null", "Null", "NULL")
_DEEPEST = 8


def properties(lines: _Lines, depth: int = 0) -> dict[str, Any]:
    """Return the properties that stand in lines, in order, without those that say nothing."""
    found: dict[str, Any] = {}
    for name, first, rest in _entries(lines):
        value = _value(first, rest, depth)
        if value not in (None, "", [], {}):
            found[name] = value
    return found


def _entries(lines: _Lines) -> Iterator[tuple[str, str, _Lines]]:
    """Yield each name with what follows it on its line, and the lines below that belong to it."""
    name, first, rest = "", "", _Lines()
    for line in lines:
        named, colon, value = line.partition(":")
        plain = named.strip().strip("\"'")
        is_name = bool(colon and plain) and len(plain) < _LONGEST_NAME and value[:1] in ("", " ", "\t")
        if not is_name or line[0].isspace() or line[0] in _NO_NAME:
            rest.append(line)
            continue
        if name:
            yield name, first, rest
        name, first, rest = plain, value.strip(), []
    if name:
        yield name, first, rest


def _value(first: str, rest: _Lines, depth: int) -> Any:
    if (block := _BLOCK.fullmatch(first)) is not None:
        return _of_lines(rest, folded=block[1] == ">")
    below = [line for line in rest if line.strip() and not line.lstrip().startswith("#")]
    if not first or first.startswith("#"):
        if below and re.match(r"\s*-(?:\s|$)", below[0]):
            return _list(below, depth)
        if below and depth < _DEEPEST and (nested := properties(_dedented(below), depth + 1)):
            return nested
        first = ""
    text = " ".join([first, *map(str.strip, below)]).strip()
    if text.startswith("[[") and text.endswith("]]") and text.count("[[") == 1:  # a link that nobody quoted
        return text
    if text.startswith("["):
        text = _COMMENT.sub("", text).rstrip()
    if text.startswith("[") and text.endswith("]"):
        return [value for each in _split(text[1:-1]) if (value := _scalar(each)) is not None]
    return _scalar(text)


def _list(lines: _Lines, depth: int) -> list[Any]:
    """Return the elements of a list that has each on a line of its own."""
    indent = len(lines[0]) - len(lines[0].lstrip())
    elements: list[tuple[str, _Lines]] = []
    for line in lines:
        is_element = line.lstrip().startswith("-") and len(line) - len(line.lstrip()) == indent
        if is_element:
            elements.append((line.lstrip()[1:].strip(), []))
        else:
            elements[-1][1].append(line)
    values = (_value(first, rest, depth + 1) for first, rest in elements)
    return [value for value in values if value not in (None, "", [], {})]


def _of_lines(lines: _Lines, *, folded: bool) -> str:
    """Return a text of several lines; if folded, as one line for each paragraph."""
    text = "\n".join(_dedented(lines)).strip("\n")
    if not folded:
        return text
    return "\n".join(" ".join(paragraph.split("\n")) for paragraph in re.split(r"\n\n+", text)).strip()


def _dedented(lines: _Lines) -> _Lines:
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    indent = min(indents, default=0)
    return [line[indent:].rstrip() for line in lines]


def _split(text: str) -> list[str]:
    """Return the elements of a list that is written on one line: commas in quotations and in brackets part nothing."""
    parts, begun = list[str](), 0
    quote, depth, blank = "", 0, True
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote and text[place - 1] != "\\" else quote
        elif letter in "\"'" and blank:
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        elif letter == "," and depth <= 0:
            parts.append(text[begun:place])
            begun = place + 1
        blank = (blank and letter.isspace()) or begun == place + 1
    return [part for part in (*parts, text[begun:]) if part.strip()]


def _scalar(text: str) -> str | None:
    """Return a text without its quotation marks and what is a comment behind it; None for one that says nothing."""
    text = text.strip()
    if text[:1] in ("'", '"') and (end := _end_of(text)) > 0:
        inner = text[1:end]
        return inner.replace("''", "'") if text[0] == "'" else _ESCAPE.sub(_unescaped, inner)
    text = _COMMENT.sub("", text).strip()
    return None if text in _NOTHING else text


def _end_of(text: str) -> int:
    """Return the place of the mark that ends a quotation, if only a comment follows it; else -1."""
    mark, place = text[0], 1
    while place < len(text):
        if text[place] == "\\" and mark == '"':
            place += 2
            continue
        if text[place] == mark:
            if mark == "'" and text[place + 1 : place + 2] == mark:
                place += 2
                continue
            rest = text[place + 1 :].strip()
            return place if not rest or rest.startswith("#") else -1
        place += 1
    return -1


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _ESCAPED.get(found[3], found[3])
