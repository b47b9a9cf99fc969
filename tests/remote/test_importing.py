"""Importing into a server's memory: as into one of this process."""

from pathlib import Path

import pytest

from memorist.imports import load
from memorist.memory import Memory

pytestmark = pytest.mark.anyio


async def test_an_import_through_a_server_stores_once_and_revises(everyone: Memory, tmp_path: Path) -> None:
    alice = everyone.scoped(user="alice")
    notes = tmp_path / "notes.md"
    notes.write_text("# Train\nAt seven\n# Hotel\nIn Alfama\n")
    chat = tmp_path / "WhatsApp Chat with Bob.txt"
    chat.write_text("31.12.23, 21:41 - Bob: Hi\n31.12.23, 21:41 - Bob: Hi\n")
    assert [(await load(alice, path)).added for path in (notes, chat)] == [2, 2]
    notes.write_text(notes.read_text().replace("seven", "eight"))
    report = await load(alice, notes)
    assert (report.added, report.revised, report.existing, report.bad) == (0, 1, 1, [])
    assert (await load(alice, chat)).existing == 2
    assert sorted(each.content for each in (await alice.browse()).records) == [
        "Hi", "Hi", "notes › Hotel\n\nIn Alfama", "notes › Train\n\nAt eight",
    ]  # fmt: skip
