"""What the console's forms send and store, to the byte, as a browser encodes them."""

import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from memorist.memory import Memory
from memorist.serve.auth import Tokens

pytestmark = pytest.mark.anyio

FORM = re.compile(r'<form[^>]* action="([^"]+)"[^>]*>(.*?)</form>', re.DOTALL)
TEXTAREA = re.compile(r'<textarea[^>]*name="(\w+)"[^>]*>\n?(.*?)</textarea>', re.DOTALL)
"""The newline after the opening tag is none of the text's, as HTML has it."""


class Browser:
    """Sends the forms of pages as a browser does."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def send(self, page: str, action: str, **typed: str) -> httpx.Response:
        """Send the form of a page that leads to `action`, with what is typed in the place of what stands there."""
        text = (await self.http.get(page)).text
        for target, inner in FORM.findall(text):
            if unescape(target).partition("?")[0] == action:
                fields = {name: unescape(value) for name, value in TEXTAREA.findall(inner)}
                hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', inner))
                fields = hidden | fields | typed
                sent = {name: _as_sent(value) for name, value in fields.items()}
                return await self.http.post(unescape(target), data=sent)
        raise AssertionError(f"{page} has no form for {action}: {text}")


def _as_sent(value: str) -> str:
    return value.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")


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
    assert (await http.post("/v1/purge", params={"user": name})).json() == {"purged": 1}
    assert [token.grant.name for token in await tokens.list()] == ["of another"]
    files = {each.name for each in tmp_path.rglob("*") if each.is_file() and name.encode() in each.read_bytes()}
    assert files == set()


async def test_a_query_that_is_not_utf_8_is_no_user(browser: Browser) -> None:
    answer = await browser.http.get("/browse?user=%e9x")
    assert answer.status_code == 422 and "not UTF-8" in answer.text


async def test_the_page_shows_what_the_agent_would_be_told(browser: Browser, alice: Memory) -> None:
    await alice.remember("Takes her coffee black <b>")
    page = await browser.http.get(path_of("/context", q="how does she take her coffee?", tokens="200"))
    assert page.status_code == 200 and "coffee black &lt;b&gt;" in page.text and "of 200 tokens" in page.text
    for wrong in ("x", "-5", "9" * 5000):
        assert (await browser.http.get(path_of("/context", q="x", tokens=wrong))).status_code == 422
