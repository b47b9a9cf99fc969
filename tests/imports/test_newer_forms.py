"""Chats in the forms that their programs write now, and what is left out of them."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from imported import Write, items
from memorist.imports import load, survey
from memorist.memory import Memory


def said(path: Path) -> list[tuple[str | None, str]]:
    return [(each.speaker or each.role, each.content) for each in items(path)]


def discord(id: int, **more: Any) -> dict[str, Any]:
    author = {"id": "1", "name": "bot", "isBot": True}
    common = {
        "id": str(id),
        "type": "Default",
        "timestamp": "2026-03-12T08:00:00+00:00",
        "content": "",
        "author": author,
    }
    return {**common, **more}


def test_discords_answers_to_commands_and_forwarded_messages(write: Write) -> None:
    embed = {"title": "Lisbon", "description": "17 °C", "fields": [{"name": "Wind", "value": "calm"}]}
    path = write(
        "general.json",
        {
            "guild": {"id": "1", "name": "g"},
            "channel": {"id": "2", "name": "c"},
            "messages": [
                discord(1, type="20", embeds=[embed]),
                discord(2, forwardedMessage={"content": "See you at nine", "attachments": [{"fileName": "a.png"}]}),
                discord(3, type="GuildMemberJoin"),
                discord(4),
            ],
        },
    )
    assert said(path) == [("bot", "Lisbon\n17 °C\nWind: calm"), ("bot", "See you at nine")]
    assert items(path)[1].metadata["attachments"] == ["a.png"]
    assert survey(path).left == {"messages that the program wrote itself": 1, "messages without words": 1}


def test_slacks_texts_in_blocks_and_attachments(pack: Write) -> None:
    section = [{"type": "text", "text": "Ask "}, {"type": "user", "user_id": "U1"}, {"type": "emoji", "name": "wave"}]
    items_of_list = [{"type": "rich_text_section", "elements": [{"type": "text", "text": each}]} for each in "ab"]
    rich = [
        {"type": "rich_text_section", "elements": section},
        {"type": "rich_text_list", "elements": items_of_list},
    ]
    common = {"type": "message", "user": "U1", "text": ""}
    day = [
        {**common, "ts": "1710230400.1", "blocks": [{"type": "rich_text", "elements": rich}], "files": [None]},
        {**common, "ts": "1710230400.2", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "*Up*"}}]},
        {**common, "ts": "1710230400.3", "attachments": [{"title": "Build", "text": "passed", "fallback": "f"}]},
        {**common, "ts": "1710230400.4", "attachments": [{"fallback": "Only this"}]},
        {**common, "ts": "1710230400.5", "subtype": "channel_join"},
        {**common, "ts": "1710230400.6", "subtype": "tombstone"},
    ]
    path = pack("slack.zip", {"users.json": [{"id": "U1", "name": "anna"}], "general/2024-03-12.json": day})
    assert [text for _, text in said(path)] == ["Ask @anna:wave:- a\n- b", "*Up*", "Build\npassed", "Only this"]
    assert survey(path).left == {"messages that the program wrote itself": 1, "deleted messages": 1}


def test_geminis_newer_form_and_prompts_without_an_answer(write: Write) -> None:
    common = {"header": "Gemini Apps", "time": "2026-03-12T08:00:00Z", "products": ["Gemini Apps"]}
    address = [{"name": "Open", "url": "https://gemini.google.com/app/abc123"}]
    path = write(
        "MyActivity.json",
        [
            {**common, "title": "Where is Viana?", "details": address},
            {**common, "title": "Prompted And Braga?"},
            {**common, "title": "Gave feedback: Good response", "details": address},
            {**common, "title": "Something else"},
            {**common, "header": "Search", "title": "Searched for x"},
        ],
    )
    assert [(each.content, each.conversation) for each in items(path)] == [
        ("Where is Viana?", "abc123"),
        ("And Braga?", "2026-03-12"),
    ]
    assert survey(path).left == {"activities that are no prompts": 2, "activities of other products": 1}


def test_claudes_dictation_findings_and_attached_files(write: Write) -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm"},
        {"type": "voice_note", "title": "note", "text": "Remember the boat"},
        {"type": "tool_use", "name": "web_search", "input": {}},
        {
            "type": "tool_result",
            "name": "web_search",
            "content": [{"type": "knowledge", "title": "t", "text": "It leaves at nine"}],
        },
    ]
    message = {
        "uuid": "m1",
        "sender": "human",
        "created_at": "2026-03-12T08:00:00Z",
        "content": blocks,
        "attachments": [{"file_name": "plan.txt", "extracted_content": "First the museum"}, None],
        "files": [None, {"file_name": "a.png"}],
    }
    path = write("conversations.json", [{"uuid": "c", "name": "Trip", "chat_messages": [message]}])
    assert [(each.kind, each.role, each.content) for each in items(path)] == [
        ("message", "tool", "It leaves at nine"),
        ("message", "user", "Remember the boat"),
        ("note", None, "plan.txt\n\nFirst the museum"),
    ]
    assert survey(path).left == {"thoughts of a model": 1, "tool calls": 1}


def test_claudes_projects_and_their_documents(write: Write) -> None:
    document = {"uuid": "d", "filename": "brief.md", "content": "Build a shed", "created_at": "2026-03-12T08:00:00Z"}
    project = {"uuid": "p", "name": "Garden", "description": "", "prompt_template": "Be brief", "docs": [document]}
    found = items(write("projects.json", [project]))
    assert [(each.content, each.metadata["project"]) for each in found] == [
        ("instructions\n\nBe brief", "Garden"),
        ("brief.md\n\nBuild a shed", "Garden"),
    ]


def test_claudes_documents_of_one_name_are_several(write: Write) -> None:
    files = [{"filename": name, "content": f"{name} {n}"} for n in (1, 2) for name in ("brief.md", "instructions")]
    named = [{"uuid": f"d{n}", "filename": "brief.md", "content": f"named {n}"} for n in (1, 2)]
    project = {"uuid": "p", "name": "Garden", "prompt_template": "Be brief", "docs": [*files, *named]}
    found = items(write("projects.json", [project]))
    assert len(found) == len({each.id for each in found}) == 7
    project["docs"] = named[1:]
    assert items(write("projects.json", [project]))[-1].id == found[-1].id


def deepseek(parent: str, kind: str, text: str, at: str) -> dict[str, Any]:
    fragments = [{"type": kind, "content": text}]
    if kind == "RESPONSE":
        fragments = [{"type": "THINK", "content": "Hm"}, {"type": "SEARCH", "content": "r"}, *fragments]
    message = {"model": "deepseek-chat", "inserted_at": f"2026-03-12T{at}+08:00", "files": [], "fragments": fragments}
    return {"parent": parent, "children": [], "message": message}


def test_deepseeks_conversations_are_not_taken_for_chatgpts(write: Write) -> None:
    nodes = {
        "root": {"id": "root", "parent": None, "children": ["1"], "message": None},
        "1": deepseek("root", "REQUEST", "Where is Viana?", "08:00:00"),
        "2": deepseek("1", "RESPONSE", "In Spain.", "08:00:01"),
        "3": deepseek("1", "RESPONSE", "In Portugal.", "08:00:02"),
    }
    common = {"id": "c1", "title": "Viana", "inserted_at": "2026-03-12T08:00:00+08:00", "updated_at": "x"}
    path = write("conversations.json", [{**common, "mapping": nodes}])
    assert said(path) == [("user", "Where is Viana?"), ("assistant", "In Portugal.")]
    told = survey(path)
    assert (told.titles, told.conversations) == (["DeepSeek"], 1)
    assert told.left == {
        "messages of branches that were not shown last": 1,
        "thoughts of a model": 1,
        "what a model searched and read": 1,
    }


def test_telegrams_polls_and_lists(write: Write) -> None:
    common = {"type": "message", "date_unixtime": "1710230400", "from": "Bob", "from_id": "user2", "text": ""}
    poll = {"question": "Where?", "answers": [{"text": "Porto", "voters": 2}, {"text": ["Vi", {"text": "ana"}]}]}
    todo = {"title": "Pack", "answers": [{"text": "boots", "id": 1}]}
    given = [{**common, "id": 1, "poll": poll}, {**common, "id": 2, "todo_list": todo}]
    path = write("result.json", {"name": "Bob", "type": "personal_chat", "id": 42, "messages": given})
    assert said(path) == [("Bob", "Where?\n- Porto (2)\n- Viana"), ("Bob", "Pack\n- boots")]


@pytest.mark.parametrize(
    ("header", "when"),
    [
        ("۱۴۰۲/۱۲/۲۲،‏ ۱۴:۳۰ - ", datetime(2024, 3, 12, 14, 30)),
        ("۱۴۰۳/۱۲/۳۰، ۱۴:۳۰ - ", datetime(2025, 3, 20, 14, 30)),
        ("1405/1/1, 14:30 - ", datetime(2026, 3, 21, 14, 30)),
        ("2/9/1445 هـ, 14:30 - ", datetime(2024, 3, 12, 14, 30)),
    ],
)
def test_whatsapps_persian_and_islamic_years(write: Write, header: str, when: datetime) -> None:
    [item] = items(write("WhatsApp Chat with Bob.txt", f"{header}Bob: Hello\n"))
    assert (item.happened_at, item.content) == (when, "Hello")


def test_what_whatsapp_on_android_has_no_text_of_is_left_out(write: Write) -> None:
    lines = ["12.03.24, 09:00 - Bob: null", "12.03.24, 09:01 - Bob: null and void", "12.03.24, 09:02 - Bob left"]
    path = write("chat.txt", "\n".join([*lines, "12.03.24, 09:03 - Bob: This message was deleted"]))
    assert said(path) == [("Bob", "null and void")]
    assert survey(path).left == {
        "messages without words": 1, "messages that the program wrote itself": 1, "deleted messages": 1,
    }  # fmt: skip


@pytest.mark.anyio
async def test_what_is_left_out_is_the_same_in_the_survey_and_the_report(memory: Memory, write: Write) -> None:
    talk = [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": "Hi"},
        {"role": "user", "content": ""},
    ]
    path = write("messages.json", talk)
    write("old.doc", b"\xd0\xcf\x11\xe0\0\0\0")
    told, report = survey(path.parent), await load(memory, path.parent)
    assert told.left == report.left == {"instructions of the system": 1, "messages without words": 1}
    assert told.left_out() == [
        "Left out: 1 instructions of the system, 1 messages without words",
        "1 file of no known format skipped: old.doc",
        ".doc: save it as DOCX, PDF or plain text, and give that",
    ]
    assert json.loads(json.dumps(report.left)) == report.left
