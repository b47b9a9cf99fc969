"""Reads texts, queries and steps from messages."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from memorist.adapters.agentscope.types import Msg
from memorist.framing.frame import without_recalled

RECALLED = "long_term_memory"
"""The name of the message that tells an agent what was recalled; it also marks a summary in its metadata."""

_PLUMBING = ("retrieve_from_memory", "record_to_memory", "generate_response")
"""Tools whose calls are not recorded: those of the memory, and the one with which an agent answers."""


def recorded(msgs: object) -> list[Msg]:
    """Return the messages to record, without those that are None.

    Raises:
        TypeError: there is something else among them.
    """
    listed = isinstance(msgs, Iterable) and not isinstance(msgs, str | bytes | Mapping)
    found: list[Msg] = []
    for each in msgs if listed else [msgs]:  # type: ignore[attr-defined]
        if isinstance(each, Msg):
            found.append(each)
        elif each is not None:
            raise TypeError("The input messages must be a list of Msg objects.")
    return found


def one_or_more(given: object, refusal: str = "The input message must be a Msg or a list of Msg objects.") -> list[Msg]:
    """Return a message, or a list of them, as a list; None is an empty one.

    Raises:
        TypeError: something else is among them, with the text `refusal`, in which {} is its type.
    """
    messages: list[Any] = [] if given is None else given if isinstance(given, list) else [given]
    for each in messages:
        if not isinstance(each, Msg):
            raise TypeError(refusal.format(type(each)))
    return messages


def listed(texts: str | Iterable[str]) -> list[str]:
    """Return a model's texts as a list; a single text becomes a list of one."""
    return [texts] if isinstance(texts, str) else list(texts)


def blocks_of(message: Msg) -> list[Mapping[str, Any]]:
    """Return the message's blocks. A text, alone or in a list, is a text block."""
    parts = [message.content] if isinstance(message.content, str) else message.content
    return [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]


def text_of(message: Msg, *, thinking: bool = True) -> str:
    """Return the message's text and thinking blocks, joined by newlines."""
    kinds = ("text", "thinking") if thinking else ("text",)
    parts = [str(block.get(block["type"]) or "") for block in blocks_of(message) if block.get("type") in kinds]
    return "\n".join(part for part in parts if part)


def _is_recalled(message: Msg) -> bool:
    """Return whether a message says what was recalled, or sums up others."""
    return message.name == RECALLED or RECALLED in (message.metadata or {})


def said(message: Msg, *, thinking: bool = True) -> str:
    """Return the text of a message without recalled memories."""
    return "" if _is_recalled(message) else without_recalled(text_of(message, thinking=thinking)).strip()


def words_of(message: Msg) -> str:
    """Return the whole message as text, with tool calls and their results; never blank."""
    parts = [_block_text(block) for block in blocks_of(message)]
    return "\n".join(part for part in parts if part.strip()) or "(empty)"


def searchable(message: Msg) -> str:
    """Return the text of a message that a search may match: all but recalled memories; never blank."""
    return "\n".join(text for _, text in steps_of(message) if text.strip()) or "(nothing said)"


def steps_of(message: Msg) -> Iterable[tuple[str, str]]:
    """Yield role and text of each part of a message, without recalled memories.

    Calls of the memory's own tools are left out: they hold what is recorded already.
    """
    if text := said(message):
        yield message.role, text
    if _is_recalled(message):
        return
    for block in blocks_of(message):
        if block.get("type") in ("tool_use", "tool_result") and block.get("name") not in _PLUMBING:
            yield ("assistant" if block["type"] == "tool_use" else "user"), without_recalled(_block_text(block))


def _block_text(block: Mapping[str, Any]) -> str:
    kind = block.get("type")
    if kind in ("text", "thinking"):
        return str(block.get(kind) or "")
    if kind == "tool_use":
        return f"{block.get('name')}({json.dumps(block.get('input'), ensure_ascii=False, default=str)})"
    if kind == "tool_result":
        output = block.get("output")
        parts = output if isinstance(output, list) else [{"type": "text", "text": str(output or "")}]
        return f"{block.get('name')}: " + "\n".join(_block_text(part) for part in parts)
    return f"[{kind}]"
