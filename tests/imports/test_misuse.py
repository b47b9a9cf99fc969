"""What is not as it should be: empty, damaged, unreadable, in a zip in a zip, interrupted, or imported twice."""

import asyncio
import random
import zipfile
from pathlib import Path

import pytest

from imported import Write, bad, items
from memorist.errors import FormatError, InvalidInputError
from memorist.imports import Bad, load, survey
from memorist.memory import Memory

pytestmark = pytest.mark.anyio
CHAT = "".join(f"31.12.23, 21:{number % 60:02} - Anna: message {number}\n" for number in range(700))


@pytest.mark.parametrize("name", ["a.txt", "a.json", "a.csv", "a.jsonl"])
def test_an_empty_file_is_said_to_be_empty(write: Write, name: str) -> None:
    with pytest.raises(FormatError, match=f"{name} is empty$"):
        survey(write(name, ""))


def test_an_empty_folder_is_said_to_be_empty(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"is empty$"):
        survey(tmp_path)


@pytest.mark.parametrize(
    "text", ["[]", "{}", '\ufeff{"results": []}\n', '{"results": [], "relations": []}', "[]\n[]", " \n"]
)
def test_a_file_with_nothing_in_it_is_said_to_hold_no_records(write: Write, text: str) -> None:
    with pytest.raises(FormatError, match=r"a\.json holds no records$"):
        survey(write("a.json", text))
    assert survey(write("mem0.json", text), format="mem0").counts() == "nothing to store"


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, "[[], ", "[] x", '{"results": [null]}'])
def test_what_is_no_json_or_holds_something_is_of_no_format(write: Write, text: str) -> None:
    with pytest.raises(FormatError, match="not of a known format"):
        survey(write("a.json", text))


@pytest.mark.parametrize("name", ["a.bin", "a.md", "a.csv", "a.json", "a.mbox", "WhatsApp Chat with Bob.txt", "a.db"])
def test_junk_is_of_no_format(write: Write, name: str) -> None:
    with pytest.raises(FormatError, match="not of a known format"):
        survey(write(name, random.Random(1).randbytes(100_000)))


def test_a_zip_in_a_zip_is_to_be_unpacked(write: Write, tmp_path: Path) -> None:
    chat = write("_chat.txt", CHAT)
    for outer, inner in (("inner.zip", chat), ("outer.zip", tmp_path / "inner.zip")):
        with zipfile.ZipFile(tmp_path / outer, "w") as archive:
            archive.write(inner, inner.name)
    assert survey(tmp_path / "inner.zip").messages == 700
    with pytest.raises(FormatError, match=r"outer.zip holds a zip that cannot be opened in place; unpack it"):
        survey(tmp_path / "outer.zip")


def test_what_may_not_be_read_is_said_to_be_so(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("chats/_chat.txt", CHAT)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:  # those who run tests as root may read everything
        patched.setattr("memorist.imports.sources.opened", refuse)
        with pytest.raises((FormatError, InvalidInputError), match="Permission denied"):
            survey(path)
    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(InvalidInputError, match=r"cannot read .*chats: Permission denied"):
        survey(path.parent)


def test_the_first_bad_parts_are_told_before_anything_is_stored(write: Write) -> None:
    told = survey(write("a.csv", "text,time\n" + "Hello,some day\n" * 50))
    assert (told.bad, len(told.first_bad)) == (50, 20)
    assert told.first_bad[0] == Bad("line 2", told.first_bad[0].reason, "a.csv")
    assert "'some day' is not a point in time" in told.first_bad[0].reason


async def test_of_many_bad_parts_the_first_are_told(memory: Memory, write: Write) -> None:
    report = await load(memory, write("a.csv", "text,time\n" + "Hello,some day\n" * 1200))
    assert (report.added, report.failed, len(report.bad)) == (0, 1200, 1000)
    assert report.bad[-1].where == "line 1001"


def test_the_delimiter_that_excel_writes_above_a_table(write: Write) -> None:
    [item] = items(write("a.csv", "sep=;\ntext;tag\nHello, you;x\n"))
    assert (item.content, item.metadata, item.where) == ("Hello, you", {"tag": "x"}, "line 3")


def test_a_delimiter_in_quotes_is_none(write: Write) -> None:
    path = write("a.csv", '"Message, to, us";from\nHello;Bob\n')
    assert [each.speaker for each in items(path, columns={"text": "message, to, us"})] == ["Bob"]


def test_a_quote_that_never_ends_is_told_by_its_line(write: Write) -> None:
    path = write(
        "a.csv", 'text,time\nFirst,2024-01-02\n5" of rain,2024-01-02\n"Never closed,2024-01-03\n' + "x,y\n" * 9
    )
    [told] = bad(path)
    assert told.reason == "not a table from line 4 on: a quote opened there is never closed"
    assert survey(path).notes == 2


async def test_two_imports_at_once_store_once(memory: Memory, write: Write) -> None:
    path = write("WhatsApp Chat with Bob.txt", CHAT)
    await asyncio.gather(load(memory, path), load(memory, path))
    assert await memory.count() == 700


async def test_an_import_that_was_cancelled_goes_on(memory: Memory, write: Write) -> None:
    path = write("WhatsApp Chat with Bob.txt", CHAT)
    task: asyncio.Task[object] | None = None

    def stop(number: int) -> None:
        if number and task is not None:
            task.cancel()

    task = asyncio.create_task(load(memory, path, progress=stop))
    with pytest.raises(asyncio.CancelledError):
        await task
    stored = await memory.count()
    assert 0 < stored < 700
    report = await load(memory, path)
    assert (report.added, report.existing) == (700 - stored, stored)
