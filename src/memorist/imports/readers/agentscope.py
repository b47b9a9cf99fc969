"""AgentScope's short-term memory: a state as JSON, the file of a `JSONSession`, or an SQLAlchemy database.

A message becomes the record that `memorist.adapters.agentscope.DurableMemory` keeps of it in the session of that name.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from memorist.adapters.entries import key_of
from memorist.errors import InvalidInputError
from memorist.imports.extra_fields import KEPT, restored
from memorist.imports.reader import Bad, Item, Options, Reader
from memorist.imports.readers.common import attempt, database, each, holding, when_of
from memorist.imports.sources import Part
from memorist.records.kind import Kind
from memorist.records.origins import NOBODY, Author
from memorist.records.times import iso

FORM = "agentscope"
SUMMARY = "_compressed_summary"
"""Where a state has the summary of the messages that were removed."""
_STATE = re.compile(r'"content"\s*:\s*\[\s*(?:\[\s*)?\{\s*"id"\s*:')
_SUMMED_UP = re.compile(rf'"{SUMMARY}"\s*:\s*"[^"]')
_MESSAGE = ("name", "role", "content")
_TICK = timedelta(microseconds=1)
_NOBODY = "default_user"
_MESSAGES = 'SELECT id, msg, session_id FROM message ORDER BY session_id, "index"'
_MARKS = "SELECT msg_id, mark FROM message_mark ORDER BY rowid"
_OWNERS = "SELECT id, user_id FROM session"
_in_database = holding("message", "message_mark", "session", "users")


class _Conversation(NamedTuple):
    """Whose messages these are, and the labels of their records."""

    session: str
    user: str | None = None
    agent: str | None = None


def recognise(part: Part) -> bool:
    """Whether a file holds a state with messages or a summary, or is such a database."""
    if part.json[0] != "{":
        return _in_database(part)
    named = all(f'"{name}"' in part.beginning for name in _MESSAGE)
    return (named and _STATE.search(part.beginning) is not None) or _SUMMED_UP.search(part.beginning) is not None


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield each message in the order of its memory, and what sums up the older ones."""
    if part.json[0]:
        yield from each(part, _file, part.title, options)
    else:
        yield from _stored(part, options)


# --- JSON ------------------------------------------------------------------------------------------------


def _file(where: str, given: Any, name: str, options: Options) -> Iterator[Item | Bad]:
    states = list(_states(given, ()))
    for path, state in states:
        if KEPT in state:
            about = json.loads(state[KEPT])
            conversation = _Conversation(about["session"] or name, None, about["agent"])
        elif path:
            conversation = _named(name, None if len(states) == 1 else _module(path))
        else:
            conversation = _Conversation(name)
        yield from _state("/".join((where, *path)), state, conversation, options)


def _states(given: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Yield the states of memories that an agent's or a session's state has in it, with the names that lead there."""
    if not isinstance(given, dict):
        return
    content = given.get("content")
    if isinstance(content, list) and all(isinstance(_marked(held)[0], dict) for held in content):
        yield path, given
        return
    for name, value in given.items():
        yield from _states(value, (*path, name))


def _named(name: str, agent: str | None) -> _Conversation:
    """Return what a session's file is named after: a `JSONSession` puts the user before the session."""
    user, separator, session = name.partition("_")
    return _Conversation(session, user, agent) if separator and user and session else _Conversation(name, None, agent)


def _module(path: tuple[str, ...]) -> str:
    """Return the name of the agent whose memory a state is."""
    return "/".join(path[:-1] if len(path) > 1 and path[-1] == "memory" else path)


def _state(where: str, state: Mapping[str, Any], conversation: _Conversation, options: Options) -> Iterator[Item | Bad]:
    order = _Order(options)
    for number, held in enumerate(state["content"], start=1):
        message, marks = _marked(held)
        yield from attempt(f"{where}, message {number}", _message, message, marks, conversation, order)
    if summary := state.get(SUMMARY):
        yield Item(
            content=json.dumps(summary, ensure_ascii=False),
            where=f"{where}, its summary",
            kind=Kind.STATE,
            conversation=conversation.session,
            id=f"{conversation.agent or ''}/{SUMMARY}",
            key=key_of(FORM, "summary", conversation.agent or "", conversation.session),
            agent=conversation.agent,
            session=conversation.session,
            user=conversation.user,
            payload={"form": FORM},
        )


def _marked(held: Any) -> tuple[Any, list[str]]:
    """Return a message of a state, and its marks, which older states do not have."""
    return held if isinstance(held, list) and len(held) == 2 else (held, [])  # type: ignore[return-value]


# --- the database ----------------------------------------------------------------------------------------


def _stored(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield the messages of a database. Sessions of one name are each user's own, whoever began the session."""
    with database(part) as connection:
        marks: dict[str, list[str]] = {}
        for id, mark in connection.execute(_MARKS):
            marks.setdefault(id, []).append(mark)
        owners = dict(connection.execute(_OWNERS).fetchall())
        orders: dict[_Conversation, _Order] = {}
        for id, given, session in connection.execute(_MESSAGES):
            message = json.loads(given)
            end = f"-{session}-{message.get('id')}"
            user = id.removesuffix(end) if id.endswith(end) else owners.get(session)
            conversation = _Conversation(session, None if user == _NOBODY else user)
            order = orders.setdefault(conversation, _Order(options))
            yield from attempt(f"message {id}", _message, message, marks.get(id, []), conversation, order)


# --- a message -------------------------------------------------------------------------------------------


class _Order:
    """The times of the messages of a memory, each later than the one before, which orders its records."""

    def __init__(self, options: Options) -> None:
        self._zone = options.zone
        self._last: datetime | None = None

    def next(self, said: datetime | None) -> tuple[datetime | None, str | None]:
        """Return the time for the next message, and when it was said if that is another."""
        at = None if said is None else self._aware(said)
        if self._last is not None and (at is None or at <= self._last):
            self._last += _TICK
            return self._last, None if at is None else iso(at)
        self._last = at
        return said, None

    def _aware(self, at: datetime) -> datetime:
        if at.tzinfo is not None:
            return at
        return at.astimezone() if self._zone is None else at.replace(tzinfo=self._zone)


def _message(where: str, given: Any, marks: list[str], conversation: _Conversation, order: _Order) -> Iterator[Item]:
    # The adapter imports AgentScope itself where that is installed, so it is loaded for AgentScope's files alone.
    from memorist.adapters.agentscope.reading import blocks_of, searchable
    from memorist.adapters.agentscope.shapes import Msg

    try:
        message: Any = Msg.from_dict(given)
    except AssertionError as error:  # AgentScope's way to refuse a role or a content
        raise InvalidInputError(str(error)) from error
    answers = any(block.get("type") == "tool_result" for block in blocks_of(message))
    at, moved = order.next(when_of(message.timestamp))
    kept = (given.get("metadata") or {}).get(KEPT)
    item = Item(
        content=searchable(message) if kept is None else str(message.content),
        where=where,
        kind=Kind.MESSAGE,
        conversation=conversation.session,
        shared_id=True,
        id=message.id,
        speaker=message.name if message.name.strip() else None,
        role=message.role,
        happened_at=at,
        authors=Author.TOOL if answers else NOBODY,  # AgentScope gives them the role "system"
        agent=conversation.agent,
        user=conversation.user,
        metadata={"marks": marks} if marks else {},
        payload={"data": given, "happened_at": moved},
    )
    yield restored(item, kept)


READER = Reader("agentscope", "AgentScope", recognise, read)
