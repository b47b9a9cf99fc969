"""AgentScope's states as JSON: of one conversation a state as `InMemoryMemory` loads it, of several one for each.

The mirror of the reader of the same name. Several make the file of a `JSONSession`, with a module for each.
"""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

from memorist.imports.extra_fields import KEPT, kept
from memorist.imports.readers.agentscope import FORM, SUMMARY
from memorist.imports.writer import Output, Writer
from memorist.imports.written.conversations import Conversations
from memorist.records.kind import Kind
from memorist.records.record import Record
from memorist.records.times import iso

_ROLES = ("user", "assistant", "system")
_OWN = frozenset(("name", "role", "content"))


class _States(Output):
    begin = "{"

    def __init__(self, left: Counter[str]) -> None:
        super().__init__(left)
        self._conversations = Conversations()
        self._summaries: dict[tuple[str | None, str | None], str] = {}

    def add(self, record: Record) -> Iterator[str]:
        if record.kind is Kind.STATE:
            self._summaries[record.scope.agent, record.scope.session] = json.loads(record.content)
        else:
            self._conversations.add(record, [_message(record), list(record.metadata.get("marks", ()))])
        return iter(())

    def end(self) -> Iterator[str]:
        alone = [(*labels, iter(())) for labels in self._summaries if labels not in self._conversations]
        names, several, separator = Counter[str](), len(self._conversations) + len(alone) > 1, "\n"
        for agent, session, messages in chain(self._conversations, alone):
            about = {
                SUMMARY: self._summaries.pop((agent, session), ""),
                KEPT: json.dumps({"agent": agent, "session": session}),
            }
            if several:
                name = "/".join(filter(None, (agent, session))) or "Memorist"
                names[name] += 1
                yield f"{separator}{json.dumps(name if names[name] == 1 else f'{name} {names[name]}')}: {{"
            yield f'{json.dumps(about, ensure_ascii=False)[1:-1]}, "content": ['
            between = "\n"
            for message in messages:
                yield between + json.dumps(message, ensure_ascii=False)
                between = ",\n"
            yield "\n]}" if several else "\n]"
            separator = ",\n"
        yield "}\n"


def _message(record: Record) -> dict[str, Any]:
    """Return the message that AgentScope had, or one with what it has no field for among its metadata."""
    data, role = record.payload.get("data"), record.payload.get("role")
    if isinstance(data, dict) and data.keys() >= _OWN:
        return data
    role = role if role in _ROLES else "user"
    return {
        "id": record.id,
        "name": str(record.payload.get("speaker") or role),
        "role": role,
        "content": record.content,
        "metadata": {KEPT: kept(record)},
        "timestamp": iso(record.at),
    }


def _is_held(record: Record) -> bool:
    if record.kind is Kind.STATE:
        return record.payload.get("form") == FORM and (record.key or "").startswith(f"{FORM}/summary/")
    return record.kind is Kind.MESSAGE


WRITER = Writer("agentscope", "AgentScope", "agentscope.json", "application/json", _States, takes=_is_held, states=True)
