"""DeepSeek's data export: ``conversations.json``, in a zip or by itself.

A conversation is a tree of messages, and each message is made of fragments. What is read is the branch with the newest
message.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from memorist.imports.reader import Bad, Item, Left, Reader
from memorist.imports.readers.common import OTHER_BRANCHES, THINKING, attempt, branch, each_record, having

_ROLES = {"REQUEST": "user", "RESPONSE": "assistant"}
_THOUGHT = ("THINK", "THINKING")
_FOUND = Left("what a model searched and read")


def _conversation(where: str, conversation: Any) -> Iterator[Item | Bad | Left]:
    """Yield what the user and the model said in each conversation; no thinking, no results of searches."""
    nodes, about = conversation["mapping"], {"conversation": conversation.get("title")}
    said = {name: node["message"] for name, node in nodes.items() if isinstance(node.get("message"), dict)}
    newest = max(said, key=lambda name: str(said[name].get("inserted_at") or ""), default=None)
    shown = [
        name for name in branch({name: node.get("parent") for name, node in nodes.items()}, newest) if name in said
    ]
    if len(said) > len(shown):
        yield Left(OTHER_BRANCHES, len(said) - len(shown))
    for name in shown:
        yield from attempt(where, _message, said[name], str(conversation["id"]), name, about)


def _message(where: str, message: Any, conversation: str, id: str, about: Mapping[str, Any]) -> Iterator[Item | Left]:
    texts, role = list[str](), "user"
    for fragment in message.get("fragments") or ():
        kind = str(fragment.get("type")).upper()
        if kind in _ROLES:
            role = _ROLES[kind]
            texts.append(fragment.get("content") or "")
        elif kind in _THOUGHT:
            role = "assistant"
            yield THINKING
        else:
            yield _FOUND
    if "fragments" not in message:  # as exports were before
        role = str(message.get("role") or "user").lower()
        texts.append(message.get("content") or "")
    files = [each.get("file_name") or each.get("name") for each in message.get("files") or () if each]
    yield Item(
        content="\n\n".join(filter(None, texts)),
        where=where,
        conversation=conversation,
        id=id,
        role=role,
        happened_at=message.get("inserted_at"),
        metadata={**about, "model": message.get("model") if role == "assistant" else None, "attachments": files},
    )


READER = Reader("deepseek", "DeepSeek", having({"mapping", "inserted_at"}), each_record(_conversation))
