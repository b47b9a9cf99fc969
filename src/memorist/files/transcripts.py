"""Reads what was said in a session from the transcript file of a coding agent: Claude Code, Codex or Copilot."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from memorist.files.regular import opened
from memorist.kinds import Message
from memorist.records.times import parse_time

_TAIL = 4_000_000
"""The bytes at the end of a transcript that are read: the text before was kept after earlier turns."""
_VOICES_OF_CODEX = {
    "user_message": "user",
    "agent_message": "assistant",
    "UserMessage": "user",
    "AgentMessage": "assistant",
}
_VOICES_OF_COPILOT = {"user.message": "user", "assistant.message": "assistant"}
_OF_THE_PROGRAM = ("<command-", "<local-command-", "<bash-", "<system-reminder>", "<task-notification>", "Caveat: The ")


def read_transcript(file: Path) -> list[Message]:
    """Return what the user and the agent said, in order: no tool calls, no thinking, no text of the program itself.

    Lines of another form are passed over: programs change their formats.

    Raises:
        OSError: the file cannot be read.
        InvalidInputError: it is not a regular file.
    """
    with opened(file) as stream:
        start = max(0, stream.seek(0, 2) - _TAIL)
        stream.seek(start)
        lines = stream.read(_TAIL).split(b"\n")
    found = list[Message]()
    for line in lines[bool(start) :]:
        with suppress(ValueError, RecursionError):
            if (message := message_of(json.loads(line))) is not None:
                found.append(message)
    return found


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
