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
    assert page.status_code == 200 and "coffee black &lt;b&gt;</a>" in page.text and "of 200 tokens" in page.text
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
