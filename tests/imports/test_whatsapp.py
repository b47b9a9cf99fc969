"""WhatsApp's exports, of phones in several languages."""

from datetime import UTC, datetime

import pytest

from imported import Write, bad, items
from memorist.imports import survey

NAME = "WhatsApp Chat with Bob.txt"
MARK = "\u200e"
NARROW = "\u202f"


@pytest.mark.parametrize(
    "header",
    [
        "[31/12/23, 21:41:05] Anna: ",
        f"{MARK}[31/12/23, 9:41:05{NARROW}PM] Anna: ",
        "[31.12.23, 21:41:05] Anna: ",
        "[31.12.2023 klo 21.41.05] Anna: ",
        "[2023/12/31 下午9:41:05] Anna: ",
        "[2023. 12. 31. 오후 9:41:05] Anna: ",
        f"12/31/23, 9:41{NARROW}PM - Anna: ",
        "31/12/2023, 9:41 pm - Anna: ",
        "31/12/23, 9:41 p. m. - Anna: ",
        "31.12.23, 21:41 - Anna: ",
        "31-12-2023 21:41 - Anna: ",
        "2023-12-31 21:41 - Anna: ",
        "31/12/2017 à 21:41 - Anna: ".replace("2017", "2023"),
        "31.12.23 г., 21:41 ч. - Anna: ",
        "2023년 12월 31일 오후 9:41, Anna : ",
        "٣١\u200f/١٢\u200f/٢٠٢٣، ٩:٤١ م - Anna: ",
        "31/12/2566 21:41 - Anna: ",
        "31/12/23, 9:41 μ.μ. - Anna: ",
    ],
)
def test_the_forms_of_dates(write: Write, header: str) -> None:
    [item] = items(write(NAME, f"{header}Happy new year: soon!\n"))
    assert (item.speaker, item.content, item.conversation) == ("Anna", "Happy new year: soon!", "Bob")
    assert isinstance(item.happened_at, datetime)
    assert item.happened_at.replace(second=0) == datetime(2023, 12, 31, 21, 41)


@pytest.mark.parametrize(
    ("dates", "first"),
    [
        (["1/2/24", "3/2/24", "13/2/24"], datetime(2024, 2, 1, 9)),
        (["1/2/24", "2/14/24"], datetime(2024, 1, 2, 9)),
        (
            ["2/1/24", "3/1/24", "1/2/24"],
            datetime(2024, 1, 2, 9),
        ),  # no number over 12: time goes on, so the day is first
        (["1/2/24", "1/3/24", "2/1/24"], datetime(2024, 1, 2, 9)),  # and here the month
        (["1.2.24"], datetime(2024, 2, 1, 9)),
    ],
)
def test_day_and_month_are_told_apart_over_the_whole_file(write: Write, dates: list[str], first: datetime) -> None:
    found = items(write(NAME, "".join(f"{date}, 09:00 - Anna: Hello\n" for date in dates)))
    assert found[0].happened_at == first


def test_midnight_and_noon_on_a_clock_of_twelve_hours(write: Write) -> None:
    found = items(write(NAME, "12/31/23, 12:05 AM - Anna: a\n12/31/23, 12:05 PM - Anna: b\n"))
    assert [each.happened_at for each in found] == [datetime(2023, 12, 31, 0, 5), datetime(2023, 12, 31, 12, 5)]


def test_a_message_may_have_several_lines(write: Write) -> None:
    text = "31.12.23, 21:41 - Anna: To buy:\n- milk\n\n- 3 eggs: large\n31.12.23, 21:42 - Bob: OK\n"
    first, second = items(write(NAME, text))
    assert first.content == "To buy:\n- milk\n\n- 3 eggs: large"
    assert (second.content, second.where) == ("OK", "line 5")


def test_what_the_system_writes_is_left_out(write: Write) -> None:
    text = (
        "31.12.23, 21:40 - Nachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.\n"
        "31.12.23, 21:40 - Anna hat die Gruppe „Rom: Reise“ erstellt.\n"
        "31.12.23, 21:40 - Anna hat den Betreff von „a“ zu „Rom: Reise“ geändert.\n"
        "31.12.23, 21:41 - Anna: <Medien ausgeschlossen>\n"
        "31.12.23, 21:42 - Anna: Diese Nachricht wurde gelöscht.\n"
        "31.12.23, 21:43 - Anna: Um acht? <Diese Nachricht wurde bearbeitet.>\n"
        "31.12.23, 21:44 - Anna: IMG-20231231-WA0001.jpg (Datei angehängt)\nDer Strand\n"
        "31.12.23, 21:45 - Anna:\n"
    )
    found = items(write("WhatsApp Chat mit Rom.txt", text))
    assert [(each.content, each.metadata["attachment"]) for each in found] == [
        ("Um acht?", None),
        ("Der Strand", "IMG-20231231-WA0001.jpg"),
    ]


def test_what_ios_writes_into_messages_is_left_out(write: Write) -> None:
    lines = [
        f"[31/12/23, 21:41:05] Rome: {MARK}Messages and calls are end-to-end encrypted.",
        f"{MARK}[31/12/23, 21:41:06] ~{NARROW}Anna: {MARK}image omitted",
        f"[31/12/23, 21:41:07] ~{NARROW}Anna: {MARK}<attached: 00000004-PHOTO.jpg>",
        "[31/12/23, 21:41:08] \u202a+47 123 45 678\u202c: Who is this?\r",
        f"[31/12/23, 21:41:09] Anna: Me! {MARK}<This message was edited>",
        f"[31/12/23, 21:41:10] Anna: {MARK}You deleted this message.",
    ]
    found = items(write("_chat.txt", "\n".join(lines)))
    assert [(each.speaker, each.content) for each in found] == [("+47 123 45 678", "Who is this?"), ("Anna", "Me!")]


def test_the_chat_has_the_name_of_its_file_or_zip(write: Write, pack: Write) -> None:
    line = "[31/12/23, 21:41:05] Anna: Hi\n"
    zipped = pack("WhatsApp Chat - Bob & Co.zip", {"_chat.txt": line, "00000004-PHOTO.jpg": b"\xff\xd8"})
    assert [each.conversation for each in items(zipped)] == ["Bob & Co"]
    for name in ("Conversa do WhatsApp com Bob.txt", "Chat de WhatsApp con Bob.txt", "WhatsApp-chat met Bob (2).txt"):
        assert [each.conversation for each in items(write(name, line))] == ["Bob"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_encodings(write: Write, encoding: str) -> None:
    [item] = items(write(NAME, "31.12.23, 21:41 - Jürgen: Schöne Grüße – bis später\n", encoding=encoding))
    assert (item.speaker, item.content) == ("Jürgen", "Schöne Grüße – bis später")


def test_a_date_that_is_none_is_told_by_its_line(write: Write) -> None:
    path = write(NAME, "31/12/23, 21:41 - Anna: a\n30/2/24, 21:41 - Anna: b\n1/3/24, 25:41 - Anna: c\n")
    assert [each.where for each in bad(path)] == ["line 2", "line 3"]


def test_the_one_whom_a_chat_of_two_is_not_named_after_is_the_user(write: Write) -> None:
    path = write(NAME, "31.12.23, 21:41 - Anna: Hi\n31.12.23, 21:42 - Bob: Hello\n")
    told = survey(path)
    assert (told.me, told.messages, told.conversations, told.titles) == ("Anna", 2, 1, ["WhatsApp"])
    assert told.first is not None and told.first < datetime(2024, 1, 1, 12, tzinfo=UTC)
