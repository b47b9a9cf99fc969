"""ChatGPT's export: the branch that was shown, tools included, nothing hidden."""

from typing import Any

from imported import Write, bad, items

DAY = 1_710_230_400.0  # 12 March 2024, 8:00


def message(id: str, role: str, *parts: Any, kind: str = "text", at: float | None = DAY, **more: Any) -> dict[str, Any]:
    content: dict[str, Any] = {"content_type": kind}
    if kind in ("text", "multimodal_text"):
        content["parts"] = list(parts)
    else:
        content |= parts[0]
    name = more.pop("name", None)
    return {"id": id, "author": {"role": role, "name": name}, "create_time": at, "content": content, **more}


def talk(*chain: dict[str, Any] | None, id: str = "c1", **more: Any) -> dict[str, Any]:
    """A conversation without branches: a root, and each message below the one before."""
    nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    above = "root"
    for each in chain:
        assert each is not None
        nodes[above]["children"].append(each["id"])
        nodes[each["id"]] = {"id": each["id"], "message": each, "parent": above, "children": []}
        above = each["id"]
    about = {"title": "Trip to Lisbon", "create_time": DAY, "conversation_id": id, "id": id, "current_node": above}
    return {**about, "mapping": nodes, **more}


def test_what_was_said_is_read_with_its_conversation_and_time(write: Write) -> None:
    given = talk(
        message("m1", "system", ""),
        message("m2", "user", "Where should I stay?"),
        message("m3", "assistant", "In Alfama.", at=DAY + 9, metadata={"model_slug": "gpt-4o"}),
    )
    first, second = items(write("conversations.json", [given]))
    assert (first.content, first.role, first.id, first.conversation) == ("Where should I stay?", "user", "m2", "c1")
    assert (second.content, second.role, second.happened_at) == ("In Alfama.", "assistant", DAY + 9)
    assert second.metadata["conversation"] == "Trip to Lisbon"
    assert second.metadata["model"] == "gpt-4o"


def test_the_branch_that_was_shown_is_read(write: Write) -> None:
    given = talk(message("ask", "user", "Hi"), message("old", "assistant", "Old answer"))
    given["mapping"]["new"] = {"message": message("new", "assistant", "New answer"), "parent": "ask", "children": []}
    given["mapping"]["ask"]["children"].append("new")
    given["current_node"] = "new"
    assert [each.content for each in items(write("conversations.json", [given]))] == ["Hi", "New answer"]


def test_without_a_current_node_the_newest_leaf_counts(write: Write) -> None:
    given = talk(message("ask", "user", "Hi"), message("old", "assistant", "Old answer"))
    newer = message("new", "assistant", "New answer", at=DAY + 60)
    given["mapping"]["new"] = {"message": newer, "parent": "ask", "children": []}
    del given["current_node"]
    assert [each.content for each in items(write("conversations.json", [given]))] == ["Hi", "New answer"]


def test_a_loop_of_parents_ends(write: Write) -> None:
    given = talk(message("a", "user", "One"), message("b", "assistant", "Two"))
    given["mapping"]["a"]["parent"] = "b"
    assert [each.content for each in items(write("conversations.json", [given]))] == ["One", "Two"]


def test_images_recordings_code_and_tools(write: Write) -> None:
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1", "width": 10}
    spoken = {"content_type": "audio_transcription", "text": "Say it in Portuguese", "direction": "in"}
    attached = {"attachments": [{"id": "file-1", "name": "beach.png"}]}
    given = talk(
        message("1", "user", image, "What is this?", kind="multimodal_text", metadata=attached),
        message("2", "user", spoken, kind="multimodal_text"),
        message("3", "assistant", {"language": "python", "text": "print(1)"}, kind="code", recipient="python"),
        message("4", "tool", {"text": "1"}, kind="execution_output", name="python"),
        message("5", "assistant", {"thoughts": [{"summary": "s", "content": "secret"}]}, kind="thoughts"),
        message("6", "assistant", "A beach\ue200cite\ue202turn0search0\ue201.【4†source】"),
        message("7", "user", {"user_profile": "me"}, kind="user_editable_context"),
        message("8", "user", "hidden", metadata={"is_visually_hidden_from_conversation": True}),
    )
    found = items(write("conversations.json", [given]))
    assert [(each.role, each.content) for each in found] == [
        ("user", "What is this?"),
        ("user", "Say it in Portuguese"),
        ("assistant", "print(1)"),
        ("tool", "1"),
        ("assistant", "A beach."),
    ]
    assert found[0].metadata["attachments"] == ["beach.png"]
    assert found[3].speaker == "python"


def test_a_message_without_a_time_has_that_of_the_one_before(write: Write) -> None:
    given = talk(message("1", "user", "One", at=DAY + 5), message("2", "assistant", "Two", at=None))
    assert [each.happened_at for each in items(write("conversations.json", [given]))] == [DAY + 5, DAY + 5]


def test_a_zip_with_several_numbered_files(pack: Write) -> None:
    path = pack(
        "export.zip",
        {
            "conversations-000.json": [talk(message("1", "user", "One"))],
            "conversations-001.json": [talk(message("2", "user", "Two"), id="c2")],
            "user.json": {"id": "user-1", "email": "anna@example.org"},
            "chat.html": "<html></html>",
        },
    )
    assert [(each.conversation, each.content) for each in items(path)] == [("c1", "One"), ("c2", "Two")]


def test_a_broken_conversation_is_told_and_the_others_are_read(write: Write) -> None:
    broken: dict[str, Any] = {"title": "x", "mapping": None}
    path = write("conversations.json", [talk(message("1", "user", "One")), broken, talk(message("2", "user", "Two"))])
    [told] = bad(path)
    assert told.where == "record 2"


def test_a_file_that_ends_in_the_middle_is_read_up_to_there(write: Write) -> None:
    import json

    text = json.dumps([talk(message("1", "user", "One")), talk(message("2", "user", "Two"), id="c2")], indent=1)
    path = write("conversations.json", text[:-300])
    [told] = bad(path)
    assert "ends in the middle" in told.reason and "line" in told.reason
