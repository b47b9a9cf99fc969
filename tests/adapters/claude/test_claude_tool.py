"""Claude's memory tool: the same commands to ours and to the file-system tool of Anthropic's package, side by side."""

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic.tools.memory")

import httpx2
from anthropic import Anthropic
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool

from memorist import Kind, Memory, sync
from memorist.adapters.claude import MemoristAsyncMemoryTool, MemoristMemoryTool
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

LINES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


def create(path: str, text: str = "x") -> dict[str, Any]:
    return {"command": "create", "path": path, "file_text": text}


def view(path: str, *lines: int) -> dict[str, Any]:
    return {"command": "view", "path": path, **({"view_range": list(lines)} if lines else {})}


def replace(path: str, old: str, new: str) -> dict[str, Any]:
    return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}


def insert(path: str, line: int, text: str) -> dict[str, Any]:
    return {"command": "insert", "path": path, "insert_line": line, "insert_text": text}


def delete(path: str) -> dict[str, Any]:
    return {"command": "delete", "path": path}


def rename(old: str, new: str) -> dict[str, Any]:
    return {"command": "rename", "old_path": old, "new_path": new}


A = "/memories/a.txt"
SCRIPTS: dict[str, list[dict[str, Any]]] = {
    "an empty memory": [view("/memories"), view("/memories/"), view(A), delete(A), rename(A, "/memories/b.txt")],
    "create": [create(A, LINES), view(A), create(A, "again"), view(A), create("/memories")],
    "a blank file": [create(A, ""), view(A), insert(A, 0, "first"), view(A), replace(A, "first\n", ""), view(A)],
    "spaces alone": [create(A, "  \n "), view(A), insert(A, 1, " "), view(A)],
    "no newline at the end": [create(A, "one"), view(A), insert(A, 1, "two\n\n"), view(A)],
    "carriage returns": [create(A, "one\r\ntwo\r\n"), view(A), insert(A, 1, "x"), view(A), replace(A, "two\r", "2")],
    "other line ends": [create(A, "one\u2028two\x0bthree\n"), view(A), insert(A, 1, "x"), view(A)],
    "not ASCII": [create("/memories/é.txt", "記憶 é"), view("/memories/é.txt"), view("/memories")],
    "ranges": [
        create(A, LINES), *(view(A, *each) for each in [(2, 3), (1, -1), (6, 99), (0, 2), (5, 2), (-3, 2), (9, 9)]),
    ],
    "half a range": [create(A, LINES), view(A, 2)],
    "replace": [
        create(A, LINES), replace(A, "four", "4"), replace(A, "one\ntwo", "1\n2"), replace(A, "seven\n", "7"), view(A),
        replace(A, "nothing", "x"), replace(A, "e", "x"), replace("/memories/b", "a", "b"),
        replace("/memories", "a", "b"),
    ],
    "many places": [create(A, "aaaa\nb\naa\n"), replace(A, "aa", "x"), replace(A, "", "x"), view(A)],
    "insert": [
        create(A, LINES), insert(A, 0, "top\n"), insert(A, 8, "end"), insert(A, 3, "in\nbetween"), view(A),
        insert(A, 99, "x"), insert(A, -1, "x"), insert("/memories/b", 0, "x"), insert("/memories", 0, "x"),
    ],
    "folders": [
        create("/memories/b/c/d.txt", "12345"), create("/memories/b/e.txt", "1"), create("/memories/b-f.txt", ""),
        create("/memories/b/c/g/h.txt", "x"), create("/memories/.hidden", "x"), create("/memories/B.txt", "x" * 1536),
        view("/memories"), view("/memories/b"), view("/memories/b/"), view("/memories/b/c"), create("/memories/b"),
        replace("/memories/b", "a", "b"), insert("/memories/b", 0, "x"), view("/memories/.hidden"),
    ],
    "sizes": [
        *(create(f"/memories/{size}", "x" * size) for size in (0, 1, 1023, 1024, 1536, 2000, 1048576)),
        view("/memories"),
    ],
    "delete": [
        create(A), delete(A), view(A), create("/memories/b/c.txt"), create("/memories/bc.txt"), delete("/memories/b"),
        view("/memories"), delete("/memories"), delete("/memories/"), delete("/memories/b"),
    ],
    "rename": [
        create(A, LINES), rename(A, "/memories/b/c.txt"), view(A), view("/memories/b/c.txt"), create(A),
        rename(A, "/memories/b/c.txt"), rename("/memories/b/c.txt", "/memories/b"),
        rename("/memories/x", "/memories/y"), rename("/memories/b", "/memories/d"), view("/memories/d/c.txt"),
        rename("/memories", "/memories/e"), view("/memories"),
    ],
    "paths": [
        create("notes.txt"), create("/etc/passwd"), create("/memories/../x"), create("/memories/a/../../x"),
        create("/memories//a//./b.txt"), view("/memories/a/b.txt"), view("/memories/x/../a/b.txt"),
        create("/memoriesx"), view("/memories/x"),
    ],
}  # fmt: skip


def said(tool: Any, command: dict[str, Any]) -> str:
    try:
        return str(tool.call(command))
    except ToolError as error:
        return f"error: {error.content}"


def comparable(text: str) -> str:
    """Return a text without the sizes of folders, which on a disk are those of its file system."""
    text = re.sub(r"^[\d.]+[BKMG]\t(/.*/)$", r"\1", text, flags=re.MULTILINE)
    return re.sub(r"(excluding hidden items:\n)[\d.]+[BKMG]\t", r"\1", text)


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=list(SCRIPTS))
async def test_it_says_what_the_file_system_tool_says(
    script: list[dict[str, Any]], everyone: Memory, tmp_path: Path
) -> None:
    theirs, ours = BetaLocalFilesystemMemoryTool(str(tmp_path)), MemoristMemoryTool(everyone)
    for command in script:
        assert comparable(said(ours, command)) == comparable(said(theirs, command)), command
    assert ours.clear_all_memory() == theirs.clear_all_memory()
    assert said(ours, view("/memories")).splitlines()[1:] == ["0B\t/memories"]
    assert ours.to_dict() == theirs.to_dict()


async def test_the_asynchronous_method_does_the_same(alice: Memory) -> None:
    tool = MemoristAsyncMemoryTool(alice)
    assert isinstance(tool, BetaAsyncAbstractMemoryTool)
    assert isinstance(MemoristMemoryTool(alice), BetaAbstractMemoryTool)
    for command in [create(A, LINES), replace(A, "two", "2"), insert(A, 0, "zero"), rename(A, "/memories/b.txt")]:
        assert await tool.call(command)
    shown = await tool.call(view("/memories/b.txt", 1, 3))
    assert shown == "Here's the content of /memories/b.txt with line numbers:\n     1\tzero\n     2\tone\n     3\t2"
    assert await tool.call(delete("/memories/b.txt")) == "Successfully deleted /memories/b.txt"
    with pytest.raises(ToolError):
        await tool.call(view("/memories/b.txt"))
    assert await tool.clear_all_memory() == "All memory cleared"


async def test_a_file_is_a_note_with_versions_behind_a_wall(alice: Memory, bob: Memory) -> None:
    tool = MemoristAsyncMemoryTool(alice)
    await tool.call(create(A, "Prefers homestays"))
    await tool.call(replace(A, "homestays", "hotels"))
    await tool.call(rename(A, "/memories/travel.txt"))
    [hit] = await alice.recall("prefers hotels")
    assert (hit.record.key, hit.record.content) == ("/memories/travel.txt", "Prefers hotels")
    texts = [change.record and change.record.content for change in await alice.history(hit.record.id)]
    assert texts == ["Prefers homestays", "Prefers hotels", "Prefers hotels"]
    assert await bob.count() == 0
    with pytest.raises(ToolError):
        await MemoristAsyncMemoryTool(bob).call(view("/memories/travel.txt"))
    await alice.remember("A note of somebody's own", key="shopping")
    await tool.clear_all_memory()
    assert [record.content for record in await alice.recent()] == ["A note of somebody's own"]
    assert await alice.count(kind=Kind.NOTE) == 1


@pytest.mark.parametrize("path", ["/memories/" + "x" * 600, "/memories/a\0b"])
async def test_a_path_that_no_key_can_hold_is_told_to_the_model(alice: Memory, path: str) -> None:
    with pytest.raises(ToolError, match="key"):
        await MemoristAsyncMemoryTool(alice).call(create(path))


async def test_what_it_would_write_waits_for_the_users_yes(tmp_path: Path) -> None:
    async with Memory.open(tmp_path / "memory.db", embedder=HashEmbedder(), confirm=True) as memory:
        tool = MemoristAsyncMemoryTool(memory)
        for command in (
            create(A, LINES),
            replace(A, "two", "2"),
            rename(A, "/memories/b.txt"),
            delete("/memories/b.txt"),
        ):
            for _ in range(2):
                assert "is pending approval" in await tool.call(command)
            [proposal] = await memory.admin.inbox()
            await memory.admin.approve(proposal.id)
        assert await memory.count() == 0 and "2\nthree" in proposal.content


async def test_a_file_is_no_folder(alice: Memory) -> None:
    tool = MemoristAsyncMemoryTool(alice)
    await tool.call(create(A))
    for command in (create(A + "/b"), rename(A, A + "/b")):
        with pytest.raises(ToolError, match="not a directory"):
            await tool.call(command)


async def test_a_model_uses_it_through_anthropics_client(alice: Memory) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        told = request.read().decode()
        use = {"type": "tool_use", "id": "t1", "name": "memory", "input": create(A, "Prefers homestays")}
        done = "File created successfully" in told
        message = {
            "id": "m1", "type": "message", "role": "assistant", "model": "claude",
            "content": [{"type": "text", "text": "Noted."}] if done else [use],
            "stop_reason": "end_turn" if done else "tool_use", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        return httpx2.Response(200, json=message)

    with Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(answer))) as client:
        last = client.beta.messages.tool_runner(
            model="claude",
            max_tokens=100,
            messages=[{"role": "user", "content": "I like homestays"}],
            tools=[MemoristMemoryTool(sync.Memory(alice))],
        ).until_done()
    assert last.content[0].text == "Noted."
    assert [record.content for record in await alice.recent()] == ["Prefers homestays"]
