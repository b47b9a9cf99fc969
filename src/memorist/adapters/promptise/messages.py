"""Reads the query from a graph's input and the answer from its output, in their many forms."""

from collections.abc import Mapping, Sequence
from typing import Any

from memorist.records.content import field_of
from memorist.records.content import text_of as content_text

_ASKED = ("input", "query", "question", "text")
_ANSWERED = ("output", "answer", "response", "result", "text")
_MOST_CHARACTERS = 500
"""The most characters of a value in an unknown form."""
_SYSTEM = ("system", "developer")


def query_of(input: Any) -> str:
    """Return the query for a memory: the last message, or another text of the input."""
    if isinstance(input, str):
        return input
    if input is None:
        return ""
    messages = messages_of(input)
    if messages:
        return text_of(messages[-1])
    if isinstance(input, Mapping):
        for name in _ASKED:
            if isinstance(input.get(name), str):
                return str(input[name])
    return "" if messages is not None else str(input)[:_MOST_CHARACTERS]


def messages_of(input: Any) -> list[Any] | None:
    """Return the messages of a graph's input in a new list; None if it has none."""
    messages = input.get("messages") if isinstance(input, Mapping) else None
    if messages is None:
        return None
    if isinstance(messages, str) or _is_pair(messages) or not isinstance(messages, Sequence):
        return [messages]
    return list(messages)


def text_of(message: Any) -> str:
    """Return the text of a message: of a mapping, an object, a pair of role and text, or a text itself."""
    if _is_pair(message):
        return content_text(message[1])
    return content_text(message if isinstance(message, str) else field_of(message, "content"))


def _is_pair(message: Any) -> bool:
    """Whether a message is a pair of role and content."""
    return isinstance(message, tuple) and len(message) == 2 and isinstance(message[0], str)


def _role(message: Any) -> str:
    if isinstance(message, Mapping):
        return str(message.get("role") or message.get("type") or "")
    if _is_pair(message):
        return str(message[0])
    return str(getattr(message, "type", "") or getattr(message, "role", ""))


def is_system(message: Any) -> bool:
    """Whether a message is a system message."""
    return _role(message) in _SYSTEM


class GraphAnswer:
    """The answer of a graph, from its output or from streamed pieces."""

    def __init__(self) -> None:
        self._whole = ""
        self._pieces: list[str] = []
        self._unknown: Any = None

    @classmethod
    def of(cls, output: Any) -> "GraphAnswer":
        """Return the answer in an output; of an output in an unknown form, its beginning."""
        answer = cls().take(output)
        known = isinstance(output, Mapping) and any(name in output for name in ("messages", *_ANSWERED))
        answer._unknown = None if known or hasattr(output, "content") else output
        return answer

    @property
    def text(self) -> str:
        """The answer: the last whole message, or else the joined pieces."""
        if text := self._whole or "".join(self._pieces):
            return text
        return "" if self._unknown is None else str(self._unknown)[:_MOST_CHARACTERS]

    def take(self, output: Any) -> "GraphAnswer":
        """Add an output, or a piece of one."""
        if isinstance(output, str):
            self._pieces.append(output)
        elif isinstance(output, Mapping):
            self._take_mapping(output)
        elif isinstance(output, tuple) and output:
            # A message with its metadata, or (in streams of several modes) a mode or a place with the data.
            self.take(output[0] if hasattr(output[0], "content") else output[-1])
        elif hasattr(output, "content"):
            self._take_message(output)
        return self

    def _take_mapping(self, output: Mapping[Any, Any]) -> None:
        if (messages := messages_of(output)) is not None:
            if messages:
                self._take_message(messages[-1])
            return
        for name in _ANSWERED:
            if isinstance(text := output.get(name), str):
                if type(output).__name__ == "AddableDict":  # LangChain's name for a piece of a mapping
                    self._pieces.append(text)
                else:
                    self._whole = text
                return
        for update in output.values():  # by the names of the nodes that made them
            if isinstance(update, Mapping):
                self._take_mapping(update)

    def _take_message(self, message: Any) -> None:
        if type(message).__name__.endswith("Chunk"):
            self._pieces.append(text_of(message))
        elif _role(message) not in (*_SYSTEM, "human", "user", "tool") and (text := text_of(message)):
            self._whole = text
