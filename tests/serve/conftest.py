import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from memorist.memory import Memory
from memorist.serve.app import Limits, create_app
from memorist.serve.auth import Tokens
from servers import running

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

Client = Callable[..., Any]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture
def tokens(everyone: Memory) -> Tokens:
    return Tokens(everyone)


@pytest.fixture
async def client(everyone: Memory) -> AsyncIterator[Client]:
    """Return a function that returns a client of a server of this test's memory."""
    async with AsyncExitStack() as stack:

        async def make(
            token: str | None = None, *, open: bool = True, host: str = "localhost", **limits: Any
        ) -> httpx.AsyncClient:
            app = create_app(everyone, open=open, limits=Limits(**limits))
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
            made = httpx.AsyncClient(transport=transport, base_url=f"http://{host}", headers=headers)
            return await stack.enter_async_context(made)

        yield make


@pytest.fixture
async def http(client: Client) -> httpx.AsyncClient:
    """A client on this machine, of a server that asks for no token there."""
    made: httpx.AsyncClient = await client()
    return made


@pytest.fixture(scope="module")
async def chromium() -> AsyncIterator["Browser"]:
    """A real browser for a file's tests."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here: apt install chromium")
    from playwright.async_api import async_playwright, expect

    expect.set_options(timeout=120_000)
    async with async_playwright() as started:
        browser = await started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=120_000)
        yield browser
        await browser.close()


@pytest.fixture
async def browser(chromium: "Browser") -> AsyncIterator["Browser"]:
    """The browser, with nothing open and no cookies."""
    yield chromium
    for context in chromium.contexts:
        await context.close()


@pytest.fixture
async def site(everyone: Memory) -> AsyncIterator[str]:
    """The URL of a console that asks for no token."""
    async with running(create_app(everyone, open=True)) as url:
        yield url


@pytest.fixture
async def page(browser: "Browser") -> AsyncIterator["Page"]:
    """A page on which any complaint of the browser fails the test."""
    page = await browser.new_page()
    page.set_default_timeout(120_000)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    yield page
    assert complaints == []
