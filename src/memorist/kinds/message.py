"""One message of a conversation: what is given to append, and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, tzinfo
from typing import Any

from memorist.errors import InvalidInputError
from memorist.kinds.common import check_text
from memorist.records.content import is_whole, whole_name, whole_text
from memorist.records.origins import AuthorLike, parse_authors
from memorist.records.record import Record
from memorist.records.times import parse_time, told


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What someone said.

    Args:
        content: the text.
        role: "user", "assistant", "system", "tool", or any other name.
        name: the speaker's.
        id: the caller's own, unique in the conversation; a stored message without one has its record's.
        happened_at: when it was said; a stored message without one has when it was appended.
        metadata: the caller's own fields, JSON.
        data: what else belongs to the message, such as its blocks or tool calls, JSON; kept, not searched.
        author: who wrote the message, if its role does not tell; see `memorist.records.origins.Author`.
        record: the record that stores the message; None if it is not stored.
    """

    content: str
    role: str = "user"
    name: str | None = None
    id: str | None = None
    happened_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] | None = None
    author: AuthorLike | None = field(default=None, compare=False)
    record: Record | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        # As its record holds them, so that what is given and what is stored compare as equal.
        for name, make_whole in (
            ("content", whole_text),
            ("role", whole_text),
            ("name", whole_text),
            ("id", whole_name),
        ):
            if isinstance(value := getattr(self, name), str) and not is_whole(value):
                object.__setattr__(self, name, make_whole(value))

    @classmethod
    def of(cls, record: Record) -> "Message":
        """Return the message that a record of a conversation holds."""
        payload = record.payload
        moved = payload.get("happened_at")
        return cls(
            content=record.content,
            role=payload.get("role", "user"),
            name=payload.get("speaker"),
            id=payload.get("id", record.id),
            happened_at=record.at if moved is None else parse_time(moved),
            metadata=record.metadata,
            data=payload.get("data"),
            author=record.origin.authors,
            record=record,
        )

    def payload(self) -> dict[str, Any]:
        """Return what its record's payload holds."""
        parts = {"role": self.role, "speaker": self.name, "id": self.id, "data": self.data}
        return {name: value for name, value in parts.items() if value is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; `to_message` turns them back into the same message."""
        return {
            "id": self.id,
            "role": self.role,
            "name": self.name,
            "content": self.content,
            "happened_at": None if self.happened_at is None else told(self.happened_at),
            "metadata": dict(self.metadata),
            "data": None if self.data is None else dict(self.data),
            "author": None if self.author is None else parse_authors(self.author).names,
        }


_FIELDS = frozenset(each.name for each in fields(Message)) - {"record"}


def to_message(given: object, zone: tzinfo = UTC) -> Message:
    """Return a checked message, from a text, a message or a mapping of its fields; a time that names no zone is one of
    `zone`.

    Raises:
        InvalidInputError: a field is missing, unknown or wrong.
    """
    if isinstance(given, str):
        given = Message(content=given)
    elif isinstance(given, Mapping):
        if unknown := set(given) - _FIELDS:
            raise InvalidInputError(
                f"unknown field {sorted(map(str, unknown))[0]!r} in a message; available: {', '.join(sorted(_FIELDS))}"
            )
        if "content" not in given:
            raise InvalidInputError("a message needs its content")
        given = Message(**{name: value for name, value in given.items() if value is not None or name == "content"})
    if not isinstance(given, Message):
        raise InvalidInputError(f"a message must be a string, a Message or a mapping, not {type(given).__name__}")
    for name in ("content", "role"):
        check_text(name, getattr(given, name))
    for name in ("name", "id"):
        if getattr(given, name) is not None:
            check_text(name, getattr(given, name))
    for name in ("metadata", "data"):
        if not isinstance(getattr(given, name) or {}, Mapping):
            raise InvalidInputError(f"{name} must be a mapping, not {type(getattr(given, name)).__name__}")
    return given if given.happened_at is None else replace(given, happened_at=parse_time(given.happened_at, zone))
