"""An import again corrects what the one before got wrong, and an import can be taken back whole."""

import json
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from imported import Write
from memorist.errors import InvalidInputError, NotFoundError
from memorist.imports import Options, Source, imports, load, loading, survey, undo
from memorist.imports.staged import Staged
from memorist.memory import Memory
from memorist.records.record import Record

pytestmark = pytest.mark.anyio

LINES = "31.12.23, 21:41 - Anna: Thanks!\n31.12.23, 21:42 - Bob: Welcome\n"
TABLE = "text,opened,owner\nThe lift is broken,2024-03-12 08:00,Karin\nThe lift works,2024-03-13 09:30,Jon\n"


async def stored(memory: Memory) -> list[Record]:
    return [each async for each in memory.iterate()]


async def test_another_zone_corrects_the_times_and_keeps_the_ids(memory: Memory, write: Write) -> None:
    path = write("WhatsApp Chat with Bob.txt", LINES)
    await load(memory, path, options=Options(zone=ZoneInfo("Asia/Kolkata")))
    before = await stored(memory)
    report = await load(memory, path, options=Options(zone=ZoneInfo("UTC")))
    assert (report.added, report.revised, report.existing, report.id) == (0, 2, 0, None)
    after = await stored(memory)
    assert [each.id for each in after] == [each.id for each in before]
    assert [f"{each.happened_at:%H:%M}" for each in after] == ["21:41", "21:42"]
    assert [each.action for each in await memory.history(after[0].id)] == ["remembered", "revised"]
    again = await load(memory, path, options=Options(zone=ZoneInfo("UTC")))
    assert (again.revised, again.existing) == (0, 2)


async def test_who_the_user_is_is_corrected_too(memory: Memory, write: Write) -> None:
    path = write("WhatsApp Chat with Bob.txt", LINES)
    await load(memory, path, options=Options(me="Bob"))
    await load(memory, path, options=Options(me="Anna"))
    assert [each.payload["role"] for each in await stored(memory)] == ["user", "other"]
    await load(memory, path)  # knows less, and takes nothing away
    assert [each.payload["role"] for each in await stored(memory)] == ["user", "other"]


async def test_what_somebody_corrected_stays(memory: Memory, write: Write) -> None:
    path = write("WhatsApp Chat with Bob.txt", LINES)
    await load(memory, path, options=Options(zone=ZoneInfo("UTC")))
    [first, _] = await stored(memory)
    await memory.revise(first.id, happened_at="2023-12-30T10:00Z")
    assert (await load(memory, path, options=Options(zone=ZoneInfo("UTC")))).existing == 2
    assert f"{(await stored(memory))[0].happened_at:%d}" == "30"


ROWS = "id,text\n1,What is in {0}\n2,More of {0}\n"
WORDS = "What is in {0}\n"


@pytest.mark.parametrize(("name", "form"), [("notes.txt", WORDS), ("notes.md", WORDS), ("rows.csv", ROWS)])
async def test_files_of_one_name_in_two_folders_are_two(memory: Memory, write: Write, name: str, form: str) -> None:
    each = form.count("{0}")
    for folder in ("a", "b"):
        assert (await load(memory, write(f"{folder}/{name}", form.format(folder)))).added == each
    again = await load(memory, write(f"a/{name}", form.format("a now")))
    assert (again.added, again.revised) == (0, each)
    assert (await load(memory, write(f"b/{name}", form.format("b")))).existing == each
    texts = [record.content for record in await stored(memory)]
    assert len(texts) == 2 * each and sum("a now" in text for text in texts) == each
    assert not any("in a\n" in f"{text}\n" for text in texts)


@pytest.mark.parametrize(("name", "form"), [("notes.md", WORDS), ("rows.csv", ROWS)])
async def test_files_of_one_name_in_one_folder_are_two(memory: Memory, write: Write, name: str, form: str) -> None:
    each = form.count("{0}")
    folder = write(f"all/a/{name}", form.format("a")).parents[1]
    write(f"all/b/{name}", form.format("b"))
    assert (await load(memory, folder)).added == 2 * each
    assert (await load(memory, folder)).existing == 2 * each


@pytest.mark.parametrize("name", ["notes.md", "rows.csv"])
async def test_a_file_of_a_folder_by_itself_is_the_same(memory: Memory, write: Write, name: str) -> None:
    form = ROWS if name.endswith("csv") else WORDS
    file = write(f"vault/a/{name}", form.format("it"))
    write("vault/other.md", "Something else")
    await load(memory, file.parents[1])
    before = await memory.count()
    for source in (file, file.parent, upload(name, file.read_bytes()), upload(f"a/{name}", file.read_bytes())):
        report = await load(memory, source)
        assert (report.added, report.revised, report.existing) == (0, 0, form.count("{0}"))
    file.write_text(form.format("it now"))
    assert (await load(memory, file)).revised == form.count("{0}")
    assert (await load(memory, file.parents[1])).existing == before == await memory.count()


async def test_what_a_browser_gave_is_known_to_the_command(memory: Memory, write: Write) -> None:
    await load(memory, upload("notes.md", b"What is in a"))
    first, second = write("a/notes.md", "What is in a"), write("b/notes.md", "What is in b")
    assert (await load(memory, first)).existing == 1
    assert (await load(memory, second)).added == 1
    assert (await load(memory, upload("notes.md", b"What is in b"))).existing == 1
    third = await load(memory, upload("notes.md", b"What nobody knows whose it is"))
    assert (third.added, third.revised) == (1, 0)
    assert (await load(memory, upload("notes.md", b"What nobody knows whose it is"))).existing == 1
    assert (await load(memory, first)).existing == (await load(memory, second)).existing == 1


async def test_a_folder_in_an_archive_is_the_folder(memory: Memory, write: Write, pack: Write) -> None:
    folder = write("vault/a/notes.md", "What is in a").parents[1]
    write("vault/b/notes.md", "What is in b")
    await load(memory, folder)
    files = {"a/notes.md": "What is in a", "b/notes.md": "What is in b"}
    for archive in (files, {f"vault/{name}": text for name, text in files.items()}):
        path = pack("vault.zip", archive)
        assert (await load(memory, path)).existing == 2
        assert (await load(memory, upload("vault.zip", path.read_bytes()))).existing == 2
    assert (await load(memory, pack("work.zip", {"a/notes.md": "Of work"}))).added == 1


async def test_a_programs_own_fields_are_no_places(memory: Memory, write: Write) -> None:
    await memory.remember("Kept by a program", payload={"file": "notes.md"}, metadata={"file": ["notes.md"]})
    assert (await load(memory, write("a/notes.md", "What is in a"))).added == 1


async def test_a_name_alone_is_no_file_of_a_folder(memory: Memory, write: Write) -> None:
    await load(memory, upload("readme.md", b"What the first is about"))
    folder = write("project/readme.md", "What the second is about").parent
    write("project/notes.md", "More")
    assert (await load(memory, folder)).added == 2
    write("other/readme.md", "What the first is about")
    write("other/notes.md", "Other")
    report = await load(memory, folder.parent / "other")
    assert (report.added, report.existing) == (1, 1)


def upload(name: str, content: bytes) -> Source:
    """Return a file as a browser gives it: by the name that it sends."""
    staged = Staged()
    staged.file.write(content)
    return Source("", name=name, staged={name: staged})


async def before_places(memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store a source as builds did that knew a file by the name of its folder alone."""
    with monkeypatch.context() as patched:
        patched.setattr(loading, "_spot", lambda *_: None)
        await load(memory, path)


@pytest.mark.parametrize(("name", "form"), [("notes.txt", WORDS), ("notes.md", WORDS), ("rows.csv", ROWS)])
async def test_what_an_older_build_imported_is_not_doubled(
    memory: Memory, write: Write, name: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = form.count("{0}")
    file = write(f"a/{name}", form.format("a"))
    await before_places(memory, file, monkeypatch)
    assert (await load(memory, file)).existing == each
    assert (await load(memory, write(f"b/{name}", form.format("b")))).added == each
    assert (await load(memory, write(f"a/{name}", form.format("a now")))).revised == each
    assert await memory.count() == 2 * each


async def test_a_folder_of_an_older_build_is_not_doubled(
    memory: Memory, write: Write, monkeypatch: pytest.MonkeyPatch, pack: Write
) -> None:
    file = write("vault/a/notes.md", "# One\nWhat is in a\n# Two\nMore of it\n")
    write("vault/notes.md", "What is at the top")
    other = write("work/notes.md", "What is in another").parent
    for folder in (file.parents[1], other):
        await before_places(memory, folder, monkeypatch)
    for source, number in ((file.parents[1], 3), (file.parent, 2), (file, 2), (other, 1), (other / "notes.md", 1)):
        report = await load(memory, source)
        assert (report.added, report.revised, report.existing) == (0, 0, number), source
    assert (await load(memory, pack("new.zip", {"notes.md": "What is in a third"}))).added == 1
    file.write_text("# One\nWhat is in a now\n# Two\nMore of it\n# Three\nNew\n")
    report = await load(memory, file)
    assert (report.added, report.revised, report.existing) == (1, 1, 1)
    assert (await load(memory, file.parents[1])).existing == 4


async def test_a_column_that_is_named_later_adds_no_row(memory: Memory, write: Write) -> None:
    path = write("tickets.csv", TABLE.replace("opened", "begun"))
    assert (await load(memory, path)).added == 2
    report = await load(memory, path, options=Options(columns={"time": "begun"}))
    assert (report.added, report.revised) == (0, 2)
    assert [f"{each.happened_at:%d %H:%M}" for each in await stored(memory)] == ["12 08:00", "13 09:30"]
    told = await load(memory, path, options=Options(columns={"speaker": "owner"}))
    assert told.failed == 2 and "memorist imports undo" in told.bad[0].reason
    assert len(await stored(memory)) == 2


async def test_the_columns_of_a_table_are_told_before(write: Write) -> None:
    told = survey(write("tickets.csv", TABLE))
    assert told.columns == {"text": "text", "opened": "time", "owner": "metadata"}
    assert [each.rpartition("  ")[2] for each in told.samples] == ["The lift is broken", "The lift works"]
    assert survey(write("plain.csv", "text\nHello\n")).untimed == 1


async def test_nobody_by_that_name_is_refused_with_the_names(write: Write) -> None:
    path = write("WhatsApp Chat with Bob.txt", LINES)
    with pytest.raises(InvalidInputError, match=r"no speaker is named 'Nobody' in .*'Anna', 'Bob'"):
        survey(path, options=Options(me="Nobody"))


async def test_who_the_user_is_is_settled_for_each_chat(memory: Memory, write: Write) -> None:
    write("all/WhatsApp Chat with Bob.txt", LINES)
    write("all/WhatsApp Chat with Cleo.txt", "1.1.24, 10:00 - Anna K: Hi\n1.1.24, 10:01 - Cleo: Hello\n")
    trip = "1.2.24, 10:00 - Anna K: Ready?\n1.2.24, 10:01 - Dan: Yes\n1.2.24, 10:02 - Eve: No\n"
    write("all/WhatsApp Chat with Trip.txt", trip)
    folder = write("all/WhatsApp Chat with Club.txt", "1.3.24, 10:00 - Fay: Hm\n1.3.24, 10:01 - Gil: Hm\n").parent
    told = survey(folder)
    assert told.me is None and told.unsettled == {"Club": ["Fay", "Gil"]}
    assert told.mine == {"Bob": "Anna", "Cleo": "Anna K", "Trip": "Anna K"}
    await load(memory, folder, options=Options(me=told.mine))
    roles = {each.payload["speaker"]: each.payload.get("role") for each in await stored(memory)}
    assert {name for name, role in roles.items() if role == "user"} == {"Anna", "Anna K"}
    assert roles["Fay"] is None


async def test_an_import_is_taken_back_whole(memory: Memory, write: Write) -> None:
    await memory.remember("My own")
    first = await load(memory, write("WhatsApp Chat with Bob.txt", LINES))
    users = [{"id": str(number), "memory": f"Likes tea {number}", "user_id": f"u{number}"} for number in range(3)]
    second = await load(memory, write("mem0.json", json.dumps(users)))
    listed = await imports(memory)
    assert {each.id: (each.records, dict(each.sources)) for each in listed} == {
        first.id: (2, {"import:whatsapp": 2}),
        second.id: (3, {"import:mem0": 3}),
    }
    assert second.id is not None and await undo(memory, second.id) == 3
    assert [each.id for each in await imports(memory)] == [first.id]
    assert await memory.admin.users() == {None: 3}
    with pytest.raises(NotFoundError, match="no import"):
        await undo(memory, second.id)


async def test_an_export_that_is_imported_can_be_taken_back(memory: Memory, write: Write) -> None:
    await memory.topics.set("user.name", "Anna")
    lines = [each async for each in memory.export()]
    await memory.forget(kind="topic")
    report = await load(memory, write("export.jsonl", "\n".join(lines)))
    assert report.added == 1 and report.id is not None
    assert await undo(memory, report.id) == 1 and await memory.topics.get("user.name") is None


async def test_a_field_of_ones_own_with_that_name_is_no_import(memory: Memory) -> None:
    await memory.remember("A note", payload={"import": 7})
    assert await imports(memory) == []


async def test_an_empty_answer_of_a_tool_is_no_memory(memory: Memory, write: Write) -> None:
    def node(id: str, role: str, text: str) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [text]}
        return {"message": {"id": id, "author": {"role": role}, "content": content}, "parent": None, "children": []}

    talk = {"title": "A talk", "id": "c", "mapping": {"a": node("a", "tool", "{}"), "b": node("b", "user", "Hi")}}
    talk["mapping"]["b"]["parent"] = "a"  # type: ignore[index]
    await load(memory, write("conversations.json", json.dumps([{**talk, "current_node": "b"}])))
    assert [each.content for each in await stored(memory)] == ["Hi"]


async def test_a_bot_of_slack_has_its_name(memory: Memory, pack: Write) -> None:
    users = [{"id": "U1", "name": "anna"}, {"id": "U2", "profile": {"real_name": "Deploys", "bot_id": "B7"}}]
    said = [{"type": "message", "subtype": "bot_message", "bot_id": "B7", "text": "Done", "ts": "1710230400.000100"}]
    await load(memory, pack("slack.zip", {"users.json": users, "general/2024-03-12.json": said}))
    assert [each.payload["speaker"] for each in await stored(memory)] == ["Deploys"]


async def test_what_to_leave_out_is_said(memory: Memory, write: Write, tmp_path: Path) -> None:
    path = write("mem0.json", json.dumps([{"id": "1", "memory": "Likes tea", "user_id": "alice"}]))
    report = await load(memory.scoped(user="me"), path)
    assert "omit --user" in report.bad[0].reason


async def test_long_messages_are_committed_a_few_at_a_time(memory: Memory, write: Write) -> None:
    lines = [f"31.12.23, 21:{number} - Anna: {'word ' * 2000}{number}\n" for number in range(10, 22)]
    told: list[int] = []
    await load(memory, write("WhatsApp Chat with Bob.txt", "".join(lines)), progress=told.append)
    assert told == [0, 3, 6, 9, 12, 12]
