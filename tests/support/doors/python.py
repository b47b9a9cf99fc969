"""The doors in Python: the law itself, its blocking client, and a client of a server."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import anyio.to_thread

from doors.base import Door, Refused, changed, drawn, logged, proposed, refusing, sourced, traced
from doors.calls import FILED, VERBS, Call
from doors.files import FILES, ME, TRANSCRIPTS, kept, written
from memorist import imports, sync
from memorist.agents import after_turn
from memorist.audit.log import AuditEntry
from memorist.files.projects import project_of
from memorist.files.transcripts import read_transcript
from memorist.imports import Options
from memorist.imports.sync import load
from memorist.memory import Memory
from memorist.operations.answers import Context, Derived, Proposal, Provenance, Receipt, ReplacementPage, TracePage
from memorist.records.origins import HOOK
from memorist.records.record import Change, Hit, Page, Record
from memorist.records.retention import RetentionReport, Rule
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
    if isinstance(answer, ReplacementPage):
        return changed(answer.to_dict())
    if isinstance(answer, Proposal):
        return proposed(answer.to_dict())
    if isinstance(answer, Context):
        return answer.text
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
    if call.verb == "propose":
        return memory.remember(**arguments, proposed=True)
    verb = getattr(memory if hasattr(memory, call.verb) else memory.admin, call.verb)
    if call.verb in ("forget", "derived"):
        return verb(arguments.pop("id"), **arguments)
    return verb(**arguments)


def found(verb: str, answer: Any) -> Any:
    if answer is None and verb in ("get", "lookup"):
        raise Refused("NotFoundError")
    if verb == "audit":
        return logged(plain(answer))
    return answer["type"] if verb == "checkpoint" else plain(answer)


OPTIONS = Options(me=ME, zone=UTC)


def counts(report: Any) -> list[int]:
    """Return what an import tells of itself."""
    return [report.added, report.revised, report.existing, report.failed]


async def imported(memory: Memory, call: Call, folder: Path) -> list[int]:
    """Import a file."""
    return counts(await imports.load(memory, written(folder, *FILES[call.arguments["file"]]), options=OPTIONS))


async def hooked(memory: Memory, call: Call, folder: Path) -> None:
    """Keep what a transcript has, as a hook does."""
    said = read_transcript(written(folder, "transcript.jsonl", TRANSCRIPTS[call.arguments["transcript"]]))
    marked = [replace(each, metadata={"session": "s1"}) for each in said]
    if marked:
        kept_by = memory.scoped(agent=project_of(str(folder))).through(HOOK)
        await after_turn(kept_by, marked, session="s1")


class Python(Door):
    """The law."""

    async def call(self, tenant: str, call: Call) -> Any:
        with refusing(call.verb):
            memory = self.memory.scoped(tenant=tenant, user=call.user, zone=call.zone)
            if call.verb in FILED:
                return await {"import": imported, "hook": hooked}[call.verb](memory, call, self.path.parent)
            return found(call.verb, await asked(memory, call))


class Blocking(Door):
    """`memorist.sync`."""

    verbs = tuple(verb for verb in VERBS if verb != "hook")

    async def left(self, tenant: str) -> list[Any]:
        async with Memory.open(self.path.with_suffix(".sync"), embedder=HashEmbedder()) as memory:
            return await kept(memory, tenant)

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Door]:
        self.blocking = await anyio.to_thread.run_sync(
            lambda: sync.Memory.open(self.path.with_suffix(".sync"), embedder=HashEmbedder(), confirm=True)
        )
        yield self
        await anyio.to_thread.run_sync(self.blocking.close)

    async def call(self, tenant: str, call: Call) -> Any:
        def work() -> Any:
            with refusing(call.verb):
                if call.verb == "import":
                    path = written(self.path.parent, *FILES[call.arguments["file"]])
                    memory = self.blocking.scoped(tenant=tenant, user=call.user)
                    return counts(load(memory, path, options=OPTIONS))
                return found(
                    call.verb, asked(self.blocking.scoped(tenant=tenant, user=call.user, zone=call.zone), call)
                )

        return await anyio.to_thread.run_sync(work)


class Connected(Door):
    """`Memory.connect`."""

    verbs = tuple(verb for verb in VERBS if verb != "hook")

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Door]:
        async with running(create_app(self.memory, open=True)) as self.url:
            yield self

    async def call(self, tenant: str, call: Call) -> Any:
        with refusing(call.verb):
            async with Memory.connect(self.url, tenant=tenant, user=call.user, zone=call.zone) as memory:
                if call.verb == "import":
                    return await imported(memory, call, self.path.parent)
                return found(call.verb, await asked(memory, call))
