"""Discord's channels as DiscordChatExporter writes them in JSON."""

from collections.abc import Iterator
from typing import Any

from memorist.imports.reader import Bad, Item, Options, Reader
from memorist.imports.readers.common import attempt
from memorist.imports.sources import Part

_SAID = ("Default", "Reply", "ChatInputCommand", "ContextMenuCommand", "ThreadStarterMessage")


def recognise(part: Part) -> bool:
    """Whether a file holds a channel of a guild with its messages."""
    return {"guild", "channel"} <= part.keys and part.json[0] == "{"


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield what was said in a channel; nobody's coming and going, no pins and calls."""
    about: dict[str, Any] = {}
    for (_, *path), value in part.walk(lambda path: len(path) == 1 or path[1:] == ("messages",)):
        if len(path) > 1:
            where = f"message {value.get('id') if isinstance(value, dict) else path[-1]}"
            yield from attempt(where, _message, value, about)
        elif path:
            about[str(path[0])] = value


def _message(where: str, message: Any, about: dict[str, Any]) -> Iterator[Item]:
    if message["type"] not in _SAID:
        return
    author, guild, channel = message["author"], about.get("guild") or {}, about["channel"]
    yield Item(
        content=message.get("content") or "",
        where=where,
        conversation=str(channel["id"]),
        id=str(message["id"]),
        speaker=author.get("nickname") or author["name"],
        happened_at=message["timestamp"],
        metadata={
            "conversation": " / ".join(filter(None, (guild.get("name"), channel.get("name")))),
            "attachments": [each.get("fileName") for each in message.get("attachments") or ()],
            "reply_to": (message.get("reference") or {}).get("messageId"),
            "bot": author.get("isBot") or None,
        },
    )


READER = Reader("discord", "Discord", recognise, read)
