"""JSON bodies and queries: read strictly, and made into the requests of verbs."""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import unquote

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse

from memorist.errors import FormatError, InvalidInputError
from memorist.operations import arguments as read
from memorist.operations import requests
from memorist.operations.lines import refuse_constant
from memorist.operations.request import readers
from memorist.records.scope import Scope
from memorist.serve.reading import number_of, truth_of
from memorist.serve.rest.schemas import body_fields
from memorist.system.offload import offload

R = TypeVar("R", bound=requests.Request[Any])
_FROM_TEXT: Mapping[read.Reader, Callable[[str], Any]] = {
    read.flag: truth_of,
    read.limit: number_of,
    read.integer: number_of,
}
"""How arguments that are no texts are read from a query."""


class NotJsonError(FormatError):
    """The body is not JSON."""


async def sent(request: Request) -> dict[str, Any]:
    """Return the JSON object that was sent.

    Raises:
        NotJsonError: it is not JSON.
        InvalidInputError: it is not an object.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "send the body as application/json")
    try:
        body = await request.body()
    except ClientDisconnect as error:
        raise NotJsonError("the connection closed before the body was complete") from error
    if not body:
        raise InvalidInputError("the body is missing; it must be a JSON object")
    value = await offload(lambda: _parsed(body), body)
    if not isinstance(value, dict):
        raise InvalidInputError("the body must be a JSON object")
    return value


async def asked(kind: type[R], body: Mapping[str, Any], **more: Any) -> R:
    """Return the request in a body, with further arguments."""
    read.unknown_arguments(kind.verb, body, body_fields(kind))
    return await offload(lambda: kind.of({**body, **more}), body)


def id_of(request: Request) -> str:
    """Return the id in a path, which may hold any character."""
    try:
        return unquote(request.path_params["id"], errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidInputError("the id in the path is not UTF-8") from error


async def answered(plain: Callable[[], Any], *inputs: Any, status: int = 200) -> JSONResponse:
    """Return an answer in JSON: what `plain` returns, which grows with its inputs."""
    return await offload(lambda: JSONResponse(plain(), status), *inputs)


_CALL = (*Scope.__dataclass_fields__, "zone")
"""The parameters that say who asks, not what."""


def asked_in_query(kind: type[R], request: Request, **more: Any) -> R:
    """Return the request in a query's parameters, with further arguments."""
    given = {name: value for name, value in request.state.query.items() if name not in _CALL}
    for name, reader, _ in readers(kind):
        if name in given and reader in _FROM_TEXT:
            given[name] = _FROM_TEXT[reader](given[name])
    return kind.of({**given, **more})


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8"), parse_constant=refuse_constant)
    except UnicodeDecodeError as error:
        raise NotJsonError(f"the body is not JSON: not UTF-8, {error.reason}") from error
    except (ValueError, RecursionError) as error:
        raise NotJsonError(f"the body is not JSON: {error}") from error
