"""Discord's channels as DiscordChatExporter writes them in JSON."""

from collections.abc import Iterator, Mapping
from typing import Any

from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import BY_THE_PROGRAM, attempt
from memorist.imports.sources import Part

_SAID = frozenset(
    "Default Reply ChatInputCommand ContextMenuCommand ThreadStarterMessage AutoModerationAction 20 21 23 24".split()
)
"""Types of messages that hold a text; those that the exporter has no name for are numbers."""


def recognise(part: Part) -> bool:
    """Whether a file holds a channel of a guild with its messages."""
    return {"guild", "channel"} <= part.keys and part.json[0] == "{"


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield what was said in a channel; nobody's coming and going, no pins and calls."""
    about: dict[str, Any] = {}
    for (_, *path), value in part.walk(lambda path: len(path) == 1 or path[1:] == ("messages",)):
        if len(path) > 1:
            where = f"message {value.get('id') if isinstance(value, dict) else path[-1]}"
            yield from attempt(where, _message, value, about)
        elif path:
            about[str(path[0])] = value


def _message(where: str, message: Any, about: dict[str, Any]) -> Iterator[Item | Left]:
    if str(message["type"]) not in _SAID:
        yield BY_THE_PROGRAM
        return
    forwarded = message.get("forwardedMessage") or {}
    author, guild, channel = message["author"], about.get("guild") or {}, about["channel"]
    yield Item(
        content="\n\n".join(filter(None, (_text(message), _text(forwarded)))),
        where=where,
        conversation=str(channel["id"]),
        id=str(message["id"]),
        speaker=author.get("nickname") or author["name"],
        happened_at=message["timestamp"],
        metadata={
            "conversation": " / ".join(filter(None, (guild.get("name"), channel.get("name")))),
            "attachments": [
                each.get("fileName") for said in (message, forwarded) for each in said.get("attachments") or () if each
            ],
            "forwarded": bool(forwarded) or None,
            "reply_to": (message.get("reference") or {}).get("messageId"),
            "bot": author.get("isBot") or None,
        },
    )


def _text(said: Mapping[str, Any]) -> str:
    """Return the text of a message, and where it has none, that of its embeds, as bots answer."""
    if content := said.get("content"):
        return str(content)
    texts = list[str | None]()
    for embed in said.get("embeds") or ():
        texts += [embed.get("title"), embed.get("description")]
        texts += [f"{each.get('name')}: {each.get('value')}" for each in embed.get("fields") or ()]
    return "\n".join(text for text in texts if text)


READER = Reader("discord", "Discord", recognise, read)
