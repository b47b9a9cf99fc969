"""The text in a message's content, which chat models give as a string or as a list of parts; and forms of a text."""

from collections.abc import Iterable, Mapping
from typing import Any

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
    """Return a text with a mark for each half of a character, as programs leave where they cut a text."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def field_of(given: Any, name: str) -> Any:
    """Return a field of a mapping or of an object, or None."""
    return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
