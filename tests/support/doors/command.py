"""The command line."""

import contextlib
import io
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import anyio.to_thread

from doors.base import Door, Refused, changed, drawn, halved, logged, refusing, sourced, traced
from doors.calls import FILED, WHOLE, Call
from doors.files import FILES, ME, TRANSCRIPTS, kept, written
from memorist.cli.hooks.run import answer
from memorist.memory import Memory
from memorist.testing import HashEmbedder


class CommandLine(Door):
    """The command `memorist`."""

    commands: ClassVar[Mapping[str, list[str]]] = {
        **{verb: [verb] for verb in (*"remember get recall context recent browse count forget history".split(),)},
        "changes": ["changes"], "traces": ["traces"], "why": ["why"], "derived": ["forget", "--derived", "--dry-run"],
        "retain": ["retention", "set"], "retention": ["retention", "dry-run"], "sweep": ["retention", "apply"],
        "audit": ["audit", "show"], "checkpoint": ["audit", "export", "--checkpoint"],
        "verify_audit": ["audit", "verify"], "purge": ["purge", "--yes"],
        "import": ["import", "--yes", "--zone", "UTC", "--me", ME], "hook": [],
    }  # fmt: skip
    verbs = commands
    options: ClassVar[Mapping[str, str]] = {
        "happened_at": "at",
        "key_prefix": "key-prefix",
        "min_trust": "min-trust",
        "dry_run": "dry-run",
    }

    def takes(self, call: Call) -> bool:
        given = call.arguments
        if call.verb in FILED:
            return call.user is not None and (call.verb == "import" or call.user.strip() != "")
        if call.verb not in self.verbs or (call.verb == "count" and call.user is None) or "-" in given.values():
            return False
        if halved(given):  # a command's words are bytes
            return False
        if call.verb in WHOLE:
            return call.user is None and given.keys() <= {"rules"} and self.can_say(call.verb, given.get("rules"))
        if call.verb == "audit" and "limit" in given:  # the command's is of the newest
            return False
        if call.verb == "purge":  # a switch that is not set is not sent
            given = {name: value for name, value in given.items() if value is not False}
        switches = ("shared", "superseded", "verified", "empty", "dry_run")
        flags = [given.get(name, True) for name in switches]
        rest = {name: value for name, value in given.items() if name not in switches}
        apart = ("where", "metadata", "limit", "derived_from")
        texts = {name: value for name, value in rest.items() if name not in apart}
        sources = rest.get("derived_from", [])
        objects = [rest.get(name, {}) for name in ("where", "metadata")]
        if "expires_at" in given:  # each command begins with a sweep
            return False
        numbers = isinstance(rest.get("limit", 1), int) and not isinstance(rest.get("limit"), bool)
        positive = rest.get("limit", 1) in range(1, 10_002) if numbers else False  # its options have a least value
        return (
            all(each is True for each in flags)
            and all(isinstance(each, str) for each in texts.values())
            and all(isinstance(each, dict) for each in objects)
            and positive
            and isinstance(sources, list)
            and 5 not in sources
            and not any(name in given for name in ("rating", "cue"))
            and (call.verb != "recent" or "min_trust" not in given)
        )

    @staticmethod
    def can_say(verb: str, rules: Any) -> bool:
        """Whether rules can be words; ages that delete are not set, since each command begins with a sweep."""
        if verb == "retention":
            return rules is None or (isinstance(rules, list) and rules != [] and 5 not in rules)
        return rules is None or (
            isinstance(rules, list) and not {"1d", "90d", "5"} & set(re.findall(r"\w+", str(rules)))
        )

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Door]:
        async with Memory.open(self.path.with_suffix(".cli"), embedder=HashEmbedder()):
            pass  # a command that reads makes no file
        yield self

    async def left(self, tenant: str) -> list[Any]:
        async with Memory.open(self.path.with_suffix(".cli"), embedder=HashEmbedder()) as memory:
            return await kept(memory, tenant)

    async def _filed(self, tenant: str, call: Call) -> Any:
        """Import a file, or run the hook that a coding agent calls."""
        place, database = self.path.parent, str(self.path.with_suffix(".cli"))
        if call.verb == "import":
            path = str(written(place, *FILES[call.arguments["file"]]))
            options = ["--db", database, "--tenant", tenant, *self.commands["import"], "--json", f"--user={call.user}"]
            code, out = await anyio.to_thread.run_sync(_run, [*options, "--", path])
            if code not in (0, 3):
                raise Refused("InvalidInputError")
            [told] = json.loads(out)
            return [told[name] for name in ("added", "revised", "existing", "failed")]
        path = str(written(place, "transcript.jsonl", TRANSCRIPTS[call.arguments["transcript"]]))
        said = json.dumps({"session_id": "s1", "cwd": str(place), "transcript_path": path}).encode()
        with refusing(call.verb):
            arguments = ["Stop", "--user", str(call.user), "--tenant", tenant, "--db", database]
            return await anyio.to_thread.run_sync(lambda: answer(arguments, said)) or None

    async def call(self, tenant: str, call: Call) -> Any:
        if call.verb in FILED:
            return await self._filed(tenant, call)
        given = {name: value for name, value in call.arguments.items() if value is not False}
        named = ("content",) if call.verb == "remember" else ("id", "query")
        if call.verb == "remember":
            given.setdefault("author", "user")  # who writes at the command line is an operator else
        words = [given.pop(name) for name in named if name in given]
        words += [json.dumps(rule) for rule in given.pop("rules", None) or ()]
        there = [] if call.zone is None else [f"--zone={call.zone}"]
        line = ["--db", str(self.path.with_suffix(".cli")), "--tenant", tenant, *there, *self.commands[call.verb]]
        if call.verb != "checkpoint":
            line.append("--json")
        line += [f"--derived-from={id}" for id in given.pop("derived_from", ())]
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
            if call.verb in ("history", "why") and code == 1:  # the command tells that there never was such a record
                return []
            failed = "ConflictError" if call.verb == "remember" else "NotFoundError"  # both exit with 1
            sure = "derived_from" not in call.arguments  # else a source may be missing, or the id taken
            raise Refused("InvalidInputError" if code == 2 else failed if sure else None)
        told = json.loads(out)
        if call.verb == "traces":
            return traced(told["traces"])
        if call.verb == "changes":
            return changed(told)
        if call.verb == "recall":
            return [hit["record"] for hit in told]
        if call.verb == "context":
            return told["text"]
        if call.verb == "audit":
            return logged(told)
        if call.verb in ("why", "derived"):
            return (sourced if call.verb == "why" else drawn)(told)
        field = {"forget": "forgotten", "browse": "records", "retain": "rules", "sweep": "swept", "checkpoint": "type",
                 "verify_audit": "faults", "purge": "purged"}.get(call.verb)  # fmt: skip
        return told if field is None else told[field]


def _run(line: list[str]) -> tuple[int, str]:
    from memorist.cli.app import app

    written = io.BytesIO()
    out = io.TextIOWrapper(written, "utf-8", write_through=True)
    code = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            app(line, prog_name="memorist")
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, written.getvalue().decode()
