"""The web console in a real browser: each flow, and what must never work."""

import re
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from memorist import Kind, Memory
from memorist.serve.app import create_app
from memorist.serve.auth import Tokens
from servers import running

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> {{ 7*7 }}"


async def fetch(url: str, method: str = "GET") -> httpx.Response:
    async with httpx.AsyncClient(timeout=120) as client:
        return await client.request(method, url)


async def test_ask_as_one_types_and_see_why(page: Page, site: str, alice: Memory) -> None:
    await alice.remember("Prefers homestays when travelling", id="stay")
    await alice.remember("Allergic to peanuts")
    await page.goto(f"{site}/ask?user=alice")
    await page.keyboard.press("/")
    await page.keyboard.type("homestays")
    first = page.locator(".hits > li").first
    await expect(first).to_contain_text("Prefers homestays")
    await expect(first.locator("mark")).to_have_text("homestays")
    await expect(first.locator(".signals rect").first).to_be_visible()
    for hit in await page.locator(".hits > li").all():  # as long as the score is high
        score = float(await hit.locator(".likely").inner_text())
        width = await hit.locator(".signals").get_attribute("width") or ""
        assert abs(float(width.rstrip("%")) - max(100 * score, 2)) <= 0.51
    await first.locator("summary").click()
    await expect(first.locator("table")).to_contain_text("similarity")
    await expect(first.locator("table")).to_contain_text("its words")
    await expect(page).to_have_url(re.compile("q=homestays"))  # the address can be kept
    await first.locator(".text a").click()
    await expect(page.locator("code").first).to_have_text("stay")


async def test_one_box_asks_from_anywhere(browser: Browser, site: str, alice: Memory) -> None:
    await alice.remember("Prefers homestays")
    for script in (True, False):
        page = await (await browser.new_context(java_script_enabled=script)).new_page()
        for path in ("/", "/browse", "/topics", "/status", "/record?id=none", "/nowhere"):
            await page.goto(f"{site}{path}{'&' if '?' in path else '?'}user=alice")
            await page.fill("#q", "homestays")
            await page.press("#q", "Enter")
            await page.wait_for_url(re.compile("/ask.*q=homestays"))
            asked_of_alice = path != "/nowhere"  # of an address that is none, nothing is kept
            for place in (page.locator("#found"), page.locator("#told")):
                told = expect(place)
                await (told.to_contain_text if asked_of_alice else told.not_to_contain_text)("Prefers homestays")


async def test_more_comes_by_scrolling_and_by_a_link(browser: Browser, site: str, alice: Memory) -> None:
    await alice.remember([f"note {number} about tea" for number in range(35)])
    page = await browser.new_page()
    await page.goto(f"{site}/ask?user=alice&q=tea")
    while await page.locator(".hits > li").count() < 35:  # one press may go to where the page ended before
        await page.keyboard.press("End")
    assert await page.locator(".hits > li").count() == 35
    await expect(page.locator("#more")).to_have_count(0)
    page = await (await browser.new_context(java_script_enabled=False)).new_page()
    await page.goto(f"{site}/ask?user=alice&q=tea")
    await expect(page.locator(".hits > li")).to_have_count(10)
    await page.get_by_role("link", name="More").click()
    await expect(page.locator(".hits > li")).to_have_count(20)


async def test_filters_are_chips_that_come_off(page: Page, site: str, alice: Memory) -> None:
    await alice.remember("tea with milk", happened_at="2024-05-01", session="s1")
    await alice.remember("tea is green", kind=Kind.FACT, happened_at="2024-06-01")
    await page.goto(f"{site}/ask?user=alice&q=tea")
    await page.get_by_role("link", name="fact", exact=True).click()
    await expect(page.locator(".hits > li")).to_have_count(1)
    await expect(page.locator("#told .context")).not_to_contain_text("milk")
    await page.get_by_role("link", name="all kinds").click()
    await expect(page.locator(".hits > li")).to_have_count(2)
    await page.wait_for_load_state()  # its script asks as one types
    await page.get_by_text("More filters").click()
    await page.get_by_label("Before").fill("2024-05-15")
    await expect(page.locator(".hits > li")).to_have_count(1)
    await page.get_by_role("link", name="before 2024-05-15").click()
    await expect(page.locator(".hits > li")).to_have_count(2)


async def test_what_the_agent_is_told_keeps_to_the_budget_of_the_slider(page: Page, site: str, alice: Memory) -> None:
    await alice.remember([f"She drank tea number {number} in {'a very ' * 20} big cup" for number in range(20)])
    await page.goto(f"{site}/ask?user=alice&q=She+drank+tea+number+3+in+a+big+cup")
    await expect(page.locator("#told")).to_contain_text("of 600")
    await page.locator("#tokens").fill("100")
    await expect(page.locator("#told")).to_contain_text("of 100")
    await page.locator("#told .context a").first.click()
    await expect(page.locator(".whole")).to_contain_text("She drank tea")


async def test_one_user_never_sees_anothers(page: Page, site: str, alice: Memory, bob: Memory) -> None:
    await alice.remember("alice's secret", id="secret")
    await bob.remember("bob's note")
    await page.goto(f"{site}/ask?user=bob&q=secret")
    await expect(page.locator("#found")).not_to_contain_text("alice's secret")
    await page.goto(f"{site}/browse?user=bob")
    await expect(page.locator(".records")).to_have_text(re.compile("bob's note"))
    response = await fetch(f"{site}/record?id=secret&user=bob")
    assert response.status_code == 404 and "alice's secret" not in response.text


async def test_edit_rate_and_the_history_as_a_timeline(page: Page, site: str, alice: Memory) -> None:
    await alice.remember("Lives in Lisbon", id="home")
    await page.goto(f"{site}/record?user=alice&id=home")
    await page.get_by_text("Edit").click()
    await page.get_by_label("Text").fill("Lives in Porto")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("status")).to_contain_text("Saved")
    await page.get_by_role("button", name="Good").click()
    await expect(page.locator(".timeline:last-of-type > li")).to_have_count(3)
    await expect(page.locator(".timeline:last-of-type")).to_contain_text("Lives in Lisbon")
    record = await alice.get("home")
    assert record is not None and (record.content, record.rating) == ("Lives in Porto", 1.0)


async def test_forget_and_take_back(page: Page, site: str, alice: Memory) -> None:
    old = await alice.remember("Lives in Lisbon", id="home", metadata={"a": 1}, session="s1")
    await page.goto(f"{site}/record?user=alice&id=home")
    await page.get_by_role("button", name="Forget").click()
    await expect(page.get_by_role("status")).to_contain_text("Forgotten")
    assert await alice.get("home") is None
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator(".whole")).to_have_text("Lives in Lisbon")
    assert await alice.get("home") == old
    assert await page.get_by_role("button", name="Undo").count() == 0, "once"


async def test_what_was_forgotten_can_be_taken_back_from_any_page(page: Page, site: str, alice: Memory) -> None:
    old = await alice.remember("Lives in Lisbon", id="home")
    await page.goto(f"{site}/record?user=alice&id=home")
    await page.get_by_role("button", name="Forget").click()
    await expect(page.get_by_role("status")).to_contain_text("Forgotten")
    await page.goto(f"{site}/topics?user=alice")
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator(".whole")).to_have_text("Lives in Lisbon")
    assert await alice.get("home") == old


async def test_a_shared_hit_leads_to_its_record(browser: Browser, site: str, everyone: Memory, alice: Memory) -> None:
    await everyone.remember("The office closes at six")
    secret, _ = await Tokens(everyone).create("alice reads", user="alice", right="read")
    page = await browser.new_page()
    await page.goto(f"{site}/ask?user=alice&q=office&shared=1")
    await page.locator(".hits .text a").click()
    await expect(page.locator(".whole")).to_have_text("The office closes at six")
    async with running(create_app(everyone)) as closed:
        await page.goto(f"{closed}/login?next=/ask?q=office%26shared=1")
        await page.get_by_label("Token").fill(secret)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.locator(".hits .text")).to_have_text("The office closes at six")
        assert await page.locator(".hits .text a").count() == 0, "a token of a user reaches no shared record by itself"


async def test_what_goes_wrong_while_typing_is_one_sentence(browser: Browser, site: str) -> None:
    page = await browser.new_page()
    await page.goto(f"{site}/ask")
    await page.evaluate("document.querySelector('#filters input[name=session]').value = ' '")
    await page.get_by_label("Question").fill("tea")
    await expect(page.locator("#found")).to_have_text(re.compile("Session"))
    assert await page.locator("#found *").count() == 0


async def test_home_says_what_came_in_and_whose(page: Page, site: str, alice: Memory, bob: Memory) -> None:
    await alice.remember("a walk", happened_at="2024-05-01T12:00Z")
    await alice.remember(["a plan", "a plot"], happened_at="2024-05-03T12:00Z")
    await bob.remember("bob's fact", kind=Kind.FACT, happened_at="2024-05-02T12:00Z")
    await page.goto(site)
    await expect(page.locator(".figure-big")).to_have_text("4")
    bars = page.locator(".chart a")
    assert await bars.evaluate_all("all => all.map(each => each.getAttribute('aria-label'))") == [
        "1 May 2024: 1",
        "2 May 2024: 1",
        "3 May 2024: 2",
    ]
    await page.locator(".tally").last.get_by_role("link", name="alice").click()
    await expect(page.locator(".figure-big")).to_have_text("3")
    await expect(page.locator("main")).not_to_contain_text("bob")
    await page.locator(".chart a").last.dispatch_event("click")
    await expect(page.locator(".records tbody > tr")).to_have_count(2)


async def test_home_of_nobody_says_how_to_begin(page: Page, site: str) -> None:
    await page.goto(f"{site}/?user=nobody")
    await expect(page.locator("main")).to_contain_text("No records yet")
    await page.get_by_label("Text").fill("Likes tea")
    await page.get_by_role("button", name="Remember").click()
    await expect(page.locator(".whole")).to_have_text("Likes tea")


async def test_a_user_is_chosen_from_a_list(browser: Browser, site: str, everyone: Memory) -> None:
    for number in range(120):
        await everyone.scoped(user=f"user{number:03}").remember("tea")
    for script in (True, False):
        page = await (await browser.new_context(java_script_enabled=script)).new_page()
        await page.goto(f"{site}/browse")
        await page.get_by_title("Choose another user").click()
        await expect(page.locator(".tally li")).to_have_count(100)
        await page.get_by_role("link", name="More").click()
        await expect(page.locator(".tally li")).to_have_count(20)
        await page.get_by_label("Find a user").fill("R07")
        await page.get_by_role("button", name="Find").click()
        await expect(page.locator(".tally li")).to_have_count(10)
        await page.get_by_role("link", name="user077").click()
        await expect(page).to_have_url(re.compile(r"/browse\?user=user077"))  # one stays on the page


async def test_times_are_shown_in_the_zone_one_chooses(page: Page, site: str, alice: Memory) -> None:
    await alice.remember("a walk", id="walk", happened_at="2024-05-01T23:30Z")
    await page.goto(f"{site}/browse?user=alice")
    await expect(page.locator(".records time")).to_have_text("2024-05-01 23:30")
    await page.goto(f"{site}/status?user=alice")
    await page.get_by_label("Zone").fill("Asia/Tokyo")
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator(".foot")).to_contain_text("Asia/Tokyo")
    await page.goto(f"{site}/browse?user=alice")
    await expect(page.locator(".records time")).to_have_text("2024-05-02 08:30")
    await expect(page.locator(".foot")).to_contain_text("Asia/Tokyo")


async def test_the_rules_of_retention_and_what_they_would_delete(
    page: Page, site: str, everyone: Memory, alice: Memory
) -> None:
    await alice.remember(["Long ago", "Lately"], kind="message", happened_at="2001-01-01")
    await alice.remember("Tea")
    panel = page.locator("#retention")
    await page.goto(f"{site}/status?user=alice")
    await expect(panel).to_contain_text("No rules are set")
    kinds = ["message", "fact"]
    await everyone.admin.retain([{"keep": "90d", "kind": "message", "session": "<s>"}, {"keep": "30d", "kind": kinds}])
    await page.reload()
    await expect(panel.locator("dt")).to_have_text(["Keep 90d", "Keep 30d", "Too old now"])
    await expect(panel.locator("dd")).to_have_text(["kind message, session <s>", "kind message or fact", "2 messages"])
    assert await alice.count() == 3
    secret, _ = await Tokens(everyone).create("alice", user="alice", right="admin")
    closed = httpx.ASGITransport(create_app(everyone))
    async with httpx.AsyncClient(transport=closed, base_url="http://local") as client:
        answer = await client.post("/login", data={"token": secret, "next": "/status"}, follow_redirects=True)
        assert "<h2>Export</h2>" in answer.text and "<h2>Retention</h2>" not in answer.text


async def test_the_pages_take_one_row_on_a_phone_with_the_current_one_in_view(page: Page, site: str) -> None:
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.goto(f"{site}/status?user=alice")
    links = page.get_by_role("navigation").get_by_role("link")
    boxes = [box for each in await links.all() if (box := await each.bounding_box()) is not None]
    assert len(boxes) == 15 and len({box["y"] for box in boxes}) == 1
    await expect(page.locator("nav [aria-current]")).to_be_in_viewport()
    assert await page.locator("html").evaluate("each => each.scrollWidth") == 390


async def test_the_users_are_a_page_of_the_navigation(page: Page, site: str, alice: Memory) -> None:
    await alice.remember("Prefers homestays")
    await page.goto(f"{site}/")
    await page.get_by_role("navigation").get_by_role("link", name="Users").click()
    await page.locator("main").get_by_role("link", name="alice").click()
    await expect(page.locator("main")).to_contain_text("Prefers homestays")


async def test_what_is_not_there_is_a_page(browser: Browser, site: str, everyone: Memory) -> None:
    page = await browser.new_page()
    answer = await page.goto(f"{site}/nowhere")
    assert answer is not None and answer.status == 404
    await expect(page.get_by_role("alert")).to_contain_text("There is no such page")
    await expect(page.locator(".side nav a").first).to_be_visible()
    answer = await page.goto(f"{site}/forget")
    assert answer is not None and answer.status == 405
    await page.goto(f"{site}/record?id=none&user=alice")
    await expect(page.get_by_role("alert")).to_contain_text("no record")
    await page.locator(".side").get_by_role("link", name="Records").click()
    await expect(page).to_have_url(re.compile("/browse.*user=alice"))  # an error keeps whose memory it is
    assert (await fetch(f"{site}/nowhere")).headers["content-type"] == "application/problem+json"
    async with running(create_app(everyone)) as closed:
        await page.goto(f"{closed}/nowhere")
        await expect(page.get_by_role("alert")).to_contain_text("There is no such page")
        assert await page.locator("nav").count() == 0, "a stranger is shown no memory"


async def test_browse_filters_and_pages(page: Page, site: str, alice: Memory) -> None:
    await alice.remember([f"note {number}" for number in range(30)], happened_at="2024-05-01")
    await alice.remember("a fact", kind=Kind.FACT, happened_at="2024-06-01")
    await page.goto(f"{site}/browse?user=alice")
    await expect(page.locator(".records tbody > tr")).to_have_count(25)
    await page.get_by_role("link", name="More").click()
    await expect(page.locator(".records tbody > tr")).to_have_count(6)
    await page.get_by_label("Kind").select_option("fact")
    await page.get_by_role("button", name="Show").click()
    await expect(page.locator(".records tbody > tr")).to_have_count(1)
    await page.goto(f"{site}/browse?user=alice&until=2024-05-15&kind=fact")
    await expect(page.locator(".empty")).to_be_visible()


async def test_topics_are_a_tree_that_can_be_changed(page: Page, site: str, alice: Memory) -> None:
    await alice.topics.set("user.language", "Elixir")
    await page.goto(f"{site}/topics?user=alice")
    await page.get_by_label("Value of user.language").fill("Gleam")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("status")).to_contain_text("Saved user.language")
    await page.get_by_label("Topic").fill("project.name")
    await page.get_by_label("Value", exact=True).fill("Memorist")
    await page.get_by_role("button", name="Set").click()
    await expect(page.locator(".tree summary")).to_have_text(["project", "user"])
    assert await alice.topics.list() == {"project.name": "Memorist", "user.language": "Gleam"}
    await page.get_by_label("Value of project.name").fill("")
    await page.get_by_role("button", name="Save").first.click()
    await expect(page.get_by_role("status")).to_contain_text("Deleted project.name")


async def test_export_and_import(page: Page, site: str, alice: Memory, tmp_path: Path) -> None:
    await alice.remember("Prefers homestays", id="stay")
    await page.goto(f"{site}/status?user=alice")
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Export").click()
    file = tmp_path / "export.jsonl"
    await (await download.value).save_as(file)
    await alice.rate("stay", 1)
    await page.get_by_label("Format").select_option("mem0")
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Export").click()
    assert (await download.value).suggested_filename == "mem0.json"
    await page.reload()
    await expect(page.get_by_role("status")).to_contain_text("Not included in the file: 1 rating")
    await alice.forget("stay")
    await page.get_by_role("main").get_by_role("link", name="Import").click()
    await page.wait_for_url("**/import?*")  # and its script, without which a file that is chosen is not sent
    await page.get_by_label("Drop files here").set_input_files(file)
    await page.get_by_role("button", name="Import", exact=True).click()
    await expect(page.locator(".found")).to_contain_text("1 added")
    assert await alice.get("stay") is not None


async def test_what_is_remembered_is_text_and_never_markup(browser: Browser, site: str, alice: Memory) -> None:
    await alice.remember(HOSTILE, id=HOSTILE[:60], metadata={HOSTILE: HOSTILE}, session=HOSTILE[:50].strip())
    await alice.topics.set(f"user.{HOSTILE[:40]}", HOSTILE)
    page = await browser.new_page()
    for path in ("/?user=alice", "/ask?user=alice&q=script", "/browse?user=alice", "/topics?user=alice"):
        await page.goto(f"{site}{path}")
        assert "owned" not in await page.title()
        assert await page.locator("main img").count() == 0
        assert await page.locator("main script").count() == 0
    await page.goto(f"{site}/browse?user=alice&kind=note")
    await page.locator(".records a").first.click()
    assert "{{ 7*7 }}" in await page.locator(".whole").inner_text() and "owned" not in await page.title()


async def test_a_token_is_the_way_in(browser: Browser, everyone: Memory, alice: Memory) -> None:
    await alice.remember("Prefers homestays")
    secret, _ = await Tokens(everyone).create("alice reads", user="alice", right="read")
    counting, _ = await Tokens(everyone).create("prometheus", tenant=None, right="metrics")
    async with running(create_app(everyone)) as site:
        page = await browser.new_page()
        await page.goto(f"{site}/browse")
        assert "/login" in page.url
        await page.get_by_label("Token").fill("mem_wrong")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_contain_text("not known")
        await page.get_by_label("Token").fill(counting)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_contain_text("the right 'read'")
        await page.get_by_label("Token").fill(secret)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page).to_have_url(f"{site}/browse")  # the way in leads to where one wanted to go
        await expect(page.locator(".records")).to_contain_text("Prefers homestays")
        assert await page.get_by_title("Choose another user").count() == 0, "the token says whose memory it is"
        await page.locator(".records a").first.click()
        await expect(page.locator(".whole")).to_have_text("Prefers homestays")
        assert await page.get_by_role("button", name="Forget").count() == 0, "the token may only read"
        await page.goto(f"{site}/browse?user=bob")
        await expect(page.get_by_role("alert")).to_contain_text("another user")
        await Tokens(everyone).revoke("alice reads")
        await page.goto(f"{site}/browse")
        assert "/login" in page.url, "a revoked token ends the session"


async def test_only_an_admin_sees_everyones_records(browser: Browser, everyone: Memory, alice: Memory) -> None:
    await alice.remember("alice's note")
    async with running(create_app(everyone)) as site:
        for right, allowed in (("write", False), ("admin", True)):
            secret, _ = await Tokens(everyone).create(right, right=right)
            page = await (await browser.new_context()).new_page()
            await page.goto(f"{site}/login")
            await page.get_by_label("Token").fill(secret)
            await page.get_by_role("button", name="Sign in").click()
            await expect(page).to_have_url(f"{site}/")
            await page.goto(f"{site}/browse?everyone=1")
            assert (await page.get_by_text("alice's note").count() == 1) is allowed
            await page.goto(f"{site}/users")
            assert (await page.locator(".tally").count() == 1) is allowed


async def test_only_an_operator_sees_the_settings(browser: Browser, everyone: Memory) -> None:
    settings = {"Store": "notes.db", "Embedder": "<hash>"}
    async with running(create_app(everyone, settings=settings)) as site:
        for tenant, shown in ((None, 1), ("default", 0)):
            secret, _ = await Tokens(everyone).create(str(tenant), tenant=tenant, right="admin")
            page = await (await browser.new_context()).new_page()
            await page.goto(f"{site}/login?next=/status")
            await page.get_by_label("Token").fill(secret)
            await page.get_by_role("button", name="Sign in").click()
            await expect(page.locator("dl").first).to_contain_text("the store responds")
            assert await page.get_by_text("<hash>").count() == shown


async def test_leaving_ends_the_session(browser: Browser, everyone: Memory) -> None:
    secret, _ = await Tokens(everyone).create("writer")
    async with running(create_app(everyone)) as site:
        page = await browser.new_page()
        await page.goto(f"{site}/login?next=//evil.example/")
        await page.get_by_label("Token").fill(secret)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page).to_have_url(f"{site}/")  # the way in leads nowhere else
        await page.get_by_role("button", name="Sign out").click()
        await expect(page).to_have_url(f"{site}/login")
        await page.goto(f"{site}/status")
        assert "/login" in page.url


async def test_a_form_of_another_site_changes_nothing(site: str, alice: Memory) -> None:
    await alice.remember("Lives in Lisbon", id="home")
    async with httpx.AsyncClient(base_url=site, timeout=120) as client:
        text = (await client.get("/record", params={"user": "alice", "id": "home"})).text
        found = re.search(r'name="csrf" value="([^"]+)"', text)
        assert found is not None
        form = {"id": "home", "csrf": found.group(1)}
        for attempt in (
            {"data": {"id": "home"}},
            {"data": {**form, "csrf": "guessed"}},
            {"data": form, "headers": {"origin": "https://evil.example"}},
        ):
            refused = await client.post("/forget?user=alice", **attempt)
            assert refused.status_code == 403 or "/login" in refused.headers["location"]
        client.cookies.clear()
        assert (await client.post("/forget?user=alice", data=form)).status_code == 403
    assert await alice.get("home") is not None


async def test_every_page_forbids_what_it_does_not_need(site: str) -> None:
    for path in (
        "/",
        "/ask?q=tea",
        "/conversations",
        "/map",
        "/import",
        "/browse",
        "/topics",
        "/status",
        "/users",
        "/login",
        "/record?id=none",
    ):
        headers = (await fetch(f"{site}{path}")).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff" and "no-store" in headers["cache-control"]
    cookie = (await fetch(f"{site}/")).headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/record", 422),
        ("GET", "/record?id=none", 404),
        ("GET", "/browse?order=sideways", 422),
        ("GET", "/browse?cursor=garbage", 422),
        ("GET", "/ask?q=a&kind=nonsense", 422),
        ("GET", "/browse?since=soonish", 422),
        ("GET", "/map?colour=mood", 422),
        ("GET", "/conversation?around=none", 404),
        ("GET", "/static/../auth.py", 404),
        ("GET", "/static/%2e%2e/app.py", 404),
        ("POST", "/browse", 405),
        ("GET", "/forget", 405),
        ("GET", "/nowhere", 404),
        ("GET", "/ask?tenant=memorist:server&q=token", 403),
    ],
)
async def test_what_is_wrong_is_told_in_one_sentence(site: str, method: str, path: str, status: int) -> None:
    response = await fetch(f"{site}{path}", method)
    assert response.status_code == status
    assert "Traceback" not in response.text


async def test_it_fits_a_phone_and_the_dark(browser: Browser, site: str, alice: Memory) -> None:
    word = "Homestay" * 20
    await alice.remember("Prefers homestays when travelling with " + "a very long name " * 10)
    await alice.remember(word, id="long", cue=word, source=word, metadata={word: word})
    await alice.scoped(session=word).remember(word, kind="message", payload={"role": "user", "speaker": word})
    await alice.topics.set(word, word)
    context = await browser.new_context(viewport={"width": 360, "height": 740}, color_scheme="dark")
    page = await context.new_page()
    for path in (
        "/?user=alice",
        "/ask?q=homestays&user=alice",
        "/browse?user=alice",
        "/status?user=alice",
        "/users",
        "/map?user=alice",
        "/import?user=alice",
        "/record?user=alice&id=long",
        "/conversations?user=alice",
        "/conversation?user=alice",
        f"/conversation?user=alice&session={word}",
        "/topics?user=alice",
        f"/purge?user={word}",
        f"/browse?kind={word}",
    ):
        await page.goto(f"{site}{path}")
        width = await page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, f"{path} is wider than the screen"
    background = await page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert background == "rgb(16, 20, 19)"


async def test_every_control_has_a_name(page: Page, site: str, alice: Memory) -> None:
    await alice.remember("Prefers homestays", id="stay")
    await alice.topics.set("user.language", "Elixir")
    nameless = """() => [...document.querySelectorAll("input:not([type=hidden]), select, textarea, button")]
        .filter(each => !(each.labels?.length || each.ariaLabel || each.textContent.trim()))
        .map(each => each.outerHTML)"""
    for path in ("/", "/ask?q=tea", "/browse", "/topics", "/import", "/status", "/users", "/record?id=stay"):
        await page.goto(f"{site}{path}{'&' if '?' in path else '?'}user=alice")
        assert await page.evaluate(nameless) == []
        assert await page.locator("h1").count() == 1 and await page.locator("main").count() == 1
