"""The routes that are made from the table of operations: arguments in, one call of a verb, its answer out."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from memorist.errors import NotFoundError, ScopeError, shown
from memorist.operations import requests
from memorist.operations.table import OPERATIONS, Operation
from memorist.serve.rest import models
from memorist.serve.rest.access import Access
from memorist.serve.rest.bodies import answered, asked, asked_in_query, id_of, sent
from memorist.serve.rest.routing import Endpoint, Routes, parameter, takes, takes_parameters
from memorist.verbs.texts import described

_TEXT = "The record's id, percent-encoded whole: a slash in it is %2F."
ID = parameter("id", _TEXT, place="path", type="string")
_ID: Mapping[str, Any] = {
    "name": "id", "in": "path", "required": True, "schema": {"type": "string", "title": "Id"}, "description": _TEXT,
}  # fmt: skip


def add_plain(routes: Routes, *kinds: type[requests.Request[Any]]) -> None:
    """Add the routes of requests that the table of operations describes whole."""
    for kind in kinds:
        operation, text = OPERATIONS[kind], models.first_paragraph(described(kind))
        if operation.operator:
            text += " Needs an operator's token."
        declared = _declared(kind, operation)
        add = routes.on(operation.method, operation.path, operation.right, name=kind.verb, text=text, **declared)
        add(_endpoint(kind, operation))


def _in_body(kind: type[requests.Request[Any]], operation: Operation) -> bool:
    return operation.method != "GET" and bool(kind.arguments())


def _declared(kind: type[requests.Request[Any]], operation: Operation) -> dict[str, Any]:
    if _in_body(kind, operation):
        told = takes(kind, *operation.statuses)
    else:
        names = [name for name in kind.arguments() if name != "id"]
        told = takes_parameters(kind, *names, statuses=operation.statuses)
    if "{id}" in operation.path:
        told["parameters"] = [_ID, *told.get("parameters", ())]
    return told


def _endpoint(kind: type[requests.Request[Any]], operation: Operation) -> Endpoint:
    async def answer(access: Access, request: Request) -> JSONResponse:
        if operation.operator:
            check_operator(access)
        ids = {"id": id_of(request)} if "{id}" in operation.path else {}
        if _in_body(kind, operation):
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

    return answer


def check_operator(access: Access) -> None:
    """Raise ScopeError unless the token is an operator's."""
    if access.grant.tenant is not None:
        raise ScopeError("this concerns every tenant and needs an operator's token")
