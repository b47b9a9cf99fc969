"""Anything can stand anywhere in a file: what is no text where a text belongs costs that entry, and nothing else."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from imported import Write
from memorist.imports import Bad, Item, load, read, survey
from memorist.memory import Memory

pytestmark = pytest.mark.anyio

WHEN = "2024-03-12T08:00:00Z"
LAST = "The last one."


HOSTILE = {
    "list": '["a"]', "object": '{"a": 1}', "number": "7", "true": "true", "null": "null",
    "deep": "[" * 3000 + "]" * 3000,
}  # fmt: skip
"""JSON."""


def lines(*entries: Any) -> str:
    return "\n".join(map(json.dumps, entries))


def in_list(*entries: Any) -> str:
    return json.dumps(entries)


def within(**more: Any) -> Callable[..., str]:
    return lambda *entries: json.dumps({**more, "messages": entries})


def chatgpt(text: str) -> Any:
    said = {"id": text, "author": {"role": "user", "name": None}, "create_time": 1, "metadata": {"model_slug": "m"}}
    node = {"message": {**said, "content": {"content_type": "text", "parts": [text]}}, "parent": "r", "children": []}
    nodes = {"r": {"message": None, "parent": None, "children": ["m"]}, "m": node}
    return {"title": "t", "create_time": 1, "conversation_id": text, "current_node": "m", "mapping": nodes}


def claude(text: str) -> Any:
    said = {"uuid": "m", "sender": "human", "text": text, "created_at": WHEN}
    called = {"type": "tool_result", "name": "find", "content": [{"type": "text", "text": "Found"}]}
    more = {"attachments": [{"file_name": "a", "extracted_content": "b"}], "files": [{"file_name": "c"}]}
    message = {**said, "content": [called, {"type": "text", "text": text}], **more}
    return {"uuid": text, "name": "n", "chat_messages": [message], "current_leaf_message_uuid": "m"}


def claude_code(text: str) -> Any:
    said = {"role": "user", "content": [{"type": "text", "text": text}]}
    return {"parentUuid": None, "sessionId": "s", "type": "user", "message": said, "uuid": text, "timestamp": WHEN}


def codex(text: str) -> Any:
    return {"timestamp": WHEN, "type": "event_msg", "payload": {"type": "user_message", "message": text}}


def gemini(text: str) -> Any:
    answers = {"safeHtmlItem": [{"html": "<p>x</p>"}], "attachedFiles": ["a"], "titleUrl": "https://x/app/1"}
    return {"header": "Gemini Apps", "title": f"Prompted {text}", "time": WHEN, **answers}


def telegram(text: str) -> Any:
    said = {"id": text, "type": "message", "date": WHEN, "date_unixtime": "1710230400", "forwarded_from": "Cleo"}
    return {**said, "from": "Bob", "from_id": "user2", "text": [{"type": "bold", "text": text}], "photo": "a"}


def discord(text: str) -> Any:
    author = {"name": "bob", "nickname": "Bob", "isBot": False}
    said = {"id": text, "type": "Default", "timestamp": WHEN, "content": text, "author": author}
    return {**said, "attachments": [{"fileName": "a.png"}], "reference": {"messageId": "1"}}


def slack(text: str) -> Any:
    more = {"user_profile": {"real_name": "Anna"}, "thread_ts": "1", "files": [{"name": "a"}]}
    return {"type": "message", "user": "U1", "text": text, "ts": "1710230400.0001", **more}


def signal(text: str) -> Any:
    return {"date": "2024-03-12T09:00:00", "sender": "Me", "body": text, "attachments": [{"name": "a"}]}


def mem0(text: str) -> Any:
    names = {"user_id": "anna", "agent_id": "a", "run_id": "r", "role": "user"}
    times = {"created_at": WHEN, "updated_at": WHEN}
    return {"id": text, "memory": text, **names, **times, "metadata": {"topic": "x"}}


def mcp_memory(text: str) -> Any:
    return {"type": "entity", "name": "n", "entityType": "t", "observations": [text]}


def graphiti(text: str) -> Any:
    return {"uuid": text, "name": "n", "fact": text, "valid_at": WHEN, "attributes": {"a": 1}}


def letta(text: str) -> Any:
    message = {"id": "m", "role": "user", "content": [{"type": "text", "text": text}], "name": "n", "created_at": WHEN}
    block = {"id": "b", "label": "human", "value": "Likes tea", "description": "d", "created_at": WHEN}
    return {"agents": [{"id": text, "name": "n", "block_ids": ["b"], "messages": [message]}], "blocks": [block]}


def sharegpt(text: str) -> Any:
    return {"id": text, "conversations": [{"from": "human", "value": text}]}


def message(text: str) -> Any:
    return {"id": text, "role": "user", "content": [{"type": "text", "text": text}], "name": "Anna", "created_at": WHEN}


def memorist(text: str) -> Any:
    names = {"id": text, "speaker": "Anna", "role": "user", "session": "s", "group": "g", "user": "anna"}
    return {"text": text, "timestamp": WHEN, "metadata": {"a": 1}, **names}


FORMATS: Mapping[str, tuple[str, Callable[[str], Any], Callable[..., str]]] = {
    "chatgpt": ("conversations.json", chatgpt, in_list),
    "claude": ("conversations.json", claude, in_list),
    "claude_code": ("s.jsonl", claude_code, lines),
    "codex": ("rollout-1.jsonl", codex, lines),
    "gemini": ("MyActivity.json", gemini, in_list),
    "telegram": ("result.json", telegram, within(name="b", type="p", id=1)),
    "discord": ("d.json", discord, within(guild={"name": "g"}, channel={"id": "1", "name": "c"})),
    "slack": ("general/2024-03-12.json", slack, in_list),
    "signal": ("Bob/data.json", signal, lines),
    "mem0": ("mem0.json", mem0, in_list),
    "mcp_memory": ("memory.json", mcp_memory, lines),
    "graphiti": ("edges.json", graphiti, in_list),
    "letta": ("sam.af", letta, in_list),
    "sharegpt": ("sharegpt.json", sharegpt, in_list),
    "messages": ("messages.json", message, lines),
    "memorist": ("chat.jsonl", memorist, lines),
}
"""Of each format in JSON the name of a file, an entry with a text, and the file with entries."""


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value in another, the outer before the inner."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*at, key)
        yield from places(each, (*at, key))


def with_another(entry: Any, place: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(entry)
    *outer, last = place
    at = changed
    for key in outer:
        at = at[key]
    at[last] = value
    return changed


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("hostile", HOSTILE)
async def test_a_value_of_another_type_costs_its_entry_alone(
    memory: Memory, write: Write, format: str, hostile: str
) -> None:
    name, make, written = FORMATS[format]
    if format == "slack":
        write("users.json", [{"id": "U1", "name": "anna"}])
    entry = make("The first one.")
    for place in places(entry):
        text = written(with_another(entry, place, "<HERE>"), make(LAST)).replace('"<HERE>"', HOSTILE[hostile])
        path = write(name, text)
        given = path.parent.parent if format == "slack" else path
        told = survey(given, format=format)
        found = list(read(given, format=format))
        assert told.bad >= sum(isinstance(each, Bad) for each in found)
        if hostile != "deep":  # which some versions of Python cannot parse, so that nothing after it is read
            contents = [each.content for each in found if isinstance(each, Item)]
            assert any(LAST in each for each in contents), (place, found)
        report = await load(memory, given, format=format)
        assert all(len(each.reason) < 300 for each in report.bad), (place, report.bad)
