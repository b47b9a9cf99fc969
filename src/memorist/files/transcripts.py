"""Reads what was said in a session from the transcript file of a coding agent: Claude Code, Codex or Copilot."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from memorist.files.regular import lines_back, opened
from memorist.kinds import Message
from memorist.records.times import parse_time

_TAIL = 4_000_000
"""The bytes at the end of a transcript that are read in any case."""
_FARTHEST = 256_000_000
"""The most bytes of a transcript that are read."""
MOST_MESSAGES = 400
"""The messages of a session that are kept at once where none is kept yet, and more to reach the last prompt."""
_MOST_NEW = 10_000
_VOICES_OF_CODEX = {
    "user_message": "user",
    "agent_message": "assistant",
    "UserMessage": "user",
    "AgentMessage": "assistant",
}
_VOICES_OF_COPILOT = {"user.message": "user", "assistant.message": "assistant"}
_OF_THE_PROGRAM = ("<command-", "<local-command-", "<bash-", "<system-reminder>", "<task-notification>", "Caveat: The ")


def read_transcript(file: Path, since: str | None = None) -> list[Message]:
    """Return the last that the user and the agent said, in order: no tool calls, no thinking, no text of the program.

    The file is read from its end, back to the message with the id `since` at least, and to a prompt of the user: the
    results of tools after it may be of any size. Lines of another form are passed over: programs change
    their formats.

    Args:
        file: the transcript.
        since: the id of the newest message that is kept already.

    Raises:
        OSError: the file cannot be read.
        InvalidInputError: it is not a regular file.
    """
    found = list[Message]()
    most, reached = MOST_MESSAGES if since is None else _MOST_NEW, False
    for read, message in messages_back(file):
        if reached and read > _TAIL:
            break
        found.append(message)
        reached = reached or (since is not None and message.id == since)
        if len(found) >= most and message.role == "user":
            break
    return found[::-1]


def messages_back(file: Path) -> Iterator[tuple[int, Message]]:
    """Yield what was said, the last first, each with how many bytes from the end on have been read.

    Raises:
        OSError: the file cannot be read.
        InvalidInputError: it is not a regular file.
    """
    read = 0
    with opened(file) as stream:
        for line in lines_back(stream, _FARTHEST):
            read += len(line) + 1
            with suppress(ValueError, RecursionError):
                if (message := message_of(json.loads(line))) is not None:
                    yield read, message


def last_messages(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the last messages, with the user's last prompt."""
    start = max(0, len(messages) - MOST_MESSAGES)
    while start > 0 and messages[start].role != "user":
        start -= 1
    return messages[start:]


def message_of(entry: object) -> Message | None:
    """Return what the user or the agent said in an entry of a transcript, None for an entry of another kind."""
    if not isinstance(entry, dict):
        return None
    kind = str(entry.get("type"))
    read = _of_codex if kind == "event_msg" else _of_copilot if kind in _VOICES_OF_COPILOT else _of_claude
    said = read(entry)
    if said is None:
        return None
    role, text, id = said
    if not text.strip() or text.lstrip().startswith(_OF_THE_PROGRAM):
        return None
    when = None
    if isinstance(stamp := entry.get("timestamp"), str):
        with suppress(ValueError):
            when = parse_time(stamp)
    return Message(content=text, role=role, id=id, happened_at=when)


def _of_claude(entry: dict[str, Any]) -> tuple[str, str, str | None] | None:
    message, role = entry.get("message"), entry.get("type")
    ours = not any(entry.get(flag) for flag in ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage"))
    if not ours or role not in ("user", "assistant") or not isinstance(message, dict):
        return None
    id = entry.get("uuid")
    return role, _text_of(message.get("content")), id if isinstance(id, str) else None


def _of_codex(entry: dict[str, Any]) -> tuple[str, str, str | None] | None:
    said = entry.get("payload")
    if isinstance(said, dict) and said.get("type") == "item_completed":  # as 0.169 writes it
        said = said.get("item")
    if not isinstance(said, dict) or (role := _VOICES_OF_CODEX.get(str(said.get("type")))) is None:
        return None
    when = entry.get("timestamp")
    return role, _text_of(said.get("message", said.get("content"))), f"{role}-{when}" if isinstance(when, str) else None


def _of_copilot(entry: dict[str, Any]) -> tuple[str, str, str | None] | None:
    said, id = entry.get("data"), entry.get("id")
    if not isinstance(said, dict) or said.get("parentToolCallId"):  # an agent's own talk with another
        return None
    return _VOICES_OF_COPILOT[entry["type"]], _text_of(said.get("content")), id if isinstance(id, str) else None


def _text_of(content: object) -> str:
    """Return a text, or the texts among blocks of content."""
    blocks = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    texts = [
        block if isinstance(block, str) else block.get("text")
        for block in blocks
        if isinstance(block, str) or (isinstance(block, dict) and str(block.get("type")).lower() == "text")
    ]
    return "\n".join(text for text in texts if isinstance(text, str))
