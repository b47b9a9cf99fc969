"""The command line."""

import contextlib
import io
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import anyio.to_thread

from doors.base import Door, Refused, traced
from doors.calls import Call
from memorist.memory import Memory
from memorist.testing import HashEmbedder


class CommandLine(Door):
    """The command `memorist`."""

    verbs = ("remember", "get", "recall", "recent", "browse", "count", "forget", "history", "traces")
    options: ClassVar[Mapping[str, str]] = {"happened_at": "at", "key_prefix": "key-prefix", "min_trust": "min-trust"}

    def takes(self, call: Call) -> bool:
        given = call.arguments
        if call.verb not in self.verbs or (call.verb == "count" and call.user is None) or "-" in given.values():
            return False
        switches = ("shared", "superseded", "verified", "empty")
        flags = [given.get(name, True) for name in switches]
        rest = {name: value for name, value in given.items() if name not in switches}
        texts = {name: value for name, value in rest.items() if name not in ("where", "metadata", "limit")}
        objects = [rest.get(name, {}) for name in ("where", "metadata")]
        numbers = isinstance(rest.get("limit", 1), int) and not isinstance(rest.get("limit"), bool)
        positive = rest.get("limit", 1) in range(1, 10_002) if numbers else False  # its options have a least value
        return (
            all(each is True for each in flags)
            and all(isinstance(each, str) for each in texts.values())
            and all(isinstance(each, dict) for each in objects)
            and positive
            and not any(name in given for name in ("rating", "cue"))
            and (call.verb != "recent" or "min_trust" not in given)
        )

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Door]:
        async with Memory.open(self.path.with_suffix(".cli"), embedder=HashEmbedder()):
            pass  # a command that reads makes no file
        yield self

    async def call(self, tenant: str, call: Call) -> Any:
        given = dict(call.arguments)
        named = ("content",) if call.verb == "remember" else ("id", "query")
        if call.verb == "remember":
            given.setdefault("author", "user")  # who writes at the command line is an operator else
        words = [given.pop(name) for name in named if name in given]
        line = ["--db", str(self.path.with_suffix(".cli")), "--tenant", tenant, call.verb, "--json"]
        if call.user is not None:
            line.append(f"--user={call.user}")
        for name, value in given.items():
            option = self.options.get(name, name)
            if value is True:
                line.append(f"--{option}")
            else:
                line.append(f"--{option}={json.dumps(value) if isinstance(value, dict) else value}")
        code, out = await anyio.to_thread.run_sync(_run, [*line, "--", *words])
        if code:
            if call.verb == "forget" and code == 1 and out:
                return json.loads(out)["forgotten"]
            if call.verb == "history" and code == 1:  # the command tells that there never was such a record
                return []
            failed = "ConflictError" if call.verb == "remember" else "NotFoundError"  # both exit with 1
            raise Refused("InvalidInputError" if code == 2 else failed)
        told = json.loads(out)
        if call.verb == "traces":
            return traced(told["traces"])
        if call.verb == "recall":
            return [hit["record"] for hit in told]
        return told["forgotten"] if call.verb == "forget" else told["records"] if call.verb == "browse" else told


def _run(line: list[str]) -> tuple[int, str]:
    from memorist.cli.app import app

    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            app(line, prog_name="memorist")
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue()
    return 0, out.getvalue()
