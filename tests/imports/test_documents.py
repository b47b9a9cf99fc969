"""Texts, documents, calendars, contacts and bookmarks."""

import io
import sys
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from imported import Write, bad, items
from memorist.errors import FormatError, MissingExtraError
from memorist.imports import Item, load, read, survey
from memorist.memory import Memory


def pdf(*pages: str) -> bytes:
    """Return a PDF with a line of text on each page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else ""
        font = "/Resources << /Font << /F1 3 0 R >> >> /MediaBox [0 0 600 800]"
        objects.append(f"<< /Type /Page /Parent 2 0 R {font} /Contents {5 + 2 * number} 0 R >>")
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    made, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(made))
        made += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer << /Size {len(objects) + 1} /Root 1 0 R >>"
    return made + f"{end}\nstartxref\n{len(made)}\n%%EOF\n".encode()


def docx() -> bytes:
    document = pytest.importorskip("docx").Document()
    document.add_paragraph("Before any heading")
    document.add_heading("Lisbon", 1)
    document.add_heading("Where to stay", 2)
    document.add_paragraph("In the old town")
    table = document.add_table(1, 2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Night", "80 €"
    document.add_heading("Empty", 1)
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def test_a_plain_text_is_a_note_with_the_time_of_its_first_line(write: Write) -> None:
    long = "\n\n".join(f"{number} " + "word " * 150 for number in range(6))
    first, *rest = items(write("Trip.txt", f"12 March 2024\n\n{long}"))
    assert first.content.startswith("Trip\n\n12 March 2024\n\n0 word")
    assert (first.happened_at, first.id) == (datetime(2024, 3, 12), "Trip.txt")
    assert [each.id for each in rest] == ["Trip.txt/2", "Trip.txt/3"]
    assert items(write("2024-03-13.txt", "Hello"))[0].happened_at == datetime(2024, 3, 13)


def test_a_text_without_blank_lines_is_cut_between_lines(write: Write) -> None:
    lines = [f"{number} " + "word " * 30 + "end" for number in range(100)]
    found = items(write("Log.txt", "\n".join(lines)))
    assert "\n".join(each.content.removeprefix("Log\n\n") for each in found) == "\n".join(lines)
    assert len(found) == 9 and all(len(each.content) < 2_100 for each in found)


def test_a_text_that_is_too_long_is_refused(write: Write) -> None:
    [told] = bad(write("Log.txt", "line\n" * 4_000_001))
    assert told.reason == "it has more than 20,000,000 characters; split it"


def test_each_page_of_a_pdf_is_a_note(write: Write, pack: Write) -> None:
    pytest.importorskip("pypdf")
    given = pdf("The boat leaves at nine", "", "Bring boots")
    for path in (write("2024-03-12 Plan.pdf", given), pack("a.zip", {"2024-03-12 Plan.pdf": given})):
        assert [(each.content, each.where) for each in items(path)] == [
            ("2024-03-12 Plan › page 1\n\nThe boat leaves at nine", "page 1"),
            ("2024-03-12 Plan › page 3\n\nBring boots", "page 3"),
        ]
        assert items(path)[0].happened_at == datetime(2024, 3, 12)
        assert survey(path).left == {"pages without words": 1}


def test_each_section_of_a_word_document_is_a_note(write: Write, pack: Write) -> None:
    given = docx()
    for path in (write("Trips.docx", given), pack("a.zip", {"Trips.docx": given})):
        assert [each.content for each in items(path)] == [
            "Trips\n\nBefore any heading",
            "Trips › Lisbon › Where to stay\n\nIn the old town\n\nNight | 80 €",
        ]
        assert survey(path).left == {"headings without text": 2}


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def word(*blocks: str) -> bytes:
    """Return a document of these blocks, in its XML."""
    document = pytest.importorskip("docx").Document()
    for block in blocks:
        document.element.body.insert(-1, pytest.importorskip("docx.oxml").parse_xml(block.replace(">", f" {W}>", 1)))
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def run(text: str) -> str:
    return f"<w:r><w:t xml:space='preserve'>{text}</w:t></w:r>"


def test_equal_cells_of_a_row_are_kept_and_merged_ones_told_once(write: Write) -> None:
    cells = "".join(f"<w:tc><w:p>{run(text)}</w:p></w:tc>" for text in ("Anna", "yes", "yes"))
    merged = f"<w:tc><w:tcPr><w:gridSpan w:val='3'/></w:tcPr><w:p>{run('All')}</w:p></w:tc>"
    grid = "<w:tblGrid>" + "<w:gridCol/>" * 3 + "</w:tblGrid>"
    [item] = items(write("a.docx", word(f"<w:tbl>{grid}<w:tr>{cells}</w:tr><w:tr>{merged}</w:tr></w:tbl>")))
    assert item.content == "a\n\nAnna | yes | yes\nAll"


def test_a_word_document_is_read_as_its_tracked_changes_leave_it(write: Write) -> None:
    deleted = "<w:del><w:r><w:delText>eight</w:delText></w:r></w:del>"
    changed = f"<w:p>{run('It leaves at ')}{deleted}<w:ins>{run('nine')}</w:ins></w:p>"
    moved = f"<w:p><w:moveFrom>{run('gone')}</w:moveFrom><w:moveTo>{run('here')}</w:moveTo></w:p>"
    [item] = items(write("a.docx", word(changed, moved)))
    assert item.content == "a\n\nIt leaves at nine\n\nhere"


def test_the_fields_of_a_word_document_are_read(write: Write) -> None:
    def field(content: str, about: str = "") -> str:
        return f"<w:sdt><w:sdtPr>{about}</w:sdtPr><w:sdtContent>{content}</w:sdtContent></w:sdt>"

    contents = "<w:docPartObj><w:docPartGallery w:val='Table of Contents'/></w:docPartObj>"
    row = f"<w:tr><w:tc><w:p>{run('A row')}</w:p></w:tc></w:tr>"
    blocks = [
        field(field(f"<w:p>{run('Name: ')}{field(run('Anna'))}</w:p>")),
        f"<w:p>{run('City: ')}{field(run('Click here'), '<w:showingPlcHdr/>')}</w:p>",
        field(f"<w:p>{run('Chapter 1')}</w:p>", contents),
        f"<w:tbl><w:tblGrid><w:gridCol/></w:tblGrid>{field(row)}</w:tbl>",
    ]
    [item] = items(write("a.docx", word(*blocks)))
    assert item.content == "a\n\nName: Anna\n\nCity: \n\nA row"


CALENDAR = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:x
BEGIN:VEVENT
UID:1@x
DTSTART:20240312T080000Z
DTEND:20240312T090000Z
SUMMARY:Dentist
LOCATION:Storgata 1\\, Oslo
ATTENDEE;CN=Bob:mailto:bob@x.org
RRULE:FREQ=YEARLY
DESCRIPTION:Bring the
  card
END:VEVENT
BEGIN:VEVENT
UID:2@x
DTSTART;VALUE=DATE:20240401
SUMMARY:Holiday
END:VEVENT
BEGIN:VEVENT
UID:3@x
STATUS:CANCELLED
DTSTART:20240312T080000
SUMMARY:Never
END:VEVENT
BEGIN:VTODO
UID:4@x
DUE:20240501T100000
SUMMARY:Pay the rent
END:VTODO
END:VCALENDAR
"""


def test_a_calendars_events_and_tasks_are_notes(write: Write) -> None:
    pytest.importorskip("icalendar")
    path = write("home.ics", CALENDAR)
    dentist, holiday, rent = items(path, zone=UTC)
    assert dentist.content == (
        "Dentist\n2024-03-12 08:00 to 2024-03-12 09:00\nAt: Storgata 1, Oslo\nRepeats: FREQ=YEARLY\nWith: Bob\n"
        "Bring the card"
    )
    assert (dentist.id, dentist.happened_at) == ("1@x", datetime(2024, 3, 12, 8, tzinfo=UTC))
    assert (holiday.content, holiday.happened_at) == ("Holiday\n2024-04-01", datetime(2024, 4, 1))
    assert (rent.content, rent.happened_at) == ("Pay the rent\n2024-05-01 10:00", datetime(2024, 5, 1, 10))
    assert survey(path).left == {"cancelled events": 1}


def event(write: Write, *lines: str, **options: Any) -> str:
    """Return what a calendar's event with these lines becomes."""
    pytest.importorskip("icalendar")
    text = "\n".join(("BEGIN:VCALENDAR", "BEGIN:VEVENT", *lines, "END:VEVENT", "END:VCALENDAR", ""))
    [item] = items(write("a.ics", text), **options)
    return item.content


@pytest.mark.parametrize(
    ("end", "days"), [("20240402", "2024-04-01"), ("20240404", "2024-04-01 to 2024-04-03"), ("20240401", "2024-04-01")]
)
def test_whole_days_end_on_their_last(write: Write, end: str, days: str) -> None:
    given = ("SUMMARY:Trip", "DTSTART;VALUE=DATE:20240401", f"DTEND;VALUE=DATE:{end}")
    assert event(write, *given) == f"Trip\n{days}"


def test_a_time_in_utc_is_told_in_the_zone_of_the_user(write: Write) -> None:
    oslo = ZoneInfo("Europe/Oslo")
    assert event(write, "SUMMARY:Call", "DTSTART:20240312T233000Z", zone=oslo) == "Call\n2024-03-13 00:30"
    given = ("SUMMARY:Call", "DTSTART;TZID=America/New_York:20240312T090000")
    assert event(write, *given, zone=oslo) == "Call\n2024-03-12 09:00"


def test_an_event_may_have_a_line_several_times(write: Write) -> None:
    given = ("SUMMARY:Tea", r"CATEGORIES:Home,Tea\, milk", "CATEGORIES:Food", "DESCRIPTION:One", "DESCRIPTION:Two")
    assert event(write, *given) == "Tea\nCategories: Home, Tea, milk, Food\nOne, Two"


CARDS = """\
BEGIN:VCARD
VERSION:3.0
FN:Bob Bø
N:Bø;Bob;;;
ORG:Acme;Sales
TEL;TYPE=CELL:+47 123
EMAIL:bob@x.org
ADR:;;Storgata 1;Oslo;;0155;Norway
BDAY:1980-05-17
NOTE:Likes tea\\nand boats
UID:u1
END:VCARD
BEGIN:VCARD
VERSION:2.1
N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:;=41=6E=6E=61;;;
FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=41=6E=6E=61
TEL;CELL:456
END:VCARD
BEGIN:VCARD
no card
END:VCARD
"""


def test_each_card_is_a_note_and_a_damaged_one_is_told(write: Write) -> None:
    pytest.importorskip("vobject")
    path = write("contacts.vcf", CARDS)
    bob, anna = (each for each in read(path) if isinstance(each, Item))
    assert bob.content == (
        "Bob Bø\nWorks at: Acme, Sales\nTelephone: +47 123\nE-mail: bob@x.org\n"
        "Address: Storgata 1, Oslo, 0155, Norway\nBorn: 1980-05-17\nNote: Likes tea, and boats"
    )
    assert (bob.id, anna.content) == ("u1", "Anna\nTelephone: 456")
    [told] = bad(path)
    assert (told.where, told.reason[:14]) == ("card 3", "it is damaged:")


BOOKMARKS = """\
<!DOCTYPE NETSCAPE-Bookmark-file-1>
<H1>Bookmarks</H1>
<DL><p>
    <DT><H3 ADD_DATE="1710230400">Trips</H3>
    <DL><p>
        <DT><A HREF="https://example.org/?a=1&amp;b=2" ADD_DATE="1710230400" TAGS="sea, sun">Viana &amp; Braga</A>
        <DD>Where we stayed
        <DT><A HREF="javascript:alert(1)">Run</A>
    </DL><p>
    <DT><A HREF="https://example.com">Home</A>
</DL><p>
"""


def test_bookmarks_are_notes_with_their_folders(write: Write) -> None:
    path = write("bookmarks.html", BOOKMARKS)
    first, second = items(path)
    assert first.content == "Viana & Braga\nhttps://example.org/?a=1&b=2\nWhere we stayed"
    assert (first.happened_at, first.metadata["folder"], first.metadata["tags"]) == (
        1710230400,
        "Trips",
        ["sea", "sun"],
    )
    assert (second.content, second.metadata["folder"]) == ("Home\nhttps://example.com", "")
    assert survey(path).left == {"bookmarks that are no addresses of pages": 1}


@pytest.mark.anyio
async def test_a_folder_in_which_some_files_fail_gives_the_others(memory: Memory, write: Write) -> None:
    pytest.importorskip("pypdf")
    write("broken.pdf", pdf("x")[:200])
    write("broken.docx", b"PK\x03\x04 nothing")
    write("old.doc", b"\xd0\xcf\x11\xe0\0\0\0")
    report = await load(memory, write("good.txt", "Hello").parent)
    assert (report.added, sorted(each.file for each in report.bad)) == (1, ["broken.docx", "broken.pdf"])


@pytest.mark.parametrize(
    ("name", "library"), [("a.pdf", "pypdf"), ("a.docx", "docx"), ("a.ics", "icalendar"), ("a.vcf", "vobject")]
)
def test_what_needs_an_extra_says_which_and_stops_no_folder(
    write: Write, monkeypatch: pytest.MonkeyPatch, name: str, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    given = {"a.pdf": pdf("x"), "a.docx": b"PK\x03\x04", "a.ics": CALENDAR, "a.vcf": CARDS}[name]
    path = write(name, given)
    with pytest.raises(MissingExtraError, match=r"is not installed; run: pip install .*\[imports\]"):
        items(path)
    write("note.txt", "Hello")
    [told] = bad(path.parent)
    assert told.file == "" and "[imports]" in told.reason


@pytest.mark.parametrize("given", [b"%PDF-1.4\nnothing", pdf("x")[:150]])
def test_a_damaged_pdf_is_one_error(write: Write, given: bytes) -> None:
    pytest.importorskip("pypdf")
    [told] = bad(write("a.pdf", given))
    assert told.reason.startswith("it is a damaged PDF: ")


def test_a_document_that_unpacks_to_too_much_is_refused(write: Write, pack: Write) -> None:
    pytest.importorskip("docx")
    [told] = bad(write("a.docx", pack("b.zip", {"word/document.xml": b" " * 100_000_001}).read_bytes()))
    assert told.reason == "it holds more than 100,000,000 bytes"


def test_what_is_not_read_says_what_to_do(write: Write) -> None:
    with pytest.raises(FormatError, match=r"report.odt has an unsupported format: save it as DOCX, PDF"):
        survey(write("report.odt", b"PK\x03\x04 nothing"))


@pytest.mark.anyio
async def test_the_bookmarks_that_chrome_keeps_are_those_that_it_exports(memory: Memory, write: Write) -> None:
    tea = {"type": "url", "name": "Tea", "url": "https://tea.example/", "date_added": "13354084800000000"}
    script = {"type": "url", "name": "Run", "url": "javascript:void(0)", "date_added": "13354084800000000"}
    far = {"type": "url", "name": "", "url": "https://far.example/", "date_added": "0"}
    inner = {"type": "folder", "name": "Drinks", "children": [tea, script]}
    roots = {
        "bookmark_bar": {"type": "folder", "name": "Bookmarks bar", "children": [inner]},
        "other": {"type": "folder", "name": "Other bookmarks", "children": [far, 7]},
        "sync_transaction_version": "1",
    }
    path = write("Bookmarks", {"checksum": "x", "roots": roots, "version": 1})
    report = await load(memory, path)
    assert (report.added, report.left, len(report.bad)) == (2, {"bookmarks that are no addresses of pages": 1}, 1)
    [found] = [each async for each in memory.iterate(where={"url": "https://tea.example/"})]
    assert found.content == "Tea\nhttps://tea.example/" and found.metadata["folder"] == "Bookmarks bar / Drinks"
    assert found.happened_at is not None and f"{found.happened_at:%Y-%m-%d}" == "2024-03-05"
    page = write(
        "bookmarks.html",
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p><DT><H3>Bookmarks bar</H3><DL><p><DT><H3>Drinks</H3><DL><p>"
        '<DT><A HREF="https://tea.example/" ADD_DATE="1709611200">Tea</A></DL><p></DL><p>'
        '<DT><A HREF="https://far.example/" ADD_DATE="0">https://far.example/</A></DL><p>',
    )
    again = await load(memory, page)
    assert (again.added, again.existing + again.revised) == (0, 2)


@pytest.mark.anyio
async def test_firefox_s_backups_are_read(memory: Memory, write: Write) -> None:
    tea = {
        "guid": "a", "type": "text/x-moz-place", "uri": "https://tea.example/", "title": "Tea", "tags": "drink, green",
        "dateAdded": 1709611200000000, "annos": [{"name": "bookmarkProperties/description", "value": "Leaves"}],
    }  # fmt: skip
    line = {"guid": "b", "type": "text/x-moz-place-separator"}
    box = {"guid": "c", "type": "text/x-moz-place-container", "title": "Drinks", "children": [tea, line]}
    bar = {
        "guid": "d",
        "type": "text/x-moz-place-container",
        "title": "toolbar",
        "root": "toolbarFolder",
        "children": [box],
    }
    path = write(
        "bookmarks-2024-03-05.json",
        {
            "guid": "root________",
            "title": "",
            "type": "text/x-moz-place-container",
            "root": "placesRoot",
            "children": [bar],
        },
    )
    assert (await load(memory, path)).added == 1
    [found] = [each async for each in memory.iterate()]
    assert found.content == "Tea\nhttps://tea.example/\nLeaves"
    assert found.metadata == {
        "url": "https://tea.example/", "folder": "Bookmarks Toolbar / Drinks", "tags": ["drink", "green"]
    }  # fmt: skip
    [told] = (await load(memory, write("bookmarks-2024-03-05.jsonlz4", b"mozLz40\0" + bytes(40)))).bad
    assert "in Firefox choose Bookmarks, Manage bookmarks" in told.reason


def test_tables_in_tables_and_text_boxes_are_read(write: Write) -> None:
    document = pytest.importorskip("docx").Document()
    table = document.add_table(1, 2)
    table.cell(0, 0).text = "Oslo"
    inner = table.cell(0, 1).add_table(2, 2)
    for place, text in enumerate(("north", "cold", "south", "mild")):
        inner.cell(place // 2, place % 2).text = text
    document.add_paragraph("Before the box")
    document.add_paragraph("After the box")
    boxed = (
        '<w:r xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
        ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:AlternateContent>'
        '<mc:Choice Requires="wps"><w:drawing><w:txbxContent><w:p><w:r><w:t>In the box</w:t></w:r></w:p>'
        "</w:txbxContent></w:drawing></mc:Choice><mc:Fallback><w:pict><w:txbxContent><w:p><w:r><w:t>In the box</w:t>"
        "</w:r></w:p></w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )
    from docx.oxml import parse_xml

    document.paragraphs[-2]._p.append(parse_xml(boxed))
    stream = io.BytesIO()
    document.save(stream)
    [note] = items(write("report.docx", stream.getvalue()))
    assert "Oslo | north | cold\nsouth | mild" in note.content
    assert note.content.endswith("Before the box\n\nIn the box\n\nAfter the box")
