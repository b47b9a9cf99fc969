"""Chats with assistants: Claude, Claude Code, Codex, Gemini, OpenAI messages, ShareGPT."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from imported import Write, bad, items
from memorist.agents import after_turn
from memorist.files.projects import project_of
from memorist.files.transcripts import read_transcript
from memorist.imports import load, survey
from memorist.memory import Memory
from memorist.records.record import Kind

SAID = [("user", "Where should I stay?"), ("assistant", "In Alfama.")]


def said(path: Path) -> list[tuple[str | None, str]]:
    return [(each.role, each.content) for each in items(path)]


# --- Claude ----------------------------------------------------------------------------------------------


def claude(id: str, sender: str, *blocks: dict[str, Any], text: str = "", **more: Any) -> dict[str, Any]:
    plain = {"uuid": id, "sender": sender, "text": text, "created_at": "2024-03-12T08:00:00.123456Z"}
    return {**plain, "content": list(blocks), "attachments": [], "files": [], **more}


def text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "start_timestamp": "2024-03-12T08:00:00Z"}


def talk(*messages: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return [{"uuid": "c1", "name": "Lisbon", "account": {"uuid": "a"}, "chat_messages": list(messages), **more}]


def test_claude_says_who_said_what_and_when(pack: Write) -> None:
    given = talk(
        claude(
            "m1",
            "human",
            text("Where should I stay?"),
            attachments=[{"file_name": "a.txt"}],
            files=[{"file_name": "b"}],
        ),
        claude("m2", "assistant", {"type": "thinking", "thinking": "secret"}, text("In Alfama.")),
    )
    path = pack("data-2024.zip", {"conversations.json": given, "users.json": [{"uuid": "a", "full_name": "Anna"}]})
    assert said(path) == SAID
    first = items(path)[0]
    assert (first.id, first.conversation, first.metadata["attachments"]) == ("m1", "c1", ["a.txt", "b"])
    assert survey(path).first == datetime(2024, 3, 12, 8, 0, 0, 123456, tzinfo=UTC)


def test_claude_of_older_exports_has_the_text_alone(write: Write) -> None:
    given = talk(claude("m1", "human", text="Where should I stay?"), claude("m2", "assistant", text="In Alfama."))
    for message in given[0]["chat_messages"]:
        del message["content"], message["files"]
    assert said(write("conversations.json", given)) == SAID


def test_claudes_tools_say_their_results(write: Write) -> None:
    use = {"type": "tool_use", "name": "web_search", "input": {"query": "Alfama"}}
    result = {"type": "tool_result", "name": "web_search", "content": [{"type": "text", "text": "A hill."}]}
    path = write(
        "conversations.json", talk(claude("m1", "assistant", text("Let me see."), use, result, text("A hill.")))
    )
    assert said(path) == [("tool", "A hill."), ("assistant", "Let me see.\nA hill.")]


def test_claudes_pasted_text_stands_for_a_message_without_words(write: Write) -> None:
    pasted = {"file_name": "", "file_type": "txt", "extracted_content": "A long letter"}
    assert said(write("conversations.json", talk(claude("m1", "human", attachments=[pasted])))) == [
        ("user", "A long letter")
    ]


def test_claudes_branch_that_was_shown_last_is_read(write: Write) -> None:
    root = "00000000-0000-4000-8000-000000000000"
    branches = [
        claude("1", "human", text("Hi"), parent_message_uuid=root),
        claude("2", "assistant", text("Old"), parent_message_uuid="1"),
        claude("3", "assistant", text("New"), parent_message_uuid="1"),
    ]
    assert said(write("a.json", talk(*branches))) == [("user", "Hi"), ("assistant", "New")]
    shown = talk(*branches, current_leaf_message_uuid="2")
    assert said(write("b.json", shown)) == [("user", "Hi"), ("assistant", "Old")]


def test_what_claude_remembers_is_a_note(write: Write) -> None:
    remembered = {"conversations_memory": "**Work**\n\nAnna is a nurse.", "project_memories": {"p1": "Trip to Lisbon."}}
    found = items(write("memories.json", [{**remembered, "account_uuid": "a"}]))
    assert [(each.kind, each.content, each.metadata["project"]) for each in found] == [
        (Kind.NOTE, "**Work**\n\nAnna is a nurse.", ""),
        (Kind.NOTE, "Trip to Lisbon.", "p1"),
    ]


# --- coding agents ---------------------------------------------------------------------------------------


def entry(role: str, content: Any, id: str, folder: Path, **more: Any) -> dict[str, Any]:
    said = {"type": role, "message": {"role": role, "content": content}, "uuid": id, "sessionId": "s1", **more}
    return {"parentUuid": None, "cwd": str(folder), "timestamp": "2026-01-02T03:04:05.678Z", **said}


@pytest.mark.anyio
async def test_what_a_hook_kept_of_claude_code_is_not_stored_again(
    memory: Memory, write: Write, tmp_path: Path
) -> None:
    lines = [
        entry("user", "Where should I stay?", "1", tmp_path),
        entry(
            "assistant",
            [{"type": "thinking", "thinking": "secret"}, {"type": "text", "text": "In Alfama."}],
            "2",
            tmp_path,
        ),
        entry("user", [{"type": "tool_result", "tool_use_id": "t", "content": "file.txt"}], "3", tmp_path),
        entry("user", "<command-name>/clear</command-name>", "4", tmp_path),
        entry("assistant", "a side talk", "5", tmp_path, isSidechain=True),
        {"type": "summary", "summary": "Lisbon", "leafUuid": "2"},
    ]
    path = write("-home-anna/s1.jsonl", "\n".join(map(json.dumps, lines)))
    assert said(path) == SAID
    mine = memory.scoped(user="anna")
    await after_turn(mine.scoped(agent=project_of(str(tmp_path))), read_transcript(path), session="s1")
    report = await load(mine, path.parent)
    assert (report.added, report.existing, report.bad) == (0, 2, [])
    other = memory.scoped(user="bob")
    assert (await load(other, path)).added == 2
    assert await after_turn(other.scoped(agent=project_of(str(tmp_path))), read_transcript(path), session="s1") == []


def test_codex(write: Write, tmp_path: Path) -> None:
    def line(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        return {"timestamp": "2026-01-02T03:04:05.678Z", "type": kind, "payload": payload}

    lines = [
        line("session_meta", {"id": "s1", "cwd": str(tmp_path), "cli_version": "0.65.0"}),
        line("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}),
        line("event_msg", {"type": "user_message", "message": "Where should I stay?", "kind": "plain"}),
        line("event_msg", {"type": "agent_reasoning", "text": "secret"}),
        line("event_msg", {"type": "agent_message", "message": "In Alfama."}),
    ]
    path = write("sessions/2026/01/02/rollout-1.jsonl", "\n".join(map(json.dumps, lines)) + '\n{"cut')
    assert [(each.role, each.content, each.conversation, each.agent) for each in items_of_lines(path)] == [
        (role, text, "s1", project_of(str(tmp_path))) for role, text in SAID
    ]
    assert [each.where for each in bad(path)] == ["line 6"]


def items_of_lines(path: Path) -> list[Any]:
    from memorist.imports import Item, read

    return [each for each in read(path) if isinstance(each, Item)]


# --- Gemini ----------------------------------------------------------------------------------------------


def test_geminis_activity(pack: Write) -> None:
    activity = {
        "header": "Gemini Apps",
        "title": "Prompted Where should I stay?",
        "time": "2024-03-12T08:00:00.123Z",
        "products": ["Gemini Apps"],
        "activityControls": ["Gemini Apps Activity"],
        "safeHtmlItem": [{"html": "<p>In <b>Alfama</b>.</p>"}],
    }
    others = [
        {**activity, "title": "Used Gemini Apps", "safeHtmlItem": []},
        {**activity, "title": "Gave feedback: Good response", "safeHtmlItem": []},
        {**activity, "title": "Asked And in Porto?\nAttached 1 file.\n-  map.png", "safeHtmlItem": [],
         "titleUrl": "https://gemini.google.com/app/abc123", "attachedFiles": ["map.png"]},
    ]  # fmt: skip
    path = pack("takeout.zip", {"Takeout/My Activity/Gemini Apps/MyActivity.json": [activity, *others]})
    found = items(path)
    assert [(each.role, each.content) for each in found] == [
        *SAID,
        ("user", "And in Porto?"),
    ]
    assert [each.conversation for each in found] == ["2024-03-12", "2024-03-12", "abc123"]
    assert found[2].metadata["attachments"] == ["map.png"]


def test_geminis_activity_as_a_page(write: Write) -> None:
    def cell(content: str) -> str:
        body = "content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1"
        return (
            '<div class="outer-cell mdl-cell mdl-cell--12-col mdl-shadow--2dp"><div class="mdl-grid">'
            '<div class="header-cell mdl-cell"><p class="mdl-typography--title">Gemini Apps<br></p></div>'
            f'<div class="{body}">{content}</div><div class="{body} mdl-typography--text-right"></div>'
            '<div class="content-cell mdl-typography--caption"><b>Products:</b></div></div></div>'
        )

    page = "".join(
        [
            "<html><head><style>p { color: red }</style></head><body>",
            cell("Prompted\xa0Where should I stay?<br>Mar 12, 2024, 8:00:00\u202fAM UTC<br><p>In Alfama.</p>"),
            cell("Prompted And in<br>Porto?<br>12 Mar 2024, 09:00:00 CET<br><ul><li>Ribeira</li><li>Foz</li></ul>"),
            cell("Prompted Und hier?<br>12. März 2024, 09:00:00 MEZ<br><p>Hier</p>"),
            cell("Prompted Entä täällä?<br>12. maaliskuuta 2024 klo 09:00:00 EET<br><p>Täällä</p>"),
            "</body></html>",
        ]
    )
    path = write("Takeout/MyActivity.html", page)
    found = items_of_lines(path)
    assert [(each.role, each.content) for each in found] == [
        *SAID,
        ("user", "And in\nPorto?"),
        ("assistant", "- Ribeira\n- Foz"),
        ("user", "Und hier?"),
        ("assistant", "Hier"),
    ]
    assert found[0].happened_at == datetime(2024, 3, 12, 8, tzinfo=UTC)
    assert found[4].happened_at == datetime(2024, 3, 12, 9)
    assert found[2].happened_at == datetime(2024, 3, 12, 9)
    [told] = bad(path)
    assert told.where == "activity 4" and "JSON" in told.reason


# --- OpenAI's and ShareGPT's forms -----------------------------------------------------------------------

MESSAGES = [{"role": "system", "content": "Be brief"}, *({"role": role, "content": text} for role, text in SAID)]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_messages_however_it_is_printed(write: Write, indent: int | None) -> None:
    assert said(write("chat.json", json.dumps(MESSAGES, indent=indent))) == SAID
    assert said(write("chat.json", json.dumps({"messages": MESSAGES}, indent=indent))) == SAID
    assert (
        said(write("chat.json", json.dumps([{"messages": MESSAGES}, {"messages": MESSAGES}], indent=indent)))
        == SAID * 2
    )


def test_messages_in_lines(write: Write) -> None:
    assert said(write("a.jsonl", "\n".join(map(json.dumps, MESSAGES)))) == SAID
    lines = [json.dumps({"id": "t1", "messages": MESSAGES}), "", '{"messages": 1}', "no JSON"]
    path = write("b.jsonl", "\n".join(lines))
    assert [(each.where, each.reason[:8]) for each in bad(path)] == [("line 3", "it does "), ("line 4", "not JSON")]
    assert {each.conversation for each in items_of_lines(path)} == {"t1"}


def test_parts_names_times_and_tools_of_messages(write: Write) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:…"}}
    given = [
        {
            "role": "user",
            "name": "Anna",
            "content": [{"type": "text", "text": "What is this?"}, image],
            "created_at": 1,
        },
        {"role": "assistant", "content": None, "tool_calls": [{"id": "t", "function": {"name": "look"}}]},
        {"role": "tool", "tool_call_id": "t", "content": "a beach"},
    ]
    first, second = items(write("chat.json", given))
    assert (first.content, first.speaker, first.happened_at) == ("What is this?", "Anna", 1)
    assert (second.role, second.content) == ("tool", "a beach")


def test_sharegpt(write: Write) -> None:
    turns = [
        {"from": "system", "value": "Be brief"},
        {"from": "human", "value": "Where should I stay?"},
        {"from": "gpt", "value": "In Alfama."},
    ]
    assert said(write("a.json", [{"id": "x", "conversations": turns}])) == SAID
    assert said(write("b.jsonl", json.dumps({"conversations": turns}) + "\n")) == SAID
