"""Telegram Desktop's export as JSON: ``result.json``, of one chat or of a whole account."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import BY_THE_PROGRAM, attempt
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


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
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


def _message(where: str, message: Any, chat: dict[str, Any], me: str | None) -> Iterator[Item | Left]:
    if message["type"] != "message":
        yield BY_THE_PROGRAM
        return
    sender = message.get("from_id")
    role = None if me is None or sender is None else "user" if sender == me else "other"
    seconds = message.get("date_unixtime")
    yield Item(
        content="\n".join(filter(None, (_text(message.get("text")), _asked(message)))),
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


def _text(text: Any) -> str:
    """Return a text, which is one string, or pieces, some of them formatted."""
    pieces = text if isinstance(text, list) else [text]
    return "".join(piece if isinstance(piece, str) else piece.get("text") or "" for piece in pieces if piece)


def _asked(message: Mapping[str, Any]) -> str:
    """Return a poll or a list of things to do: its title, and each answer on a line with its votes."""
    asked = message.get("poll") or message.get("todo_list") or {}
    lines = [_text(asked.get("question") or asked.get("title"))]
    for answer in asked.get("answers") or ():
        votes = answer.get("voters")
        lines.append(f"- {_text(answer.get('text'))}" + ("" if votes is None else f" ({votes})"))
    return "\n".join(filter(None, lines))


READER = Reader("telegram", "Telegram", recognise, read)
