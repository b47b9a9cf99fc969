"""ChatGPT's data export: ``conversations.json``, or several numbered ones, in a zip or by themselves.

A conversation is a tree of messages. What is read is the branch that was shown last, from ``current_node`` up.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memorist.imports.extra_fields import KEPT, restored
from memorist.imports.reader import Bad, Item, Left, Reader
from memorist.imports.readers.common import INSTRUCTIONS, OTHER_BRANCHES, THINKING, attempt, branch, each_record, having

_CITATION = re.compile("\ue200[^\ue200\ue201]*+\ue201|【\\d[^【】†]*+†[^【】]*+】")
_NOTHING = ("{}", "[]", "null")
"""What a tool that has nothing to say answers."""
_THOUGHT = ("thoughts", "reasoning_recap")
_SHOWN = ("user", "assistant", "tool")


def _conversation(where: str, conversation: Any) -> Iterator[Item | Bad | Left]:
    """Yield what the user, the assistant and its tools said in each conversation; no thinking, nothing hidden."""
    about = {"conversation": conversation.get("title")}
    own = conversation.get("conversation_id") or conversation.get("id")
    id = str(own or f"{conversation.get('title')} {conversation.get('create_time')}")
    when = conversation.get("create_time")
    nodes, current = conversation["mapping"], conversation.get("current_node")
    if current not in nodes:  # then up to the newest leaf
        leaves = [name for name, node in nodes.items() if not node.get("children")]
        current = max(leaves, key=lambda name: (nodes[name].get("message") or {}).get("create_time") or 0, default=None)
    shown = dict.fromkeys(branch({name: node.get("parent") for name, node in nodes.items()}, current))
    others = [node for name, node in nodes.items() if name not in shown and isinstance(node.get("message"), dict)]
    if others:
        yield Left(OTHER_BRANCHES, len(others))
    for name in shown:
        if not isinstance(message := nodes[name].get("message"), dict):
            continue
        when = message.get("create_time") or when
        yield from attempt(where, _message, message, id, when, about)


def _message(where: str, message: Any, conversation: str, when: Any, about: Mapping[str, Any]) -> Iterator[Item | Left]:
    role, details = message["author"]["role"], message.get("metadata") or {}
    text = _text(message.get("content") or {})
    if KEPT in details:  # it was written by the writer `openai`
        yield restored(Item(content=text, where=where, role=role, happened_at=when), details[KEPT])
        return
    if role not in _SHOWN or details.get("is_visually_hidden_from_conversation"):
        yield INSTRUCTIONS
        return
    if (message.get("content") or {}).get("content_type") in _THOUGHT:
        yield THINKING
        return
    attached = [each.get("name") for each in details.get("attachments") or () if each]
    text = _CITATION.sub("", text).strip()
    yield Item(
        content="" if role == "tool" and text in _NOTHING else text,
        where=where,
        conversation=conversation,
        id=message.get("id"),
        role=role,
        speaker=message["author"].get("name") if role == "tool" else None,
        happened_at=when,
        metadata={**about, "model": details.get("model_slug"), "attachments": attached},
    )


def _text(content: Mapping[str, Any]) -> str:
    """Return the text of a message's content, by its type; "" for thinking, images and settings."""
    match content.get("content_type"):
        case "text" | "multimodal_text":
            # a part's text is its own, or what was said in a recording
            parts = (each.get("text") if isinstance(each, dict) else each for each in content.get("parts") or ())
            return "\n".join(part for part in parts if part and isinstance(part, str))
        case "code" | "execution_output":
            return content.get("text") or ""
        case "tether_quote":
            return "\n".join(filter(None, (content.get("title"), content.get("text"))))
        case "tether_browsing_display":
            return content.get("result") or ""
        case _:
            return ""


READER = Reader(
    "chatgpt", "ChatGPT", having({"mapping", "title"}, {"mapping", "create_time"}), each_record(_conversation)
)
