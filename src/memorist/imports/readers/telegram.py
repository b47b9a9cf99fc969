"""Telegram Desktop's export as JSON: ``result.json``, of one chat or of a whole account."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from memorist.imports.reader import Bad, Item, Options, Reader
from memorist.imports.readers.common import attempt
from memorist.imports.sources import Part
from memorist.imports.streaming import JsonPath

_ENTERED = {("chats",), ("chats", "list"), ("left_chats",), ("left_chats", "list")}
_FILES = ("file_name", "file", "photo", "media_type")


def recognise(part: Part) -> bool:
    """Whether a file holds a chat of Telegram's with its messages, or an account's chats."""
    if part.json[0] != "{":
        return False
    return (
        ({"type", "id", "messages"} <= part.keys and '"date_unixtime"' in part.beginning)
        or {"about", "personal_information"} <= part.keys
        or ("chats" in part.keys and '"list"' in part.beginning and '"messages"' in part.beginning)
    )


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield the messages of every chat; no service messages, no media without words."""
    me: str | None = None
    chat: dict[str, Any] = {}
    place: JsonPath = ()
    for (_, *path), value in part.walk(_is_entered):
        if path == ["personal_information"] and isinstance(value, dict):
            me = f"user{value.get('user_id')}"
        elif len(path) > 1 and path[-2] == "messages":
            where = f"message {value.get('id') if isinstance(value, dict) else path[-1]}"
            yield from attempt(where, _message, value, chat, me)
        elif path:
            if tuple(path[:-1]) != place:
                chat, place = {}, tuple(path[:-1])
            chat[str(path[-1])] = value


def _is_entered(path: JsonPath) -> bool:
    _, *inner = path
    if not inner or tuple(inner) in _ENTERED or inner == ["messages"]:
        return True
    in_list = tuple(inner[:2]) in _ENTERED
    return in_list and (len(inner) == 3 or (len(inner) == 4 and inner[3] == "messages"))


def _message(where: str, message: Any, chat: dict[str, Any], me: str | None) -> Iterator[Item]:
    if message["type"] != "message":
        return
    sender = message.get("from_id")
    role = None if me is None or sender is None else "user" if sender == me else "other"
    seconds, text = message.get("date_unixtime"), message.get("text")
    pieces = text if isinstance(text, list) else [text]  # one string, or pieces, some of them formatted
    yield Item(
        content="".join(piece if isinstance(piece, str) else piece.get("text") or "" for piece in pieces if piece),
        where=f"{where} of {chat.get('name') or chat['id']}",
        conversation=str(chat["id"]),
        id=str(message["id"]),
        speaker=message.get("from") or sender,
        role=role,
        happened_at=int(seconds) if seconds else datetime.fromisoformat(message["date"]),
        metadata={
            "conversation": chat.get("name"),
            "forwarded_from": message.get("forwarded_from"),
            "attachment": next((message[name] for name in _FILES if message.get(name)), None),
        },
    )


READER = Reader("telegram", "Telegram", recognise, read)
