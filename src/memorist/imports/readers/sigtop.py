"""Signal Desktop's chats as sigtop exports them: text or JSON, a file for each chat, or the database as it is.

In the text, a message begins with its sender and type, below a blank line. What it answers stands above its body behind
">", and the versions of an edited one behind "|", the latest first.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import chain, dropwhile, pairwise, takewhile
from typing import Any

from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import BY_THE_PROGRAM, attempt, database, each, tables
from memorist.imports.sources import Part

_ME = "Me"
_NAMED = re.compile(r"(.+?)(?: \([^()]*\))?")
_FILE = re.compile(r"Attachment: (.+) \(\S*, \d+ bytes\)")
_ROLES = {"outgoing": "user", "incoming": "other"}
_KEYS = (("sourceServiceId", "serviceId"), ("sourceUuid", "uuid"))
_NAME = "coalesce(nullif({0}.name, ''), {0}.profileFullName, {0}.profileName, {0}.e164, {0}.id)"


def recognise(part: Part) -> bool:
    """Whether a file is a chat as text or JSON, or Signal's database."""
    lines = part.beginning.splitlines()
    if part.pure.suffix.lower() == ".txt" and len(lines) > 3 and lines[0].startswith("Conversation: "):
        return not lines[1] and _begins("", lines[2], lines[3])
    if {"conversationId", "sent_at", "type"} <= part.keys:
        return True
    return {"messages", "conversations", "sessions"} <= tables(part)


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield what was said; nothing deleted, no calls, no changes of a group."""
    if part.json[0]:
        yield from each(part, _object, part.title)
    elif tables(part):
        yield from _rows(part)
    else:
        conversation = next(part.lines())[1].partition(": ")[2]
        for number, block in _blocks(part):
            yield from attempt(f"line {number}", _block, block, conversation)


def _begins(above: str, line: str, below: str) -> bool:
    by_somebody = line.startswith("From: ") and below.startswith("Type: ")
    return not above and (by_somebody or (line.startswith("Type: ") and below.startswith(("Sent: ", "Received: "))))


def _blocks(part: Part) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of each message, and the number of the first."""
    block: list[str] = []
    begun, above = 0, ""
    for (number, line), (_, below) in pairwise(chain(part.lines(), [(0, "")])):
        if number > 1 and _begins(above, line, below):
            if begun:
                yield begun, block
            block, begun = [], number
        block.append(line)
        above = line
    if begun:
        yield begun, block


def _block(where: str, lines: Sequence[str], conversation: str) -> Iterator[Item | Left]:
    head = [*takewhile(bool, lines)]
    fields = dict(line.partition(": ")[::2] for line in head)
    role = _ROLES.get(fields["Type"])
    if role is None:
        yield BY_THE_PROGRAM
        return
    body = [*dropwhile(lambda line: not line, lines[len(head) :])]
    if "Edited" in fields:  # the body of the version that stands first
        versions = [line[1:].removeprefix(" ") for line in takewhile(lambda line: line.startswith("|"), body)]
        first = [*versions[:1], *takewhile(lambda line: not line.startswith("Version: "), versions[1:])]
        body = [*dropwhile(lambda line: not line, dropwhile(bool, first))]
    if body and body[0].startswith("> From: "):
        body = [*dropwhile(lambda line: line.startswith(">"), body)]
    named = _NAMED.fullmatch(fields.get("From", ""))
    yield Item(
        content="\n".join(body).strip(),
        where=where,
        conversation=conversation,
        speaker=_ME if role == "user" else named[1] if named else None,
        role=role,
        happened_at=parsedate_to_datetime(fields.get("Sent") or fields["Received"]),
        metadata={"attachments": [found[1] for line in head if (found := _FILE.fullmatch(line))]},
    )


def _object(where: str, message: Any, conversation: str) -> Iterator[Item | Left]:
    if (role := _ROLES.get(message["type"])) is None:
        yield BY_THE_PROGRAM
        return
    sender = message.get("source") or message.get("sourceServiceId")
    files = [each.get("fileName") for each in message.get("attachments") or () if each]
    yield from _said(where, message["id"], role, message.get("body"), message["sent_at"], conversation, sender, files)


def _rows(part: Part) -> Iterator[Item | Bad | Left]:
    with database(part) as connection:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(messages)")}
        ours, theirs = next((pair for pair in _KEYS if pair[0] in columns), _KEYS[0])
        asked = connection.execute(
            f"SELECT m.id, m.type, m.body, m.sent_at, {_NAME.format('c')}, {_NAME.format('s')} FROM messages m "
            f"LEFT JOIN conversations c ON c.id = m.conversationId LEFT JOIN conversations s ON s.{theirs} = m.{ours} "
            "WHERE m.type IN ('incoming', 'outgoing') ORDER BY m.rowid"
        )
        for id, kind, body, sent, conversation, sender in asked:
            where = f"message {id}"
            yield from attempt(where, _said, id, _ROLES[kind], body, sent, conversation, sender, [])
        others = "SELECT 1 FROM messages WHERE type IS NULL OR type NOT IN ('incoming', 'outgoing')"
        if number := sum(1 for _ in connection.execute(others)):
            yield Left(BY_THE_PROGRAM.what, number)


def _said(
    where: str,
    id: Any,
    role: str,
    body: Any,
    sent: float,
    conversation: str | None,
    sender: str | None,
    files: list[Any],
) -> Iterator[Item]:
    yield Item(
        content=body or "",
        where=where,
        conversation=conversation,
        id=str(id),
        speaker=_ME if role == "user" else sender,
        role=role,
        happened_at=datetime.fromtimestamp(sent / 1000, UTC),
        metadata={"attachments": files},
    )


READER = Reader("sigtop", "Signal (sigtop)", recognise, read)
