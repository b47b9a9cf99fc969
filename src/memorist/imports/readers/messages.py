"""Messages in the form of OpenAI's API: lists of them, objects with a list, or one of either in each line."""

from collections.abc import Iterator
from typing import Any

from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import INSTRUCTIONS, attempt, blocks_text, each
from memorist.imports.sources import Part

_NOT_SAID = ("system", "developer")
_TIMES = ("timestamp", "created_at", "create_time", "created", "time")


def recognise(part: Part) -> bool:
    """Whether a JSON file holds messages with a role and a content."""
    listed = "messages" in part.keys and '"role"' in part.beginning and '"content"' in part.beginning
    return listed or {"role", "content"} <= part.keys


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield what was said; no instructions of the system."""
    return each(part, _record, part.title)


def _record(where: str, given: Any, title: str) -> Iterator[Item | Bad | Left]:
    messages = given if isinstance(given, list) else given.get("messages")
    if messages is None:
        yield from _message(where, given, title)
        return
    own = given.get("id") if isinstance(given, dict) else None
    for message in messages:
        conversation = str(own) if own is not None else f"{title}, {where}"
        yield from attempt(where, _message, message, conversation)


def _message(where: str, message: Any, conversation: str) -> Iterator[Item | Left]:
    if message["role"] in _NOT_SAID:
        yield INSTRUCTIONS
        return
    id = message.get("id")
    yield Item(
        content=blocks_text(message.get("content")),
        where=where,
        conversation=conversation,
        id=None if id is None else str(id),
        role=message["role"],
        speaker=message.get("name"),
        happened_at=next((message[name] for name in _TIMES if message.get(name)), None),
    )


READER = Reader("messages", "OpenAI messages", recognise, read)
