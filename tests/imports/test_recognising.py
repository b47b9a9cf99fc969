"""Each format is recognised as itself, whatever stands beside it."""

import json
from pathlib import Path
from typing import Any

from imported import Write
from memorist.imports import Source, find, readers

LINE = "31.12.23, 21:41 - Anna: Hello\n"
SAMPLES: dict[str, tuple[str, Any]] = {
    "chatgpt": ("a/conversations.json", [{"title": "t", "create_time": 1, "mapping": {}, "current_node": "x"}]),
    "deepseek": ("a/deepseek.json", [{"id": "1", "title": "t", "inserted_at": "x", "mapping": {}}]),
    "claude": ("b/conversations.json", [{"uuid": "u", "name": "n", "summary": "s", "chat_messages": []}]),
    "claude_code": ("s.jsonl", '{"parentUuid": null, "sessionId": "s", "type": "user", "message": {}, "uuid": "1"}\n'),
    "codex": ("rollout-1.jsonl", '{"timestamp": "t", "type": "session_meta", "payload": {"id": "s"}}\n'),
    "gemini": ("MyActivity.json", [{"header": "Gemini Apps", "title": "Prompted x", "time": "2024-03-12T08:00:00Z"}]),
    "telegram": ("result.json", {"name": "b", "type": "p", "id": 1, "messages": [{"id": 1, "date_unixtime": "1"}]}),
    "slack": ("slack/general/2024-03-12.json", [{"type": "message", "text": "Hi", "ts": "1"}]),
    "discord": ("d.json", {"guild": {"id": "1"}, "channel": {"id": "2"}, "messages": []}),
    "signal": (
        "Bob/data.json",
        '{"date": "d", "sender": "Me", "body": "b", "quote": "", "sticker": "", "reactions": []}\n',
    ),
    "sigtop": (
        "Bob (+47).txt",
        "Conversation: Bob (+47)\n\nFrom: You\nType: outgoing\nSent: Tue, 12 Mar 2024 09:00:00 +0100\n\nHi\n\n",
    ),
    "imessage": ("+1555.txt", "Mar 12, 2024  9:00:00 AM\nMe\nHello\n"),
    "whatsapp": ("WhatsApp Chat with Bob.txt", LINE),
    "mbox": ("mail.mbox", "From x\nFrom: a@x\nSubject: s\n\nHello\n"),
    "mem0": ("mem0.json", {"results": [{"id": "1", "memory": "m"}]}),
    "mcp_memory": ("memory.json", '{"type": "entity", "name": "n", "entityType": "t", "observations": []}\n'),
    "graphiti": ("edges.json", [{"uuid": "u", "name": "n", "fact": "f"}]),
    "letta": ("sam.af", {"agents": [], "blocks": []}),
    "mango": ("mango.json", [{"type": "tool", "id": "1", "question": "q", "tool_name": "t", "tool_args": {}}]),
    "local2": ("conversation_history.json", {"s": {"messages": [{"role": "user", "content": "c"}]}}),
    "agentscope": (
        "alice_monday.json",
        {"memory": {"content": [[{"id": "1", "name": "n", "role": "user", "content": "c"}, []]]}},
    ),
    "llm_agents": ("episodes.jsonl", '{"id_": "1", "task": {"id_": "2", "instruction": "i"}, "rollout": "r"}\n'),
    "sharegpt": ("sharegpt.json", [{"conversations": [{"from": "human", "value": "v"}]}]),
    "messages": ("messages.json", [{"role": "user", "content": "c"}]),
    "memorist": ("chat.jsonl", '{"text": "t", "speaker": "s"}\n'),
    "markdown": ("note.md", LINE),
    "text": ("a.txt", "Plain words: 31.12.23\n"),
    "calendar": ("a.ics", "BEGIN:VCALENDAR\nEND:VCALENDAR\n"),
    "contacts": ("a.vcf", "BEGIN:VCARD\nEND:VCARD\n"),
    "bookmarks": ("a.html", "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n"),
    "pdf": ("a.pdf", b"%PDF-1.4\n\0\0\0"),
    "docx": ("a.docx", b"PK\x03\x04\0\0\0"),
    "table": ("table.csv", "role,content\nuser,c\n"),
}
UNKNOWN = {
    "photo.jpg": b"\xff\xd8\0\0\0",
    "config.json": {"a": 1},
    "list.json": [1, 2],
}


def test_each_file_of_a_folder_is_recognised_as_what_it_is(write: Write, tmp_path: Path) -> None:
    write("slack/users.json", [{"id": "U1", "name": "anna"}])
    for name, content in (*SAMPLES.values(), *UNKNOWN.items()):
        write(name, content if isinstance(content, str | bytes) else json.dumps(content, indent=1))
    with Source(tmp_path / "given") as source:
        found = find(source)
    assert {reader.name: part.name for reader, part in found.known} == {
        name: file for name, (file, _) in SAMPLES.items()
    }
    assert len(found.known) == len(SAMPLES)
    assert sorted(found.unknown) == sorted([*UNKNOWN, "slack/users.json"])


def test_every_reader_but_those_of_databases_has_a_sample() -> None:
    assert {reader.name for reader in readers()} - SAMPLES.keys() == {"langgraph", "chroma", "qdrant", "promptise"}
