"""Checks of arguments, in mem0's order and words, and errors that are mem0's, too."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from memorist.adapters.originals import caught_by
from memorist.errors import InvalidInputError, ModelError, NotFoundError


class ValidationError(InvalidInputError):
    """An argument of `add` is wrong; `message`, `error_code`, `details` and `suggestion` say which and why."""

    def __init__(self, message: str, error_code: str, details: Mapping[str, Any], suggestion: str) -> None:
        super().__init__(message)
        self.message = message
        self.error_code = error_code
        self.details = dict(details)
        self.suggestion = suggestion
        self.debug_info: dict[str, Any] = {}


class MemoryNotFoundError(NotFoundError, ValueError):
    """There is no memory with this id."""


class EmptyReplyError(ModelError, ValueError):
    """The chat model's reply is empty."""


IDS = ("user_id", "agent_id", "run_id")
PROCEDURAL = "procedural_memory"


def owner_of(given: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the user, the agent and the session that the ids name; a label of "*" stands for any.

    Raises:
        InvalidInputError: an id is blank or holds white space, or the user is "*".
    """
    user, agent, session = (trimmed(given.get(name), name) for name in IDS)
    if user == "*":
        raise InvalidInputError("user_id='*' would read every user's memories; name one user")
    return {"user": user, "agent": None if agent == "*" else agent, "session": None if session == "*" else session}


def trimmed(value: object, name: str) -> str | None:
    """Return an id in the form in which it is stored: without white space around it."""
    if value is None:
        return None
    text = str(value).strip()
    if not text:
        raise InvalidInputError(f"Invalid {name}: cannot be empty or whitespace-only. Provide a valid identifier.")
    if any(letter.isspace() for letter in text):
        raise InvalidInputError(
            f"Invalid {name}: cannot contain whitespace. Provide a valid identifier without spaces."
        )
    return text


def require_owner(given: Mapping[str, Any]) -> dict[str, str | None]:
    """Return what `owner_of` does, for `add`.

    Raises:
        ValidationError: no id is given.
    """
    owner = owner_of(given)
    if not any(owner.values()):
        raise caught_by("mem0.exceptions", ValidationError)(
            "At least one of 'user_id', 'agent_id', or 'run_id' must be provided.",
            "VALIDATION_001",
            {"provided_ids": {name: given.get(name) for name in IDS}},
            "Please provide at least one identifier to scope the memory operation.",
        )
    return owner


def check_memory_type(memory_type: str | None) -> None:
    """Raise ValidationError if there is no memory type of this name."""
    if memory_type not in (None, PROCEDURAL):
        raise caught_by("mem0.exceptions", ValidationError)(
            f"Invalid 'memory_type'. Please pass {PROCEDURAL} to create procedural memories.",
            "VALIDATION_002",
            {"provided_type": memory_type, "valid_type": PROCEDURAL},
            f"Use '{PROCEDURAL}' to create procedural memories.",
        )


def message_list(messages: object) -> list[Any]:
    """Return the messages given to `add` as a list.

    Raises:
        ValidationError: it is neither a text nor a message nor a list of messages.
    """
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if isinstance(messages, dict):
        return [messages]
    if isinstance(messages, list) and all(isinstance(each, dict) for each in messages):
        return messages
    raise caught_by("mem0.exceptions", ValidationError)(
        "messages must be str, dict, or list[dict]",
        "VALIDATION_003",
        {"provided_type": type(messages).__name__, "valid_types": ["str", "dict", "list[dict]"]},
        "Convert your input to a string, dictionary, or list of dictionaries.",
    )


def check_search(threshold: Any, top_k: Any) -> None:
    """Raise InvalidInputError for a threshold outside 0 to 1, or an invalid number of results."""
    if threshold is not None:
        if isinstance(threshold, bool) or not isinstance(threshold, int | float):
            raise InvalidInputError("threshold must be a valid number")
        if not 0 <= threshold <= 1:
            raise InvalidInputError(f"Invalid threshold: {threshold}. Must be between 0 and 1 (inclusive).")
    if isinstance(top_k, bool) or not isinstance(top_k, int):
        raise InvalidInputError("top_k must be a valid integer")
    if top_k < 0:
        raise InvalidInputError(f"Invalid top_k: {top_k}. Must be a non-negative integer.")


def check_query(query: object) -> str:
    """Return a query without white space around it; raise InvalidInputError if nothing is left."""
    if not isinstance(query, str):
        raise InvalidInputError("Invalid query: must be a non-empty string.")
    if not query.strip():
        raise InvalidInputError("Invalid query: cannot be empty or whitespace-only.")
    return query.strip()


def day_of(value: object) -> str | None:
    """Return an expiration date as YYYY-MM-DD.

    Raises:
        InvalidInputError: it is not a date.
    """
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str):
        raise InvalidInputError("expiration_date must be a date string in YYYY-MM-DD format.")
    try:
        return date.fromisoformat(value).isoformat()
    except ValueError as error:
        raise InvalidInputError("expiration_date must be a valid date in YYYY-MM-DD format.") from error
