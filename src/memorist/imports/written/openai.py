"""ChatGPT's data export, ``conversations.json``, which tools for conversations of OpenAI's read: messages alone.

The mirror of the reader `chatgpt`. A conversation is a tree; here it has one branch.
"""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import chain, pairwise

from memorist.imports.extra_fields import KEPT, kept
from memorist.imports.writer import Output, Writer
from memorist.imports.written.conversations import Conversations
from memorist.records.fingerprints import digest
from memorist.records.kind import Kind
from memorist.records.record import Record

_ROLES = ("user", "assistant", "system", "tool")


class _Conversations(Output):
    begin = "["

    def __init__(self, left: Counter[str]) -> None:
        super().__init__(left)
        self._conversations = Conversations()

    def add(self, record: Record) -> Iterator[str]:
        role, speaker = record.payload.get("role"), record.payload.get("speaker")
        message = {
            "id": record.id,
            "author": {"role": role if role in _ROLES else "user", "name": speaker, "metadata": {}},
            "create_time": record.at.timestamp(),
            "update_time": None,
            "content": {"content_type": "text", "parts": [record.content]},
            "status": "finished_successfully",
            "end_turn": True,
            "weight": 1.0,
            "metadata": {KEPT: kept(record)},
            "recipient": "all",
        }
        self._conversations.add(record, message)
        return iter(())

    def end(self) -> Iterator[str]:
        separator = "\n"
        for agent, session, messages in self._conversations:
            first = next(messages)
            about = {"title": session or "Memorist", "create_time": first["create_time"]}
            yield f'{separator}{json.dumps(about)[:-1]}, "mapping": {{\n'
            last, parent, separator = first, None, ""
            for message, after in pairwise(chain([first], messages, [None])):
                node = {
                    "id": message["id"],
                    "message": message,
                    "parent": parent,
                    "children": [] if after is None else [after["id"]],
                }
                yield f"{separator}{json.dumps(message['id'])}: {json.dumps(node, ensure_ascii=False)}"
                last, parent, separator = message, message["id"], ",\n"
            id = digest(agent, session)
            more = {"update_time": last["create_time"], "current_node": parent, "conversation_id": id, "id": id}
            yield f"\n}}, {json.dumps(more)[1:]}"
            separator = ",\n"
        yield "\n]\n"


def _is_message(record: Record) -> bool:
    return record.kind is Kind.MESSAGE


WRITER = Writer("openai", "ChatGPT", "conversations.json", "application/json", _Conversations, takes=_is_message)
