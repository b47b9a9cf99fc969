"""The console's page of a purge: what it would touch, the name that confirms it, and the receipt."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser as Chromium
from playwright.async_api import expect

from browsers import Browser
from memorist.audit.signing import check, key_file, public_key
from memorist.memory import Memory
from memorist.operations.answers import RECEIPT, Receipt
from memorist.serve.auth import Tokens

pytestmark = pytest.mark.anyio

PAGE = "/purge?user=alice"


@pytest.fixture
async def browser_of_forms(client: Any) -> Browser:
    return Browser(await client())


async def test_what_would_go_is_shown_and_only_the_name_confirms_it(
    browser_of_forms: Browser, alice: Memory, bob: Memory, tmp_path: Path
) -> None:
    browser = browser_of_forms
    await alice.remember(["Likes tea", "Likes coffee"])
    await bob.remember("Likes water")
    shown = (await browser.http.get(PAGE)).text
    assert "What would be deleted" in shown and "2" in shown and "No known copies." in shown
    for typed in ("Alice", "bob", "alice "):
        assert (await browser.send(PAGE, "/purge", typed=typed)).status_code == 422
    assert await alice.count() == 2
    done = await browser.send(PAGE, "/purge", typed="alice")
    assert done.status_code == 200 and "2 records deleted" in done.text and "0 found" in done.text
    assert (await alice.count(), await bob.count()) == (0, 1)


async def test_what_all_share_has_its_own_word(browser_of_forms: Browser, everyone: Memory, alice: Memory) -> None:
    await everyone.remember("The office closes at six")
    await alice.remember("Likes tea")
    assert (await browser_of_forms.send("/purge", "/purge", typed="alice")).status_code == 422
    assert (await browser_of_forms.send("/purge", "/purge", typed="shared")).status_code == 200
    assert (await everyone.count(), await alice.count()) == (0, 1)


async def test_a_purge_ends_what_could_be_taken_back(browser_of_forms: Browser, alice: Memory) -> None:
    await alice.remember("Likes tea", id="r")
    await browser_of_forms.send("/record?user=alice&id=r", "/forget")
    assert "Undo" not in (await browser_of_forms.send(PAGE, "/purge", typed="alice")).text


async def test_only_administrators_purge_and_only_by_the_pages_own_form(
    client: Any, browser_of_forms: Browser, alice: Memory, tokens: Tokens
) -> None:
    await alice.remember("Likes tea")
    http: httpx.AsyncClient = await client(open=False)
    secret, _ = await tokens.create("writer", tenant="default", right="write")
    await http.post("/login", data={"token": secret, "next": "/"})
    assert (await http.get(PAGE)).status_code == 403
    assert "Delete everything" not in (await http.get("/status?user=alice")).text
    assert (await http.post(PAGE, data={"typed": "alice"})).status_code == 403
    assert (await browser_of_forms.http.post(PAGE, data={"typed": "alice", "csrf": "x"})).status_code == 403
    assert "Delete everything" in (await browser_of_forms.http.get("/status?user=alice")).text
    assert await alice.count() == 1


@pytest.mark.slow
@pytest.mark.parametrize("script", [True, False])
async def test_the_receipt_is_a_file_that_verifies(
    browser: Chromium, site: str, alice: Memory, tmp_path: Path, script: bool
) -> None:
    await alice.remember("Likes tea")
    page = await (await browser.new_context(java_script_enabled=script)).new_page()
    await page.goto(f"{site}/status?user=alice")
    await page.get_by_role("link", name="Delete everything of alice").click()
    await page.get_by_label("Type “alice” to confirm").fill("alice")
    await page.get_by_role("button", name="Purge").click()
    await expect(page.get_by_role("status")).to_contain_text("1 record deleted")
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download the receipt").click()
    found = await download.value
    assert found.suggested_filename == "receipt.json"
    statement = json.loads(Path(await found.path()).read_text())
    check(statement, RECEIPT, public_key(key_file()))
    assert Receipt(statement).is_of("alice") and Receipt(statement).purged == 1
