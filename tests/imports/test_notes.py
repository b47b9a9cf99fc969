"""Notes: Markdown, Obsidian, tables."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from growth import is_quadratic
from imported import Write, bad, items
from memorist.errors import InvalidInputError
from memorist.imports import ColumnsError, Item, Options, load, read, survey
from memorist.imports.decoding import decode
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
    with pytest.raises(ColumnsError, match=r"a.csv: could not identify the text column; .* available: one, two"):
        survey(path)
    with pytest.raises(ColumnsError, match="there is no column 'three'"):
        items(path, columns={"text": "three"})
    write("b.csv", "text\nHello\n")
    [told] = bad(path.parent)
    assert told.reason.startswith("could not identify the text column")


def test_rows_that_are_no_rows_are_told(write: Write) -> None:
    [told] = bad(write("a.csv", "text,x\nHello,1\nToo,many,fields\n"))
    assert (told.where, told.reason) == ("line 3", "it has 3 columns, and the header 2")


# --- properties ------------------------------------------------------------------------------------------

PROPERTIES = """\
---
tags: [a]
people:
- Anna
- "Bob, the builder"
places: ["Oslo, Norway", 'it''s', [[Viana]], plain] # a comment
summary: >
  One line
  and its rest.

  Another.
code: |
  a:
    b
created: "[[2026-05-26]]"
"quoted name": 'x: y'
empty:
url: https://example.org/#part
nothing: null
about:
  city: Oslo
  known: [a, b]
long: begins here
  and ends here
---
Text
"""


def test_every_form_of_a_property_is_read(write: Write) -> None:
    [item] = items(write("a.md", PROPERTIES))
    assert item.happened_at == datetime(2026, 5, 26)
    assert item.metadata == {
        "tags": ["a"],
        "people": ["Anna", "Bob, the builder"],
        "places": ["Oslo, Norway", "it's", "[[Viana]]", "plain"],
        "summary": "One line and its rest.\nAnother.",
        "code": "a:\n  b",
        "quoted name": "x: y",
        "url": "https://example.org/#part",
        "about": {"city": "Oslo", "known": ["a", "b"]},
        "long": "begins here and ends here",
        "file": "a.md",
        "links": ["Viana"],
    }


@pytest.mark.parametrize("first", ["tags: [a]", "tags:\n  - a", "aliases: []\ntags: a"])
def test_a_list_may_come_first(write: Write, first: str) -> None:
    [item] = items(write("a.md", f"---\n{first}\n---\nText\n"))
    assert item.metadata["tags"] == ["a"]


def test_a_note_of_properties_alone_is_kept_and_an_empty_one_is_counted(write: Write) -> None:
    path = write("Anna.md", "---\nphone: +47 123\nemployer: '[[Acme]]'\n---\n")
    write("empty.md", "---\n---\n")
    write("outline.md", "# One\n## Two\nText\n## Three\n")
    found = items(path.parent)
    assert [each.content for each in found] == ["Anna\n\nphone: +47 123\nemployer: Acme", "outline › One › Two\n\nText"]
    assert survey(path.parent).left == {"notes without words": 1, "headings without text": 2}


# --- code ------------------------------------------------------------------------------------------------

CODE = [
    "````markdown\n```python\nx = a[[1]]  # not [[this]] %% nor this %%   \n```\n\n\n# no heading <!-- kept -->\n````",
    "~~~\n%% kept %%\n```\n~~~",
    "- a list\n  ```sh\n  if [[ -f x ]]; then :; fi\n  ```",
    "> ```\n> %% kept %%\n> ```",
    "    indented = a[[1]] %% x %%",
    "Use `a[[1]]` and ``b `%%` [[c]]`` or `<!-- x -->`.",
    "```\nnever closed [[x]] ^id",
]


@pytest.mark.parametrize("code", CODE)
def test_code_is_kept_as_it_is(write: Write, code: str) -> None:
    [item] = items(write("a.md", f"# Title\n\n{code}\n"))
    assert item.content == f"a › Title\n\n{code}"
    assert (item.metadata["tags"], item.metadata["links"]) == ([], [])


def test_what_is_no_code_beside_code_is_read(write: Write) -> None:
    text = (
        "See [[Map|the map]] `[[x]]` %% `hidden` %%and [[Viana]] ^b1\n\n"
        "%%\n```\nhidden\n```\n%%\n- item\n\n    [[Oslo]] ^b2\n"
    )
    [item] = items(write("a.md", f"{text}An unclosed ` tick and [[Bergen]]\n"))
    assert item.content == ("a\n\nSee the map `[[x]]` and Viana\n\n- item\n\n    Oslo\nAn unclosed ` tick and Bergen")
    assert item.metadata["links"] == ["Map", "Viana", "Oslo", "Bergen"]


def test_a_long_piece_of_code_keeps_its_blank_lines(write: Write) -> None:
    code = "```\n" + "\n\n\n".join(f"line {number}" for number in range(20)) + "\n```"
    [item] = items(write("a.md", code))
    assert item.content == f"a\n\n{code}"


@pytest.mark.parametrize(
    "letter", ["`", "``` ` ", "%%` ", "<!-- ` ", "> ```\n", "[[", "a ", "x '", "- a: [", " #a", "\u00a0"]
)
@pytest.mark.parametrize("before", ["", "---\nx: ", "---\nx: [", "---\nx", "---\nx:\n"])
def test_hostile_notes_are_read_in_linear_time(write: Write, before: str, letter: str) -> None:
    def note(length: int) -> str:
        return f"{before}{letter * (length // len(letter))}\n---\n"

    assert not is_quadratic(lambda text: list(read(write("a.md", text))), note, 5_000)


# --- times -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "when"),
    [
        ("2024-03-12 A walk", "x", datetime(2024, 3, 12)),
        ("A walk 20240312", "x", datetime(2024, 3, 12)),
        ("A walk 12.3.2024", "x", datetime(2024, 3, 12)),
        ("2024-03-12_0930", "x", datetime(2024, 3, 12, 9, 30)),
        ("20240312093005", "x", None),
        ("walk", "12 March 2024\n\nx", datetime(2024, 3, 12)),
        ("walk", "Date: 2024-03-12 09:30\nx", datetime(2024, 3, 12, 9, 30)),
        ("walk", "# 12.03.2024\nx", None),
        ("walk", "2024-03-12: we went up", datetime(2024, 3, 12)),
        ("walk", "In 2024 we went up", None),
        ("walk", "---\ncreated: 2024-03-12T09:30:00+01:00\n---\nx", datetime(2024, 3, 12, 8, 30, tzinfo=UTC)),
        ("walk", "---\ncreated: 2024-03-12 09:30\n---\nx", datetime(2024, 3, 12, 9, 30)),
        ("2024-99-99", "x", None),
    ],
)
def test_a_note_has_the_time_of_its_properties_its_name_or_its_first_line(
    write: Write, name: str, text: str, when: datetime | None
) -> None:
    item = items(write(f"{name}.md", text))[0]
    assert item.happened_at == when


# --- tables ----------------------------------------------------------------------------------------------


def test_two_columns_of_one_name_and_of_none_are_kept(write: Write) -> None:
    [item] = items(write("a.csv", "text,tag,tag,,tag (2)\nHello,a,b,c,d\n"))
    assert (item.content, item.metadata) == ("Hello", {"tag": "a", "tag (3)": "b", "column 4": "c", "tag (2)": "d"})


JAPANESE = (
    "日時,氏名,message\n2024-03-12,田中,明日の会議は十時からです\n2024-03-13,鈴木,了解しました、資料を準備します\n"
)
RUSSIAN = (
    "date,author,message\n2024-03-12,Анна,Завтра встречаемся у вокзала в десять утра\n"
    "2024-03-13,Иван,Хорошо буду вовремя\n"
)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(JAPANESE, "cp932"), (JAPANESE, "euc_jp"), (JAPANESE, "iso2022_jp"), (RUSSIAN, "cp1251"), (RUSSIAN, "koi8_r")],
)
def test_encodings_of_other_scripts_are_detected_or_named(write: Write, text: str, encoding: str) -> None:
    pytest.importorskip("charset_normalizer")
    path = write("a.csv", text, encoding=encoding)
    said = [line.rsplit(",", 1)[1] for line in text.splitlines()[1:]]
    assert [each.content for each in items(path, encoding=encoding)] == said
    assert [each.content for each in items(path)] == said
    [told] = survey(path).guesses()
    assert told.startswith("Not Unicode; read as ") and told.endswith(": a.csv")
    assert survey(path, options=Options(encoding=encoding)).guesses() == []


@pytest.mark.parametrize("end", ["\n", "."])
@pytest.mark.parametrize("before", ["", "x"])
def test_an_encoding_is_detected_where_64_kib_end_inside_a_character(before: str, end: str) -> None:
    pytest.importorskip("charset_normalizer")
    line = f"明日の会議は十時からです{end}".encode("cp932")
    head = (before.encode() + b"".join([line] * 3000))[: 1 << 16]
    assert "明日の会議は十時からです" in decode(head)


def test_without_the_library_it_is_said_what_installs_it(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    told = survey(
        write("b.csv", JAPANESE + "x,y,z\n", encoding="cp932"), options=Options(columns={"text": "message"})
    ).guesses()
    assert told[0] == "Not Unicode; read as Windows-1252: b.csv"
    assert told[1].startswith("To detect the encoding, run: pip install") and "[imports]" in told[1]


@pytest.mark.parametrize("text", ["text\nGrüße aus Köln; schöne Größe\n", "text\nÀ bientôt! Où êtes-vous allés\n"])
def test_latin_script_is_windows_1252(write: Write, text: str) -> None:
    path = write("a.csv", text, encoding="cp1252")
    assert items(path)[0].content == text.splitlines()[1]
    assert survey(path).encodings == {}


def test_an_encoding_that_is_none_is_refused() -> None:
    for name in ("nothing", "base64"):
        with pytest.raises(InvalidInputError, match=f"there is no encoding '{name}'; use a name such as shift_jis"):
            Options(encoding=name)


def test_bytes_that_a_named_encoding_does_not_have_are_shown(write: Write) -> None:
    [item] = items(write("a.csv", b"text\n\x93\xfa\x96\x7b \xff\n"), encoding="shift_jis")
    assert item.content == "日本 \\xff"


@pytest.mark.parametrize(
    ("dates", "first"),
    [
        (["03.04.2024", "01.05.2024"], "2024-04-03"),
        (["3.4.24", "2.5.24"], "2024-04-03"),
        (["03.14.2024", "03.04.2024"], "2024-03-14"),
        (["2024.04.03"], "2024-04-03"),
        (["03/04/2024", "03/14/2024", "03.04.2024"], "2024-03-04"),
        (["03.04.2024", "03/14/2024"], "2024-04-03"),
    ],
)
def test_a_dotted_date_has_the_day_first(write: Write, dates: list[str], first: str) -> None:
    path = write("a.csv", "text,date\n" + "".join(f"x,{date}\n" for date in dates))
    assert items(path)[0].happened_at == first


def test_one_unclear_table_does_not_stop_a_folder(write: Write, pack: Write) -> None:
    files = {"a/good.csv": "text,time\nHello,2024-03-12 09:00\n", "a/unclear.csv": "one,two\n1,2\n"}
    for name, text in files.items():
        write(name, text)
    for path in (write("a/note.md", "Hi").parent, pack("b.zip", files)):
        told = survey(path)
        assert (told.bad, told.first_bad[0].file.rpartition("/")[2]) == (1, "unclear.csv")
        assert told.first_bad[0].reason.endswith("name it, such as --text COLUMN; available: one, two")
        assert told.columns == {"text": "text", "time": "time"}
        assert "Hello" in [each.content for each in read(path) if isinstance(each, Item)]


@pytest.mark.anyio
async def test_times_of_a_table_without_a_zone_are_in_the_zone_that_is_named(memory: Memory, write: Write) -> None:
    path = write("a.csv", "text,time\nHello,2024-03-12 09:00\nBye,2024-03-12T09:00Z\n")
    assert survey(path).unzoned == 1
    for zone, hour, counts in ((UTC, 9, (2, 0)), (ZoneInfo("Europe/Oslo"), 8, (0, 1))):
        report = await load(memory, path, options=Options(zone=zone))
        assert (report.added, report.revised) == counts
        times = {each.content: each.at.astimezone(UTC).hour for each in (await memory.browse()).records}
        assert times == {"Hello": hour, "Bye": 9}
