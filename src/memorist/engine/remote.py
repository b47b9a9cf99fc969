"""The engine at a server: posts each request over REST, and raises the errors that the server raised.

Reads and `remember` are retried if the connection fails; an idempotency key keeps `remember` from storing twice. If
the outcome of another write is unknown, the error says so.
"""

import asyncio
import json
import os
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeVar, cast

from memorist import lines, requests
from memorist.audit import AuditEntry
from memorist.calls import Call
from memorist.engine.base import Engine
from memorist.engine.connection import Connection, result_of
from memorist.engine.wire import change_of, context_of, hit_of, params_of, part_of
from memorist.errors import NotFoundError, StoreUnavailableError, error_of
from memorist.lines import BadLine, LoadReport
from memorist.origins import Door, TrustRules
from memorist.records import Change, Kind, Page, Record
from memorist.requests import Named, Narrowed, Request
from memorist.results import Context, Derived, Provenance, Receipt, Source, Trace, TracePage
from memorist.retention import RetentionReport, Rule, parse_rules
from memorist.scope import DEFAULT_TENANT, Scope
from memorist.times import now

T = TypeVar("T")
_Handler: TypeAlias = Callable[[Connection, Call, Any], Awaitable[Any]]
_LABELS = ("agent", "session")


class RemoteEngine(Engine):
    """Answers requests by posting them to a server (``memorist serve``).

    Args:
        url: the server's URL.
        token: the secret that grants access; None for a server that needs none.
        timeout: seconds to wait for an answer.
    """

    def __init__(self, url: str, token: str | None, timeout: float) -> None:
        self._connection = Connection(url, token, timeout)
        self._trust = TrustRules()

    @property
    def trust(self) -> TrustRules:
        """How far each author is trusted, by the server; by the default rules where it does not tell."""
        return self._trust

    async def open(self, call: Call) -> Scope:
        """Connect to the server, and return the scope narrowed to the token's tenant and user."""
        scope, granted = call.scope, await self._connection.open()
        try:
            self._trust = TrustRules.known(granted.get("trust", {}))
            bound = Scope(granted["tenant"] or DEFAULT_TENANT).narrowed(user=granted["user"])
            tenant = None if scope.tenant == DEFAULT_TENANT else scope.tenant
            return bound.narrowed(tenant=tenant, user=scope.user, agent=scope.agent, session=scope.session)
        except BaseException:
            await self._connection.close()
            raise

    async def close(self) -> None:
        """Close the connections, once pending requests are answered."""
        await self._connection.close()

    async def answer(self, call: Call, request: Request[T]) -> T:
        """Return the server's answer."""
        if isinstance(request, requests.Context) and request.count_tokens is not None:
            return cast(T, await self._told_here(call, request))
        answer: T = await _answer(self._connection, call, _signed(request, call.door))
        return answer

    async def _told_here(self, call: Call, request: requests.Context) -> Context:
        """Return a context that is put together here, where the caller's counter of tokens runs."""
        from memorist.context import Reader, tell  # which brings the arithmetic along

        reader, user = Reader(partial(_answer, self._connection, call)), call.scope.user
        return await tell(reader, request, now, lambda record: self._trust.of(record.origin.authors, user))


def _answer(server: Connection, call: Call, request: Request[Any]) -> Awaitable[Any]:
    return _CALLS[type(request)](server, call, request)


def _signed(request: Request[T], door: Door) -> Request[T]:
    """Return a request that names the authors that the door here adds to all: the server's door adds its own alone."""
    if not door.always:
        return request
    given: Any = request
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
    return _records(
        await server.call("POST", "/v1/records", params=params_of(call.scope), body=body, key=key, repeat=repeat)
    )


async def _revise(server: Connection, call: Call, request: requests.Revise) -> Record:
    body = request.given()
    path = f"/v1/records/{part_of(body.pop('id'))}"
    return Record.from_dict(await server.call("PATCH", path, params=params_of(call.scope), body=body))


async def _rate(server: Connection, call: Call, request: requests.Rate) -> Record:
    path, body = f"/v1/records/{part_of(str(request.id))}/rating", {"rating": request.rating, "source": request.source}
    return Record.from_dict(await server.call("PUT", path, params=params_of(call.scope), body=body, repeat=True))


async def _forget(server: Connection, call: Call, request: requests.Forget) -> int:
    return cast(int, (await _post(server, call, request, repeat=False))["forgotten"])


async def _purge(server: Connection, call: Call, request: requests.Purge) -> Receipt:
    flags = {name: flag for name, flag in request.given().items() if name != "user"}
    params = params_of(request.wall_of(call.scope)) | flags
    return Receipt((await server.call("POST", "/v1/purge", params=params))["receipt"])


async def _restore(server: Connection, call: Call, request: requests.Restore) -> LoadReport:
    async def body() -> AsyncIterator[bytes]:
        for line in (lines.header(), *map(lines.line_of, request.records)):
            yield line.encode() + b"\n"

    headers = {"Content-Type": "application/x-ndjson"}
    async with server.sent("POST", "/v1/load", params=params_of(call.scope), content=body(), headers=headers) as answer:
        await answer.aread()
    found = result_of(answer)
    bad = [BadLine(each["number"] - 1, each["reason"]) for each in found["bad"]]  # the header is the first line
    return LoadReport(found["added"], found["existing"], bad)


async def _context(server: Connection, call: Call, request: requests.Context) -> Context:
    return context_of(await _post(server, call, request))


async def _lookup(server: Connection, call: Call, request: requests.Lookup) -> Record | None:
    asked = {"key": request.key, "kind": str(request.kind), "shared": request.shared}
    return await _one(server, "/v1/lookup", {**params_of(call.scope), **asked})


async def _get(server: Connection, call: Call, request: requests.Get) -> Record | None:
    return await _one(server, f"/v1/records/{part_of(str(request.id))}", params_of(call.scope)) if request.id else None


async def _history(server: Connection, call: Call, request: requests.History) -> list[Change]:
    if not request.id:
        return []
    path = f"/v1/records/{part_of(str(request.id))}/history"
    found = await server.call("GET", path, params=params_of(call.scope), repeat=True)
    return [change_of(each) for each in found["changes"]]


async def _why(server: Connection, call: Call, request: requests.Why) -> Provenance:
    if not request.id:
        return Provenance()
    found = await server.call(
        "GET", f"/v1/records/{part_of(str(request.id))}/why", params=params_of(call.scope), repeat=True
    )
    sources = (Source(Record.from_dict(each["record"]), each["trust"], each["depth"]) for each in found["sources"])
    return Provenance(tuple(sources), tuple(found["missing"]))


async def _backup(server: Connection, call: Call, request: requests.Backup) -> Path:
    """Copy the whole store to a file here; needs an operator's token."""
    call.scope.reach(everyone=True)
    path = request.target
    async with server.sent("GET", "/v1/backup", params=params_of(call.scope)) as answer:
        if answer.status != 200 or (b"content-type", b"application/octet-stream") not in answer.headers:
            await answer.aread()
            raise StoreUnavailableError(f"the server sends no copy of its store: {result_of(answer)}")
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(handle, "wb") as file:
                async for chunk in answer.aiter_stream():
                    await asyncio.to_thread(file.write, chunk)
                await asyncio.to_thread(_flush, file)
            Path(part).replace(path)
        finally:
            Path(part).unlink(missing_ok=True)
    return path


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


async def _audit(server: Connection, call: Call, request: requests.Audit) -> list[AuditEntry]:
    found = await server.call("GET", "/v1/audit", params={**params_of(call.scope), **request.given()}, repeat=True)
    return [AuditEntry.from_dict(each) for each in found["entries"]]


async def _retain(server: Connection, call: Call, request: requests.Retain) -> list[Rule]:
    call.scope.reach(everyone=True)
    found = await server.call("PUT", "/v1/retention", params=params_of(call.scope), body=request.given(), repeat=True)
    return list(parse_rules("rules", found["rules"]))


async def _retention(server: Connection, call: Call, request: requests.Retention) -> RetentionReport:
    call.scope.reach(everyone=True)
    return RetentionReport.from_dict(await _post(server, call, request))


async def _reindex(server: Connection, call: Call, request: requests.Reindex) -> int:
    call.scope.reach(everyone=True)
    async with server.sent("POST", "/v1/reindex", params=params_of(call.scope)) as answer:
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
    raise StoreUnavailableError("the server ended before the reindexing did; call again, and it is resumed")


def _vectors(found: Mapping[str, Any]) -> dict[str, Any]:
    import numpy as np

    return {id: np.asarray(vector, np.float32) for id, vector in found["vectors"].items()}


def _records(found: Mapping[str, Any]) -> list[Record]:
    return [Record.from_dict(each) for each in found["records"]]


def _posted(read: Callable[[Any], Any]) -> _Handler:
    """Return the handler of a read whose arguments are posted as they are."""

    async def answer(server: Connection, call: Call, request: Request[Any]) -> Any:
        return read(await _post(server, call, request))

    return answer


def _of_all(method: str, path: str, read: Callable[[Any], Any]) -> _Handler:
    """Return the handler of a request about every user, without arguments."""

    async def answer(server: Connection, call: Call, request: Request[Any]) -> Any:
        call.scope.reach(everyone=True)
        return read(await server.call(method, path, params=params_of(call.scope), repeat=True))

    return answer


_CALLS: Mapping[type[Request[Any]], _Handler] = {
    requests.Remember: _remember,
    requests.Revise: _revise,
    requests.Rate: _rate,
    requests.Forget: _forget,
    requests.Purge: _purge,
    requests.Restore: _restore,
    requests.Recall: _posted(lambda found: [hit_of(each) for each in found["hits"]]),
    requests.Context: _context,
    requests.Recent: _posted(_records),
    requests.Lookup: _lookup,
    requests.Get: _get,
    requests.Find: _posted(_records),
    requests.Browse: _posted(lambda found: Page(_records(found), found["next"])),
    requests.Count: _posted(itemgetter("count")),
    requests.History: _history,
    requests.Vectors: _posted(_vectors),
    requests.Why: _why,
    requests.Derived: _posted(
        lambda found: Derived(*(tuple(map(Record.from_dict, found[name])) for name in ("alone", "partly")))
    ),
    requests.Users: _of_all("GET", "/v1/users", lambda found: {each["user"]: each["count"] for each in found["users"]}),
    requests.Traces: _posted(
        lambda found: TracePage([Trace.from_dict(each) for each in found["traces"]], found["next"])
    ),
    requests.Backup: _backup,
    requests.Check: _of_all("GET", "/v1/check", itemgetter("faults")),
    requests.Reindex: _reindex,
    requests.Audit: _audit,
    requests.Retain: _retain,
    requests.Retention: _retention,
    requests.Sweep: _of_all("POST", "/v1/sweep", itemgetter("swept")),
    requests.Checkpoint: _of_all("GET", "/v1/audit/checkpoint", dict),
}


async def _post(server: Connection, call: Call, request: Request[Any], *, repeat: bool = True) -> Any:
    """Post a request to the path that its verb names; its labels go into the query, as part of the scope."""
    body = {name: value for name, value in request.given().items() if name not in _LABELS}
    scope = call.scope
    if isinstance(request, Narrowed):
        scope = request.scope(scope)
        if isinstance(request, Named) and not body.keys() - {"source", "derived"}:
            body["kind"] = list(map(str, Kind))  # only labels narrow: without them, the body must
    return await server.call("POST", f"/v1/{request.verb}", params=params_of(scope), body=body, repeat=repeat)


async def _one(server: Connection, path: str, params: Mapping[str, Any]) -> Record | None:
    try:
        return Record.from_dict(await server.call("GET", path, params=params, repeat=True))
    except NotFoundError:
        return None


async def _lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode()
