"""Chats between people: Telegram, Slack, Discord, Signal, iMessage, e-mail."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from imported import Write, bad, items
from memorist.imports import load, survey
from memorist.memory import Memory

# --- Telegram --------------------------------------------------------------------------------------------


def telegram(id: int, text: Any, **more: Any) -> dict[str, Any]:
    said = {"id": id, "type": "message", "date": "2024-03-12T09:00:00", "date_unixtime": "1710230400"}
    return {**said, "from": "Bob", "from_id": "user2", "text": text, "text_entities": [], **more}


def chat(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"name": "Bob", "type": "personal_chat", "id": 42, "messages": list(messages), **more}


def test_telegrams_chat(write: Write) -> None:
    pieces = ["See ", {"type": "link", "text": "https://example.org"}, " and ", {"type": "bold", "text": "hurry"}]
    given = chat(
        telegram(1, pieces, edited="2024-03-12T09:01:00", edited_unixtime="1710230460"),
        {"id": 2, "type": "service", "date": "2024-03-12T09:00:00", "actor": "Bob", "action": "phone_call", "text": ""},
        telegram(3, "", photo="photos/photo_1.jpg", width=1280),
        telegram(4, "The beach", photo="photos/photo_2.jpg", forwarded_from="Cleo"),
        telegram(5, "I left", **{"from": None, "from_id": "user9"}),
    )
    found = items(write("ChatExport_2024-03-12/result.json", json.dumps(given, indent=1)))
    assert [(each.speaker, each.content) for each in found] == [
        ("Bob", "See https://example.org and hurry"),
        ("Bob", "The beach"),
        ("user9", "I left"),
    ]
    first = found[0]
    assert (first.id, first.conversation, first.happened_at, first.role) == ("1", "42", 1_710_230_400, None)
    assert found[1].metadata["attachment"] == "photos/photo_2.jpg"
    assert found[1].metadata["forwarded_from"] == "Cleo"


def test_telegrams_account_knows_who_the_user_is(write: Write) -> None:
    mine = telegram(7, "Hello", **{"from": "Anna", "from_id": "user1"})
    path = write(
        "result.json",
        {
            "about": "Here is the data you requested.",
            "personal_information": {"user_id": 1, "first_name": "Anna"},
            "contacts": {"about": "…", "list": [{"user_id": 2, "first_name": "Bob"}]},
            "chats": {
                "about": "…",
                "list": [chat(telegram(1, "Hi"), mine), chat(telegram(1, "Ho"), name="Team", id=43)],
            },
            "left_chats": {"about": "…", "list": [chat(telegram(1, "Bye"), name=None, id=44)]},
        },
    )
    assert [(each.conversation, each.role, each.content) for each in items(path)] == [
        ("42", "other", "Hi"),
        ("42", "user", "Hello"),
        ("43", "other", "Ho"),
        ("44", "other", "Bye"),
    ]
    assert [each.metadata["conversation"] for each in items(path)] == ["Bob", "Bob", "Team", None]


def test_a_bad_message_of_telegrams_is_told(write: Write) -> None:
    [told] = bad(write("result.json", chat(telegram(1, "Hi"), {"id": 8, "type": "message"}, telegram(9, "Ho"))))
    assert told.where == "message 8"


@pytest.mark.anyio
async def test_an_edited_message_of_telegrams_is_revised(memory: Memory, write: Write) -> None:
    await load(memory, write("result.json", chat(telegram(1, "At six"))))
    report = await load(memory, write("result.json", chat(telegram(1, "At seven"), telegram(2, "OK"))))
    assert (report.added, report.revised) == (1, 1)


# --- Slack -----------------------------------------------------------------------------------------------


def slack(ts: str, text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": "U1", "text": text, "ts": ts, **more}


def test_slacks_export(pack: Write) -> None:
    users = [
        {"id": "U1", "name": "anna", "profile": {"display_name": "Anna", "real_name": "Anna A."}},
        {"id": "U2", "name": "bob"},
    ]
    day = [
        slack("1710230400.000100", "Hi <@U2>, see <https://example.org|the plan> in <#C2> &amp; <!here>"),
        slack("1710230401.000200", "<@U1> has joined the channel", subtype="channel_join"),
        slack("1710230402.000300", "Done", thread_ts="1710230400.000100", files=[{"id": "F1", "name": "plan.pdf"}]),
        {
            "type": "message",
            "subtype": "bot_message",
            "username": "CI",
            "bot_id": "B1",
            "text": "Green",
            "ts": "1710230403.000400",
        },
        slack("1710230404.000500", "This message was deleted.", subtype="tombstone", hidden=True),
    ]
    path = pack(
        "Acme Slack export.zip",
        {
            "users.json": users,
            "channels.json": [{"id": "C1", "name": "general"}, {"id": "C2", "name": "random"}],
            "dms.json": [{"id": "D1", "members": ["U1", "U2"]}],
            "general/2024-03-12.json": day,
            "general/2024-03-13.json": [],
            "D1/2024-03-12.json": [slack("1710230400.000100", "psst", user="U2")],
        },
    )
    assert [(each.conversation, each.speaker, each.content) for each in items(path)] == [
        ("D1", "bob", "psst"),
        ("C1", "Anna", "Hi @bob, see the plan (https://example.org) in #random & @here"),
        ("C1", "Anna", "Done"),
        ("C1", "CI", "Green"),
    ]
    done = items(path)[2]
    assert (done.id, done.metadata["thread"], done.metadata["attachments"]) == (
        "1710230402.000300",
        "1710230400.000100",
        ["plan.pdf"],
    )
    told = survey(path)
    assert told.first == datetime(2024, 3, 12, 8, 0, 0, 100, tzinfo=UTC)


# --- Discord, Signal, iMessage ---------------------------------------------------------------------------


def test_discords_channel(write: Write) -> None:
    def said(id: str, content: str, type: str = "Default", **more: Any) -> dict[str, Any]:
        author = {"id": "1", "name": "bob", "discriminator": "0000", "nickname": "Bob", "isBot": False}
        when = {"timestamp": "2024-03-12T09:00:00.123+01:00", "timestampEdited": None}
        return {"id": id, "type": type, **when, "content": content, "author": author, "attachments": [], **more}

    given = {
        "guild": {"id": "9", "name": "Travel", "iconUrl": ""},
        "channel": {"id": "8", "type": "GuildTextChat", "category": "Text", "name": "lisbon", "topic": None},
        "dateRange": {"after": None, "before": None},
        "exportedAt": "2024-04-01T00:00:00+00:00",
        "messages": [
            said("1", "Hello @Anna"),
            said("2", "Joined the server.", "GuildMemberJoin"),
            said("3", "", attachments=[{"id": "5", "fileName": "a.png", "url": "…"}]),
            said("4", "Yes", "Reply", reference={"messageId": "1", "channelId": "8"}),
            {"id": "5"},
        ],
        "messageCount": 5,
    }
    path = write("Travel - lisbon.json", json.dumps(given, indent=2))
    assert [told.where for told in bad(path)] == ["message 5"]
    given["messages"] = given["messages"][:-1]  # type: ignore[index]
    first, second = items(write("Travel - lisbon.json", "\ufeff" + json.dumps(given)))
    assert (first.speaker, first.content, first.conversation, first.id) == ("Bob", "Hello @Anna", "8", "1")
    assert (second.content, second.metadata["reply_to"]) == ("Yes", "1")
    assert survey(path).first == datetime(2024, 3, 12, 9, 0, 0, 123000, tzinfo=timezone(timedelta(hours=1)))


def test_signals_chat(write: Write) -> None:
    def said(sender: str, body: str, **more: Any) -> str:
        rest = {"quote": "", "sticker": None, "reactions": [["Bob", "👍"]], "attachments": []}
        return json.dumps({"date": "2024-03-12T09:00:00", "sender": sender, "body": body, **rest, **more})

    lines = [
        said("Me", "Hello"),
        said("Bob", "", deleted=True),
        said("Bob", "Hi", attachments=[{"name": "a.jpg", "path": "m/a.jpg"}]),
    ]
    path = write("Bob/data.json", "\n".join(lines))
    write("Bob/chat.md", "[2024-03-12 09:00:00] Me: Hello\n")
    assert items(path.parent.parent) == items(path)
    found = items(path)
    assert [(each.role, each.speaker, each.content, each.conversation) for each in found] == [
        ("user", "Me", "Hello", "Bob"),
        ("other", "Bob", "Hi", "Bob"),
    ]


SIGTOP = """\
Conversation: Bob (+4712345678)

From: You
Type: outgoing
Sent: Tue, 12 Mar 2024 09:00:00 +0100
Reaction: 👍 from Bob

Where do we meet?

From: the station?

From: Bob (+4712345678)
Type: incoming
Sent: Tue, 12 Mar 2024 09:01:00 +0100
Received: Tue, 12 Mar 2024 09:01:02 +0100
Attachment: plan (1).pdf (application/pdf, 1234 bytes)

> From: Me (+4700000000)
> Sent: Tue, 12 Mar 2024 09:00:00 +0100
>
> Where do we meet?

At the station

Type: group-v2-change
Received: Tue, 12 Mar 2024 09:02:00 +0100

From: Bob (+4712345678)
Type: incoming
Sent: Tue, 12 Mar 2024 09:03:00 +0100
Received: Tue, 12 Mar 2024 09:03:02 +0100
Edited: 2 versions

| Version: 2
| Sent: Tue, 12 Mar 2024 09:04:00 +0100
|
| At nine
|
| Version: 1
| Sent: Tue, 12 Mar 2024 09:03:00 +0100
|
| At eight

"""


def test_signals_chat_by_sigtop_as_text(write: Write) -> None:
    first, second, third = items(write("Bob (+4712345678).txt", SIGTOP))
    assert (first.role, first.speaker, first.content) == ("user", "Me", "Where do we meet?\n\nFrom: the station?")
    assert (second.role, second.speaker, second.content) == ("other", "Bob", "At the station")
    assert (second.metadata, second.where) == ({"attachments": ["plan (1).pdf"]}, "line 12")
    assert second.happened_at == datetime(2024, 3, 12, 8, 1, tzinfo=UTC)
    assert (third.content, third.conversation) == ("At nine", "Bob (+4712345678)")


def test_signals_chat_by_sigtop_as_json(write: Write) -> None:
    common = {"conversationId": "c", "sent_at": 1710230400000, "attachments": [{"fileName": "a.jpg"}]}
    given = [
        {"id": "m1", "type": "outgoing", "body": "Hello", **common},
        {"id": "m2", "type": "incoming", "body": "Hi", "source": "+47", **common},
        {"id": "m3", "type": "call-history", "body": "x", **common},
    ]
    found = items(write("Bob (+47).json", json.dumps(given)))
    assert [(each.id, each.role, each.speaker, each.content, each.conversation) for each in found] == [
        ("m1", "user", "Me", "Hello", "Bob (+47)"),
        ("m2", "other", "+47", "Hi", "Bob (+47)"),
    ]
    assert found[0].happened_at == datetime(2024, 3, 12, 8, tzinfo=UTC)


@pytest.mark.parametrize(("key", "source"), [("serviceId", "sourceServiceId"), ("uuid", "sourceUuid")])
def test_signals_database_by_sigtop(tmp_path: Path, key: str, source: str) -> None:
    path = tmp_path / "signal.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE sessions (id)")
        connection.execute(f"CREATE TABLE conversations (id, name, profileFullName, profileName, e164, {key})")
        connection.execute(f"CREATE TABLE messages (id, conversationId, type, body, sent_at, {source})")
        connection.execute("INSERT INTO conversations VALUES ('c1', '', 'Bob', NULL, '+47', 's1')")
        connection.executemany(
            "INSERT INTO messages VALUES (?, 'c1', ?, ?, 1710230400000, ?)",
            [("m1", "outgoing", "Hello", "s0"), ("m2", "incoming", "Hi", "s1"), ("m3", "keychange", None, None)],
        )
    assert [(each.id, each.speaker, each.content, each.conversation) for each in items(path)] == [
        ("m1", "Me", "Hello", "Bob"),
        ("m2", "Bob", "Hi", "Bob"),
    ]


IMESSAGE = """\
Mar 12, 2024  9:00:00 AM (Read by you after 1 hour, 49 seconds)
+15558675309
Where do we meet?

At the station?
Tapbacks:
Loved by Me

    Mar 12, 2024  9:05:00 AM
    Me
    Yes!

Mar 12, 2024  9:02:00 AM +15558675309 named the conversation Lisbon


Mar 12, 2024  9:05:00 AM
Me
Yes!
This message responded to an earlier message.

Mar 12, 2024 12:06:00 PM
Me
attachments/42/IMG_0001.heic
The platform
Sent with Confetti
"""


def test_imessages_chat(write: Write) -> None:
    found = items(write("+15558675309.txt", IMESSAGE))
    assert [(each.role, each.content) for each in found] == [
        ("other", "Where do we meet?\n\nAt the station?"),
        ("user", "Yes!"),
        ("user", "The platform"),
    ]
    assert (found[0].conversation, found[0].speaker) == ("+15558675309", "+15558675309")
    assert [each.happened_at for each in found] == [
        datetime(2024, 3, 12, 9),
        datetime(2024, 3, 12, 9, 5),
        datetime(2024, 3, 12, 12, 6),
    ]
    assert found[2].metadata["attachments"] == ["IMG_0001.heic"]


# --- e-mail ----------------------------------------------------------------------------------------------


def mail(body: str, *, html: str | None = None, charset: str = "utf-8", **headers: str) -> bytes:
    made = EmailMessage()
    given = {"From": "Bob Bø <bob@example.org>", "To": "anna@example.org", "Date": "Tue, 12 Mar 2024 09:00:00 +0100"}
    for name, value in {**given, **{name.replace("_", "-"): value for name, value in headers.items()}}.items():
        made[name] = value
    if body:
        made.set_content(body, charset=charset)
    if html is not None:
        made.add_alternative(html, subtype="html") if body else made.set_content(html, subtype="html")
    return b"From 1234567890@xxx Tue Mar 12 08:00:00 +0000 2024\n" + made.as_bytes() + b"\n\n"


def test_a_mailbox(write: Write) -> None:
    reply = (
        "On Tuesday!\n\nOn Tue, 12 Mar 2024 at 09:00, Bob <bob@example.org>\nwrote:\n\n> When?\n> Bob\n\n-- \nAnna\n"
    )
    box = [
        mail("Bis spät\n>From the start", Subject="Größe 🎉", Message_ID="<1@x>", charset="iso-8859-1"),
        mail(reply, html="<p>On Tuesday!</p>", Subject="Re: When?", Message_ID="<3@x>", References="<1@x> <2@x>"),
        mail("", html="<html><style>p {}</style><p>Hello<br>there</p></html>", Message_ID="<4@x>"),
        mail("Buy!", Message_ID="<5@x>", X_Gmail_Labels="Spam,Unread"),
    ]
    found = items(write("All mail.mbox", b"".join(box)))
    assert [each.content for each in found] == ["Größe 🎉\n\nBis spät\nFrom the start", "On Tuesday!", "Hello\nthere"]
    assert [(each.id, each.conversation) for each in found] == [
        ("<1@x>", "<1@x>"),
        ("<3@x>", "<1@x>"),
        ("<4@x>", "<4@x>"),
    ]
    assert (found[0].speaker, found[0].metadata["from"]) == ("Bob Bø", "bob@example.org")
    assert found[0].happened_at == datetime(2024, 3, 12, 8, tzinfo=UTC)


def test_mails_with_a_wrong_or_unknown_charset_and_no_date(write: Write) -> None:
    head = b"From: bob@example.org\nSubject: =?utf-8?q?caf=C3=A9?= =?unknown?q?x?=\nMessage-ID: <1@x>\nDate: soon\n"
    body = b"Content-Type: text/plain; charset=x-unknown\n\nGr\xfc\xdfe\n"
    [item] = items(write("note.eml", head + body))
    assert item.content.endswith("Grüße")
    assert (item.happened_at, item.speaker) == (None, "bob@example.org")


def test_an_attachment_is_not_what_was_said(write: Write) -> None:
    made = EmailMessage()
    made["From"], made["Subject"], made["Message-ID"] = "bob@example.org", "Plan", "<1@x>"
    made.set_content("See the plan.\n\n-----Original Message-----\nFrom: Anna\nWhere is it?")
    made.add_attachment("secret", filename="plan.txt")
    [item] = items(write("a.eml", made.as_bytes()))
    assert item.content == "Plan\n\nSee the plan."


def letter(subject: str, *parts: tuple[str, str], **headers: str) -> bytes:
    """Return a message of these parts, each a text and its kind, all of them alternatives."""
    message = EmailMessage()
    message["From"], message["Subject"], message["Message-ID"] = "Anna <anna@x.org>", subject, "<1@x.org>"
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    (text, kind), *others = parts
    message.set_content(text, subtype=kind)
    for text, kind in others:
        message.add_alternative(text, subtype=kind)
    return bytes(message)


def text_of(write: Write, raw: bytes) -> str:
    [item] = items(write("a.eml", raw))
    return item.content.partition("\n\n")[2]


def test_a_blank_text_beside_html_is_no_text(write: Write) -> None:
    assert text_of(write, letter("Hi", (" \n", "plain"), ("<p>See you at nine</p>", "html"))) == "See you at nine"


FORWARDED = "FYI\n\n---------- Forwarded message ---------\nFrom: Bob\nSubject: Boat\n\nIt leaves at nine.\n"


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ("Fwd: Boat", FORWARDED),
        ("Boat", FORWARDED),
        ("WG: Boat", "FYI\n\n-----Original Message-----\nFrom: Bob\nSent: x\n\nIt leaves at nine.\n"),
        ("Fw: Boat", "FYI\n\n> From: Bob\n>\n> It leaves at nine.\n"),
    ],
)
def test_a_message_that_is_passed_on_is_kept(write: Write, subject: str, text: str) -> None:
    found = text_of(write, letter(subject, (text, "plain")))
    assert found.startswith("FYI\n") and found.endswith("It leaves at nine.") and "From: Bob" in found


@pytest.mark.parametrize("subject", ["Re: Boat", "AW: Boat", "SV: Fwd: Boat", "Re[2]: Boat", "Boat"])
def test_an_answer_to_a_message_that_was_passed_on_is_no_such_message(write: Write, subject: str) -> None:
    quoted = "".join(f"> {line}\n" for line in FORWARDED.splitlines())
    assert text_of(write, letter(subject, (f"Yes\n\nOn Tuesday, Bob wrote:\n{quoted}", "plain"))) == "Yes"
    if subject != "Boat":
        assert text_of(write, letter(subject, (FORWARDED.replace("FYI", "Yes"), "plain"))) == "Yes"


def test_a_message_that_is_attached_is_kept(write: Write) -> None:
    message, inner = EmailMessage(), EmailMessage()
    inner["Subject"] = "Boat"
    inner.set_content("It leaves at nine.")
    message["From"], message["Subject"] = "a@x.org", "Fwd: Boat"
    message.set_content("FYI")
    message.add_attachment(inner)
    assert "It leaves at nine." in text_of(write, bytes(message))


def test_an_inline_part_with_a_name_is_the_text(write: Write) -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "a@x.org", "Hi"
    message.set_content("See you at nine", disposition="inline", filename="message.txt")
    message.add_attachment("not said", filename="other.txt")
    assert text_of(write, bytes(message)) == "See you at nine"


@pytest.mark.parametrize(
    "html",
    [
        '<div>Yes</div><div class="gmail_quote"><div class="gmail_attr">On Tue, Bob wrote:<br></div>'
        '<blockquote class="gmail_quote"><div><div>At nine?</div></div></blockquote></div>',
        '<body>Yes<br><blockquote type="cite">On 12 Mar 2024, Bob wrote:<br><blockquote type="cite">a</blockquote>'
        "At nine?</blockquote></body>",
        '<div>Yes</div><div id="appendonsend"></div><hr><div id="divRplyFwdMsg"><b>From:</b> Bob</div>'
        "<div>At nine?</div>",
        '<p>Yes</p><div style="border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt"><p><b>From:</b> Bob</p></div>'
        "<p>At nine?</p>",
        '<p>Yes</p><div class="moz-cite-prefix">Bob wrote:</div><blockquote type="cite">At nine?</blockquote>',
        '<div>Yes</div><div class="yahoo_quoted"><div>At nine?</div></div>',
    ],
)
def test_quoted_replies_in_html_are_not_the_senders_words(write: Write, html: str) -> None:
    assert text_of(write, letter("Re: Boat", (html, "html"))) == "Yes"


def test_a_quotation_of_ones_own_and_words_below_a_reply_are_kept(write: Write) -> None:
    html = '<blockquote>To be</blockquote><blockquote type="cite"><div>At nine?</div></blockquote><p>Yes</p>'
    assert text_of(write, letter("Re: Boat", (html, "html"))) == "To be\n\nYes"


@pytest.mark.parametrize("names", [("From", "To", "Date"), ("Von", "An", "Datum"), ("Van", "Aan", "Datum")])
def test_a_journey_is_no_header_of_a_message(write: Write, names: tuple[str, str, str]) -> None:
    values = ("Amsterdam", "Berlin", "12 March")
    journey = "\n".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))
    text = f"Our trip:\n\n{journey}\n\nSeats 4 and 5"
    assert text_of(write, letter("Trip", (text, "plain"))) == text
    quoted = journey.replace("Amsterdam", "Bob <b@x.org>")
    assert text_of(write, letter("Trip", (f"Yes\n\n{quoted}\n\nAt nine?", "plain"))) == "Yes"


def test_outlooks_headers_above_what_is_answered(write: Write) -> None:
    text = "Yes\n\nFrom: Bob <b@x.org>\nSent: Tuesday\nTo: Anna\nSubject: Boat\n\nAt nine?\n"
    assert text_of(write, letter("Re: Boat", (text, "plain"))) == "Yes"
    assert text_of(write, letter("Re: Boat", ("From: where I stand, yes\nDone", "plain"))).endswith("Done")
