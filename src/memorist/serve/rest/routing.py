"""Routes below ``/v1``: ids may hold any character, unknown parameters are errors, and each describes itself."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from memorist.operations import requests
from memorist.serve.auth import Right
from memorist.serve.reading import KEY_HEADER, USER_HEADER, ZONE_HEADER, read_query
from memorist.serve.rest import models
from memorist.serve.rest.access import LONGEST_KEY, Access, admit, entered
from memorist.serve.rest.problems import problems
from memorist.serve.rest.schemas import body_of, parameters_of
from memorist.system.docstrings import docstring_of

Endpoint: TypeAlias = Callable[[Access, Request], Awaitable[Response]]
_REPEATED = ("kind",)
_SECURITY = "HTTPBearer"


def by_raw_paths(app: ASGIApp) -> ASGIApp:
    """Return an app that matches paths as they were sent: a slash within an id stays ``%2F``."""

    async def matched(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope.get("raw_path") is not None:
            raw = scope["raw_path"].partition(b"?")[0]
            scope = {**scope, "path": raw.decode("ascii", "replace")}
        await app(scope, receive, send)

    return matched


class DescribedRoute(Route):
    """A route of one method, and what OpenAPI says of it."""

    def __init__(self, path: str, endpoint: Callable[..., Any], method: str, **operation: Any) -> None:
        super().__init__(path, endpoint, methods=[method], name=operation["operationId"])
        self.methods = {method}  # Starlette adds HEAD to GET
        self.method, self.operation = method, operation


def operation_of(name: str, text: str, tag: str, answers: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return what OpenAPI says of a route."""
    summary = name.replace("_", " ").title()
    return {"tags": [tag], "summary": summary, "description": text, "operationId": name, "responses": answers, **more}


def answer(schema: Any, *errors: dict[str, Any], status: int = 200, media: str = "application/json") -> dict[str, Any]:
    """Return what OpenAPI says of the responses of a route: of its answer, and of its errors."""
    said = {"description": "Successful Response", "content": {media: {"schema": schema}}}
    return {str(status): said} | {status: each for found in errors for status, each in found.items()}


@dataclass(frozen=True, slots=True)
class Routes:
    """Routes below a path, shown under a tag. Each admits callers before it reads their requests."""

    tag: str
    prefix: str = "/v1"
    routes: list[DescribedRoute] = field(default_factory=list)

    def on(
        self,
        method: str,
        path: str,
        right: str,
        answers: dict[str, Any],
        *,
        keyed: bool = False,
        first: Sequence[dict[str, Any]] = (),
        parameters: Sequence[dict[str, Any]] = (),
        name: str | None = None,
        text: str | None = None,
        **more: Any,
    ) -> Callable[[Endpoint], Endpoint]:
        """Add a route with the function that follows, which answers an admitted caller.

        Args:
            method: of HTTP.
            path: below the prefix.
            right: what the caller needs.
            answers: what OpenAPI says of the responses; see `answer`.
            keyed: whether it takes an idempotency key.
            first: the parameters that stand before those of every route.
            parameters: those that stand after them.
            name: of the operation; by default the function's.
            text: its description; by default the function's docstring.
            **more: what else OpenAPI says of it, such as its ``requestBody``.
        """
        described = [*first, *(_KEYED if keyed else _EVERY), *parameters]
        known = [each["name"] for each in described if each["in"] == "query"]
        more |= {"parameters": described, "security": [{_SECURITY: []}]}

        def added(endpoint: Endpoint) -> Endpoint:
            async def handle(request: Request) -> Response:
                await admit(request)
                request.state.query = read_query(request.scope["query_string"], known, _REPEATED)
                return await endpoint(await entered(request, Right(right), keyed=keyed), request)

            about = operation_of(name or endpoint.__name__, text or docstring_of(endpoint), self.tag, answers, **more)
            self.routes.append(DescribedRoute(f"{self.prefix}{path}", handle, method, **about))
            return endpoint

        return added


def takes(kind: type[requests.Request[Any]], *statuses: int, schema: Any = None, status: int = 200) -> dict[str, Any]:
    """Return the declarations of a route with a request in its body: the answer, the errors and the body."""
    errors = problems(400, 408, 413, 415, *statuses)
    return {"answers": answer(schema or models.answer_to(kind), errors, status=status), "requestBody": body_of(kind)}


def takes_parameters(
    kind: type[requests.Request[Any]], *names: str, statuses: tuple[int, ...] = (), schema: Any = None
) -> dict[str, Any]:
    """Return the declarations of a route with a request in its query: the answer, the errors, the parameters named."""
    answers = answer(schema or models.answer_to(kind), problems(*statuses))
    return {"answers": answers, "parameters": parameters_of(kind, *names)}


def describe(routes: Sequence[Any], info: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI description of the routes that describe themselves."""
    paths = dict[str, dict[str, Any]]()
    for each in routes:
        if isinstance(each, DescribedRoute):
            paths.setdefault(each.path, {})[each.method.lower()] = each.operation
    bearer = {"type": "http", "description": "A token made by `memorist token create`.", "scheme": "bearer"}
    components = {"schemas": dict(sorted(models.SCHEMAS.items())), "securitySchemes": {_SECURITY: bearer}}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": components}


def parameter(name: str, text: str, *, place: str = "query", **schema: Any) -> dict[str, Any]:
    """Return what OpenAPI says of a parameter; by default it is a text that may be left out."""
    kind = schema or {"anyOf": [{"type": "string"}, {"type": "null"}]}
    title = name if place == "header" else name.title()
    about = {"name": name, "in": place, "required": place == "path", "description": text}
    return {**about, "schema": {**kind, "title": title, "description": text}}


_QUERY = (
    parameter("user", "Whose records: for a token that is not bound to a user. Without it, the shared ones."),
    parameter("agent", "The label; narrows reads, and is written."),
    parameter("session", "The label; narrows reads, and is written."),
    parameter("tenant", "For an operator's token: which tenant."),
    parameter(
        "zone",
        "Whose days are asked for and told, such as Europe/Lisbon; also the zone of a time that names none. By default "
        "the server's.",
    ),
)
_KEY = parameter(
    KEY_HEADER,
    "Any text. The same request sent again is answered from its first outcome, not repeated.",
    place="header",
    anyOf=[{"type": "string"}, {"type": "null"}],
    minLength=1,
    maxLength=LONGEST_KEY,
)
_HEADERS = (
    parameter(USER_HEADER, "The same as `user`.", place="header"),
    parameter(ZONE_HEADER, "The same as `zone`.", place="header"),
)
_EVERY, _KEYED = (*_QUERY, *_HEADERS), (*_QUERY, _KEY, *_HEADERS)
