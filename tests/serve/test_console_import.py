"""Importing in the console: what is found, confirmed and stored; what is refused; no file left behind."""

import asyncio
import gc
import io
import re
import sqlite3
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from memorist import Memory
from memorist.errors import MemoristError
from memorist.imports import load
from memorist.imports.staged import Staged
from memorist.serve.app import Limits, create_app
from memorist.serve.auth import Tokens
from memorist.serve.console import jobs
from servers import running

pytestmark = pytest.mark.anyio

CHAT = (
    "31.12.23, 21:41 - Anna: We fly on Friday\n31.12.23, 21:42 - Bob: At seven?\n31.12.23, 21:43 - Anna: At eight\n"
    "31.13.23, 21:44 - Anna: ?\n"
)
NAME = "WhatsApp Chat with Bob.txt"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, of which none may be left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    earlier[:] = _staged()
    return folder


earlier: list[Staged] = []
"""What other tests of this process hold still."""


def _staged() -> list[Staged]:
    return [each for each in gc.get_objects() if isinstance(each, Staged) and not each.file.closed]


def left(folder: Path) -> list[Staged | str]:
    """Return the files that have a name, and those that are held without one."""
    staged = [each for each in _staged() if all(each is not other for other in earlier)]
    return [*staged, *(each.name for each in folder.rglob("*") if each.is_file())]


class Visitor:
    """Imports without a script, as alice."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.text = ""

    async def look(self) -> str:
        """Return the page once the server is no longer at work."""
        while True:
            self.text = (await self.http.get("/import?user=alice")).text
            if "data-busy" not in self.text:
                return self.text
            await asyncio.sleep(0.01)

    async def give(self, *files: tuple[str, bytes | str]) -> httpx.Response:
        parts = [("file", file) for file in files]
        data = {"csrf": self._secret(await self.look())}
        return await self.http.post("/import?user=alice", data=data, files=parts)

    async def do(self, what: str, **typed: str) -> httpx.Response:
        data = {"csrf": self._secret(await self.look()), "do": what, **typed}
        return await self.http.post("/import/now?user=alice", data=data)

    @staticmethod
    def _secret(text: str) -> str:
        return str(re.findall(r'name="csrf" value="([^"]+)"', text)[0])


@pytest.fixture
async def visitor(client: Any) -> Visitor:
    return Visitor(await client())


# --- with a browser ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("script", [True, False])
async def test_a_chat_is_shown_confirmed_and_stored_once(
    browser: Browser, site: str, alice: Memory, tmp_path: Path, temporary: Path, script: bool
) -> None:
    file = tmp_path / NAME
    file.write_text(CHAT)
    page = await (await browser.new_context(java_script_enabled=script)).new_page()
    for told in ("3 added, 0 already stored", "0 added, 3 already stored"):
        await page.goto(f"{site}/?user=alice")
        await page.get_by_role("link", name="Import", exact=True).click()
        await page.wait_for_url("**/import?*")  # and its script, which sends what is chosen
        await page.get_by_label("Drop files here").set_input_files(file)
        if not script:
            await page.get_by_role("button", name="Upload").click()
        await expect(page.locator(".found")).to_have_text("WhatsApp: 3 messages, 1 conversation, 31 December 2023")
        await expect(page.locator("#import")).to_contain_text(f"{NAME}, line 4: 31.13.23, 21:44 is not a date")
        await expect(page.get_by_label("Your name among the speakers")).to_have_value("Anna")
        await page.get_by_label("Your name among the speakers").select_option("Bob")
        await page.get_by_label("Zone").fill("Europe/Oslo")
        await page.get_by_role("button", name="Import", exact=True).click()
        await expect(page.locator(".found")).to_contain_text(told)
        await page.get_by_role("button", name="Import more").click()
        await expect(page.get_by_label("Drop files here")).to_be_visible()
    records = (await alice.browse(order="oldest")).records
    assert [each.payload["role"] for each in records] == ["other", "user", "other"]
    assert records[0].at.isoformat() == "2023-12-31T21:41:00+01:00"
    assert left(temporary) == []


@pytest.mark.slow
async def test_files_are_dropped_on_the_page(page: Page, site: str, alice: Memory) -> None:
    await page.goto(f"{site}/import?user=alice")
    await page.evaluate(
        """([name, text]) => {
            const data = new DataTransfer();
            data.items.add(new File([text], name, {type: "text/plain"}));
            data.items.add(new File(["# Trip\\n\\nBy train"], "trip.md", {type: "text/plain"}));
            document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
        }""",
        [NAME, CHAT],
    )
    await expect(page.locator("h2").first).to_have_text("2 files")
    await expect(page.locator(".found")).to_contain_text("3 messages, 1 conversation, 1 note")
    await page.get_by_role("button", name="Import", exact=True).click()
    await expect(page.locator(".found")).to_contain_text("4 added")
    await page.get_by_role("link", name="Show the records").click()
    await expect(page.locator("main")).to_contain_text("By train")


@pytest.mark.slow
async def test_what_cannot_be_read_is_told_where_it_was_dropped(
    browser: Browser, everyone: Memory, tmp_path: Path
) -> None:
    async with running(create_app(everyone, open=True, limits=Limits(load_bytes=3000))) as url:
        for script in (True, False):
            page = await (await browser.new_context(java_script_enabled=script)).new_page()
            for size, told in ((4000, "larger than" if not script else "more than the server takes"), (100, "known f")):
                await page.goto(f"{url}/import")
                file = tmp_path / "a.bin"
                file.write_bytes(bytes(size))
                await page.get_by_label("Drop files here").set_input_files(file)
                if not script:
                    await page.get_by_role("button", name="Upload").click()
                await expect(page.get_by_role("alert")).to_contain_text(told)
            await page.get_by_role("button", name="Remove the files").click()
            await expect(page.get_by_label("Drop files here")).to_be_visible()


@pytest.mark.slow
async def test_an_upload_that_breaks_off_leaves_nothing(browser: Browser, site: str, temporary: Path) -> None:
    page = await browser.new_page()
    await page.goto(f"{site}/import")
    csrf = await page.locator("#give input[name=csrf]").get_attribute("value")
    [cookie] = [each.get("value") for each in await page.context.cookies() if each.get("name") == "memorist"]
    part = "--b\r\nContent-Disposition: form-data; name="
    body = f'{part}"csrf"\r\n\r\n{csrf}\r\n{part}"file"; filename="{NAME}"\r\n\r\n' + CHAT * 20_000
    host, port = site.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    kind = "Content-Type: multipart/form-data; boundary=b"
    head = (f"Host: {host}:{port}", f"Cookie: memorist={cookie}", "Content-Length: 99999999", kind)
    writer.write("\r\n".join(("POST /import HTTP/1.1", *head, "", body)).encode())
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    await page.goto(f"{site}/import")
    await expect(page.get_by_label("Drop files here")).to_be_visible()
    assert left(temporary) == []


# --- without one ---------------------------------------------------------------------------------------


async def test_an_import_is_interrupted_and_goes_on(
    visitor: Visitor, alice: Memory, monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> None:
    lines = "".join(f"31.12.23, 21:{number % 60:02} - Anna: message {number}\n" for number in range(900))
    await visitor.give((NAME, lines))
    assert "900 messages" in await visitor.look()
    reached, go = asyncio.Event(), asyncio.Event()
    remember = Memory.remember

    async def slow(self: Memory, *args: Any, **kwargs: Any) -> Any:
        stored = await remember(self, *args, **kwargs)
        reached.set()
        await go.wait()
        return stored

    monkeypatch.setattr(Memory, "remember", slow)
    await visitor.do("load")
    await reached.wait()
    page = await visitor.http.get("/import?user=alice")
    assert "Interrupt</button>" in page.text and "of 900" in page.text
    assert 'http-equiv="refresh"' in page.text
    data = {"csrf": re.findall(r'name="csrf" value="([^"]+)"', page.text)[0], "do": "load"}
    assert (await visitor.http.post("/import/now?user=alice", data=data)).status_code == 409
    await visitor.http.post("/import/now?user=alice", data={**data, "do": "stop"})
    assert "Interrupted" in await visitor.look() and await alice.count() == 300
    go.set()
    await visitor.do("load")
    assert "600 added, 300 already stored" in await visitor.look()
    assert await alice.count() == 900 and left(temporary) == []


async def test_who_may_only_read_is_refused(client: Any, tokens: Tokens, alice: Memory, temporary: Path) -> None:
    secret, _ = await tokens.create("reader", user="alice", right="read")
    http = await client(open=False)
    await http.post("/login", data={"token": secret})
    page = await http.get("/import")
    assert "may only read" in page.text and 'type="file"' not in page.text
    visitor = Visitor(http)
    assert (await visitor.give((NAME, CHAT))).status_code == 403
    assert (await visitor.do("load")).status_code == 403
    assert await alice.count() == 0 and left(temporary) == []


async def test_a_user_gives_to_their_own_memory_alone(client: Any, tokens: Tokens, alice: Memory, bob: Memory) -> None:
    secret, _ = await tokens.create("alice", user="alice")
    http = await client(open=False)
    await http.post("/login", data={"token": secret})
    page = (await http.get("/import")).text
    csrf = re.findall(r'name="csrf" value="([^"]+)"', page)[0]
    lines = b'{"text": "Mine", "speaker": "Alice"}\n{"text": "His", "speaker": "Bob", "user": "bob"}\n'
    files = {"file": ("chat.jsonl", lines)}
    assert (await http.post("/import?user=bob", data={"csrf": csrf}, files=files)).status_code == 403
    await http.post("/import", data={"csrf": csrf, "user": "bob"}, files=files)
    visitor = Visitor(http)
    await visitor.do("load")
    assert "1 added" in await visitor.look() and "memory of user &#39;alice&#39;" in visitor.text
    assert (await alice.count(), await bob.count()) == (1, 0)


async def test_a_page_of_another_site_gives_nothing(visitor: Visitor, temporary: Path) -> None:
    data = {"csrf": visitor._secret(await visitor.look())}
    foreign = {"Origin": "https://elsewhere.example"}
    for headers, secret in ((foreign, data), ({}, {"csrf": "made up"})):
        answer = await visitor.http.post("/import", data=secret, files={"file": (NAME, CHAT)}, headers=headers)
        assert answer.status_code == 403 or answer.headers["location"].startswith("/login")
    assert left(temporary) == [] and "Drop files here" in await visitor.look()


async def test_names_are_no_paths(visitor: Visitor, temporary: Path) -> None:
    for name in ("../../etc/passwd.txt", r"..\..\WhatsApp Chat with Bob.txt", "/etc/hosts"):
        await visitor.give((name, CHAT))
        await visitor.look()
        assert list(temporary.rglob("*")) == []
    for name in ("..", ".", "a/..", "a\x7fb.txt"):
        assert (await visitor.give((name, CHAT))).status_code == 422
    assert (await visitor.give(("a/x.txt", "1"), ("/a//x.txt", "2"))).status_code == 422
    assert list(temporary.rglob("*")) == []


async def test_a_folder_is_given_with_the_paths_of_its_files(visitor: Visitor, alice: Memory, tmp_path: Path) -> None:
    files = {"vault/a/notes.md": "What is in a", "vault/b/notes.md": "What is in b", "vault/.trash/x.md": "Gone"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for told in ("2 added", "0 added, 2 already stored"):
        await visitor.give(*files.items())
        await visitor.look()
        await visitor.do("load")
        assert told in await visitor.look()
        await visitor.do("discard")
    report = await load(alice, tmp_path / "vault")
    assert (report.added, report.existing) == (0, 2)
    assert (await visitor.give(("vault/.git/config", "x"))).status_code == 422


@pytest.mark.slow
async def test_a_folder_is_chosen(browser: Browser, site: str, alice: Memory, tmp_path: Path) -> None:
    for name in ("a", "b"):
        file = tmp_path / "vault" / name / "notes.md"
        file.parent.mkdir(parents=True)
        file.write_text(f"What is in {name}")
    for script in (True, False):
        page = await (await browser.new_context(java_script_enabled=script)).new_page()
        await page.goto(f"{site}/import?user=alice")
        await page.get_by_label("Or a folder").set_input_files(tmp_path / "vault")
        if not script:
            await page.get_by_role("button", name="Upload").click()
        await expect(page.locator(".found")).to_contain_text("2 notes")
        await page.get_by_role("button", name="Import", exact=True).click()
        await expect(page.locator(".found")).to_contain_text("2 added" if script else "0 added, 2 already stored")
    assert (await load(alice, tmp_path / "vault")).existing == 2


async def test_a_zip_that_swells_is_refused(client: Any, temporary: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_chat.txt", CHAT * 10_000)
    visitor = Visitor(await client(load_bytes=100_000))
    await visitor.give(("chat.zip", packed.getvalue()))
    assert "chat.zip has" in await visitor.look() and "the limit is 100,000" in visitor.text
    assert str(temporary) not in visitor.text


async def test_the_format_and_the_columns_are_chosen(visitor: Visitor, alice: Memory) -> None:
    await visitor.give(("a.csv", "one,two\n1,Hello\n"))
    assert "could not identify the text column" in await visitor.look()
    assert visitor.text.count("<option>two</option>") == 5 and 'value="load"' not in visitor.text
    await visitor.do("look", text="two")
    assert "Table: 1 note" in await visitor.look()
    assert "<option selected>two</option>" in visitor.text
    await visitor.do("look", **{"as": "whatsapp"})
    assert "nothing to store" in await visitor.look()
    await visitor.do("look", text="two")
    await visitor.do("load", text="two")
    assert "1 added" in await visitor.look()
    assert [each.content for each in await alice.recent()] == ["Hello"]


async def test_nothing_is_stored_where_the_store_fails(
    visitor: Visitor, alice: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await visitor.give((NAME, CHAT))

    async def fail(*_: Any, **__: Any) -> Any:
        raise MemoristError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Memory, "remember", fail)
        await visitor.do("load")
        assert "the disk is full" in await visitor.look()
    await visitor.do("load")
    assert "3 added" in await visitor.look()


async def test_files_that_nobody_comes_back_to_are_removed(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> None:
    await visitor.give((NAME, CHAT))
    assert "3 messages" in await visitor.look() and left(temporary) != []
    monkeypatch.setattr(jobs, "_IDLE_SECONDS", 0)
    await visitor.look()
    while left(temporary):  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert "expired and were removed" in await visitor.look()
    assert (await visitor.do("load")).status_code == 404


async def test_leaving_removes_the_files(client: Any, tokens: Tokens, temporary: Path) -> None:
    secret, _ = await tokens.create("alice", user="alice")
    http = await client(open=False)
    await http.post("/login", data={"token": secret})
    visitor = Visitor(http)
    await visitor.give((NAME, CHAT))
    assert left(temporary) != []
    await http.post("/logout", data={"csrf": visitor._secret(await visitor.look())})
    assert left(temporary) == []


@pytest.mark.parametrize("door", ["console", "rest"])
async def test_a_purge_takes_the_files_given_for_a_user(visitor: Visitor, temporary: Path, door: str) -> None:
    await visitor.give((NAME, CHAT))
    assert left(temporary) != []
    if door == "rest":
        await visitor.http.post("/v1/purge?user=bob")
        assert left(temporary) != []
        assert (await visitor.http.post("/v1/purge?user=alice")).status_code == 200
    else:
        page = (await visitor.http.get("/purge?user=alice")).text
        data = {"csrf": visitor._secret(page), "typed": "alice"}
        assert (await visitor.http.post("/purge?user=alice", data=data)).status_code == 200
    assert left(temporary) == []
    assert (await visitor.do("load")).status_code == 404


async def test_databases_are_read_without_a_name(visitor: Visitor, alice: Memory, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE store (prefix TEXT, key TEXT, value TEXT, created_at TEXT)")
        connection.execute("CREATE TABLE store_migrations (v INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO store VALUES ('users', '1', '{\"text\": \"Likes tea\"}', '2024-01-01')")
    await visitor.give(("store.db", (tmp_path / "store.db").read_bytes()))
    assert "LangGraph" in await visitor.look()
    await visitor.do("load")
    assert "1 added" in await visitor.look()


async def test_who_the_user_is_is_settled_for_each_chat_and_nobody_else_is_taken(
    visitor: Visitor, alice: Memory
) -> None:
    other = "1.1.24, 10:00 - Anna K: Hi\n1.1.24, 10:01 - Cleo: Hello\n"
    await visitor.give((NAME, CHAT), ("WhatsApp Chat with Cleo.txt", other))
    await visitor.do("load", me="Nobody")
    assert await alice.count() == 0
    await visitor.do("load")
    await visitor.look()
    records = [each async for each in alice.iterate()]
    mine = {each.payload["speaker"] for each in records if each.payload.get("role") == "user"}
    assert len(records) == 5 and mine == {"Anna", "Anna K"}


async def test_an_import_is_listed_and_taken_back_whole(visitor: Visitor, alice: Memory, bob: Memory) -> None:
    await alice.remember("Of her own")
    await visitor.give(("notes.csv", "text,colour\nBuy milk,red\nCall Tom,blue\n"))
    page = await visitor.look()
    assert (
        "text from text; kept as metadata: colour" in page
        and "text (recognised)" in page
        and "No time column was found" in page
        and "Buy milk" in page
    )
    await visitor.do("load")
    await visitor.look()
    assert await alice.count() == 3
    page = (await visitor.http.get("/imports?user=alice")).text
    [id] = set(re.findall(r"/imports/undo\?user=alice&amp;id=([\w-]+)", page))
    assert "2 records" in page and "No imports" in (await visitor.http.get("/imports?user=bob")).text
    data = {"csrf": re.findall(r'name="csrf" value="([^"]+)"', page)[0]}
    assert (await visitor.http.post(f"/imports/undo?user=bob&id={id}", data=data)).status_code == 404
    assert (await visitor.http.post(f"/imports/undo?user=alice&id={id}", data=data)).status_code == 303
    assert [record.content for record in await alice.recent(9)] == ["Of her own"]
