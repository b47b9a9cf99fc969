"""Serialisation of arguments and answers between a client and a server."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from memorist.errors import InvalidInputError, NotFoundError
from memorist.records.scope import Scope


def params_of(scope: Scope) -> dict[str, str]:
    """Return a scope as query parameters."""
    names = {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent, "session": scope.session}
    return {name: value for name, value in names.items() if value is not None}


def query_of(params: Mapping[str, Any]) -> str:
    """Return the query string of a URL, with its question mark."""
    texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in params.items()}
    return f"?{urlencode(texts)}" if texts else ""


def part_of(id: str) -> str:
    """Return an id as one segment of a path, whatever characters it holds.

    Raises:
        NotFoundError: it is empty, which no record's is.
    """
    if not id:
        raise NotFoundError("there is no record '' in this scope")
    return quote(id, safe="").replace(".", "%2E")


def dumps(body: Any) -> bytes:
    """Return a body as JSON.

    Raises:
        InvalidInputError: something in it is not JSON.
    """

    def other(value: Any) -> Any:
        if isinstance(value, Mapping):
            return dict(value)
        raise TypeError(f"{type(value).__name__} is not JSON")

    try:
        return json.dumps(body, allow_nan=False, ensure_ascii=False, default=other).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"the arguments are not JSON: {error}") from error
