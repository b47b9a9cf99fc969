"""Claude's data export: ``conversations.json`` and what Claude remembers, in a zip or by themselves.

Where a conversation has branches, what is read is the one that was shown last.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from memorist.imports.reader import Bad, Item, Options, Reader
from memorist.imports.readers.common import attempt, blocks_text, branch, each, having, pieces
from memorist.imports.sources import Part
from memorist.records.record import Kind

_ROLES = {"human": "user", "assistant": "assistant"}


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield what the user, Claude and its tools said in each conversation; no thinking. Its memory becomes notes."""
    return each(part, _conversation if "chat_messages" in part.keys else _memory)


def _memory(where: str, given: Any) -> Iterator[Item]:
    texts = {"": given["conversations_memory"], **(given.get("project_memories") or {})}
    for project, text in texts.items():
        for number, piece in enumerate(pieces((text or "").strip()), start=1):
            yield Item(
                content=piece,
                where=where,
                kind=Kind.NOTE,
                id=f"memory/{given.get('account_uuid')}/{project}/{number}",
                metadata={"project": project},
            )


def _conversation(where: str, talk: Any) -> Iterator[Item | Bad]:
    about = {"conversation": talk.get("name")}
    messages, current = talk["chat_messages"], talk.get("current_leaf_message_uuid")
    by_id = {message["uuid"]: message for message in messages}
    parents = {id: message.get("parent_message_uuid") for id, message in by_id.items()}
    if len(set(parents.values())) < len(parents) and any(parent in by_id for parent in parents.values()):
        # some follow the same message: read the branch up to the current one, or to the last
        current = current if current in by_id else messages[-1]["uuid"]
        messages = [by_id[id] for id in branch(parents, current)]
    for message in messages:
        yield from attempt(where, _message, message, str(talk["uuid"]), about)


def _message(where: str, message: Any, talk: str, about: Mapping[str, Any]) -> Iterator[Item]:
    blocks, attached = message.get("content") or [], message.get("attachments") or []
    names = [each.get("file_name") for each in [*attached, *(message.get("files") or [])]]
    text = blocks_text(blocks) if blocks else message.get("text") or ""
    if not text.strip():
        text = "\n\n".join(filter(None, (each.get("extracted_content") for each in attached)))
    same: dict[str, Any] = {"where": where, "conversation": talk, "happened_at": message.get("created_at")}
    for number, block in enumerate(blocks):
        if isinstance(block, dict) and block.get("type") == "tool_result":
            result = blocks_text(block.get("content"))
            id = f"{message['uuid']}:{number}"
            yield Item(content=result, id=id, role="tool", speaker=block.get("name"), metadata=about, **same)
    role = _ROLES.get(message["sender"], message["sender"])
    yield Item(content=text, id=message["uuid"], role=role, metadata={**about, "attachments": names}, **same)


READER = Reader("claude", "Claude", having({"chat_messages"}, {"conversations_memory"}), read)
