"""Traces in the console: a call is looked at, and what was right makes it a case; in a real browser."""

import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from clocks import MovedClock
from memorist import Memory
from memorist.config import Settings
from memorist.errors import EmbedderUnavailableError
from memorist.files.cases import read_cases
from memorist.records.origins import MCP
from memorist.serve.app import create_app
from memorist.serve.auth import Tokens
from memorist.testing import HashEmbedder

Open = Callable[..., Memory]
pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def reopen(tmp_path: Path, clock: MovedClock) -> Open:
    """Return a function that opens the test's own file, with traces kept."""

    def open_file(**scope: Any) -> Memory:
        settings = Settings(clock=clock, keep_traces="7d")
        return Memory.open(tmp_path / "memory.db", embedder=HashEmbedder(), settings=settings, **scope)

    return open_file


@pytest.fixture(params=[True, False], ids=["script", "no script"])
async def page(browser: Browser, request: pytest.FixtureRequest) -> AsyncIterator[Page]:
    context = await browser.new_context(java_script_enabled=request.param)
    yield await context.new_page()
    await context.close()


async def test_from_a_bad_answer_to_a_case(
    page: Page, site: str, everyone: Memory, alice: Memory, tmp_path: Path
) -> None:
    await alice.remember(["Prefers homestays in Lisbon", "Likes hotels in Porto", *(f"noise {n}" for n in range(9))])
    await everyone.remember("The travel desk knows homestays")
    model = alice.through(MCP)
    told = await model.scoped(agent="planner").context("homestays?", min_confidence=0.0)
    await model.recall("hotels?", limit=1, shared=True)
    assert not told.items, "of this agent there is nothing"
    await page.goto(f"{site}/traces?user=alice")
    rows = page.locator(".listing > li")
    await expect(rows).to_have_count(2)
    await expect(rows.nth(1)).to_contain_text("nothing")
    await expect(rows.nth(1)).to_contain_text("context through MCP · planner")
    await rows.first.click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("hotels?")
    await expect(page.get_by_role("region", name="How long it took")).to_contain_text("ranking")
    missed = page.get_by_role("region", name="Misses")
    await expect(missed.locator("li.judged")).to_have_count(5)
    await page.get_by_role("region", name="Results").get_by_role("button").click()
    await expect(page.get_by_role("status")).to_contain_text("Saved as a case")
    await expect(page.get_by_role("region", name="Results")).to_contain_text("Marked as the expected record")

    await page.goto(f"{site}/traces?user=alice&empty=1")
    await page.get_by_role("link", name="homestays?").click()
    other = page.get_by_role("region", name="Another record was expected")
    await other.get_by_label("Search text").fill("homestays in Lisbon")
    await other.get_by_role("button", name="Search").click()
    await other.locator("li", has_text="Prefers homestays").get_by_role("button").click()
    await expect(page.get_by_role("status")).to_contain_text("Saved as a case")
    await page.goto(f"{site}/cases?user=alice")
    made = page.get_by_role("region", name="From traces")
    await expect(made.locator("li")).to_have_count(2)
    await expect(made.get_by_role("link", name="Prefers homestays in Lisbon")).to_be_visible()
    await made.get_by_role("button", name="Run all 2").click()
    await expect(page.locator(".figure-big").first).to_have_text("100 %")
    async with httpx.AsyncClient(timeout=120) as http:
        lines = (await http.get(f"{site}/cases.jsonl?user=alice")).content
    assert [(case.question, case.user, case.shared) for case in read_cases(lines)] == [
        ("homestays?", "alice", False),
        ("hotels?", "alice", True),
    ]
    await made.locator("li", has_text="hotels?").get_by_role("button", name="Remove").click()
    await expect(made.locator("li")).to_have_count(1)
    assert len((await alice.admin.traces()).traces) == 2, "what the console itself asks is no call of an agent"


async def test_a_context_is_shown_with_its_lines_linked(page: Page, site: str, alice: Memory) -> None:
    stay = await alice.remember("Prefers <b>homestays</b>", session="monday")
    await alice.scoped(session="monday").context("homestays?", min_confidence=0.0)
    await page.goto(f"{site}/traces?user=alice&session=monday")
    await page.locator(".listing a").click()
    await page.locator("pre.context a").click()
    await expect(page.locator("code").first).to_have_text(stay.id)
    await page.goto(f"{site}/traces?user=alice&session=tuesday")
    await expect(page.locator(".empty")).to_contain_text("No trace matches")


async def test_calls_are_paged_and_everyones_are_for_administrators(
    page: Page, site: str, alice: Memory, bob: Memory
) -> None:
    for n in range(30):
        await (bob if n % 10 == 0 else alice).recall(f"question {n}")
    await page.goto(f"{site}/traces")
    await expect(page.locator(".empty")).to_have_text("No traces of the shared records.")
    await page.get_by_label("all users").check()
    await page.get_by_role("button", name="Show").click()
    await expect(page.locator(".listing > li")).to_have_count(25)
    await page.get_by_role("link", name="Older traces").click()
    await expect(page.locator(".listing > li")).to_have_count(5)
    await page.get_by_role("link", name="question 0").click()
    await expect(page).to_have_url(re.compile("user=bob"))


async def test_the_next_page_keeps_the_boxes_that_are_ticked(page: Page, site: str, alice: Memory) -> None:
    await alice.remember([f"note {n}" for n in range(30)])
    await page.goto(f"{site}/browse?everyone=1&superseded=1")
    await page.get_by_role("link", name="More").click()
    await expect(page.locator(".records tbody > tr")).to_have_count(5)


async def test_no_page_shows_another_users_call(everyone: Memory, alice: Memory, bob: Memory) -> None:
    await bob.remember("Bob's secret")
    await bob.context("secret?", min_confidence=0.0)
    [trace] = (await bob.admin.traces()).traces
    secret, _ = await Tokens(everyone).create("alice", user="alice")
    operator, _ = await Tokens(everyone).create("operator", tenant=None, right="admin")
    transport = httpx.ASGITransport(app=create_app(everyone))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", follow_redirects=True) as http:
        await http.post("/login", data={"token": secret})
        for path in (
            "/traces",
            "/traces?everyone=1",
            f"/trace?id={trace.id}",
            f"/trace?id={trace.id}&user=bob",
            "/cases",
        ):
            assert "ecret" not in (await http.get(path)).text.replace(secret, "")
        assert (await http.get("/traces?user=bob")).status_code == 403
        body = {"headers": {"Authorization": f"Bearer {secret}"}, "json": {}}
        assert (await http.post("/v1/traces", **body)).json() == {"traces": [], "next": None}  # type: ignore[arg-type]
        assert (await http.post("/v1/traces", **(body | {"json": {"everyone": True}}))).status_code == 403  # type: ignore[arg-type]
        for tenant in ("memorist:traces:default", "memorist:server"):
            asked = await http.post(
                f"/v1/browse?tenant={tenant}", headers={"Authorization": f"Bearer {operator}"}, json={}
            )
            assert (asked.status_code, json.loads(asked.content)["error"]) == (403, "ScopeError")


async def test_failures_are_grouped_and_a_traces_answer_is_marked(
    page: Page, site: str, alice: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await alice.remember(["Prefers homestays when she travels", "The cellar door is green"])
    told = await alice.context("where does she like to stay?")
    assert "homestays" in told.text

    async def fails(*_: Any, **__: Any) -> Any:
        raise EmbedderUnavailableError("nobody answers")

    with monkeypatch.context() as broken:
        broken.setattr(HashEmbedder, "embed", fails)
        for question in ("one?", "two?"):
            with pytest.raises(EmbedderUnavailableError):
                await alice.recall(question)
    await page.goto(f"{site}/traces?user=alice")
    group = page.locator("details", has_text="2 failed")
    await expect(group.locator("li")).to_have_count(2)
    await page.get_by_role("link", name="where does she like to stay?").click()
    await expect(page.locator(".context mark")).to_contain_text("homestays")
