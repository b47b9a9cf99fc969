"""Letta's agents as agent files (``.af``): their memory blocks and messages."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from memorist.imports.extra_fields import KEPT, restored
from memorist.imports.reader import Bad, Item, Reader
from memorist.imports.readers.common import attempt, blocks_text, each_record
from memorist.imports.sources import Part
from memorist.records.record import Kind

_SAID = ("user_message", None)


def recognise(part: Part) -> bool:
    """Whether a file holds an agent with core memory, or agents and blocks; its beginning may show no more than one."""
    has = part.keys.issuperset
    named = part.pure.suffix.lower() == ".af" or has(("agents", "blocks")) or has(("mcp_servers", "blocks"))
    return has(("agent_type", "core_memory")) or (named and part.json[0] == "{")


def _file(where: str, given: Any) -> Iterator[Item | Bad]:
    """Yield each block as a note, and what the user and the agent said; no heartbeats, no other tool calls."""
    agents = given.get("agents") or [given]
    owners = {id: str(agent.get("id")) for agent in reversed(agents) for id in agent.get("block_ids") or ()}
    for block in given.get("blocks") or given.get("core_memory") or ():
        owner = owners.get(block.get("id")) or str(agents[0].get("id") or agents[0].get("name"))
        yield from attempt(f"block {block.get('label')}", _block, block, owner)
    for agent in agents:
        conversation = str(agent.get("id") or agent.get("name"))
        about = (agent.get("metadata") or {}).get(KEPT)
        for number, message in enumerate(agent.get("messages") or (), start=1):
            yield from attempt(f"message {number} of {conversation}", _message, message, conversation, about)


def _block(where: str, block: Any, agent: str) -> Iterator[Item]:
    about = block.get("metadata") or {}
    item = Item(
        content=block["value"],
        where=where,
        kind=Kind.NOTE,
        conversation=agent,
        id=str(block.get("id") or block["label"]),
        happened_at=block.get("created_at"),
        metadata={"label": block["label"], "description": block.get("description")},
    )
    yield restored(replace(item, metadata=about) if KEPT in about else item, about.get(KEPT))


def _message(where: str, message: Any, agent: str, about: object) -> Iterator[Item]:
    role = message["role"]
    text = (
        _unpacked(blocks_text(message.get("content") or message.get("text"))) if role in ("user", "assistant") else ""
    )
    if role == "assistant":  # it speaks by calling `send_message`
        calls = (call.get("function") or {} for call in message.get("tool_calls") or ())
        sent = [str(json.loads(call["arguments"])["message"]) for call in calls if call.get("name") == "send_message"]
        text = "\n".join(filter(None, [*sent, text]))
    id = message.get("id" if about is None else "otid")
    item = Item(
        content=text,
        where=where,
        conversation=agent,
        id=None if id is None else str(id),
        role=role,
        speaker=message.get("name"),
        happened_at=message.get("created_at"),
    )
    yield restored(item, about)


def packed(text: str) -> str:
    """Return a text as Letta has what a user says: as it is, unless it would be taken for a message that is packed."""
    return text if _unpacked(text) == text else json.dumps({"type": _SAID[0], "message": text}, ensure_ascii=False)


def _unpacked(text: str) -> str:
    """Return what was said in a message that Letta packed as JSON; "" for an event of its own."""
    try:
        packed = json.loads(text)
    except ValueError:
        return text
    if not isinstance(packed, dict) or "type" not in packed:
        return text
    return str(packed.get("message") or "") if packed["type"] in _SAID else ""


READER = Reader("letta", "Letta", recognise, each_record(_file))
