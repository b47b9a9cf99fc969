"""The routes that are made from the table of operations: arguments in, one call of a verb, its answer out."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse

from memorist.errors import NotFoundError, ScopeError, shown
from memorist.operations import requests
from memorist.operations.table import OPERATIONS, Operation
from memorist.serve.rest import models
from memorist.serve.rest.access import ADMITTED, Access
from memorist.serve.rest.bodies import answered, asked, asked_in_query, sent, unquoted
from memorist.serve.rest.routing import takes, takes_parameters
from memorist.verbs.texts import described

ID = "The record's id, percent-encoded whole: a slash in it is %2F."
_ID: Mapping[str, Any] = {
    "name": "id", "in": "path", "required": True, "schema": {"type": "string", "title": "Id"}, "description": ID,
}  # fmt: skip


def add_plain(router: APIRouter, *kinds: type[requests.Request[Any]]) -> None:
    """Add the routes of requests that the table of operations describes whole."""
    for kind in kinds:
        operation, told = OPERATIONS[kind], models.first_paragraph(described(kind))
        router.add_api_route(
            operation.path,
            _endpoint(kind, operation),
            methods=[operation.method],
            name=kind.verb,
            description=told + (" Needs an operator's token." if operation.operator else ""),
            **_described(kind, operation),
        )


def _described(kind: type[requests.Request[Any]], operation: Operation) -> dict[str, Any]:
    if operation.method != "GET" and kind.arguments():
        return takes(kind, *operation.statuses)
    names = [name for name in kind.arguments() if name != "id"]
    told = takes_parameters(kind, *names, statuses=operation.statuses)
    if "{id}" in operation.path:
        told["openapi_extra"]["parameters"].insert(0, dict(_ID))
    return told


def _endpoint(kind: type[requests.Request[Any]], operation: Operation) -> Callable[..., Awaitable[JSONResponse]]:
    async def answer(access: Access, request: Request) -> JSONResponse:
        if operation.operator:
            check_operator(access)
        ids = {"id": unquoted(request.path_params["id"])} if "{id}" in operation.path else {}
        if operation.method != "GET" and kind.arguments():
            made = await asked(kind, await sent(request), **ids)
        else:
            made = asked_in_query(kind, request, **ids)
        found = await access.ask(made)
        if found is None:
            named = f"record {shown(getattr(made, 'id', None))}"
            if isinstance(made, requests.Lookup):
                named = f"{made.kind} with the key {shown(made.key)}"
            raise NotFoundError(f"there is no {named} in this scope")
        return await answered(lambda: operation.told(found), found)

    answer.__annotations__["access"] = Annotated[Access, Depends(ADMITTED[operation.right])]
    return answer


def check_operator(access: Access) -> None:
    """Raise ScopeError unless the token is an operator's."""
    if access.grant.tenant is not None:
        raise ScopeError("this concerns every tenant and needs an operator's token")
