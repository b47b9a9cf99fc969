"""The envelope of messages on the bus: one JSON object around every payload."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

from memorist.errors import FormatError, InvalidInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One message.

    Args:
        subject: its destination: words separated by dots, such as ``tool.request.save_topic``.
        message_type: "request", "result", "schema" or "response".
        sender_id: the sender.
        payload: the message itself, JSON.
        correlation_id: links a result to its request.
        message_id: its own id, by default a new one.
        timestamp_utc: when it was created, ISO 8601; by default the present.

    Raises:
        InvalidInputError: a field is wrong.
    """

    subject: str
    message_type: str
    sender_id: str
    payload: Mapping[str, Any]
    correlation_id: str | None = None
    message_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    timestamp_utc: str = field(default_factory=lambda: datetime.now(UTC).isoformat())

    def __post_init__(self) -> None:
        check_subject(self.subject)
        for name in ("message_type", "sender_id", "message_id", "timestamp_utc"):
            if not isinstance(getattr(self, name), str):
                raise InvalidInputError(f"{name} of an envelope must be a string, not {getattr(self, name)!r}")
        if not isinstance(self.correlation_id, str | None):
            raise InvalidInputError(f"correlation_id of an envelope must be a string, not {self.correlation_id!r}")
        if not isinstance(self.payload, Mapping):
            raise InvalidInputError(f"the payload of an envelope must be an object, not {type(self.payload).__name__}")

    def answered(self, *, subject: str, message_type: str, sender_id: str, payload: Mapping[str, Any]) -> "Envelope":
        """Return the envelope that answers this one: it echoes the correlation id, or this one's id without one."""
        return Envelope(
            subject=subject,
            message_type=message_type,
            sender_id=sender_id,
            payload=payload,
            correlation_id=self.correlation_id or self.message_id,
        )

    def to_json(self) -> bytes:
        """Return the envelope as UTF-8 JSON.

        Raises:
            InvalidInputError: the payload is not valid JSON.
        """
        try:
            plain = {**{name: getattr(self, name) for name in _FIELDS}, "payload": dict(self.payload)}
            return json.dumps(plain, ensure_ascii=False, allow_nan=False).encode("utf-8")
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError(f"the payload for {self.subject} cannot be sent as JSON: {error}") from error

    @classmethod
    def from_json(cls, data: bytes | str) -> "Envelope":
        """Return the envelope in these bytes. Unknown fields are ignored.

        Raises:
            FormatError: the bytes are not a JSON object, or a field is missing.
            InvalidInputError: a field is wrong.
        """
        try:
            plain = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"a message is not JSON: {error}") from error
        if not isinstance(plain, Mapping):
            raise FormatError(f"a message is not an object but {type(plain).__name__}")
        try:
            return cls(**{name: value for name, value in plain.items() if name in _FIELDS})
        except TypeError as error:
            missing = sorted({"subject", "message_type", "sender_id", "payload"} - set(plain))
            raise FormatError(f"a message lacks {', '.join(missing)}") from error


_FIELDS = tuple(each.name for each in fields(Envelope))


def check_subject(subject: object, *, wildcards: bool = False) -> str:
    """Return `subject` if it is valid: words of visible characters separated by single dots.

    With `wildcards`, ``*`` may stand for one word and ``>`` for all the rest, as in NATS.

    Raises:
        InvalidInputError: it is not valid.
    """
    words = subject.split(".") if isinstance(subject, str) else [""]
    for position, word in enumerate(words):
        wild = word == "*" or (word == ">" and position == len(words) - 1)
        plain = word.isprintable() and " " not in word and not set(word) & {"*", ">"}
        if not word or not (plain or (wildcards and wild)):
            raise InvalidInputError(f"{subject!r} is not a subject; use words separated by dots")
    return str(subject)
