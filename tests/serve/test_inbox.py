"""The inbox through REST, a remote memory, MCP and the console: an agent asks, and only the user decides."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, MCPError
from playwright.async_api import Browser, Page, expect

from children import approve_until_killed, finish, start
from memorist.agents import memory_tools
from memorist.cli.inbox import _tell_of_waiting
from memorist.errors import NotFoundError, ScopeError, WaitingError
from memorist.memory import Memory
from memorist.records.origins import Author
from memorist.records.record import Draft
from memorist.serve.app import create_app
from memorist.serve.auth import Tokens
from memorist.serve.mcp import Access, create_server
from memorist.testing import HashEmbedder
from servers import running

pytestmark = pytest.mark.anyio


@pytest.fixture
async def everyone(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(tmp_path / "memory.db", embedder=HashEmbedder(), confirm=True) as memory:
        yield memory


@pytest.fixture
async def site(everyone: Memory) -> AsyncIterator[str]:
    async with running(create_app(everyone, open=True)) as url:
        yield url


async def test_an_agent_at_a_server_asks_and_the_user_decides_there(site: str, everyone: Memory) -> None:
    async with Memory.connect(site, user="alice") as alice:
        coffee = await alice.remember("Drinks coffee")
        tools = memory_tools(alice)
        for name, arguments in (
            ("add_memory", {"content": "Lives in Oslo"}),
            ("update_memory", {"id": coffee.id, "content": "Drinks tea"}),
            ("delete_memory", {"id": coffee.id}),
        ):
            told = await tools.call(name, arguments)
            assert told.success and "is pending approval" in told.data
        assert [each.content for each in await alice.recent()] == ["Drinks coffee"]
        with pytest.raises(WaitingError, match=r"as [0-9a-f]{32}"):
            await alice.remember("Likes milk", proposed=True)
        note, revision, removal, milk = await alice.admin.inbox()
        assert [note.verb, revision.verb, removal.verb] == ["remember", "revise", "forget"]
        assert await everyone.scoped(user="alice").admin.inbox() == [note, revision, removal, milk]
        [kept] = await alice.admin.approve(note.id, "Lives in Bergen")
        assert (kept.content, kept.origin.authors) == ("Lives in Bergen", Author.ASSISTANT | Author.USER)
        assert (await alice.admin.reject(removal.id)).content == "Drinks coffee"
        assert (await alice.admin.reject(removal.id, undo=True)).id == removal.id
        with pytest.raises(NotFoundError):
            await alice.admin.approve(note.id)
        async with Memory.connect(site, user="bob") as bob:
            assert await bob.admin.inbox() == []
            with pytest.raises(NotFoundError):
                await bob.admin.approve(revision.id)


async def test_a_request_by_http_that_waits_is_accepted_and_no_error(site: str) -> None:
    async with httpx.AsyncClient(base_url=site, params={"user": "alice"}, timeout=120) as http:
        for key in ({}, {"Idempotency-Key": "one"}, {"Idempotency-Key": "one"}):
            body = {"records": [{"content": "Likes tea"}], "proposed": True}
            answer = await http.post("/v1/records", json=body, headers=key)
            assert (answer.status_code, answer.json()["error"]) == (202, "WaitingError")
        [proposal] = (await http.get("/v1/inbox")).json()["proposals"]
        assert (proposal["content"], proposal["user"]) == ("Likes tea", "alice")
        answer = await http.post(f"/v1/inbox/{proposal['id']}/approve", json={})
        assert [each["content"] for each in answer.json()["records"]] == ["Likes tea"]
        assert (await http.post("/v1/inbox/none/reject", json={})).status_code == 404


async def test_only_an_administrator_of_all_users_learns_for_whom_something_waits(
    everyone: Memory, tokens: Tokens, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(WaitingError):
        await everyone.scoped(user="alice").remember("Likes tea", proposed=True)
    async with running(create_app(everyone)) as url:
        for told, user, right in ((True, None, "admin"), (False, None, "write"), (False, "bob", "admin")):
            secret, _ = await tokens.create(f"{user} {right}", user=user, right=right)
            async with Memory.connect(url, token=secret) as memory:
                assert await _tell_of_waiting(memory) == told
                assert ("alice" in capsys.readouterr().err) == told


async def test_who_may_only_write_does_not_decide(everyone: Memory, client: Any, tokens: Tokens) -> None:
    with pytest.raises(WaitingError):
        await everyone.scoped(user="alice").remember("Likes tea", proposed=True)
    secret, _ = await tokens.create("agent", user="alice", right="write")
    http = await client(secret)
    [proposal] = (await http.get("/v1/inbox")).json()["proposals"]
    for path in ("approve", "reject"):
        assert (await http.post(f"/v1/inbox/{proposal['id']}/{path}", json={})).status_code == 403
    other, _ = await tokens.create("other", user="bob", right="admin")
    assert (await (await client(other)).post(f"/v1/inbox/{proposal['id']}/approve", json={})).status_code == 404
    with pytest.raises(ScopeError):
        await tokens.create("x", tenant="memorist:inbox:default")


@pytest.mark.parametrize("tools", ["core", "all"])
async def test_no_tool_of_an_agent_decides_or_goes_round(everyone: Memory, tools: Any) -> None:
    alice = everyone.scoped(user="alice")
    coffee = await alice.remember("Drinks coffee")
    async with Client(create_server(Access(alice), tools=tools)) as agent:
        named = {each.name: each for each in (await agent.list_tools()).tools}
        assert not [name for name in named if "inbox" in name or "approve" in name or "propos" in name]
        calls: dict[str, dict[str, Any]] = {
            "add_memory": {"content": "Likes tea"},
            "update_memory": {"id": coffee.id, "content": "Drinks tea"},
            "delete_memory": {"id": coffee.id},
            "save_topic": {"topic": "user.drink", "value": "tea"},
            "record_tool_use": {"tool": "brew", "arguments": {}},
        }
        asked = [name for name in calls if name in named]
        for name in asked:
            answer = await agent.call_tool(name, calls[name])
            assert "not done yet: it is pending approval" in answer.content[0].text  # type: ignore[union-attr]
            assert answer.is_error == (tools == "all")  # there a success has the form that the tool promises
        assert [each.content for each in await alice.recent()] == ["Drinks coffee"]
        waiting = await alice.admin.inbox()
        assert len(waiting) == len(asked) and {each.door for each in waiting} == {"mcp"}
        for name in ("approve", "reject", "inbox"):
            with pytest.raises(MCPError):
                await agent.call_tool(name, {"id": waiting[0].id})
        assert "Likes tea" not in str(await agent.call_tool("search_memories", {"query": "tea"}))
        assert (await agent.call_tool("delete_memory", {"id": waiting[0].id})).is_error is False
        assert await alice.admin.inbox() == waiting


HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> {{ 7*7 }} \x1b[31m"


@pytest.fixture
async def asked(everyone: Memory) -> Memory:
    """Return the memory of a user of whom agents have asked three things."""
    alice = everyone.scoped(user="alice")
    coffee = await alice.remember("Drinks coffee")
    tools = memory_tools(alice.scoped(agent="cursor"))
    for content in ("Likes tea", HOSTILE):
        await tools.call("add_memory", {"content": content})
    await memory_tools(alice).call("delete_memory", {"id": coffee.id})
    return alice


@pytest.mark.slow
async def test_one_key_decides_on_the_page(page: Page, site: str, asked: Memory) -> None:
    await page.goto(f"{site}/?user=alice")
    await page.get_by_role("link", name="Inbox").click()
    forms = page.locator("form.waits")

    async def shown(count: int) -> None:
        await expect(forms).to_have_count(count)
        await expect(forms.first).to_have_attribute("data-marked", "")  # keys are heard from now on

    await shown(3)
    await expect(forms.first).to_contain_text("remember · note · assistant · python · cursor")
    await expect(forms.nth(1).locator(".text")).to_contain_text("<script>document.title='owned'</script>")
    await expect(page).to_have_title("Inbox · Memorist")
    await page.keyboard.press("c")
    await page.keyboard.press("Control+a")
    await page.keyboard.type("Likes acrs tea")  # in a field, letters are letters
    await page.keyboard.press("Tab")
    await page.keyboard.press("a")
    await expect(page.get_by_role("status")).to_contain_text("Approved")
    await shown(2)
    await page.keyboard.press("s")
    await expect(forms.nth(1)).to_have_attribute("data-marked", "")
    await page.keyboard.press("a")
    await expect(forms).to_have_count(1)
    assert [each.content for each in await asked.recent()] == ["Likes acrs tea"]
    await page.get_by_role("button", name="Undo forgetting").click()
    await expect(page.get_by_role("button", name="Undo forgetting")).to_have_count(0)
    await page.get_by_role("link", name="Inbox").click()
    assert await asked.count() == 2
    await shown(1)
    await page.keyboard.press("r")
    await expect(forms).to_have_count(0)
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("status")).to_contain_text("The proposal is pending again")
    await expect(forms).to_have_count(1)


IN_ORDER = """each => {
  const places = [], texts = document.createTreeWalker(each, NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode()); ) {
    for (let at = 0; at < text.length; at++) {
      const range = document.createRange();
      range.setStart(text, at);
      range.setEnd(text, at + 1);
      const box = range.getBoundingClientRect();
      if (box.width) places.push([box.left, text.data[at]]);
    }
  }
  return places.sort((one, other) => one[0] - other[0]).map((each) => each[1]).join("");
}"""
"""Returns the characters of an element of one line as they are seen from left to right."""


@pytest.mark.slow
@pytest.mark.parametrize("turned", ["\u202e{}", "\u2067\u2066{}\u2069 \u2066back\u2069\u2069"])
async def test_what_turns_a_text_round_is_shown_and_does_not(
    page: Page, site: str, everyone: Memory, turned: str
) -> None:
    alice = everyone.scoped(user="alice")
    given = turned.format("three words long")
    read = re.sub("[\u202a-\u202e\u2066-\u2069]", "\ufffd", given)
    old = await alice.remember(given)
    for asking in (
        alice.remember(given, kind="topic", key=given, metadata={"a": given}, proposed=True),
        alice.revise(old.id, content="New", proposed=True),
    ):
        with pytest.raises(WaitingError):
            await asking
    await page.goto(f"{site}/inbox?user=alice")
    seen = [await each.evaluate(IN_ORDER) for each in await page.locator("form.waits p").all()]
    assert seen[0].startswith(f"remember · topic · {read} · user · python · 2")
    assert seen[1] == read and f'"a": "{read}"' in seen[2]
    assert seen[3].startswith("revise · assistant · python · 2")
    assert seen[4:] == ["New", f"current: {read}"]
    await page.locator("summary").first.click()
    assert await page.locator("textarea").first.input_value() == given


@pytest.mark.slow
async def test_every_page_counts_what_is_pending_and_an_operator_is_led_to_its_users(
    page: Page, site: str, everyone: Memory
) -> None:
    for number, user in enumerate(("alice", "alice", "bob")):
        with pytest.raises(WaitingError):
            await everyone.scoped(user=user).remember(f"Likes tea {number}", proposed=True)
    badge = page.locator("nav .badge")
    await page.goto(f"{site}/topics?user=bob")
    await expect(badge).to_have_text("1 pending")
    await page.goto(f"{site}/")
    await expect(badge).to_have_text("3 pending")
    await page.get_by_role("navigation").get_by_role("link", name="Inbox").click()
    await page.locator("main").get_by_role("link", name="alice 2").click()
    await expect(page.locator("form.waits")).to_have_count(2)
    await page.goto(f"{site}/topics?user=nobody")
    await expect(badge).to_have_count(0)


@pytest.mark.slow
async def test_several_records_are_shown_each_by_itself(page: Page, site: str, everyone: Memory) -> None:
    topic = Draft(content="vim", kind="topic", key="user.editor", metadata={"since": 1999})
    with pytest.raises(WaitingError):
        await everyone.scoped(user="alice").remember(["Likes\n\ntea", topic], proposed=True)
    await page.goto(f"{site}/inbox?user=alice")
    assert (await page.locator("form.waits p").all_inner_texts())[1:] == [
        "1 of 2 · note", "Likes\n\ntea", "2 of 2 · topic · user.editor", "vim", 'metadata: { "since": 1999 }',
    ]  # fmt: skip
    await expect(page.locator("details")).to_have_count(0)


@pytest.mark.slow
async def test_what_is_being_approved_says_so_and_can_only_be_approved(
    page: Page, site: str, everyone: Memory, tmp_path: Path
) -> None:
    alice = everyone.scoped(user="alice")
    with pytest.raises(WaitingError):
        await alice.remember("Likes tea", proposed=True)
    [proposal] = await alice.admin.inbox()
    finish(start(approve_until_killed, tmp_path / "memory.db", proposal.id, 1, "alice"))
    async with httpx.AsyncClient(base_url=site, params={"user": "alice"}, timeout=120) as http:
        assert [each["state"] for each in (await http.get("/v1/inbox")).json()["proposals"]] == ["approving"]
        refused = await http.post(f"/v1/inbox/{proposal.id}/reject", json={})
        assert refused.status_code == 409 and "approve it again" in refused.json()["detail"]
    await page.goto(f"{site}/inbox?user=alice")
    await expect(page.locator("form.waits")).to_contain_text("This is being approved")
    assert await page.locator("form.waits button").all_inner_texts() == ["Approve"]
    await page.keyboard.press("r")
    await page.keyboard.press("c")
    await page.keyboard.press("a")
    await expect(page.get_by_role("status")).to_contain_text("Approved")
    assert [each.content for each in await alice.recent()] == ["Likes tea"]


@pytest.mark.slow
async def test_the_page_needs_no_script_and_fits_a_phone(browser: Browser, site: str, asked: Memory) -> None:
    context = await browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = await context.new_page()
    await page.goto(f"{site}/inbox?user=alice")
    assert await page.locator("html").evaluate("each => each.scrollWidth") == 390
    await page.locator("summary").first.click()
    await page.get_by_label("Text").first.fill("Likes green tea")
    await page.get_by_role("button", name="Approve").first.click()
    await page.get_by_role("link", name="See it").click()
    await expect(page.locator(".whole")).to_have_text("Likes green tea")
    await expect(page.locator(".sources")).to_contain_text("assistant, operator through python")
    await page.goto(f"{site}/inbox?user=bob")
    await expect(page.locator(".empty")).to_contain_text("No pending proposals")


async def test_a_form_decides_only_with_the_right_and_of_its_own_page(
    everyone: Memory, client: Any, tokens: Tokens, asked: Memory
) -> None:
    [first, *_] = await asked.admin.inbox()
    secret, _ = await tokens.create("writer", user="alice", right="write")
    http = await client(None, open=False)
    await http.post("/login", data={"token": secret})
    assert "Likes tea" in (page := (await http.get("/inbox")).text) and '<button class="main"' not in page
    assert (await http.post("/inbox", data={"id": first.id, "do": "approve"})).status_code == 403
    assert (await (await client()).post("/inbox?user=alice", data={"id": first.id, "do": "approve"})).status_code == 403
    assert len(await asked.admin.inbox()) == 3
