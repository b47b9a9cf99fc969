"""The page that proposes what may go: nothing without a yes, and each undone."""

import shutil
from typing import TYPE_CHECKING

import httpx
import pytest

from memorist import Memory

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.anyio


async def stored(everyone: Memory) -> Memory:
    alice = everyone.scoped(user="alice")
    for end in ("", "!"):
        await alice.remember(f"Prefers homestays when she travels to Lisbon{end}")
    await alice.remember("<Media omitted>", source="import:whatsapp")
    await everyone.scoped(user="bob").remember("Prefers homestays when she travels to Lisbon")
    return alice


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium here: apt install chromium")
async def test_one_key_merges_and_the_next_step_undoes_it(page: "Page", site: str, everyone: Memory) -> None:
    from playwright.async_api import expect

    alice = await stored(everyone)
    await page.goto(f"{site}/?user=alice")
    await page.get_by_role("link", name="Tidy").click()
    await expect(page).to_have_title("Tidy · Memorist")
    forms = page.locator("form.waits")
    await expect(forms).to_have_count(2)
    await expect(forms.first).to_contain_text("duplicate")
    await expect(forms.first).to_have_attribute("data-marked", "")
    assert await alice.count() == 3
    await page.keyboard.press("a")
    await expect(forms).to_have_count(1)
    assert await alice.count() == 2
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("status")).to_contain_text("Put back 1 of 1")
    await expect(forms).to_have_count(2)
    assert await alice.count() == 3


async def test_looking_changes_nothing_and_hostile_text_is_escaped(http: httpx.AsyncClient, everyone: Memory) -> None:
    alice = await stored(everyone)
    page = (await http.get("/tidy", params={"user": "alice"})).text
    assert "&lt;Media omitted&gt;" in page and "<Media" not in page
    assert await alice.count() == 3
    answer = await http.post("/v1/tidy", params={"user": "alice"}, json={"what": "duplicate"})
    [found] = answer.json()["suggestions"]
    ids = [each["id"] for each in found["records"]]
    body = {"ids": ids, "by": found["keep"]["id"]}
    assert (await http.post("/v1/archive", params={"user": "alice"}, json=body)).json() == {"archived": 1}
    undone = await http.post("/v1/archive", params={"user": "alice"}, json={"ids": ids, "undo": True})
    assert undone.json() == {"archived": 1}
    assert await alice.count() == 3
