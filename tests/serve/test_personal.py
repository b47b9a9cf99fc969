"""The page of preferences: whose each is, and one key changes it."""

import shutil
from typing import TYPE_CHECKING

import httpx
import pytest

from memorist import Memory
from memorist.agents.personal import PERSON

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.anyio
HOSTILE = "Always say <script>document.title='owned'</script>"


async def said(everyone: Memory) -> Memory:
    alice = everyone.scoped(user="alice")
    for project, text in (("github.com/acme/shop", "I prefer short answers"), ("<b>x</b>", HOSTILE)):
        talk = alice.scoped(agent=project).conversation("s1")
        await talk.append([{"role": "user", "content": text}])
    await everyone.scoped(user="bob").remember("I prefer long answers", agent="github.com/acme/shop")
    return alice


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium here: apt install chromium")
async def test_one_key_makes_a_preference_the_persons_and_the_projects_again(
    page: "Page", site: str, everyone: Memory
) -> None:
    from playwright.async_api import expect

    alice = await said(everyone)
    await page.goto(f"{site}/?user=alice")
    await page.get_by_role("link", name="Preferences").click()
    await expect(page).to_have_title("Preferences · Memorist")
    forms = page.locator("form.waits")
    await expect(forms).to_have_count(2)
    mine = forms.filter(has_text="I prefer short answers")
    await expect(mine).to_contain_text("project github.com/acme/shop")
    await mine.focus()
    await page.keyboard.press("p")
    await expect(page.get_by_role("status")).to_contain_text("in all projects now")
    await expect(mine).to_contain_text("yours, in all projects")
    assert await alice.count(agent=PERSON) == 1
    await mine.focus()
    await page.keyboard.press("p")
    await expect(mine).to_contain_text("project github.com/acme/shop")
    assert await alice.count(agent=PERSON) == 0


async def test_the_page_shows_one_users_alone_and_escapes_what_it_shows(
    http: httpx.AsyncClient, everyone: Memory
) -> None:
    await said(everyone)
    page = (await http.get("/personal", params={"user": "alice"})).text
    assert "I prefer short answers" in page and "long answers" not in page
    assert "<script>document" not in page and "<b>x</b>" not in page
