"""Routes on records, and those that take a filter; the inbox; and the users of a tenant."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from memorist.engine.cleaning import cleaned
from memorist.errors import InvalidInputError
from memorist.operations import requests
from memorist.records.record import Action, Record
from memorist.records.times import parse_time
from memorist.serve.rest import models
from memorist.serve.rest.access import Access
from memorist.serve.rest.bodies import answered, asked, asked_in_query, id_of, sent
from memorist.serve.rest.idempotency import Outcome, fingerprint, original, remember_once
from memorist.serve.rest.plain import ID, add_plain
from memorist.serve.rest.routing import Routes, takes, takes_parameters
from memorist.system.offload import offload

routes, search = Routes("records"), Routes("search")

add_plain(routes, requests.Get, requests.History, requests.Why, requests.Lookup)
add_plain(
    search, requests.Recall, requests.Context, requests.Recent, requests.Browse, requests.Count, requests.Traces,
    requests.Changes, requests.Find, requests.Vectors, requests.Derived, requests.Users,
    requests.Inbox, requests.Approve, requests.Reject, requests.Relabel,
    requests.Tidy, requests.Archive,
)  # fmt: skip


@routes.on(
    "POST", "/records", "write", keyed=True,
    **takes(requests.Remember, 202, 404, 409, schema=models.named("Records", {"records": list[Record]}), status=201),
)  # fmt: skip
async def remember(access: Access, http: Request) -> JSONResponse:
    """Store records: all of them or none. On disk when it returns; in the order given."""
    body = await sent(http)
    request = await asked(requests.Remember, body)
    key, memory = access.idempotency_key, access.memory
    if key is None:
        stored = await memory.ask(request)
    elif request.if_exists != "replace":
        stored = await remember_once(
            access.server.ledger, memory, key, request, await offload(lambda: fingerprint("remember", body), body)
        )
    else:
        stored = await _replace_once(access, request, body)
    return await answered(lambda: {"records": [each.to_dict() for each in stored]}, stored, status=201)


async def _replace_once(access: Access, request: requests.Remember, body: Mapping[str, Any]) -> list[Record]:
    memory, stored = access.memory, list[Record]()

    async def work() -> Outcome:
        found = await memory.ask(request)
        stored.extend(found)
        return {str(position): record.version for position, record in enumerate(found)}

    if any(draft.id is None and draft.key is None for draft in request.records):
        raise InvalidInputError("to replace records under an Idempotency-Key, give each an id or a key")
    versions, new = await access.once(("remember", body), work)
    if new:
        return stored
    for position, draft in enumerate(request.records):
        id = draft.id
        if draft.key is not None and not (id and await memory.history(id)):
            held = await memory.lookup(draft.key, kind=draft.kind)
            id = held.id if held is not None else id
        stored.append(await original(memory, id or "", versions[str(position)]))
    return stored


@routes.on(
    "GET",
    "/records",
    "read",
    **takes_parameters(
        requests.Browse, "kind", "since", "until", "as_of", "verified", "min_trust", "key", "key_prefix", "from_source",
        "superseded", "order", "limit", "cursor", "shared", "everyone",
    ),
)  # fmt: skip
async def list_records(access: Access, request: Request) -> JSONResponse:
    """Return a page of records; `POST /v1/browse` takes conditions on their fields too."""
    page = await access.ask(asked_in_query(requests.Browse, request))
    return await answered(page.to_dict, page)


@routes.on("PATCH", "/records/{id}", "write", keyed=True, first=[ID], **takes(requests.Revise, 202, 404, 409))
async def revise(access: Access, http: Request) -> JSONResponse:
    """Change the fields given; the record as it was stays in its history."""
    body = await sent(http)
    request = await asked(requests.Revise, body, id=id_of(http))
    fields = {name: value for name, value in request.changes().items() if name != "expires_at"}
    if fields.get("happened_at") is not None:
        fields["happened_at"] = parse_time(fields["happened_at"], access.memory.zone)
    return await _changed(access, request, Action.REVISED, fields, body)


@routes.on("PUT", "/records/{id}/rating", "write", keyed=True, first=[ID], **takes(requests.Rate, 404, 409))
async def rate(access: Access, http: Request) -> JSONResponse:
    """Give a record feedback from -1 to 1, or take it back with null."""
    body = await sent(http)
    request = await asked(requests.Rate, body, id=id_of(http))
    return await _changed(access, request, Action.RATED, {"rating": request.rating}, body)


@search.on("POST", "/forget", "write", keyed=True, **takes(requests.Forget, 202, 409))
async def forget(access: Access, http: Request) -> JSONResponse:
    """Delete the records named that pass the filter, or all that pass it; superseded ones too."""
    body = await sent(http)
    return await _forgotten(access, await asked(requests.Forget, body), body)


@routes.on(
    "DELETE", "/records/{id}", "write", keyed=True, first=[ID],
    **takes_parameters(requests.Forget, "source", "derived", statuses=(202, 409)),
)  # fmt: skip
async def forget_one(access: Access, request: Request) -> JSONResponse:
    """Delete one record, its texts in the history included. An unknown id is ignored."""
    forget = asked_in_query(requests.Forget, request, ids=(id_of(request),))
    return await _forgotten(access, forget, forget.given())


async def _changed(
    access: Access,
    request: requests.Revise | requests.Rate,
    action: Action,
    fields: Mapping[str, Any],
    body: Mapping[str, Any],
) -> JSONResponse:
    """Change a record, once for each idempotency key, and answer with it; `fields` are as they are afterwards."""
    id = str(request.id)
    changed = list[Record]()

    async def work() -> Outcome:
        changed.append(await access.memory.ask(request))
        return {"version": changed[0].version}

    async def done_since(begun: datetime) -> Outcome | None:
        for each in await access.memory.history(id):
            after = each.record
            if after is None or each.action is not action or each.at < begun:
                continue
            wanted = cleaned(replace(after, **fields), access.memory.secrets, warns=False)
            if all(getattr(after, name) == getattr(wanted, name) for name in fields):
                return {"version": after.version}
        return None

    outcome, new = await access.once((id, request.verb, body), work, done_since)
    if not new:
        changed.append(await original(access.memory, id, outcome["version"]))
    return await answered(changed[0].to_dict, changed)


async def _forgotten(access: Access, request: requests.Forget, asked: Mapping[str, Any]) -> JSONResponse:
    """Forget, once for each idempotency key, and answer with how many records are gone."""

    async def work() -> Outcome:
        return {"forgotten": await access.memory.ask(request)}

    outcome, _ = await access.once(("forget", asked), work)
    return JSONResponse(outcome)
