"""Letta's agent file (``.af``): each conversation an agent with its messages, everything else a memory block.

The mirror of the reader of the same name. The blocks of the first 50 topics are attached to every agent, so they are
always in its context; the others lie beside, to be attached by whoever wants them there. A message has no fields of its
own in such a file, and is either the user's or the agent's.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import count as numbers
from typing import Any

from memorist.imports.extra_fields import KEPT, metadata_with
from memorist.imports.readers.letta import packed
from memorist.imports.writer import Output, Writer, count
from memorist.imports.written.conversations import Conversations
from memorist.records.kind import Kind
from memorist.records.origins import author_of_role
from memorist.records.record import Record
from memorist.records.times import iso

_NOT_SAID = ("system", "tool")
_SYSTEM = "You remember the user, and what was said."
_NO_NAME = re.compile(r"[^\w '-]+")
_LONGEST_BLOCK = 100_000
"""In characters, where a block names no limit of its own."""
_MOST_ATTACHED = 50


class _AgentFile(Output):
    begin = '{"groups": [], "files": [], "sources": [], "tools": [], "mcp_servers": [], "blocks": ['

    def __init__(self, left: Counter[str]) -> None:
        super().__init__(left)
        self._conversations = Conversations()
        self._blocks = 0
        self._attached: list[str] = []

    def add(self, record: Record) -> Iterator[str]:
        if record.kind is Kind.MESSAGE:
            self._conversations.add(record, self._message(record))
            return
        block: dict[str, Any] = {
            "id": f"block-{self._blocks}",
            "label": record.key or f"{record.kind}-{self._blocks}",
            "value": record.content,
            "limit": max(_LONGEST_BLOCK, len(record.content)),
            "created_at": iso(record.at),
            "metadata": metadata_with(record),
        }
        if record.kind is Kind.TOPIC and len(self._attached) < _MOST_ATTACHED:
            self._attached.append(block["id"])
        yield f"{',' if self._blocks else ''}\n{json.dumps(block, ensure_ascii=False)}"
        self._blocks += 1

    def end(self) -> Iterator[str]:
        yield '\n], "agents": ['
        ids, separator = map("message-{}".format, numbers()), "\n"
        for number, (agent, session, messages) in enumerate(self._conversations):
            system = {"id": next(ids), **_said("system", None, _SYSTEM)}
            about = {
                "id": f"agent-{number}",
                "name": _NO_NAME.sub(" ", session or agent or "").strip() or "Memorist",
                "block_ids": self._attached,
                "metadata": {KEPT: json.dumps({"kind": Kind.MESSAGE, "agent": agent, "session": session})},
                "in_context_message_ids": [system["id"]],
            }
            yield f'{separator}{json.dumps(about)[:-1]}, "messages": [\n{json.dumps(system)}'
            for message in messages:
                yield ",\n" + json.dumps({"id": next(ids), **message}, ensure_ascii=False)
            yield "]}"
            separator = ",\n"
        yield "\n]}\n"

    def _message(self, record: Record) -> dict[str, Any]:
        """Return a message as the file has it, and count what it does not have."""
        payload = dict(record.payload)
        role, speaker = payload.pop("role", None), payload.pop("speaker", None)
        lost = {
            "role": role not in (None, "user", "assistant"),
            "author": record.origin.authors != author_of_role(role or "user"),
            "storing time": record.happened_at is not None and record.created_at != record.happened_at,
            "change": record.updated_at != record.created_at,
            "metadata field": len(record.metadata),
            "payload field": len(payload),
            "cue": record.cue is not None,
            "key": record.key is not None,
        }
        count(self.left, lost)
        said = _said("assistant" if role == "assistant" else "user", speaker, packed(record.content))
        return {**said, "created_at": iso(record.at), "otid": record.id}


def _said(role: str, name: str | None, text: str) -> dict[str, Any]:
    return {"role": role, "name": name, "content": [{"type": "text", "text": text}]}


def _is_held(record: Record) -> bool:
    return record.kind is not Kind.MESSAGE or record.payload.get("role") not in _NOT_SAID


WRITER = Writer("letta", "Letta", "memory.af", "application/json", _AgentFile, takes=_is_held)
