"""Cases in the console, in a real browser."""

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from memorist import Memory

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_a_file_of_cases_is_run_and_compared(browser: Browser, site: str, alice: Memory, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    lines = [{"question": "homestays?", "find": "stay"}, {"question": "walnuts?", "find": ["WALNUTS"]}]
    file.write_text("\n".join(map(json.dumps, lines)))
    await alice.remember("Allergic to walnuts")
    for script in (True, False):
        await alice.remember("Prefers homestays", id="stay")
        page = await (await browser.new_context(java_script_enabled=script)).new_page()
        await page.goto(f"{site}/cases?user=alice")
        await page.get_by_label("File of cases").set_input_files(file)
        await page.get_by_role("button", name="Run").click()
        await expect(page.locator(".figure-big").first).to_have_text("100 %")
        await alice.forget("stay")
        await page.get_by_label("File of cases").set_input_files(file)
        await page.get_by_role("button", name="Run").click()
        await expect(page.locator(".figure-big").first).to_have_text("50 %")
        await expect(page.locator(".fell").first).to_have_text("-50.0 points")
        await expect(page.locator("section", has_text="Got worse").first).to_contain_text("place 1 → not found")
        await page.get_by_role("link", name="homestays?").click()
        await expect(page).to_have_url(re.compile(r"/ask\?(?=.*user=alice)(?=.*q=homestays)"))


async def test_what_is_no_case_and_whose_is_another_is_refused(
    browser: Browser, site: str, alice: Memory, bob: Memory, tmp_path: Path
) -> None:
    await bob.remember("bob's secret")
    page = await browser.new_page()
    for line, told in (
        ("{}", "Line 1 has no question"),
        ('{"question": "secret", "find": "secret", "user": "bob"}', ""),
    ):
        file = tmp_path / "cases.jsonl"
        file.write_text(line)
        await page.goto(f"{site}/cases?user=alice")
        await page.get_by_label("File of cases").set_input_files(file)
        await page.get_by_role("button", name="Run").click()
        await expect(page.get_by_role("alert")).to_contain_text(told)
