"""What the console's forms send and store, to the byte, as a browser encodes them."""

import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from browsers import FORM, Browser
from memorist.memory import Memory
from memorist.serve.auth import Tokens
from opening import bytes_beside

pytestmark = pytest.mark.anyio


@pytest.fixture
async def browser(client: Any) -> AsyncIterator[Browser]:
    yield Browser(await client())


def path_of(where: str, **query: str) -> str:
    return str(httpx.URL(where, params={"user": "alice", **query}))


async def test_forget_takes_the_record_named_and_no_other(browser: Browser, alice: Memory) -> None:
    ids = ["x1", " x1", "x1 ", "x1\n", "\nx1", "x\r1", "x\r\n1", "+x1", "%78", "x&1"]
    for id in ids:
        await alice.remember("Likes tea", id=id)
    while ids:
        gone = ids.pop()
        assert (await browser.send(path_of("/record", id=gone), "/forget")).status_code == 303
        assert sorted(record.id for record in await alice.recent(99)) == sorted(ids)


@pytest.mark.parametrize("text", [" leading", "trailing ", "\n\nfirst", "a\nb", "a\r\nb", "a\r\nb\nc", "a\rb", "\tx\n"])
async def test_saving_unchanged_changes_nothing(browser: Browser, alice: Memory, text: str) -> None:
    before = await alice.remember(text, id="r", cue=text)
    await alice.topics.set("t", text)
    assert (await browser.send(path_of("/record", id="r"), "/revise")).status_code == 303
    assert (await browser.send(path_of("/topics"), "/topic")).status_code == 303
    assert await alice.get("r") == before and len(await alice.history("r")) == 1
    assert await alice.topics.get("t") == text


async def test_what_is_typed_is_stored_to_the_letter(browser: Browser, alice: Memory) -> None:
    await browser.send(path_of("/"), "/remember", content="  two\n\n spaces ")
    [record] = await alice.recent(1)
    assert record.content == "  two\n\n spaces "
    await alice.remember("one\r\ntwo", id="crlf")
    await browser.send(path_of("/record", id="crlf"), "/revise", content="one\r\ntwo\r\nthree")
    revised = await alice.get("crlf")
    assert revised is not None and revised.content == "one\r\ntwo\r\nthree"


async def test_an_emptied_cue_is_cleared_and_a_content_cannot_be(browser: Browser, alice: Memory) -> None:
    await alice.remember("Tea", id="r", cue="which drink?")
    await browser.send(path_of("/record", id="r"), "/revise", cue="")
    record = await alice.get("r")
    assert record is not None and (record.cue, record.content, record.version) == (None, "Tea", 2)
    await browser.send(path_of("/record", id="r"), "/revise", content=" ")
    assert await alice.get("r") == record


async def test_a_mistake_in_any_field_is_mended(browser: Browser, alice: Memory) -> None:
    await alice.remember("Moved in", id="r", metadata={"city": "Osló"}, happened_at="2024-05-01T10:00:07Z")
    page = path_of("/record", id="r")
    await browser.send(path_of("/status"), "/zone", zone="Asia/Kolkata")
    typed = {"happened_at": "2024-06-02T01:00", "expires_at": "2199-01-01T00:00", "metadata": '{"city": "Bergen"}'}
    await browser.send(page, "/revise", **typed, author="tool")
    record = await alice.get("r")
    assert record is not None and record.happened_at is not None and record.expires_at is not None
    assert record.happened_at.isoformat() == "2024-06-02T01:00:00+05:30"
    assert (record.metadata, record.expires_at.year, record.version) == ({"city": "Bergen"}, 2198, 2)
    assert "tool" in record.origin.authors.names
    for wrong in ({"happened_at": "soonish"}, {"metadata": "[1]"}, {"payload": "{"}, {"author": "nobody"}):
        assert (await browser.send(page, "/revise", content="x", **wrong)).status_code == 422
    assert await alice.get("r") == record


async def test_an_earlier_version_comes_back_as_a_new_one(browser: Browser, alice: Memory) -> None:
    await alice.remember("Lives in Oslo", id="r", cue="where?", metadata={"a": 1})
    await alice.revise("r", content="Lives in Bergen", cue=None, metadata={})
    assert (await browser.send(path_of("/record", id="r"), "/revert")).status_code == 303
    record = await alice.get("r")
    assert record is not None and (record.content, record.cue, record.metadata) == ("Lives in Oslo", "where?", {"a": 1})
    assert [change.action for change in await alice.history("r")] == ["remembered", "revised", "revised"]
    [csrf] = set(re.findall(r'name="csrf" value="([^"]+)"', (await browser.http.get(path_of("/record", id="r"))).text))
    assert (await browser.post(path_of("/revert", id="r", version="9"), {"csrf": csrf})).status_code == 404


async def test_what_has_changed_is_replaced_and_both_lead_to_each_other(browser: Browser, alice: Memory) -> None:
    old = await alice.facts.add("Lives in Oslo", happened_at="2023-01-01")
    sent = {"content": "Lives in Bergen", "happened_at": "2024-02-01T00:00"}
    answer = await browser.send(path_of("/record", id=old.id), "/supersede", **sent)
    new = httpx.URL(answer.headers["location"]).params["id"]
    assert [each.content for each in await alice.facts.history(old.id)] == ["Lives in Oslo", "Lives in Bergen"]
    assert "Lives in Bergen</a>, <time" in (await browser.http.get(path_of("/record", id=old.id))).text
    assert "Lives in Oslo</a>, <time" in (await browser.http.get(path_of("/record", id=new))).text
    [hit] = await alice.recall("where does she live?", as_of="2023-06-01")
    assert hit.record.id == old.id
    message = await alice.remember("hello", kind="message")
    assert "/supersede" not in (await browser.http.get(path_of("/record", id=message.id))).text


async def test_ticked_records_are_forgotten_and_come_back_together(browser: Browser, alice: Memory) -> None:
    for number in range(4):
        await alice.remember(f"number {number}", id=f"n{number}")
    page = await browser.http.get(path_of("/browse"))
    [csrf] = set(re.findall(r'name="csrf" value="([^"]+)"', page.text))
    assert page.text.count('name="ids"') == 4
    none = await browser.post(path_of("/forget"), {"csrf": csrf})
    assert none.status_code == 422 and "Select a record" in none.text
    body = f"csrf={csrf}&ids=n1&ids=n3"
    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert (await browser.http.post(path_of("/forget"), content=body, headers=kind)).status_code == 303
    assert sorted(each.id for each in await alice.recent(9)) == ["n0", "n2"]
    assert (await browser.http.post(path_of("/forget"), content=f"{body}&ids=n0", headers=kind)).status_code == 404
    assert await alice.count() == 2
    await browser.send(path_of("/browse"), "/undo")
    assert await alice.count() == 4


async def test_records_are_found_by_their_words_and_a_bad_filter_keeps_the_form(
    browser: Browser, alice: Memory
) -> None:
    await alice.remember("Keeps bees on the roof", kind="fact")
    await alice.remember("Likes tea")
    text = (await browser.http.get(path_of("/browse", text="bee", kind="fact"))).text
    assert "Keeps bees" in text and "Likes tea" not in text
    wrong = await browser.http.get(path_of("/browse", text="bee", session="s1", since="soonish"))
    assert wrong.status_code == 422 and "soonish" in wrong.text
    assert 'value="bee"' in wrong.text and 'value="s1"' in wrong.text


async def test_topics_of_any_name_are_told_apart(browser: Browser, alice: Memory) -> None:
    names = ["t", " t", "t\n", "t.u"]
    for name in names:
        await alice.topics.set(name, "old")
    text = (await browser.http.get(path_of("/topics"))).text
    actions = [unescape(target) for target, _ in FORM.findall(text) if "topic=" in target]
    assert sorted(httpx.URL(each).params["topic"] for each in actions) == sorted(names)


async def test_a_topic_of_many_dots_is_shown(browser: Browser, alice: Memory) -> None:
    await alice.topics.set("a." * 255 + "b", "deep")
    page = await browser.http.get(path_of("/topics"))
    assert page.status_code == 200 and "deep" in page.text


async def test_undo_brings_nothing_back_that_was_purged(browser: Browser, alice: Memory) -> None:
    await alice.remember("Has a secret", id="r")
    await browser.send(path_of("/record", id="r"), "/forget")
    await alice.purge()
    answer = await browser.send(path_of("/browse"), "/undo")
    assert answer.status_code == 404
    assert await alice.count(superseded=True) == 0
    assert "Undo" not in (await browser.http.get(path_of("/browse"))).text


async def test_a_purge_takes_the_users_tokens_and_name_along(
    client: Any, everyone: Memory, tokens: Tokens, tmp_path: Path
) -> None:
    name = "qvictimz"
    await everyone.scoped(user=name).remember("Likes tea")
    await tokens.create(f"{name}'s laptop", user=name)
    await tokens.create("of another", user="bob")
    http = await client()
    assert (await http.post("/v1/purge", params={"user": name})).json()["purged"] == 1
    assert [token.grant.name for token in await tokens.list()] == ["of another"]
    files = bytes_beside(tmp_path / "memory.db")
    assert files and [each for each, held in files.items() if name.encode() in held] == []


async def test_a_query_that_is_not_utf_8_is_no_user(browser: Browser) -> None:
    answer = await browser.http.get("/browse?user=%e9x")
    assert answer.status_code == 422 and "not UTF-8" in answer.text


async def test_the_page_shows_what_the_agent_would_be_told(browser: Browser, alice: Memory) -> None:
    await alice.remember("Takes her coffee black <b>")
    page = await browser.http.get(path_of("/ask", q="how does she take her coffee?", tokens="200"))
    assert page.status_code == 200 and "coffee black &lt;b&gt;</a>" in page.text and "of 200</dd>" in page.text
    for wrong in ("x", "-5", "9" * 5000):
        assert (await browser.http.get(path_of("/ask", q="x", tokens=wrong))).status_code == 422


@pytest.mark.parametrize(
    "page", ["/browse?user_id=alice", "/?k=5", "/record?id=x1&top_k=1", "/browse?kind=note&kind=fact"]
)
async def test_a_page_takes_no_parameter_that_it_does_not_have(browser: Browser, page: str) -> None:
    assert (await browser.http.get(page)).status_code == 422


@pytest.mark.parametrize("shared", ["false", "0", "on"])
async def test_a_box_is_ticked_by_its_own_value_alone(browser: Browser, shared: str) -> None:
    answer = await browser.http.get(path_of("/ask", q="tea", shared=shared))
    assert (answer.status_code, "Shared is 1 or left out" in answer.text) == (422, True)


async def test_a_form_with_an_unknown_field_stores_nothing(browser: Browser, everyone: Memory) -> None:
    answer = await browser.send("/", "/remember", content="Likes tea", user_id="alice")
    assert (answer.status_code, "did you mean &#39;user&#39;?" in answer.text) == (422, True)
    assert await everyone.count(everyone=True) == 0


async def test_names_in_forms_must_be_utf8(browser: Browser, alice: Memory) -> None:
    [csrf] = set(re.findall(r'name="csrf" value="([^"]+)"', (await browser.http.get(path_of("/topics"))).text))
    for topic in ("%e9", "%e8"):
        body = f"csrf={csrf}&topic={topic}&value=x"
        kind = {"content-type": "application/x-www-form-urlencoded"}
        assert (await browser.http.post(path_of("/topic"), content=body, headers=kind)).status_code == 422
    assert await alice.topics.list() == {}


async def test_what_rests_on_something_forgotten_is_marked(browser: Browser, alice: Memory) -> None:
    for id in ("one", "two"):
        await alice.remember(id, id=id)
    await alice.remember("Both", id="both", derived_from=["one", "two"])
    assert "in part from" not in (await browser.http.get(path_of("/browse"))).text
    await alice.forget("one", derived=True)
    assert "in part from what was forgotten" in (await browser.http.get(path_of("/browse"))).text
    assert "1 of its sources forgotten" in (await browser.http.get(path_of("/record", id="both"))).text


async def test_an_emptied_text_is_an_error_as_everywhere(browser: Browser, alice: Memory) -> None:
    await alice.remember("Likes tea", id="x1")
    assert (await browser.send(path_of("/record", id="x1"), "/revise", content="")).status_code == 422
    record = await alice.get("x1")
    assert record is not None and record.content == "Likes tea"


@pytest.mark.parametrize("rating", ["nan", "1_0", " 1", "١", "9" * 5000, "1e999", "true", ""])
async def test_a_rating_is_written_as_json_writes_numbers(browser: Browser, alice: Memory, rating: str) -> None:
    await alice.remember("Likes tea", id="x1")
    assert (await browser.send(path_of("/record", id="x1"), "/rate", rating=rating)).status_code == 422


async def test_conversations_have_titles_and_days_and_are_found_by_what_was_said(
    browser: Browser, alice: Memory
) -> None:
    for session, day, text in (
        ("s1", 1, "We plan the trip to Bergen"),
        ("s2", 2, "The dentist called"),
        ("s3", 2, "Hm"),
    ):
        await alice.remember(text, kind="message", session=session, happened_at=f"2024-05-0{day}T10:00")
        await alice.remember("Good night", kind="message", session=session, happened_at=f"2024-05-0{day}T22:00")
    page = (await browser.http.get(path_of("/conversations"))).text
    assert "<strong>We plan the trip to Bergen</strong>" in page
    days = [page.index("Thursday, 2 May 2024"), page.index("Wednesday, 1 May 2024")]
    assert days == sorted(days) and page.count('class="day"') == 2
    found = (await browser.http.get(path_of("/conversations", text="dentist"))).text
    assert "<strong>The dentist called</strong>" in found and "Bergen" not in found
    assert "No conversation contains" in (await browser.http.get(path_of("/conversations", text="zebra"))).text


async def test_an_admin_asks_all_users_and_compares_two(browser: Browser, everyone: Memory, client: Any) -> None:
    for user, city in (("alice", "Oslo"), ("bob", "Rome")):
        await everyone.scoped(user=user).remember(f"Lives in {city}")
    page = (await browser.http.get("/ask?q=who+lives+in+Rome&everyone=1")).text
    assert (
        "Rome" in page
        and "Oslo" in page
        and page.index("Rome") < page.index("Oslo")
        and "A context is made for one user" in page
    )
    both = (await browser.http.get("/compare?one=alice&other=bob&q=which+city+does+she+live+in")).text
    assert "Lives in" in both and both.index("Oslo") < both.index("Rome")
    secret, _ = await Tokens(everyone).create("alice's", user="alice")
    bound = await client(secret, open=False, host="example.org")
    for path in ("/ask?q=x&everyone=1", "/compare?one=alice&other=bob"):
        answer = await bound.get(path)
        assert answer.status_code in (303, 403) and "Rome" not in answer.text


async def test_users_are_sorted_and_one_with_far_more_than_most_is_pointed_out(
    browser: Browser, everyone: Memory
) -> None:
    for user in ("ann", "ben", "cid", "dee"):
        await everyone.scoped(user=user).remember("A note")
    await everyone.scoped(user="zoe").remember([f"note {number}" for number in range(11)])
    most, names = [(await browser.http.get(path)).text for path in ("/users", "/users?sort=name")]
    assert most.index(">zoe") < most.index(">ann") and names.index(">ann") < names.index(">zoe")
    assert most.count("unusually many") == 1
    assert (await browser.http.get("/users?sort=size")).status_code == 422


async def test_a_question_that_nothing_answers_is_told_so(browser: Browser, alice: Memory) -> None:
    await alice.remember("Takes her coffee black")
    page = await browser.http.get(path_of("/ask", q="which quantum field theory was renormalised in 1971?"))
    assert "No record answers this" in page.text and "coffee black" in page.text
