"""Mango's training from files of lines, in Python and at the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memorist.adapters.mango import MemoryService, export_lines, train_lines

pytestmark = pytest.mark.anyio

LINES = [
    '{"question": "how many users?", "tool_name": "query", "tool_args": {"sql": "SELECT count(*) FROM users"}}',
    "",
    "   ",
    '{"type": "text", "text": "Revenue is in cents", "id": "t"}',
    '{"type": "tool", "id": "c", "question": "how many orders?", "tool_name": "query", "tool_args": {}}',
    "{not json",
    "[1]",
    '{"type": "other"}',
    '{"question": "how many?"}',
    '{"question": "how many?", "tool_name": "query", "tool_args": "text"}',
]


async def test_one_entry_a_line_bad_ones_counted(memory: MemoryService) -> None:
    report = await train_lines(memory, LINES)

    assert report.imported == 3
    assert [each.number for each in report.bad] == [6, 7, 8, 9, 10]
    assert [memory.count(), memory.training_count()] == [1, 1]
    assert "not JSON" in report.bad[0].reason
    assert "list" in report.bad[1].reason
    assert "'other'" in report.bad[2].reason
    assert report.bad[3].reason == "it lacks tool_name, tool_args"
    exported = [line async for line in export_lines(memory)]
    again = await train_lines(memory, [line.encode() for line in exported])
    assert (again.imported, again.bad) == (3, [])
    assert [line async for line in export_lines(memory)] == exported


async def test_a_byte_order_mark_and_bytes_that_are_no_text(memory: MemoryService) -> None:
    report = await train_lines(memory, [b"\xef\xbb\xbf" + LINES[0].encode(), b"\xff\xfe"])
    assert report.imported == 1
    assert [each.number for each in report.bad] == [2]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    from memorist.cli.app import app

    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "memory.db"))
    monkeypatch.setenv("MEMORIST_EMBEDDER", "hash")
    return lambda *arguments, **given: CliRunner().invoke(app, ["mango", *map(str, arguments)], **given)


@pytest.mark.parametrize("in_chroma", [False, True])
def test_train_and_export_at_the_command_line(tmp_path: Path, run: Any, in_chroma: bool) -> None:
    where = ["--persist-dir", tmp_path / "chroma", "--collection", "mine"] if in_chroma else ["--user", "alice"]
    if in_chroma:
        pytest.importorskip("chromadb")
    (tmp_path / "lines.jsonl").write_text("\n".join(LINES))

    trained = run("train", tmp_path / "lines.jsonl", *where)
    exported = run("export", tmp_path / "out.jsonl", *where)

    assert trained.exit_code == 3
    assert "3 imported, 5 bad lines" in trained.output
    assert "line 6: it is not JSON" in trained.output
    assert exported.exit_code == 0
    assert "3 entries written" in exported.output
    entries = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [each["type"] for each in entries] == ["tool", "text", "training"]
    again = run("train", "-", *where, input=(tmp_path / "out.jsonl").read_text())
    assert (again.exit_code, again.output.strip()) == (0, "3 imported, 0 bad lines")
    assert run("export", *where).output == (tmp_path / "out.jsonl").read_text()
    assert run("export", tmp_path / "out.jsonl", *where).exit_code == 2  # never over a file that is there


def test_a_file_that_is_not_there(run: Any, tmp_path: Path) -> None:
    assert run("train", tmp_path / "none.jsonl").exit_code == 1
