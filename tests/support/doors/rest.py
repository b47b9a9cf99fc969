"""REST, the user and the zone in the query or in headers."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx

from doors.base import Door, Refused, changed, drawn, family_of, halved, logged, proposed, sourced, traced
from doors.calls import FILED, VERBS, Call
from memorist.serve.app import create_app


class Rest(Door):
    """REST, the user and the zone in the query."""

    bodies = (
        "remember",
        "forget",
        "revise",
        "rate",
        "recall",
        "context",
        "recent",
        "count",
        "changes",
        "traces",
        "derived",
        "retain",
        "retention",
        "propose",
        "approve",
        "reject",
    )

    verbs = tuple(verb for verb in VERBS if verb not in ("verify_audit", *FILED))

    def takes(self, call: Call) -> bool:
        """Whether texts can stand for what goes into the query, as they do for no other value."""
        given = {name: call.arguments[name] for name in self.queried(call)}
        texts = all(isinstance(given.get(name, ""), str) for name in ("session", "key", "key_prefix"))
        return (
            call.verb in self.verbs
            and texts
            and given.get("limit") != "5"
            and not halved(given | {name: call.arguments[name] for name in ("id",) if name in call.arguments})
            and all(isinstance(each, str | int | float) for each in given.values())
        )

    def queried(self, call: Call) -> list[str]:
        """Return the names of the arguments that go into the query."""
        in_body = call.verb in self.bodies or "where" in call.arguments
        label = () if call.verb == "remember" else ("session",)
        return [name for name in call.arguments if name in label or not (in_body or name == "id")]

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Door]:
        app = create_app(self.memory, open=True)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as self.http:
            yield self

    async def call(self, tenant: str, call: Call) -> Any:
        body = dict(call.arguments)
        method, path = "POST", f"/v1/{call.verb}"
        query: dict[str, Any] = {"tenant": tenant}
        headers = self.named(call, query)
        query |= {name: body.pop(name) for name in self.queried(call)}
        if call.verb == "remember":
            path, body = "/v1/records", {"records": [body]}
        elif call.verb == "propose":
            path, body = "/v1/records", {"records": [body], "proposed": True}
        elif call.verb in ("approve", "reject"):
            path = f"/v1/inbox/{body.pop('id')}/{call.verb}"
        elif call.verb in ("forget", "derived"):
            body["ids"] = [body.pop("id")]
        elif call.verb in ("get", "history", "why", "revise", "rate"):
            part = quote(body.pop("id").encode("utf-8", "surrogatepass"), safe="").replace(".", "%2E")
            path = f"/v1/records/{part}" + {"history": "/history", "why": "/why", "rate": "/rating"}.get(call.verb, "")
            method = {"revise": "PATCH", "rate": "PUT"}.get(call.verb, "GET")
        elif call.verb == "lookup" or (call.verb == "browse" and "where" not in body):
            method, path = "GET", "/v1/lookup" if call.verb == "lookup" else "/v1/records"
        elif call.verb in ("audit", "checkpoint", "inbox"):
            method, path = "GET", {"checkpoint": "/v1/audit/checkpoint"}.get(call.verb, path)
        elif call.verb == "retain":
            method, path = "PUT", "/v1/retention"
        encoded = "&".join(f"{name}={_as_query(value)}" for name, value in query.items())
        content = b"" if method == "GET" or call.verb in ("purge", "sweep") else json.dumps(body).encode()
        answer = await self.http.request(
            method, f"{path}?{encoded}", content=content, headers=[(b"content-type", b"application/json"), *headers]
        )
        told = answer.json()
        if answer.status_code >= 400 or answer.status_code == 202:
            assert answer.status_code < 500, told
            raise Refused(family_of(told["error"]))
        if call.verb == "remember":
            return told["records"][0]
        if call.verb in ("reject", "inbox"):
            return proposed(told) if call.verb == "reject" else [proposed(each) for each in told["proposals"]]
        if call.verb == "recall":
            return [hit["record"] for hit in told["hits"]]
        if call.verb == "changes":
            return changed(told)
        if call.verb == "traces":
            return traced(told["traces"])
        if call.verb == "why":
            return sourced(told)
        if call.verb == "derived":
            return drawn(told)
        if call.verb == "audit":
            return logged(told["entries"])
        if call.verb in ("retain", "checkpoint"):
            return told["rules" if call.verb == "retain" else "type"]
        if call.verb == "context":
            return told["text"]
        for name in ("records", "changes", "count", "forgotten", "purged", "swept"):
            if name in told:
                return told[name]
        return told

    def named(self, call: Call, query: dict[str, Any]) -> list[tuple[bytes, bytes]]:
        query |= {name: value for name, value in (("user", call.user), ("zone", call.zone)) if value is not None}
        return []


class RestByHeader(Rest):
    """REST, the user in the header Memorist-User, and the zone in Memorist-Zone."""

    def takes(self, call: Call) -> bool:
        named = call.user is None or (call.user == call.user.strip() and not {"\n", "\r", "\0"} & set(call.user))
        return named and super().takes(call)

    def named(self, call: Call, query: dict[str, Any]) -> list[tuple[bytes, bytes]]:
        return headers_of(call)


def headers_of(call: Call) -> list[tuple[bytes, bytes]]:
    """Return the headers that name the user and the zone of a call."""
    named = ((b"memorist-user", call.user), (b"memorist-zone", call.zone))
    return [(name, value.encode("utf-8", "surrogatepass")) for name, value in named if value is not None]


def _as_query(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return quote(text.encode("utf-8", "surrogatepass"), safe="")
