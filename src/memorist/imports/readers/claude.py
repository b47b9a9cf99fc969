"""Claude's data export: ``conversations.json``, ``projects.json`` and what Claude remembers, in a zip or by themselves.

Where a conversation has branches, what is read is the one that was shown last.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import (
    OTHER_BRANCHES,
    THINKING,
    attempt,
    blocks_text,
    branch,
    each,
    having,
    pieces,
)
from memorist.imports.sources import Part
from memorist.records.record import Kind

_NOT_SAID = {"thinking": THINKING, "tool_use": Left("tool calls")}
_ROLES = {"human": "user", "assistant": "assistant"}


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield what the user, Claude and its tools said in each conversation; no thinking, no tool calls.

    Its memory, the documents of projects and the texts of attached files become notes.
    """
    if "chat_messages" in part.keys:
        return each(part, _conversation)
    return each(part, _memory if "conversations_memory" in part.keys else _project)


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


def _project(where: str, given: Any) -> Iterator[Item]:
    """Yield what a project says of itself, and its documents."""
    about, id = {"project": given.get("name")}, given["uuid"]
    own = (("description", "description"), ("instructions", "prompt_template"))
    for name, field in own:
        yield from _document(where, f"project/{id}/{name}", name, given.get(field), given.get("created_at"), about)
    seen = Counter[str]()
    for document in given.get("docs") or ():
        name = document["filename"]
        seen[name] += 1
        own_id = document.get("uuid") or f"{seen[name]}/{name}"
        text, when = document.get("content"), document.get("created_at")
        yield from _document(where, f"project/{id}/document/{own_id}", name, text, when, about)


def _document(where: str, id: str, name: str, text: str | None, when: Any, about: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the text of a file as notes, each below the file's name."""
    for number, piece in enumerate(pieces((text or "").strip()), start=1):
        yield Item(
            content=f"{name}\n\n{piece}",
            where=where,
            kind=Kind.NOTE,
            id=f"{id}/{number}",
            happened_at=when,
            metadata={**about, "file": name},
        )


def _conversation(where: str, conversation: Any) -> Iterator[Item | Bad | Left]:
    about = {"conversation": conversation.get("name")}
    messages, current = conversation["chat_messages"], conversation.get("current_leaf_message_uuid")
    by_id = {message["uuid"]: message for message in messages}
    parents = {id: message.get("parent_message_uuid") for id, message in by_id.items()}
    if len(set(parents.values())) < len(parents) and any(parent in by_id for parent in parents.values()):
        # some follow the same message: read the branch up to the current one, or to the last
        current = current if current in by_id else messages[-1]["uuid"]
        messages = [by_id[id] for id in branch(parents, current)]
        if len(by_id) > len(messages):
            yield Left(OTHER_BRANCHES, len(by_id) - len(messages))
    for message in messages:
        yield from attempt(where, _message, message, str(conversation["uuid"]), about)


def _message(where: str, message: Any, conversation: str, about: Mapping[str, Any]) -> Iterator[Item | Left]:
    blocks, attached = message.get("content") or [], [*filter(None, message.get("attachments") or ())]
    names = [each.get("file_name") for each in [*attached, *filter(None, message.get("files") or ())]]
    text = blocks_text(blocks) if blocks else message.get("text") or ""
    alone = not text.strip()
    if alone:
        text = "\n\n".join(filter(None, (each.get("extracted_content") for each in attached)))
    same: dict[str, Any] = {"where": where, "conversation": conversation, "happened_at": message.get("created_at")}
    for number, block in enumerate(blocks):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in _NOT_SAID:
            yield _NOT_SAID[kind]
        if kind == "tool_result":
            result = blocks_text(block.get("content"))
            id = f"{message['uuid']}:{number}"
            yield Item(content=result, id=id, role="tool", speaker=block.get("name"), metadata=about, **same)
    role = _ROLES.get(message["sender"], message["sender"])
    yield Item(content=text, id=message["uuid"], role=role, metadata={**about, "attachments": names}, **same)
    for number, file in enumerate([] if alone else attached, start=1):
        id, when = f"{message['uuid']}/attachment/{number}", message.get("created_at")
        name = file.get("file_name") or "attachment"
        yield from _document(where, id, name, file.get("extracted_content"), when, about)


READER = Reader(
    "claude", "Claude", having({"chat_messages"}, {"conversations_memory"}, {"uuid", "prompt_template"}), read
)
