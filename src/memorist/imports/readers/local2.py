"""LoCAL2's memory: the folder ``.chroma``, and ``.conversation_history.json`` with its sessions."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from memorist.imports.reader import Bad, Item, Options, Reader
from memorist.imports.readers import rows
from memorist.imports.readers.common import attempt, when_of
from memorist.imports.sources import Part
from memorist.records.record import Kind

_NOBODY = "default"
"""The user of a session that LoCAL2 was told no user for."""
_SAYS = ("user", "assistant")
_TICK = timedelta(microseconds=1)
_in_folder = rows.recognises("local2")


def recognise(part: Part) -> bool:
    """Whether a file is the database of a LoCAL2 folder, or holds its sessions."""
    history = part.pure.name.endswith("conversation_history.json") and part.json[0] == "{"
    return (history and '"messages"' in part.beginning) or _in_folder(part)


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield each row, or what the user and the agent said in each session."""
    if not part.json[0]:
        yield from rows.read(part, options)
        return
    for path, session in part.walk(lambda path: len(path) == 1):
        yield from attempt(f"session {path[0]}", _session, str(path[0]), session)


def _session(where: str, id: str, session: Any) -> Iterator[Item | Bad]:
    user = session.get("user_id")
    at = when_of(session.get("started_at"))
    for number, message in enumerate(session["messages"]):
        when = None if at is None else at + number * _TICK
        yield from attempt(f"{where}, message {number + 1}", _message, id, message, when, user)


def _message(where: str, session: str, message: Any, when: datetime | None, user: str | None) -> Iterator[Item]:
    if message["role"] in _SAYS:
        yield Item(
            content=message.get("content") or "",
            where=where,
            kind=Kind.MESSAGE,
            conversation=session,
            role=message["role"],
            happened_at=when,
            user=None if user in (None, _NOBODY) else str(user),
        )


READER = Reader("local2", "LoCAL2", recognise, read)
