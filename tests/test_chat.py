"""Chats from files: every message once, in order, and every bad line told."""

import json
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from inside import core_of
from memorist.embedders import Role, Vectors
from memorist.errors import EmbedderError, FormatError, InvalidInputError
from memorist.imports import ImportReport, load
from memorist.memory import Memory
from memorist.records.record import Kind, Record
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio
load_file = partial(load, format="memorist", trusted=True)


async def load_chat(memory: Memory, lines: Sequence[str | bytes]) -> ImportReport:
    with TemporaryDirectory() as folder:
        file = Path(folder, "chat.jsonl")
        file.write_bytes(
            b"\n".join((line if isinstance(line, bytes) else line.encode()).rstrip(b"\n") for line in lines)
        )
        return await load_file(memory, file)


def lines_of(report: ImportReport) -> list[int]:
    return [int(each.where.removeprefix("line ")) for each in report.bad]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(tmp_path / "chat.db", embedder=HashEmbedder()) as memory:
        yield memory


def chat(*messages: dict[str, Any]) -> list[str]:
    return [json.dumps(message) for message in messages]


async def only(memory: Memory) -> Record:
    [record] = (await memory.browse(superseded=True)).records
    return record


async def test_a_line_becomes_a_message(memory: Memory) -> None:
    line = {
        "id": "D1:3", "group": "conv-26", "session": "session_1", "timestamp": "1:56 pm on 8 May, 2023",
        "speaker": "Caroline", "role": "user", "text": "I went to a support group",
        "metadata": {"mood": "good"}, "query": "SELECT 1",
    }  # fmt: skip
    report = await load_chat(memory, chat(line))
    assert (report.added, report.existing, report.bad) == (1, 0, [])
    record = await only(memory)
    assert (record.id, record.kind, record.content) == ("conv-26/D1:3", Kind.MESSAGE, "I went to a support group")
    assert record.scope.session == "conv-26/session_1"
    assert record.happened_at is not None and record.happened_at.isoformat() == "2023-05-08T13:56:00+00:00"
    assert record.payload == {"speaker": "Caroline", "role": "user", "id": "D1:3"}
    assert record.metadata == {"mood": "good", "query": "SELECT 1"}


async def test_the_next_batch_is_embedded_while_one_is_stored(tmp_path: Path) -> None:
    embedded: list[tuple[int, int]] = []

    class Noting(HashEmbedder):
        async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
            stored = await opened.count()
            embedded.extend((stored, int(text.removeprefix("message "))) for text in texts)
            return await super().embed(texts, role)

    opened = Memory.open(tmp_path / "chat.db", embedder=Noting())
    async with opened as memory:
        report = await load_chat(memory, chat(*({"id": n, "text": f"message {n}"} for n in range(1500))))
        assert (report.added, await memory.count()) == (1500, 1500)
        assert [int(each.content[8:]) async for each in memory.iterate()] == list(range(1500))
        assert sorted(number for _, number in embedded) == list(range(1500))  # each once
        assert any(stored < number // 300 * 300 for stored, number in embedded)
        again = await load_chat(memory, chat(*({"id": n, "text": f"message {n}"} for n in range(1500))))
        assert (again.added, again.existing, len(embedded)) == (0, 1500, 1500)


async def test_only_the_text_must_be_there(memory: Memory) -> None:
    await load_chat(memory, chat({"content": "Hello"}))
    record = await only(memory)
    assert (record.content, record.scope.session, record.happened_at) == ("Hello", None, None)
    assert record.payload == record.metadata == {}


async def test_null_and_blank_fields_count_as_missing(memory: Memory) -> None:
    names = ("id", "group", "session", "speaker", "role", "timestamp", "metadata", "user")
    await load_chat(memory, chat({"text": "Hello", **dict.fromkeys(names)}))
    await load_chat(memory, chat({"text": "Hello", **dict.fromkeys(names[:6], " ")}))
    assert (await only(memory)).payload == {}


async def test_text_goes_before_content_and_nothing_is_lost(memory: Memory) -> None:
    await load_chat(memory, chat({"text": "a", "content": "b", "tag": 1, "metadata": {"tag": 2}}))
    record = await only(memory)
    assert (record.content, record.metadata) == ("a", {"content": "b", "tag": 2, "tag_": 1})


async def test_messages_of_one_moment_keep_the_order_of_the_file(memory: Memory) -> None:
    lines = chat(*({"id": n, "session": "s", "text": f"number {n}", "timestamp": "2024-05-01"} for n in range(700)))
    await load_chat(memory, lines)
    page = await memory.browse(order="oldest", limit=1000)
    assert [record.content for record in page.records] == [f"number {n}" for n in range(700)]


async def test_the_same_file_twice_adds_nothing(memory: Memory) -> None:
    lines = chat(
        {"id": 1, "group": "g", "text": "Hi"},
        {"speaker": "Ann", "text": "Thanks!"},
        {"speaker": "Ann", "text": "Thanks!"},
    )
    assert (await load_chat(memory, lines)).added == 3
    report = await load_chat(memory, lines)
    assert (report.added, report.existing, report.bad) == (0, 3, [])
    assert (await load_chat(memory, [*lines, *chat({"text": "more"})])).added == 1


async def test_who_says_thanks_twice_is_remembered_twice(memory: Memory) -> None:
    thanks = {"session": "s", "speaker": "Ann", "text": "Thanks!"}
    report = await load_chat(
        memory, chat(thanks, thanks, thanks | {"speaker": "Bob"}, thanks | {"session": "t"}, thanks | {"timestamp": 0})
    )
    assert report.added == await memory.count() == 5


async def test_an_id_is_unique_in_its_group_and_without_one_in_its_session(memory: Memory) -> None:
    lines = chat(
        {"group": "a", "session": "1", "id": "x", "text": "one"},
        {"group": "b", "session": "1", "id": "x", "text": "two"},
        {"group": "a", "session": "2", "id": "x", "text": "one"},  # the first again
        {"session": "a", "id": "x", "text": "three"},
        {"session": "b", "id": "x", "text": "four"},
        {"id": "x", "text": "five"},
        {"group": "a/b", "id": "c", "text": "six"},
        {"group": "a", "id": "b/c", "text": "seven"},
        {"id": "a/b/c", "text": "eight"},
        {"group": "g" * 300, "id": "i" * 300, "text": "nine"},
    )
    report = await load_chat(memory, lines)
    assert (report.added, report.existing, report.bad) == (9, 1, [])


async def test_an_id_that_means_another_text_is_told_and_not_swallowed(memory: Memory) -> None:
    report = await load_chat(memory, chat({"id": 1, "text": "one"}, {"id": 1, "text": "two"}))
    assert report.added == 1
    assert [(each.where, "another text" in each.reason) for each in report.bad] == [("line 2", True)]
    assert (await only(memory)).content == "one"
    assert lines_of(await load_chat(memory, chat({"id": 1, "text": "three"}))) == [1]


async def test_a_message_that_was_revised_since_is_there(memory: Memory) -> None:
    await load_chat(memory, chat({"id": "1", "text": "one"}))
    await memory.revise("1", content="uno")
    report = await load_chat(memory, chat({"id": "1", "text": "one"}))
    assert (report.existing, report.bad) == (1, [])


async def test_a_line_names_its_user_or_is_the_scopes(memory: Memory) -> None:
    lines = chat(
        {"user": "alice", "text": "Hi"}, {"user": "bob", "text": "Hi"}, {"text": "Hi"}, {"user": 7, "text": "Hi"}
    )
    assert (await load_chat(memory, lines)).added == 4
    assert await memory.admin.users() == {"alice": 1, "bob": 1, "7": 1, None: 1}
    report = await load_chat(memory.scoped(user="alice"), lines)
    assert (report.added, report.existing) == (1, 1)  # the line without a user is the second "Hi" of alice here
    assert lines_of(report) == [2, 4]
    assert "'bob'" in report.bad[0].reason


BAD: dict[str, tuple[Any, str]] = {
    "broken": ('{"text": "Hi"', "not JSON"),
    "no object": ('["Hi"]', "a list"),
    "a bare text": ('"Hi"', "a string"),
    "no text": ({"speaker": "Ann"}, "neither text nor content"),
    "blank text": ({"text": " \n"}, "blank"),
    "text is a list": ({"content": [{"type": "text"}]}, "string"),
    "speaker is a number": ({"text": "Hi", "speaker": 7}, "speaker"),
    "session is a list": ({"text": "Hi", "session": ["a"]}, "session"),
    "id is a truth value": ({"text": "Hi", "id": True}, "id"),
    "metadata is a text": ({"text": "Hi", "metadata": "x"}, "metadata"),
    "bad time": ({"text": "Hi", "timestamp": "yesterday-ish"}, "point in time"),
    "half a time": ({"text": "Hi", "timestamp": "8 May"}, "point in time"),
    "time is a list": ({"text": "Hi", "timestamp": [2024]}, "point in time"),
    "blank user": ({"text": "Hi", "user": " "}, "user"),
    "long session": ({"text": "Hi", "group": "g" * 300, "session": "s" * 300}, "512"),
    "not a number": ('{"text": "Hi", "weight": NaN}', "NaN"),
    "deep": ('{"text": "Hi", "metadata": {"a": ' + "[" * 100_000 + "]" * 100_000 + "}}", "JSON"),
    "not UTF-8": (b'{"text": "caf\xe9"}', "UTF-8"),
    "a record": ({"id": "1", "kind": "note", "tenant": "t", "content": "x", "created_at": "2024-01-01",
                  "updated_at": "2024-01-01", "version": 1}, "record of an export"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_line_is_numbered_and_the_others_are_kept(memory: Memory, name: str) -> None:
    bad, reason = BAD[name]
    bad = json.dumps(bad) if isinstance(bad, dict) else bad
    report = await load_chat(memory, ['{"text": "before"}', "", "  \n", bad, '{"text": "after"}'])
    assert report.added == await memory.count() == 2
    [line] = report.bad
    assert line.where == "line 4" and reason in line.reason


async def test_a_text_that_the_embedder_refuses_is_a_bad_line(tmp_path: Path) -> None:
    class Picky(HashEmbedder):
        async def embed(self, texts: Any, role: Any = None) -> Any:
            if any("refused" in text for text in texts):
                raise EmbedderError("refused")
            return await super().embed(texts)

    async with Memory.open(tmp_path / "picky.db", embedder=Picky()) as memory:
        report = await load_chat(memory, chat({"text": "a"}, {"text": "refused"}, {"text": "b"}))
        assert report.added == 2 and lines_of(report) == [2]
        with pytest.raises(EmbedderError):
            await load_chat(memory, chat({"text": "refused"}, {"text": "refused too"}))


async def test_loading_what_is_there_embeds_nothing(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = chat({"text": "a"}, {"text": "b"})
    await load_chat(memory, lines)

    async def never(*_: object) -> None:
        raise AssertionError("embedded again")

    monkeypatch.setattr(core_of(memory), "embed", never)
    assert (await load_chat(memory, lines)).existing == 2


async def test_a_file_says_itself_what_it_is(memory: Memory, tmp_path: Path) -> None:
    chat_file, export_file = tmp_path / "chat.jsonl", tmp_path / "export.jsonl"
    chat_file.write_bytes(b'\xef\xbb\xbf{"text": "Hi", "user": "alice"}\r\n\r\n{"text": "a\xe2\x80\xa8b"}')
    assert (await load_file(memory, chat_file)).added == 2
    export_file.write_text(
        "\n" + "\n".join([line async for line in memory.export(everyone=True)]), encoding="utf-8-sig"
    )
    async with Memory.open(tmp_path / "other.db", embedder=HashEmbedder()) as other:
        assert (await load_file(other, str(export_file))).added == 2
        assert await other.admin.users() == await memory.admin.users()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"text": "Hi"}'.encode("utf-16"), "UTF-16"),
        (b"\x1f\x8b\x08\x00", "compressed"),
        (b'{"format": "memorist", "version": 9}', "version 9"),
    ],
)
async def test_a_file_that_cannot_be_read_at_all_is_refused(
    memory: Memory, tmp_path: Path, content: bytes, reason: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(FormatError, match=reason):
        await load_file(memory, file)


async def test_a_missing_file_and_a_folder_are_refused(memory: Memory, tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(InvalidInputError, match=r"cannot read|not of the format"):
            await load_file(memory, path)


async def test_an_empty_file_holds_nothing(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    report = await load_file(memory, tmp_path / "empty")
    assert (report.added, report.existing, report.bad) == (0, 0, [])
