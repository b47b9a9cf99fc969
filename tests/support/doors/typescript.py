"""The TypeScript client, in a process of node that takes calls as lines of JSON."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from doors.base import Door, Refused, changed, drawn, family_of, halved, logged, proposed, sourced, traced
from doors.calls import FILED, VERBS, Call
from memorist.serve.app import create_app
from servers import running
from typescript import built

_LONGEST_LINE = 2**24
_UNNAMED = ("get", "history", "why", "retain", "retention", "sweep", "checkpoint", "inbox", "approve")


class TypeScript(Door):
    """The TypeScript client."""

    verbs = tuple(verb for verb in VERBS if verb not in ("verify_audit", *FILED))

    def takes(self, call: Call) -> bool:
        """Whether the call can be made: some verbs take no names, a query holds texts, and no URL has some ids."""
        named = call.verb in _UNNAMED and not call.arguments.keys() <= {"id", "rules", "content"}
        queried = call.verb == "lookup" and not all(isinstance(each, str | bool) for each in call.arguments.values())
        in_path = call.verb in ("history", "why", "revise", "rate") and call.arguments["id"] in (".", "..")
        return call.verb in self.verbs and not (named or queried or in_path or halved(call.arguments))

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Door]:
        async with running(create_app(self.memory, open=True)) as url:
            script = str(built() / "build" / "door.js")
            pipe = asyncio.subprocess.PIPE
            self.node = await asyncio.create_subprocess_exec(
                "node", script, url, stdin=pipe, stdout=pipe, limit=_LONGEST_LINE
            )
            try:
                yield self
            finally:
                assert self.node.stdin is not None
                self.node.stdin.close()
                await self.node.wait()

    async def call(self, tenant: str, call: Call) -> Any:
        assert self.node.stdin is not None and self.node.stdout is not None
        asked = {
            "verb": call.verb,
            "tenant": tenant,
            "user": call.user,
            "zone": call.zone,
            "arguments": dict(call.arguments),
        }
        self.node.stdin.write(json.dumps(asked).encode() + b"\n")
        told = json.loads(await self.node.stdout.readline())
        if "error" in told:
            raise Refused(family_of(told["error"]))
        answer = told["answer"]
        if answer is None and call.verb in ("get", "lookup"):
            raise Refused("NotFoundError")
        return _SHOWN[call.verb](answer) if call.verb in _SHOWN else answer


_SHOWN: Any = {
    "recall": lambda hits: [hit["record"] for hit in hits],
    "context": lambda told: told["text"],
    "browse": lambda page: page["records"],
    "changes": changed,
    "traces": lambda page: traced(page["traces"]),
    "why": sourced,
    "derived": drawn,
    "audit": logged,
    "inbox": lambda proposals: [proposed(each) for each in proposals],
    "reject": proposed,
    "checkpoint": lambda statement: statement["type"],
    "purge": lambda done: done["purged"],
}
