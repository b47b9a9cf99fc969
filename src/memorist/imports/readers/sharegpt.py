"""Conversations in the form of ShareGPT: ``{"conversations": [{"from": "human", "value": "…"}]}``."""

from collections.abc import Iterator
from typing import Any

from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import INSTRUCTIONS, attempt, each, having
from memorist.imports.sources import Part

_ROLES = {
    "human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "chatgpt": "assistant",
    "bing": "assistant", "bard": "assistant", "function_call": "assistant", "observation": "tool", "tool": "tool",
    "function_response": "tool",
}  # fmt: skip


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield what was said; no instructions of the system."""
    return each(part, _conversation, part.title)


def _conversation(where: str, given: Any, title: str) -> Iterator[Item | Bad | Left]:
    conversation = str(given.get("id") or f"{title}, {where}")
    for turn in given.get("conversations") or given["conversation"]:
        yield from attempt(where, _turn, turn, conversation)


def _turn(where: str, turn: Any, conversation: str) -> Iterator[Item | Left]:
    if turn["from"] == "system":
        yield INSTRUCTIONS
        return
    role = _ROLES.get(turn["from"], turn["from"])
    yield Item(content=turn["value"] or "", where=where, conversation=conversation, role=role)


READER = Reader("sharegpt", "ShareGPT", having({"conversations"}, {"conversation"}, texts=('"from"', '"value"')), read)
