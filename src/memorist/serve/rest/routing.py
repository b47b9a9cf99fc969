"""How paths and queries are read: ids may hold any character, and unknown parameters are errors."""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any, cast

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from fastapi.security.base import SecurityBase
from starlette.types import ASGIApp, Receive, Scope, Send

from memorist.operations import requests
from memorist.operations.table import OPERATIONS
from memorist.serve.reading import read_query
from memorist.serve.rest import models
from memorist.serve.rest.access import admit
from memorist.serve.rest.problems import problems
from memorist.serve.rest.schemas import body_of, takes_in_query
from memorist.system.docstrings import with_docstring

_REPEATED = ("kind",)


def by_raw_paths(app: ASGIApp) -> ASGIApp:
    """Return an app that matches paths as they were sent: a slash within an id stays ``%2F``."""

    async def matched(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope.get("raw_path") is not None:
            raw = scope["raw_path"].partition(b"?")[0]
            scope = {**scope, "path": raw.decode("ascii", "replace")}
        await app(scope, receive, send)

    return matched


def router_of(tag: str) -> APIRouter:
    """Return a router for strict routes below ``/v1``, shown under a tag."""
    return APIRouter(
        prefix="/v1", route_class=StrictRoute, tags=[tag], generate_unique_id_function=lambda route: route.name
    )


def takes(kind: type[requests.Request[Any]], *statuses: int) -> dict[str, Any]:
    """Return the OpenAPI declarations of a route with a request in its body: the answer, the errors and the body."""
    return {**_answers(kind), "responses": problems(400, 408, 413, 415, *statuses), "openapi_extra": body_of(kind)}


def takes_parameters(kind: type[requests.Request[Any]], *names: str, statuses: tuple[int, ...] = ()) -> dict[str, Any]:
    """Return the OpenAPI declarations of a route with a request in its query: the named parameters, and the others."""
    return {**_answers(kind), "responses": problems(*statuses), "openapi_extra": takes_in_query(kind, *names)}


def _answers(kind: type[requests.Request[Any]]) -> dict[str, Any]:
    return {"response_model": models.answer_to(kind)} if kind in OPERATIONS else {}


class StrictRoute(APIRoute):
    """A route that admits callers before it reads their requests, and refuses unknown parameters."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:
        super().__init__(path, with_docstring(endpoint), **given)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        described = (self.openapi_extra or {}).get("parameters", ())
        inner = (each["name"] for each in described if each["in"] == "query")
        known = [*inner, *_parameters_of(self.dependant)]

        async def handle(request: Request) -> Response:
            await admit(request)
            request.state.query = read_query(request.scope["query_string"], known, _REPEATED)
            return cast(Response, await _called(self.dependant, request))

        return handle


async def _called(dependant: Any, request: Request) -> Any:
    """Call an endpoint or a dependency and return its result. FastAPI's own way would double the time of a request."""
    given = {
        each.name: await _called(each, request)
        for each in dependant.dependencies
        if not isinstance(each.call, SecurityBase)  # for OpenAPI
    }
    given.update({each.name: request.path_params[each.alias] for each in dependant.path_params})
    if dependant.request_param_name is not None:
        given[dependant.request_param_name] = request
    return await dependant.call(**given)


def _parameters_of(dependant: Any) -> Iterator[str]:
    """Yield the names of the query's parameters that a route and what it depends on read."""
    for each in dependant.query_params:
        yield each.alias
    for inner in dependant.dependencies:
        yield from _parameters_of(inner)
