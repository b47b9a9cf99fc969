"""The engine at a server: posts each request over REST, and raises the errors that the server raised.

Reads and `remember` are retried if the connection fails; an idempotency key keeps `remember` from storing twice. If
the outcome of another write is unknown, the error says so.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from memorist.engine.base import Engine
from memorist.engine.connection import Connection, params_of, part_of, result_of
from memorist.errors import NotFoundError, StoreUnavailableError, error_of
from memorist.operations import lines, requests
from memorist.operations.answers import Receipt
from memorist.operations.calls import Call
from memorist.operations.lines import BadLine, LoadReport
from memorist.operations.request import Named, Narrowed, Request, Timed
from memorist.operations.table import OPERATIONS
from memorist.records.origins import TrustRules
from memorist.records.record import Kind, Record
from memorist.records.scope import DEFAULT_TENANT, Scope
from memorist.records.times import now
from memorist.records.zones import machine_zone, zone_of
from memorist.system.platforms import sync
from memorist.system.writing import replacing

T = TypeVar("T")
_Answer: TypeAlias = Callable[[Connection, Call, Any], Awaitable[Any]]
_LABELS = ("agent", "session")
_PAGE = 1000


class RemoteEngine(Engine):
    """Answers requests by posting them to a server (``memorist serve``).

    Args:
        url: the server's URL.
        token: the secret that grants access; None for a server that needs none.
        timeout: seconds to wait for an answer.
    """

    remote = True

    def __init__(self, url: str, token: str | None, timeout: float) -> None:
        self._connection = Connection(url, token, timeout)
        self._trust = TrustRules()
        self._zone: tzinfo | None = None

    @property
    def trust(self) -> TrustRules:
        """How far each author is trusted, by the server; by the default rules if the server does not say."""
        return self._trust

    @property
    def zone(self) -> tzinfo:
        """The server's zone; this machine's if the server does not say."""
        return machine_zone() if self._zone is None else self._zone

    async def open(self, call: Call) -> Scope:
        """Connect to the server, and return the scope narrowed to the token's tenant and user."""
        scope, granted = call.scope, await self._connection.open()
        try:
            self._trust = TrustRules.known(granted.get("trust", {}))
            self._zone = None if granted.get("zone") is None else zone_of(granted["zone"])
            bound = Scope(granted["tenant"] or DEFAULT_TENANT).narrowed(user=granted["user"])
            tenant = None if scope.tenant == DEFAULT_TENANT else scope.tenant
            return bound.narrowed(tenant=tenant, user=scope.user, agent=scope.agent, session=scope.session)
        except BaseException:
            await self._connection.close()
            raise

    async def close(self) -> None:
        await self._connection.close()

    async def answer(self, call: Call, request: Request[T]) -> T:
        if isinstance(request, requests.Context) and request.count_tokens is not None:
            from memorist.context import Reader, compose  # imported here, because it takes long to load

            user = call.scope.user
            zone = self.zone if call.zone is None else call.zone
            reader = Reader(partial(_answer, self._connection, call), user=user, zone=zone)
            return cast(
                T, await compose(reader, request, now, lambda record: self._trust.of(record.origin.authors, user))
            )
        answer: T = await _answer(self._connection, call, _signed(request, call))
        return answer


def _answer(server: Connection, call: Call, request: Request[Any]) -> Awaitable[Any]:
    answer: _Answer = _APART.get(type(request), _by_table)
    return answer(server, call, request)


def _signed(request: Request[T], call: Call) -> Request[T]:
    """Return a request that says what the server cannot know of the local door: its authors, and that an agent asks."""
    door, given = call.door, cast(Any, request)
    if door.proposes and isinstance(request, requests.Remember | requests.Revise | requests.Forget):
        given = request = replace(given, proposed=True)
    if not door.always:
        return request
    if isinstance(request, requests.Remember):
        return replace(given, records=tuple(replace(each, author=each.authors(door)) for each in request.records))
    if isinstance(request, requests.Restore):
        return replace(given, records=tuple(each.brought(door) for each in request.records))
    if isinstance(request, requests.Revise):
        return replace(given, author=door.author if request.author is None else door.named(request.author))
    return request


async def _remember(server: Connection, call: Call, request: requests.Remember) -> list[Record]:
    if not request.records and not request.forgetting:
        return []
    # A replacement is found by its key or id; repeating it would count two versions.
    key = uuid.uuid4().hex if request.records and request.if_exists != "replace" else None
    body, repeat = request.given(), key is not None
    params = params_of(call)
    found = await server.call("POST", "/v1/records", params=params, body=body, key=key, repeat=repeat)
    return [Record.from_dict(each) for each in found["records"]]


async def _values(server: Connection, call: Call, request: requests.Values) -> list[tuple[Any, ...]]:
    """Return fields of records, which a server sends whole."""
    found: list[tuple[Any, ...]] = []
    left, cursor = request.limit, None
    narrowing = {name: getattr(request, name) for name in Timed.arguments()}
    while left is None or left > 0:
        size = _PAGE if left is None else min(left, _PAGE)
        asked = requests.Browse(**narrowing, order=request.order, limit=size, cursor=cursor)
        page = await _by_table(server, call, asked)
        found += (record.values(request.fields) for record in page.records)
        left, cursor = None if left is None else left - len(page.records), page.next
        if cursor is None:
            break
    return found


async def _purge(server: Connection, call: Call, request: requests.Purge) -> Receipt:
    flags = {name: flag for name, flag in request.given().items() if name != "user"}
    params = params_of(call.at(request.wall_of(call.scope))) | flags
    return Receipt((await server.call("POST", "/v1/purge", params=params))["receipt"])


async def _restore(server: Connection, call: Call, request: requests.Restore) -> LoadReport:
    async def body() -> AsyncIterator[bytes]:
        for line in (lines.header(), *map(lines.line_of, request.records)):
            yield line.encode() + b"\n"

    headers = {"Content-Type": "application/x-ndjson"}
    async with server.sent("POST", "/v1/load", params=params_of(call), content=body(), headers=headers) as answer:
        await answer.aread()
    found = result_of(answer)
    bad = [BadLine(each["number"] - 1, each["reason"]) for each in found["bad"]]  # the header is the first line
    return LoadReport(found["added"], found["existing"], bad)


async def _backup(server: Connection, call: Call, request: requests.Backup) -> Path:
    """Copy the whole store to a file here; needs an operator's token."""
    call.scope.check_everyone()
    path = request.target
    async with server.sent("GET", "/v1/backup", params=params_of(call)) as answer:
        if answer.status != 200 or (b"content-type", b"application/octet-stream") not in answer.headers:
            await answer.aread()
            raise StoreUnavailableError(f"the server sends no copy of its store: {result_of(answer)}")
        with replacing(path) as file:
            async for chunk in answer.aiter_stream():
                await asyncio.to_thread(file.write, chunk)
            file.flush()
            await asyncio.to_thread(sync, file.fileno())  # here it would hold up the event loop
    return path


async def _reindex(server: Connection, call: Call, request: requests.Reindex) -> int:
    call.scope.check_everyone()
    params = params_of(call) | {"missing": request.missing}
    async with server.sent("POST", "/v1/reindex", params=params) as answer:
        if answer.status != 200:
            await answer.aread()
            result_of(answer)
        async for line in _lines_of(answer.aiter_stream()):
            step = json.loads(line)
            if "embedded" in step:
                return cast(int, step["embedded"])
            if "error" in step:
                raise error_of(step)
            if request.progress is not None:
                request.progress(step["done"], step["total"])
    raise StoreUnavailableError("the server ended before the reindex was complete; call it again to resume")


_APART: Mapping[type[Request[Any]], _Answer] = {
    requests.Remember: _remember,
    requests.Values: _values,
    requests.Purge: _purge,
    requests.Restore: _restore,
    requests.Backup: _backup,
    requests.Reindex: _reindex,
}


async def _by_table(server: Connection, call: Call, request: Request[Any]) -> Any:
    """Return the answer to a request that is sent as the table of operations says."""
    operation, scope, given = OPERATIONS[type(request)], call.scope, request.given()
    if operation.everyone:
        scope.check_everyone()
    if isinstance(request, Narrowed):
        scope = request.scope(scope)
        given = {name: value for name, value in given.items() if name not in _LABELS}  # these are sent with the scope
        if isinstance(request, Named) and not given.keys() - {"source", "derived"}:
            given["kind"] = list(map(str, Kind))  # labels alone narrow the request; without labels, the body must
    try:
        path = operation.path.format(id=part_of(given.pop("id", "-")))
        params, body = (given, None) if operation.method == "GET" or not request.arguments() else ({}, given)
        found = await server.call(
            operation.method,
            f"/v1{path}",
            params=params_of(call.at(scope)) | params,
            body=body,
            repeat=operation.repeat,
        )
    except NotFoundError:
        if operation.nothing is None:
            raise
        return operation.nothing()
    return operation.read(type(request), found)


async def _lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode()
