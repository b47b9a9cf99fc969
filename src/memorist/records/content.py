"""The text in a message's content, which chat models give as a string or as a list of parts; and forms of a text."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""An escape in JSON: a whole character in two halves, half of one, or any other."""
_TEXT_TYPES = frozenset((None, "text", "input_text", "output_text"))


def text_of(content: Any) -> str:
    """Return the text of a message's content: a string, or a list of parts of which the texts are taken.

    Thinking, tool calls, tool results and media are left out.
    """
    if content is None or isinstance(content, str):
        return content or ""
    parts = content if isinstance(content, list | tuple) else [content]
    return _joined(text for part in parts if (text := _part_text(part)))


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    kind = field_of(part, "type")
    if kind == "refusal":
        return _string(field_of(part, "refusal"))
    if kind not in _TEXT_TYPES or field_of(part, "thought"):
        return ""
    return _string(field_of(part, "text"))


def _joined(texts: Iterable[str]) -> str:
    """Join parts of a text: as they are where one continues the other, else on lines of their own."""
    whole = ""
    for text in texts:
        continues = not whole or whole[-1].isspace() or text[0].isspace() or text[0] in ".,;:!?)…。，"
        whole += text if continues else f"\n{text}"
    return whole


def folded(text: str) -> str:
    """Return a text without differences of case and white space."""
    return " ".join(text.casefold().split())


def whole_text(text: str) -> str:
    """Return a text with a mark for each half of a character, as programs leave where they cut a text.

    A half is a lone surrogate, which neither UTF-8 nor any store can keep. Two halves that belong together become
    their character.
    """
    return text if is_whole(text) else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def whole_name(name: str) -> str:
    """Return a name with each half of a character written out, as in ``\\ud83d``, so that no two become the same."""
    if is_whole(name):
        return name
    joined = name.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return joined.encode("utf-8", "backslashreplace").decode()


def whole_names(names: Iterable[Any]) -> tuple[Any, ...]:
    """Return each name as `whole_name` does; what is no text, and is refused later, as it is."""
    return tuple(whole_name(each) if isinstance(each, str) else each for each in names)


def whole(value: Any) -> Any:
    """Return JSON values with their texts as `whole_text` and their fields' names as `whole_name` return them."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, Mapping):
        return {whole_name(name) if isinstance(name, str) else name: whole(each) for name, each in value.items()}
    return [whole(each) for each in value] if isinstance(value, list | tuple) else value


def whole_json(text: bytes) -> bytes:
    """Return JSON with an escaped mark for each escaped half of a character, which some parsers do not take."""
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], text) if _HALF.search(text) else text


def is_whole(text: str) -> bool:
    """Return whether a text has no half of a character."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def field_of(given: Any, name: str) -> Any:
    """Return a field of a mapping or of an object, or None."""
    return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
