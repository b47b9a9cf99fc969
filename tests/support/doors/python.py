"""The doors in Python: the law itself, its blocking twin, and a client of a server."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread

from doors.base import Door, Refused, drawn, logged, refusing, sourced, traced
from doors.calls import Call
from memorist import sync
from memorist.audit import AuditEntry
from memorist.memory import Memory
from memorist.records import Change, Hit, Page, Record
from memorist.results import Derived, Provenance, Receipt, TracePage
from memorist.retention import RetentionReport, Rule
from memorist.serve.app import create_app
from memorist.testing import HashEmbedder
from servers import running


def plain(answer: Any) -> Any:
    """Return what a verb returned as JSON."""
    if isinstance(answer, Record | Change | AuditEntry):
        return answer.to_dict()
    if isinstance(answer, Hit):
        return answer.record.to_dict()
    if isinstance(answer, Rule | RetentionReport):
        return json.loads(json.dumps(answer.to_dict()))
    if isinstance(answer, Provenance):
        return sourced(answer.to_dict())
    if isinstance(answer, Derived):
        return drawn(answer.to_dict())
    if isinstance(answer, Receipt):
        return answer.purged
    if isinstance(answer, Page):
        return [record.to_dict() for record in answer.records]
    if isinstance(answer, TracePage):
        return traced([each.to_dict() for each in answer.traces])
    return [plain(each) for each in answer] if isinstance(answer, list) else answer


def asked(memory: Any, call: Call) -> Any:
    """Make a call in Python, async or blocking."""
    arguments = dict(call.arguments)
    if call.verb in ("forget", "derived"):
        return getattr(memory, call.verb)(arguments.pop("id"), **arguments)
    return getattr(memory, call.verb)(**arguments)


def found(verb: str, answer: Any) -> Any:
    if answer is None and verb in ("get", "lookup"):
        raise Refused("NotFoundError")
    if verb == "audit":
        return logged(plain(answer))
    return answer["type"] if verb == "checkpoint" else plain(answer)


class Python(Door):
    """The law."""

    async def call(self, tenant: str, call: Call) -> Any:
        with refusing(call.verb):
            return found(call.verb, await asked(self.memory.scoped(tenant=tenant, user=call.user), call))


class Blocking(Door):
    """`memorist.sync`."""

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Door]:
        self.blocking = await anyio.to_thread.run_sync(
            lambda: sync.Memory.open(self.path.with_suffix(".sync"), embedder=HashEmbedder())
        )
        yield self
        await anyio.to_thread.run_sync(self.blocking.close)

    async def call(self, tenant: str, call: Call) -> Any:
        def work() -> Any:
            with refusing(call.verb):
                return found(call.verb, asked(self.blocking.scoped(tenant=tenant, user=call.user), call))

        return await anyio.to_thread.run_sync(work)


class Connected(Door):
    """`Memory.connect`."""

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Door]:
        async with running(create_app(self.memory, open=True)) as self.url:
            yield self

    async def call(self, tenant: str, call: Call) -> Any:
        with refusing(call.verb):
            async with Memory.connect(self.url, tenant=tenant, user=call.user) as memory:
                return found(call.verb, await asked(memory, call))
