"""Files, folders, zips and the standard input; JSON of any size and print, in bounded memory."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imported import Write, items
from memorist.errors import FormatError, InvalidInputError
from memorist.imports import Source, export, load, survey
from memorist.imports.streaming import keys_of, walk
from memorist.memory import Memory
from memorist.testing import HashEmbedder

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


class Slow(StringIO):
    """Gives a few characters at a time, so that every value is cut."""

    def read(self, size: int | None = -1) -> str:
        return super().read(3)


@settings(max_examples=200)
@given(value=values, indent=st.sampled_from([None, 2]), depth=st.integers(0, 4))
def test_a_walk_yields_what_json_holds(value: Any, indent: int | None, depth: int) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    for stream in (StringIO(text), Slow(text)):
        found = list(walk(stream, lambda path: len(path) <= depth))
        assert built(found) == value or (value in ([], {}) and not found) or has_empty(value)


def built(found: list[tuple[tuple[str | int, ...], Any]]) -> Any:
    """Return the value that a walk went through."""
    if len(found) == 1 and len(found[0][0]) == 1:
        return found[0][1]
    made: Any = {}
    for (_, *path), value in found:
        place = made
        for key in path[:-1]:
            place = place.setdefault(key, {})
        place[path[-1]] = value
    return listed(made)


def listed(made: Any) -> Any:
    if not isinstance(made, dict):
        return made
    inner = {key: listed(each) for key, each in made.items()}
    return list(inner.values()) if inner and all(isinstance(key, int) for key in inner) else inner


def has_empty(value: Any) -> bool:
    """Whether something empty is in a value: a walk that goes into it yields nothing of it."""
    if not isinstance(value, dict | list):
        return False
    return not value or any(map(has_empty, value.values() if isinstance(value, dict) else value))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"a": 1}, {"b": ]', "line 1"),
        ("[1, 2\n3]", "line 2: expected , or ]"),
        ("[1, 2", "it ends in the middle"),
        ('["open', "it ends in the middle"),
        ('[{"a" 1}]', "expected :"),
        ("[1, 2] ]", "line 1"),
        ("[nope]", "line 1"),
    ],
)
def test_what_is_no_json_is_told_by_its_line(text: str, reason: str) -> None:
    with pytest.raises(FormatError, match=reason.replace("[", r"\[").replace("]", r"\]")):
        list(walk(StringIO(text), lambda path: True))


def test_values_may_follow_each_other() -> None:
    assert [value for _, value in walk(StringIO('{"a": 1}\n{"b":\n2} 3'), lambda path: False)] == [
        {"a": 1},
        {"b": 2},
        3,
    ]


def test_the_keys_of_a_beginning_that_is_cut_off() -> None:
    assert keys_of('[{"title": "x", "mapping": {"a": {"b"') == ("[", frozenset(("title", "mapping")))
    assert keys_of('{"a": 1, "b": [1, 2], "c') == ("{", frozenset(("a", "b")))
    assert keys_of("Hello") == ("", frozenset())
    assert keys_of("[1, 2]") == ("[", frozenset())


def test_a_pretty_printed_array_is_not_taken_for_lines(write: Write) -> None:
    given = [{"a": 1}, {"a": 2}]
    for indent in (None, 0, 1, 4):
        with Source(write("a.jsonl", json.dumps(given, indent=indent))) as source:
            assert [value for _, value in source.parts[0].records()] == given


def test_the_parts_of_folders_and_zips(write: Write, pack: Write, tmp_path: Path) -> None:
    for name in ("b/c.txt", "a.txt", ".git/config", "b/.DS_Store"):
        write(f"folder/{name}", "x")
    with Source(tmp_path / "given" / "folder") as source:
        assert [(part.name, part.folder) for part in source.parts] == [("a.txt", "folder"), ("b/c.txt", "b")]
        assert source.part("b/c.txt") is source.parts[1]
    with Source(pack("z.zip", {"b/c.txt": "x", "a.txt": "x", "__MACOSX/._a.txt": "x"})) as source:
        assert [(part.name, part.folder) for part in source.parts] == [("a.txt", "z"), ("b/c.txt", "b")]


def test_zips_in_a_folder_are_read(pack: Write, write: Write) -> None:
    path = pack("chats/WhatsApp Chat - Bob.zip", {"_chat.txt": "[31/12/23, 21:41:05] Bob: Hi\n"})
    write("chats/broken.zip", b"PK\x03\x04 and no more")
    told = survey(path.parent)
    assert (told.messages, told.unknown) == (1, ["broken.zip"])
    assert [item.conversation for item in items(path.parent)] == ["Bob"] == [item.conversation for item in items(path)]


def test_the_standard_input_is_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    with Source("-") as source:
        [part] = source.parts
        assert list(part.lines()) == list(part.lines()) == [(1, "one"), (2, "two")]
        assert (part.path, part.folder) == (None, "")


def chats(stream: io.TextIOBase) -> None:
    """ChatGPT's export of 240 conversations, 90 kB each."""
    for number in range(240):
        nodes = {
            f"m{place}": {
                "message": {
                    "id": f"m{place}", "author": {"role": "user"}, "create_time": 1.7e9 + place,
                    "content": {"content_type": "text", "parts": [f"{place} " + "word " * 60]},
                },
                "parent": f"m{place - 1}", "children": [f"m{place + 1}"],
            }
            for place in range(180)
        }  # fmt: skip
        talk = {"title": "t", "create_time": 1.7e9, "id": f"c{number}", "mapping": nodes, "current_node": "m179"}
        stream.write(("[" if number == 0 else ",") + json.dumps(talk))
    stream.write("]")


def telegram(stream: io.TextIOBase) -> None:
    """One chat of 100,000 messages."""
    stream.write('{"name": "Bob", "type": "personal_chat", "id": 1, "messages": [')
    for number in range(100_000):
        said = {"id": number, "type": "message", "date_unixtime": str(1_700_000_000 + number), "from": "Bob",
                "text": "word " * 25}  # fmt: skip
        stream.write(("," if number else "") + json.dumps(said))
    stream.write("]}")


def whatsapp(stream: io.TextIOBase) -> None:
    for number in range(50_000):
        stream.write(f"{1 + number % 28:02}.12.23, 21:{number % 60:02} - Bob: {number} " + "word " * 80 + "\n")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell a process's peak")
@pytest.mark.parametrize(
    ("name", "make"), [("c.json", chats), ("result.json", telegram), ("WhatsApp Chat with Bob.txt", whatsapp)]
)
def test_a_large_file_is_read_in_bounded_memory(tmp_path: Path, name: str, make: Callable[[Any], None]) -> None:
    path = tmp_path / name
    with path.open("w") as stream:
        make(stream)
    assert path.stat().st_size > 20_000_000
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from memorist.imports import read\n"
        "from memorist.imports.registry import readers\n"
        "readers()\n"  # which loads them
        "def peak():\n"
        "    [line] = [each for each in Path('/proc/self/status').open() if each.startswith('VmHWM')]\n"
        "    return int(line.split()[1])\n"
        "before = peak()\n"
        "count = sum(1 for _ in read(sys.argv[1]))\n"
        "print(count, (peak() - before) // 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    count, more = map(int, done.stdout.split())
    assert count > 40_000
    assert more < 10, "MiB beside what the program itself takes"


@pytest.mark.anyio
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
async def test_names_that_are_not_utf_8_are_kept_with_escapes(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"vault\xe9")
    folder.mkdir()
    files = {
        b"caf\xe9.md": "A note about tea\n", b"caf\xe8.md": "A note about coffee\n", b"t\xe8xt.txt": "A text\n",
        b"rows\xe8.csv": "id,text\n1,A row\n", b"WhatsApp Chat with B\xf6b.txt": "31.12.23, 21:41 - Anna: Thanks!\n",
        b"unknown\xff.bin": "\0\0\0",
    }  # fmt: skip
    for name, text in files.items():
        (folder / os.fsdecode(name)).write_text(text)
    found = survey(folder)
    assert found.unknown == ["unknown\\udcff.bin"] and (found.notes, found.messages) == (4, 1)
    report = await load(memory, folder)
    assert (report.added, report.bad) == (5, [])
    assert (await load(memory, folder)).existing == 5
    [tea] = [each async for each in memory.iterate(where={"file": "caf\\udce9.md"})]
    assert tea.content == "caf\\udce9\n\nA note about tea"
    assert (await load(memory, folder / os.fsdecode(b"caf\xe9.md"))).existing == 1
    with pytest.raises(InvalidInputError, match=r"cannot read .*gone\\udce9"):
        await load(memory, folder / os.fsdecode(b"gone\xe9"))
    written = await export(memory, folder / os.fsdecode(b"out\xe9.json"), to="memorist")
    assert written.written == 5
    with pytest.raises(InvalidInputError, match=r"not UTF-8; rename .*\\udce9\.db"):
        await memory.admin.backup(folder / os.fsdecode(b"copy\xe9.db"))
    with pytest.raises(InvalidInputError, match=r"not UTF-8; rename .*\\udce9\.db"):
        async with Memory.open(folder / os.fsdecode(b"own\xe9.db"), embedder=HashEmbedder()):
            pass
