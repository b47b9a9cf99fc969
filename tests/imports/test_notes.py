"""Notes: Markdown, Obsidian, tables."""

from datetime import datetime
from pathlib import Path

import pytest

from imported import Write, bad, items
from memorist.imports import ColumnsError, load, survey
from memorist.memory import Memory
from memorist.records.record import Kind

NOTE = """\
---
title: "Lisbon"
created: 2024-03-12
tags: [travel, 'sea']
aliases:
  - Lisboa
  - LX
---
A hill by the river.

# Lisbon
## Where to stay ##

In [[Alfama|the old town]], see [[Map#North]] and #hotels/cheap. %% not this %% ^b1
![[photo.png]]

```python
# no heading
```

## Where to eat
Ask [[Anna]].
"""


def test_each_section_of_markdown_is_a_note_with_its_headings(write: Write, tmp_path: Path) -> None:
    write("vault/Trips/Lisbon.md", NOTE)
    write("vault/.obsidian/app.json", "{}")
    write("vault/empty.md", "\n")
    found = items(tmp_path / "given" / "vault")
    assert [each.content for each in found] == [
        "Lisbon\n\nA hill by the river.",
        "Lisbon › Where to stay\n\nIn the old town, see Map and #hotels/cheap.\n\n```python\n# no heading\n```",
        "Lisbon › Where to eat\n\nAsk Anna.",
    ]
    stay = found[1]
    assert (stay.kind, stay.id, stay.where) == (Kind.NOTE, "Trips/Lisbon.md#Where to stay", "line 12")
    assert stay.metadata["tags"] == ["travel", "sea", "hotels/cheap"]
    assert stay.metadata["links"] == ["Alfama", "Map", "photo.png"]
    assert (stay.metadata["aliases"], stay.metadata["title"]) == (["Lisboa", "LX"], "Lisbon")
    assert stay.happened_at == datetime(2024, 3, 12)


def test_a_rule_is_no_front_matter_and_a_day_is_in_the_name(write: Write) -> None:
    [item] = items(write("2024-03-12.md", "---\nWe met Anna: nice\n"))
    assert item.content == "2024-03-12\n\n---\nWe met Anna: nice"
    assert item.happened_at == datetime(2024, 3, 12)


def test_a_long_section_is_cut_between_paragraphs(write: Write) -> None:
    paragraphs = [f"{number} " + "word " * 150 for number in range(6)]
    found = items(write("a.md", "# One\n" + "\n\n".join(paragraphs)))
    assert [each.id for each in found] == ["a.md#One", "a.md#One/2", "a.md#One/3"]
    assert all(f"{number} word" in "".join(each.content for each in found) for number in range(6))


@pytest.mark.anyio
async def test_notes_are_revised_and_found(memory: Memory, write: Write, tmp_path: Path) -> None:
    write("vault/Lisbon.md", NOTE)
    folder = tmp_path / "given" / "vault"
    assert (await load(memory, folder)).added == 3
    write("vault/Lisbon.md", NOTE.replace("Ask", "Ask again"))
    report = await load(memory, folder)
    assert (report.added, report.revised, report.existing) == (0, 1, 2)
    [hit] = await memory.recall("where to eat in lisbon", limit=1)
    assert hit.record.content.endswith("Ask again Anna.")
    assert hit.record.scope.session is None


def test_a_table_of_notes(write: Write) -> None:
    path = write("notes.csv", 'ID,Text,Tag,Created_at\n7,"Milk,\neggs",home,2024-03-12 09:00\n8,,x,\n9,Bread,home,\n')
    milk, bread = items(path)
    assert (milk.content, milk.kind, milk.id, milk.metadata) == ("Milk,\neggs", Kind.NOTE, "7", {"Tag": "home"})
    assert (milk.happened_at, bread.happened_at, bread.where) == ("2024-03-12 09:00", None, "line 5")


@pytest.mark.parametrize(("encoding", "mark"), [("utf-8-sig", ";"), ("cp1252", ";"), ("utf-16", "\t")])
def test_a_table_of_messages(write: Write, encoding: str, mark: str) -> None:
    rows = [["Datum", "Von", "Nachricht"], ["3.4.24", "Jürgen", "Grüße"], ["13.4.24", "Anna", "Hallo"]]
    text = "\n".join(mark.join(row) for row in rows)
    path = write("talk.csv" if mark == ";" else "talk.tsv", text, encoding=encoding)
    given = {"text": "nachricht", "time": "Datum", "speaker": "Von"}
    first, _ = items(path, columns=given)
    assert (first.speaker, first.content, first.conversation, first.happened_at) == (
        "Jürgen", "Grüße", "talk", "2024-04-03",
    )  # fmt: skip


def test_a_table_that_does_not_say_which_column_is_the_text(write: Write) -> None:
    path = write("a.csv", "one,two\n1,2\n")
    with pytest.raises(ColumnsError, match=r"a.csv: which column is the text is not known; .* there are: one, two"):
        survey(path)
    with pytest.raises(ColumnsError, match="there is no column 'three'"):
        items(path, columns={"text": "three"})
    write("b.csv", "text\nHello\n")
    [told] = bad(path.parent)
    assert told.reason.startswith("which column is the text")


def test_rows_that_are_no_rows_are_told(write: Write) -> None:
    [told] = bad(write("a.csv", "text,x\nHello,1\nToo,many,fields\n"))
    assert (told.where, told.reason) == ("line 3", "it has 3 columns, and the header 2")
