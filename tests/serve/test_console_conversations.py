"""Conversations in the console, in a real browser."""

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from memorist import Draft, Memory

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def message(number: int, session: str, *, minute: int | None = None) -> Draft:
    at = number if minute is None else minute
    return Draft(
        content=f"message {number} of {session}",
        kind="message",
        id=f"{session}-{number}",
        session=session,
        happened_at=f"2024-05-{1 + at // 60:02}T10:{at % 60:02}Z",
        payload={"role": "user" if number % 2 else "assistant", "speaker": "Maya" if number % 2 else "Assistant"},
    )


async def test_a_thread_has_speakers_days_and_times_of_the_zone(page: Page, site: str, alice: Memory) -> None:
    await alice.remember([message(number, "trip", minute=number * 30) for number in range(4)])
    await page.goto(f"{site}/conversations?user=alice")
    await expect(page.locator(".listing li")).to_contain_text("4 messages")
    name, dates = [await page.locator(f".listing {part}").bounding_box() for part in ("strong", ".dates")]
    assert name is not None and dates is not None and name["x"] < dates["x"]
    await page.get_by_role("link", name="trip").click()
    await expect(page.locator(".day")).to_have_text(["Wednesday, 1 May 2024", "Thursday, 2 May 2024"])
    await expect(page.locator(".speaker")).to_have_text(["Assistant", "Maya", "Assistant", "Maya"])
    await expect(page.locator(".said time").nth(1)).to_have_text("10:30")
    await expect(page.locator("main")).to_contain_text("times in UTC")


async def test_a_hit_opens_in_its_place_in_the_talk(browser: Browser, site: str, alice: Memory) -> None:
    await alice.remember([message(number, "trip") for number in range(50)])
    await alice.remember(message(60, "other"))
    for script in (True, False):
        page = await (await browser.new_context(java_script_enabled=script)).new_page()
        await page.goto(f"{site}/ask?user=alice&q=message+25+of+trip")
        await page.locator("#hit-1").get_by_role("link", name="trip", exact=True).click()
        await expect(page.locator("#found")).to_contain_text("message 25 of trip")
        await expect(page.locator("#found")).to_be_in_viewport()
        said = page.locator(".said .text")
        await expect(said).to_have_text([f"message {number} of trip" for number in range(10, 41)])
        await page.get_by_role("link", name="Earlier").click()
        await expect(said).to_have_text([f"message {number} of trip" for number in range(10)])
        assert await page.get_by_role("link", name="Earlier").count() == 0


async def test_messages_of_one_time_are_read_in_one_order(site: str, alice: Memory) -> None:
    await alice.remember([message(number, "trip", minute=0) for number in range(45)])
    order = [each.content for each in (await alice.browse(order="oldest")).records]
    async with httpx.AsyncClient(base_url=site, timeout=120) as client:
        seen, place = list[str](), "/conversation?user=alice&session=trip"
        while place:
            text = (await client.get(place)).text
            seen += [part.split("</p>")[0] for part in text.split('<p class="text">')[1:]]
            later = text.split('rel="next"')[0].rsplit('href="', 1)[-1].split('"')[0] if 'rel="next"' in text else ""
            place = later.replace("&amp;", "&")
    assert seen == order


async def test_each_conversation_is_listed_once(page: Page, site: str, alice: Memory) -> None:
    await alice.remember([message(number, f"talk {number % 30:02}") for number in range(150)])
    await alice.remember([message(number, "long", minute=number % 50) for number in range(200, 500)])
    await page.goto(f"{site}/conversations?user=alice")
    names = page.locator(".listing a > .about:first-of-type")
    listed = await names.all_inner_texts()
    while await page.get_by_role("link", name="Older").count():
        async with page.expect_navigation():
            await page.get_by_role("link", name="Older").click()
        listed += await names.all_inner_texts()
    assert sorted(each.split(" · ")[0] for each in listed) == ["long", *(f"talk {number:02}" for number in range(30))]


async def test_no_thread_of_another_user_is_shown(site: str, alice: Memory, bob: Memory) -> None:
    await alice.remember(message(1, "secret"))
    await bob.remember("a note", id="note")
    async with httpx.AsyncClient(base_url=site, timeout=120) as client:
        for query in ("session=secret", "around=secret-1", "before=secret-1", "around=note"):
            answer = await client.get(f"/conversation?user=bob&{query}")
            assert answer.status_code == 404 and "message 1" not in answer.text
        assert "secret" not in (await client.get("/conversations?user=bob")).text
        assert "No messages" in (await client.get("/conversation?user=bob")).text
