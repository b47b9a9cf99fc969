"""An entry of Mango's memory: a call that answered a question, a verified example, or a text.

It becomes the record that `memorist.adapters.mango.AgentMemory` keeps of it, which can go on using it.
"""

from datetime import datetime
from typing import Any

from memorist.errors import InvalidInputError
from memorist.imports.reader import Item
from memorist.imports.readers.common import when_of
from memorist.kinds import ToolUse
from memorist.records.kind import Kind
from memorist.records.times import iso

LAYERS = ("tool", "text", "training")
"""What Mango keeps apart, each with ids of its own."""


def entry(where: str, layer: str, id: str, text: str, fields: dict[str, Any], at: datetime | None) -> Item:
    """Return an entry of a layer.

    Args:
        where: its place in the file.
        layer: one of `LAYERS`.
        id: its id, unique in the layer.
        text: a text, or the question that a call answered.
        fields: the call, and `timestamp`, `source` and `verified` where they are known.
        at: when it was stored, where nothing tells when it happened.

    Raises:
        InvalidInputError: its call cannot be read.
    """
    own = {name: fields[name] for name in ("source", "verified") if fields.get(name) is not None}
    common: dict[str, Any] = {"where": where, "id": f"{layer}:{id}", "shared_id": True}
    if layer == "text":
        is_verified = own.get("verified") is True
        return Item(
            content=text, kind=Kind.NOTE, happened_at=at, metadata=_named(id, own), verified=is_verified, **common
        )
    arguments = fields.get("tool_args")
    if not isinstance(arguments, dict):
        raise InvalidInputError("the arguments of its call are not an object")
    call = ToolUse(tool=fields["tool_name"], arguments=arguments, result=fields.get("result_summary") or "")
    own["timestamp"] = fields.get("timestamp") or ("" if at is None else iso(at))
    return Item(
        content=call.text,
        kind=Kind.TOOL_USE,
        cue=text if text.strip() else None,
        happened_at=when_of(own["timestamp"]) or at,
        metadata=_named(id, own),
        payload=call.payload(),
        verified=layer == "training",
        **common,
    )


def _named(id: str, own: dict[str, Any]) -> dict[str, Any]:
    return {"mango": {"id": id, **own}}
