"""The errors that mem0's callers know, in this package's tree. All are also a ValueError, as in mem0."""

from collections.abc import Mapping
from typing import Any

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
