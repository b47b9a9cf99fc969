"""Errors as responses: one status for each class, and a body as in RFC 9457."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from memorist import errors
from memorist.serve.auth import UnauthorizedError
from memorist.serve.error_texts import told
from memorist.serve.limits import BodyTooLargeError, RequestTimeoutError
from memorist.serve.observability.requests import ERROR
from memorist.serve.quotas import TooManyError
from memorist.serve.rest import models
from memorist.serve.rest.bodies import NotJsonError

log = logging.getLogger("memorist.serve")

MEDIA_TYPE = "application/problem+json"


class KeyReusedError(errors.InvalidInputError):
    """An Idempotency-Key came again with another request."""


STATUS: dict[type[Exception], int] = {
    errors.InvalidInputError: 422,
    NotJsonError: 400,
    BodyTooLargeError: 413,
    UnauthorizedError: 401,
    errors.ScopeError: 403,
    errors.NotFoundError: 404,
    errors.ConflictError: 409,
    errors.WaitingError: 202,
    errors.ClosedError: 503,
    errors.StoreBusyError: 503,
    TooManyError: 429,
    RequestTimeoutError: 504,
    errors.StoreFullError: 507,
    errors.StoreUnavailableError: 503,
    errors.EmbedderError: 502,
    errors.EmbedderUnavailableError: 503,
    errors.EmbedderMismatchError: 500,
    errors.MissingExtraError: 501,
    errors.MemoristError: 500,
}
_TOLD: Mapping[int, tuple[str, str, str]] = {
    202: ("Waits for the user's yes", "", "It waits in the inbox for the user's yes."),
    400: ("Malformed request", "FormatError", "The body is not JSON."),
    401: ("No valid token", "", "No token, or one that does not hold."),
    403: ("Not allowed", "", "The token does not allow it."),
    404: ("Not found", "NotFoundError", "There is no such record."),
    405: ("Wrong method", "InvalidInputError", ""),
    408: ("Too slow", "StoreBusyError", "The body did not arrive in time."),
    409: ("Conflict", "", "An id or key is taken, or the same request is being worked on."),
    413: ("Too large", "InvalidInputError", "The body is too large."),
    415: ("Wrong media type", "FormatError", "The body is not sent as JSON."),
    422: ("Invalid input", "", "An argument is wrong."),
    429: ("Too many requests", "", "The token has used up a limit for now; retry after the seconds in Retry-After."),
    501: ("Not installed", "", ""),
    502: ("Embedder failed", "", ""),
    503: ("Not available now", "", "The server or the store is busy; retry."),
    504: ("Took too long", "", ""),
    507: ("Disk full", "", ""),
}
"""Of each status the title, the class of an error that Starlette raised with it, and what the description says."""
_FAILED = ("Failed", "", "")


def problems(*statuses: int, common: tuple[int, ...] = (401, 403, 422, 429, 503)) -> dict[str, dict[str, Any]]:
    """Return the OpenAPI responses for the errors of a route: those of every route, and these."""
    content = {"application/json": {"schema": models.model_of(models.Problem)}, MEDIA_TYPE: {}}
    found = sorted({*common, *statuses})
    return {str(status): {"content": content, "description": _TOLD[status][2]} for status in found}


def problem_of(error: Exception) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return the status, the headers and the body for an error of this package.

    `error` in the body names the corresponding class in `memorist.errors`.
    """
    status = next(STATUS[each] for each in type(error).__mro__ if each in STATUS)
    name = next(each.__name__ for each in type(error).__mro__ if each.__name__ in errors.__all__)
    headers = {"content-type": MEDIA_TYPE}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status == 503:
        headers["retry-after"] = "1"
    if isinstance(error, TooManyError):
        headers["retry-after"] = str(error.seconds)
    return status, headers, _body(status, told(error), name)


async def ours(request: Request, error: Exception) -> JSONResponse:
    """Answer with an error of this package."""
    status, headers, body = problem_of(error)
    request.scope[ERROR] = type(error).__name__
    if status >= 500:
        log.error("a request failed: %s", type(error).__name__)
    return JSONResponse(body, status, headers)


async def of_http(request: Request, error: Exception) -> JSONResponse:
    """Answer with an error that Starlette raised."""
    assert isinstance(error, HTTPException)
    details = {404: "there is no such route", 405: f"this route does not take {request.method}"}
    detail = details.get(error.status_code, str(error.detail))
    name = _TOLD.get(error.status_code, _FAILED)[1] or "MemoristError"
    return _answer(error.status_code, detail, name, dict(error.headers or {}))


async def unforeseen(request: Request, error: Exception) -> JSONResponse:
    """Answer with an error of neither. Starlette logs the traceback; the message may quote a memory's text."""
    return _answer(500, "the server failed; see its log", "MemoristError")


HANDLERS: Mapping[Any, Any] = {errors.MemoristError: ours, HTTPException: of_http, Exception: unforeseen}
"""What makes a problem document of each error."""


def _answer(status: int, detail: str, name: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(_body(status, detail, name), status, {**(headers or {}), "content-type": MEDIA_TYPE})


def _body(status: int, detail: str, name: str) -> dict[str, Any]:
    detail = detail.encode("utf-8", "replace").decode()
    return {
        "type": f"urn:memorist:{name}",
        "title": _TOLD.get(status, _FAILED)[0],
        "status": status,
        "detail": detail,
        "error": name,
    }
