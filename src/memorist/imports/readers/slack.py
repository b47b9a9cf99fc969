"""Slack's export: a zip with a folder for each channel and a file in it for each day."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from memorist.errors import FormatError
from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import BY_THE_PROGRAM, DELETED, each
from memorist.imports.sources import Part

_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")
_SAID = (None, "", "bot_message", "file_share", "file_comment", "me_message", "thread_broadcast")
_TOKEN = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")
_BLOCKS = ("section", "header", "context", "rich_text", "rich_text_quote", "rich_text_preformatted")
"""The blocks that stand on lines of their own."""
_CHANNELS = ("channels.json", "groups.json", "dms.json", "mpims.json")


def recognise(part: Part) -> bool:
    """Whether a file is a channel's day: named by its date, with the list of users in the folder above."""
    return _DAY.fullmatch(part.pure.name) is not None and _beside(part, "users.json") is not None


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield what was said on a day; nobody's coming and going, nothing deleted."""
    users = part.source.kept(("slack", part.pure.parent.parent), lambda: _named(part, "users.json"))
    channels = part.source.kept(("channels", part.pure.parent.parent), lambda: _named(part, *_CHANNELS))
    folder = part.pure.parent.name
    id = next((id for id, name in channels.items() if name == folder), folder)
    return each(part, _message, id, folder, users, channels)


def _message(
    where: str, message: Any, conversation: str, folder: str, users: Mapping[str, str], channels: Mapping[str, str]
) -> Iterator[Item | Left]:
    if message.get("type") != "message" or message.get("subtype") not in _SAID or message.get("hidden"):
        yield DELETED if message.get("subtype") == "tombstone" else BY_THE_PROGRAM
        return
    profile = message.get("user_profile") or message.get("bot_profile") or {}
    sender = message.get("user") or message.get("bot_id")
    name = users.get(sender) or profile.get("real_name") or profile.get("name") or message.get("username") or sender
    thread = message.get("thread_ts")
    yield Item(
        content=_text(message.get("text") or _in_parts(message), users, channels),
        where=where,
        conversation=conversation,
        id=message["ts"],
        speaker=name,
        happened_at=message["ts"],
        metadata={
            "conversation": folder,
            "thread": thread if thread != message["ts"] else None,
            "attachments": [each.get("name") or each.get("title") for each in message.get("files") or () if each],
        },
    )


def _in_parts(message: Mapping[str, Any]) -> str:
    """Return the text of a message whose own is empty: that of its blocks, or of what is attached to it."""
    if text := _of_block(message.get("blocks")).strip():
        return text
    texts = list[str]()
    for attached in filter(None, message.get("attachments") or ()):
        told = [attached.get(name) for name in ("pretext", "title", "text")]
        fields = [f"{each.get('title')}: {each.get('value')}" for each in attached.get("fields") or ()]
        texts += [each for each in (*told, *fields) if each] or [attached.get("fallback") or ""]
    return "\n".join(filter(None, texts))


def _of_block(block: Any) -> str:
    """Return the text of a block, of an element in one, or of a list of either, with ids in the form of `_TOKEN`."""
    if isinstance(block, list):
        return "".join(map(_of_block, block))
    if not isinstance(block, dict):
        return ""
    text = block.get("text")
    match block.get("type"):
        case "user":
            return f"<@{block.get('user_id')}>"
        case "channel":
            return f"<#{block.get('channel_id')}>"
        case "usergroup" | "broadcast":
            return f"@{block.get('range') or block.get('usergroup_id')}"
        case "emoji":
            return f":{block.get('name')}:"
        case "link":
            return f"<{block.get('url')}|{text}>" if text else f"<{block.get('url')}>"
        case "rich_text_list":
            return "".join(f"- {_of_block(each)}\n" for each in block.get("elements") or ())
        case "rich_text_section":
            return _of_block(block.get("elements"))
    inner = text if isinstance(text, str) else _of_block(text) + _of_block(block.get("elements"))
    inner += _of_block(block.get("fields")) if block.get("type") == "section" else ""
    return f"{inner}\n" if block.get("type") in _BLOCKS else inner


def _text(text: str, users: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """Return a text with names in the place of ids, and links as they are read."""

    def shown(token: re.Match[str]) -> str:
        mark, target, label = token.groups()
        if mark == "@":
            return f"@{users.get(target) or label or target}"
        if mark == "#":
            return f"#{label or channels.get(target) or target}"
        if mark == "!":
            return label or f"@{target.partition('^')[0]}"
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_TOKEN.sub(shown, text))


def _beside(part: Part, name: str) -> Part | None:
    """Return a file of the folder above the channel's."""
    above = part.pure.parent.parent
    return part.source.part(str(above / name)) if part.pure.parent.name else None


def _named(part: Part, *files: str) -> dict[str, str]:
    """Return the names of users or channels by their ids, and of bots by theirs."""
    found: dict[str, str] = {}
    for file in files:
        if (listed := _beside(part, file)) is None:
            continue
        with listed.text() as stream:
            try:
                entries = json.load(stream)
            except ValueError as error:
                raise FormatError(f"{file} beside it is not JSON: {error}") from error
        for entry in entries:
            profile = entry.get("profile") or {}
            names = (profile.get("display_name"), profile.get("real_name"), entry.get("real_name"), entry.get("name"))
            found[entry["id"]] = name = next(filter(None, names), str(entry["id"]))
            if bot := profile.get("bot_id"):
                found[bot] = name
    return found


READER = Reader("slack", "Slack", recognise, read)
