"""Errors as they are told to a client, and as they are logged."""

import logging
import traceback

from mcp import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from memorist.errors import InvalidInputError, MemoristError, NotFoundError, ScopeError
from memorist.serve.error_texts import told

log = logging.getLogger("memorist.serve")

FAILED = "the server failed; see its log"


def protocol_error(error: Exception) -> MCPError:
    """Return an error of the protocol; an unexpected one is logged, and its message is not told."""
    if isinstance(error, InvalidInputError | NotFoundError | ScopeError):
        return MCPError(INVALID_PARAMS, str(error))
    if isinstance(error, MemoristError):
        return MCPError(INTERNAL_ERROR, told(error))
    report(error)
    return MCPError(INTERNAL_ERROR, FAILED)


def report(error: Exception) -> None:
    """Log where an unexpected error was raised, but not its message, which may quote a memory's text."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s\n%s", type(error).__name__, frames)
