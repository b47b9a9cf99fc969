"""Slack's export: a zip with a folder for each channel and a file in it for each day."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from memorist.errors import FormatError
from memorist.imports.reader import Bad, Item, Options, Reader
from memorist.imports.readers.common import each
from memorist.imports.sources import Part

_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")
_SAID = (None, "", "bot_message", "file_share", "file_comment", "me_message", "thread_broadcast")
_TOKEN = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")
_CHANNELS = ("channels.json", "groups.json", "dms.json", "mpims.json")


def recognise(part: Part) -> bool:
    """Whether a file is a channel's day: named by its date, with the list of users in the folder above."""
    return _DAY.fullmatch(part.pure.name) is not None and _beside(part, "users.json") is not None


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield what was said on a day; nobody's coming and going, nothing deleted."""
    users = part.source.kept(("slack", part.pure.parent.parent), lambda: _named(part, "users.json"))
    channels = part.source.kept(("channels", part.pure.parent.parent), lambda: _named(part, *_CHANNELS))
    folder = part.pure.parent.name
    id = next((id for id, name in channels.items() if name == folder), folder)
    return each(part, _message, id, folder, users, channels)


def _message(
    where: str, message: Any, talk: str, folder: str, users: Mapping[str, str], channels: Mapping[str, str]
) -> Iterator[Item]:
    if message.get("type") != "message" or message.get("subtype") not in _SAID or message.get("hidden"):
        return
    profile = message.get("user_profile") or message.get("bot_profile") or {}
    sender = message.get("user") or message.get("bot_id")
    name = users.get(sender) or profile.get("real_name") or profile.get("name") or message.get("username") or sender
    thread = message.get("thread_ts")
    yield Item(
        content=_text(message.get("text") or "", users, channels),
        where=where,
        conversation=talk,
        id=message["ts"],
        speaker=name,
        happened_at=message["ts"],
        metadata={
            "conversation": folder,
            "thread": thread if thread != message["ts"] else None,
            "attachments": [each.get("name") for each in message.get("files") or ()],
        },
    )


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
