"""Importing: everything once, whatever comes before it or is imported again."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imported import Write
from memorist.errors import FormatError, InvalidInputError
from memorist.imports import Bad, ImportReport, Item, Options, Reader, load, registry
from memorist.imports.sync import load as load_blocking
from memorist.memory import Memory
from memorist.sync import Memory as BlockingMemory
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

LINES = ["31.12.23, 21:41 - Anna: Thanks!", "31.12.23, 21:41 - Anna: Thanks!", "31.12.23, 21:42 - Bob: Welcome"]


def counts(report: ImportReport) -> tuple[int, int, int]:
    return report.added, report.revised, report.existing


def talk(**texts: str) -> dict[str, Any]:
    """A conversation of ChatGPT's with these messages by id."""
    nodes: dict[str, Any] = {}
    above = None
    for id, text in texts.items():
        content = {"content_type": "text", "parts": [text]}
        said = {"id": id, "author": {"role": "user"}, "create_time": 1_710_230_400, "content": content}
        nodes[id] = {"message": said, "parent": above, "children": []}
        above = id
    return {"title": "A talk", "create_time": 1_710_230_400, "id": "c", "mapping": nodes, "current_node": above}


async def test_a_message_becomes_one_of_its_conversation(memory: Memory, write: Write) -> None:
    path = write("WhatsApp Chat with Bob.txt", LINES[2])
    await load(memory, path, options=Options(me="Anna", zone=ZoneInfo("Europe/Oslo")))
    [message] = await memory.conversation("whatsapp:Bob").all()
    assert (message.content, message.name, message.role) == ("Welcome", "Bob", "other")
    assert message.happened_at == datetime(2023, 12, 31, 20, 42, tzinfo=UTC)
    assert message.record is not None and message.record.source == "import:whatsapp"


async def test_what_is_said_twice_is_stored_twice_and_never_again(memory: Memory, write: Write) -> None:
    path = write("WhatsApp Chat with Bob.txt", "\n".join(LINES))
    assert counts(await load(memory, path)) == (3, 0, 0)
    assert counts(await load(memory, path, options=Options(me="Anna", zone=ZoneInfo("Asia/Tokyo")))) == (0, 3, 0)


async def test_a_newer_export_adds_what_is_new_and_revises_what_was_edited(memory: Memory, write: Write) -> None:
    await load(memory, write("conversations.json", [talk(a="We fly at six", b="And back?")]))
    newer = write("newer/conversations.json", [talk(a="We fly at seven", b="And back?", c="On Monday")])
    assert counts(await load(memory, newer)) == (1, 1, 1)
    talked = await memory.conversation("chatgpt:c").all()
    assert [each.content for each in talked] == ["We fly at seven", "And back?", "On Monday"]
    assert counts(await load(memory, newer)) == (0, 0, 3)


async def test_a_revision_of_ones_own_stays_until_the_source_changes(memory: Memory, write: Write) -> None:
    path = write("conversations.json", [talk(a="We fly at six")])
    await load(memory, path)
    [message] = await memory.conversation("chatgpt:c").all()
    assert message.record is not None
    await memory.revise(message.record.id, content="We fly at six, from Gardermoen")
    assert counts(await load(memory, path)) == (0, 0, 1)
    found = await memory.get(message.record.id)
    assert found is not None and found.content == "We fly at six, from Gardermoen"


async def test_what_cannot_be_stored_is_told_by_file_and_place(memory: Memory, write: Write) -> None:
    broken = talk(a="Hello")
    broken["mapping"]["a"]["message"]["create_time"] = "soon"
    path = write("conversations.json", [broken, "no conversation", talk(b="Hi")])
    report = await load(memory, path)
    assert report.added == 1
    assert [str(each).partition(": ")[0] for each in report.bad] == [
        "conversations.json, record 1",
        "conversations.json, record 2",
    ]


async def test_a_user_named_by_nobody_owns_nothing_of_others(memory: Memory, write: Write) -> None:
    await load(memory.scoped(user="anna"), write("conversations.json", [talk(a="Hello")]))
    assert await memory.count() == 0
    assert await memory.scoped(user="anna").count() == 1


async def test_names_that_cannot_be_a_sessions_get_another(memory: Memory, write: Write) -> None:
    path = write("WhatsApp Chat with A\u200bB.txt", LINES[2])
    assert counts(await load(memory, path)) == (1, 0, 0)
    [record] = (await memory.browse()).records
    assert record.scope.session is not None and record.scope.session.startswith("whatsapp:")


async def test_half_a_character_costs_no_message(memory: Memory, write: Write) -> None:
    path = write("conversations.json", json.dumps([talk(a="A wave \ud83d", b="A \ud83d\udc4b")]))
    assert counts(await load(memory, path)) == (2, 0, 0)
    assert {each.content for each in (await memory.browse()).records} == {"A wave \ufffd", "A 👋"}


async def test_what_is_no_known_format_is_an_error(memory: Memory, write: Write, pack: Write) -> None:
    with pytest.raises(FormatError, match="not of a known format"):
        await load(memory, write("data.bin", b"\xff\xd8\0\0\0"))
    with pytest.raises(FormatError, match=r"report.xlsx has an unsupported format: save each of its sheets as CSV"):
        await load(memory, write("report.xlsx", b"PK\0\0"))
    with pytest.raises(InvalidInputError, match="cannot read"):
        await load(memory, "missing.txt")
    with pytest.raises(InvalidInputError, match="there is no format 'nothing'"):
        await load(memory, write("a.txt", "x"), format="nothing")
    with pytest.raises(FormatError, match="damaged zip"):
        await load(memory, write("a.zip", pack("b.zip", {"a.txt": LINES[0] * 20}).read_bytes()[:100]))


async def test_a_damaged_file_in_a_zip_is_told(memory: Memory, write: Write, pack: Write) -> None:
    good = pack("WhatsApp Chat with Bob.zip", {"a.txt": "\n".join(LINES), "b.txt": LINES[2] * 3000}).read_bytes()
    at = good.rindex(b"b.txt", 0, good.rindex(b"PK\x01\x02")) + 20
    path = write("WhatsApp Chat with Bob.zip", good[:at] + b"\xff\xff\xff\xff" + good[at + 4 :])
    report = await load(memory, path)
    assert report.added == 3


async def test_an_interrupted_import_is_repeated_to_go_on(memory: Memory, write: Write) -> None:
    path = write("WhatsApp Chat with Bob.txt", "".join(f"31.12.23, 21:41 - Anna: {number}\n" for number in range(700)))

    def interrupt(done: int) -> None:
        if done > 500:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await load(memory, path, progress=interrupt)
    stored = await memory.count()
    assert 0 < stored < 700
    assert counts(await load(memory, path)) == (700 - stored, 0, stored)
    assert [each.content for each in await memory.conversation("whatsapp:Bob").all()] == [str(n) for n in range(700)]


async def test_what_a_reader_does_not_foresee_is_told(memory: Memory, pack: Write) -> None:
    said = [{"type": "message", "user": "U1", "text": "Hi", "ts": "1710230400.000100"}]
    files = {"users.json": [{"no": "id"}], "general/2024-03-12.json": said, "a.md": "Hello"}
    report = await load(memory, pack("slack.zip", files))
    assert report.added == 1
    [told] = report.bad
    assert str(told).startswith("general/2024-03-12.json: the rest does not have the expected form: KeyError")


async def test_another_packages_reader(memory: Memory, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def words(part: Any, options: Options) -> Any:
        for number, line in part.lines():
            yield Item(content=line, where=f"line {number}") if line.isascii() else Bad(f"line {number}", "no ASCII")

    class Entry:
        name, value = "words", "words:READER"

        def load(self) -> Reader:
            return Reader("words", "Words", lambda part: part.name.endswith(".words"), words)

    monkeypatch.setattr(registry, "entry_points", lambda group: [Entry()] if group == "memorist.readers" else [])
    registry.readers.cache_clear()
    try:
        report = await load(memory, write("a.words", "one\nzwölf\nthree\n"))
    finally:
        registry.readers.cache_clear()
    assert (report.added, [each.where for each in report.bad]) == (2, ["line 2"])


def test_the_blocking_client(tmp_path: Path, write: Write) -> None:
    path = write("WhatsApp Chat with Bob.txt", "\n".join(LINES))
    with BlockingMemory.open(tmp_path / "blocking.db", embedder=HashEmbedder()) as memory:
        assert load_blocking(memory, path).added == 3
        assert memory.conversation("whatsapp:Bob").size() == 3


# --- a part, and then the whole ---------------------------------------------------------------------------

Said = list[tuple[str, str]]


def whatsapp(said: Said) -> str:
    return "".join(f"{1 + n // 3}.12.23, 21:41 - {who}: {text}\n" for n, (who, text) in enumerate(said))


def chatgpt(said: Said) -> str:
    return json.dumps([talk(**{f"m{n}": text for n, (_, text) in enumerate(said)})])


def telegram(said: Said) -> str:
    messages = [
        {"id": n, "type": "message", "date_unixtime": str(1_710_230_400 + n // 3), "from": who, "text": text}
        for n, (who, text) in enumerate(said)
    ]
    return json.dumps({"name": "b", "type": "personal_chat", "id": 1, "messages": messages})


def mail(said: Said) -> str:
    return "".join(f"From x\nFrom: {who}@x\nDate: Tue, 12 Mar 2024 09:00:00 +0000\n\n{text}\n\n" for who, text in said)


def messages(said: Said) -> str:
    return json.dumps([{"role": {"a": "user"}.get(who, "assistant"), "content": text} for who, text in said], indent=1)


def table(said: Said) -> str:
    return "text,speaker\n" + "".join(f"{text},{who}\n" for who, text in said)


def markdown(said: Said) -> str:
    return "".join(f"# {who}\n{text}\n" for who, text in said)


FORMS = {
    "whatsapp": whatsapp, "chatgpt": chatgpt, "telegram": telegram, "mbox": mail, "messages": messages, "table": table,
    "markdown": markdown,
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=10)
@given(
    said=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["Hi", "OK", "See you"])), max_size=8),
    data=st.data(),
)
def test_a_part_and_then_the_whole_is_the_whole(form: str, said: Said, data: st.DataObject) -> None:
    """What is repeated in it included, with ids and without: as if all had been imported at once, and only once."""
    cut = data.draw(st.integers(0, len(said)))

    async def imported(folder: Path, *sizes: int) -> list[tuple[Any, ...]]:
        async with Memory.open(folder / f"{len(sizes)}.db", embedder=HashEmbedder()) as memory:
            for size in sizes:
                (folder / "chat").write_text(FORMS[form](said[:size]))
                assert (await load(memory, folder / "chat", format=form)).bad == []
            found = (await memory.browse(order="oldest", limit=100)).records
            return sorted((each.id, each.content, each.happened_at, each.scope.session, each.version) for each in found)

    with TemporaryDirectory() as folder:
        parts = asyncio.run(imported(Path(folder), cut, len(said), len(said)))
        assert parts == asyncio.run(imported(Path(folder), len(said)))
        told = sorted(content.rpartition("\n")[2] for _, content, *_ in parts)
        assert told == sorted(text for _, text in said)
