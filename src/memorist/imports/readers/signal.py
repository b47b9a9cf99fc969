"""Signal's chats as signal-export writes them: a folder for each chat, with ``data.json`` in lines."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import BY_THE_PROGRAM, DELETED, each, having
from memorist.imports.sources import Part

_ME = "Me"


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield what was said; nothing deleted, no calls."""
    return each(part, _message, part.folder or part.title)


def _message(where: str, message: Any, conversation: str) -> Iterator[Item | Left]:
    if message.get("deleted") or message.get("call"):
        yield DELETED if message.get("deleted") else BY_THE_PROGRAM
        return
    yield Item(
        content=message["body"] or "",
        where=where,
        conversation=conversation,
        speaker=message["sender"],
        role="user" if message["sender"] == _ME else "other",
        happened_at=datetime.fromisoformat(message["date"]),
        metadata={"attachments": [each.get("name") for each in message.get("attachments") or () if each]},
    )


READER = Reader("signal", "Signal", having({"date", "sender", "body", "reactions", "quote"}), read)
