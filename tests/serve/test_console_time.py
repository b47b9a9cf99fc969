"""The console's time line, in a real browser."""

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from memorist import Memory

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def moved_twice(alice: Memory) -> None:
    before = None
    for day, place in (("2024-01-01", "Porto"), ("2024-03-01", "Lisbon"), ("2024-05-01", "Braga")):
        fact = await alice.remember(f"Lives in {place}", kind="fact", key="home", happened_at=day, supersedes=before)
        before = fact.id
    await alice.remember("Likes tea", happened_at="2024-04-01")


async def test_a_fact_stands_after_what_it_superseded(page: Page, site: str, alice: Memory, bob: Memory) -> None:
    await moved_twice(alice)
    await bob.remember("Lives in secret", kind="fact", happened_at="2024-02-01")
    await page.goto(f"{site}/time?user=alice")
    await expect(page.locator(".lane .name").first).to_have_text("home")
    bars = page.locator(".lane").first.locator("svg svg")
    await expect(bars.locator("text")).to_have_text(["Lives in Porto", "Lives in Lisbon", "Lives in Braga"])
    starts = await bars.evaluate_all("all => all.map(each => parseFloat(each.getAttribute('x')))")
    assert starts == sorted(starts) and len(set(starts)) == 3
    await expect(page.locator("main")).not_to_contain_text("secret")


async def test_the_slider_shows_what_was_known_on_a_day(browser: Browser, site: str, alice: Memory) -> None:
    await moved_twice(alice)
    for script in (True, False):
        page = await (await browser.new_context(java_script_enabled=script)).new_page()
        await page.goto(f"{site}/time?user=alice")
        await page.locator("#day").focus()
        await page.keyboard.press("Home")
        if not script:
            await page.locator("#when").get_by_role("button", name="Show").click()
        await expect(page.locator("h2", has_text="Known on 2024-01-01")).to_be_visible()
        await expect(page.locator(".records .text")).to_have_text("Lives in Porto")
        await page.get_by_label("Or choose a day").fill("2024-04-10")
        await page.get_by_role("button", name="Show").last.click()
        await expect(page.locator(".records .text")).to_have_text(["Likes tea", "Lives in Lisbon"])
        await expect(page.locator(".bar.held")).to_have_count(1)


async def test_what_had_changed_by_the_day_is_shown_and_marks_what_was_known(
    page: Page, site: str, alice: Memory
) -> None:
    await alice.remember("I take 40 mg of propranolol for migraines", happened_at="2024-01-01")
    await alice.remember("I take 80 mg of propranolol for migraines now", happened_at="2024-05-01")
    await page.goto(f"{site}/time?user=alice")
    await expect(page.locator(".hits .text")).to_have_count(2)
    await expect(page.locator(".records .changed")).to_contain_text("changed by 2024-05-01")
    await page.locator(".records .changed a").click()
    await expect(page.locator(".text.whole")).to_have_text("I take 80 mg of propranolol for migraines now")
    await page.goto(f"{site}/time?user=alice&as_of=2024-04-30")
    await expect(page.locator(".hits")).to_have_count(0)
    await expect(page.locator(".changed")).to_have_count(0)


async def test_the_line_of_nobody_and_wrong_days(site: str, alice: Memory) -> None:
    await moved_twice(alice)
    async with httpx.AsyncClient(base_url=site, timeout=120) as client:
        assert "No records yet" in (await client.get("/time?user=nobody")).text
        for wrong in ("as_of=someday", "day=0", "day=-1", "day=x", "day=99999999999", "start=x", "cursor=x"):
            assert (await client.get(f"/time?user=alice&{wrong}")).status_code == 422
