"""Parsing of paths and bodies: ids may hold any character, and JSON is parsed strictly."""

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from memorist.serve.limits import App, Message, Receive, Send
from memorist.serve.reading import check_query
from memorist.serve.rest.access import admit

__all__ = ["RawPaths", "StrictRoute"]

_REPEATED = ("kind",)
_LARGE = 64 * 1024
"""Bodies of at least this size are parsed on a thread, so that they do not block the event loop."""
_parser = ThreadPoolExecutor(1, "memorist-json")
"""One thread: large bodies are parsed one after the other, so that other requests run between them."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class RawPaths:
    """An app that matches paths as they were sent: a slash within an id stays ``%2F``."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Forward a request with its path still encoded."""
        if scope["type"] == "http" and scope.get("raw_path") is not None:
            raw = scope["raw_path"].partition(b"?")[0]
            scope = {**scope, "path": raw.decode("ascii", "replace")}
        await self._app(scope, receive, send)


class StrictRequest(Request):
    """A request that accepts only valid JSON."""

    async def json(self) -> Any:
        """Return the body's value.

        Raises:
            JSONDecodeError: it is not valid JSON.
        """
        body = await self.body()
        if len(body) < _LARGE:
            return _parsed(body)
        return await asyncio.get_running_loop().run_in_executor(_parser, _parsed, body)


class StrictRoute(APIRoute):
    """A route that checks access before it reads the request, and then parses it strictly.

    It refuses unknown parameters and media types other than JSON, and parses its body as `StrictRequest` does.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request."""
        inner = super().get_route_handler()
        takes_json = self.body_field is not None
        known = list(_parameters_of(self.dependant))

        async def handle(request: Request) -> Response:
            await admit(request)
            check_query(request.scope["query_string"], known, _REPEATED)
            media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if takes_json and media != "application/json":
                raise HTTPException(415, "send the body as application/json")
            return await inner(StrictRequest(request.scope, request.receive))

        return handle


def _parameters_of(dependant: Any) -> Iterator[str]:
    """Yield the names of the query's parameters that a route and what it depends on read."""
    for each in dependant.query_params:
        yield each.alias
    for inner in dependant.dependencies:
        yield from _parameters_of(inner)


def _parsed(body: bytes) -> Any:
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_refuse)
        if _SURROGATE.search(body):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        return value
    except json.JSONDecodeError:
        raise
    except UnicodeEncodeError as error:
        raise json.JSONDecodeError("a lone surrogate is no character", "", 0) from error
    except UnicodeDecodeError as error:
        raise json.JSONDecodeError(f"not UTF-8, {error.reason}", "", error.start) from error
    except (ValueError, RecursionError) as error:
        raise json.JSONDecodeError(str(error), "", 0) from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
