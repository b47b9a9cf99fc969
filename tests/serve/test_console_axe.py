"""Axe, which looks for what hinders people who see, hear or move otherwise, finds nothing on any page."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser

from memorist import Kind, Memory
from memorist.agents import memory_tools
from memorist.config import Settings
from memorist.files.cases import KeptCases
from memorist.serve.app import create_app
from memorist.serve.console.visits import PAGES
from memorist.testing import HashEmbedder
from servers import running

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
BELOW = ("/users", "/docs", "/login", "/nowhere", "/ask?q=homestays", "/conversation?session=monday", "/record?id=stay",
         "/record?id=none", "/map?colour=session", "/purge", "/traces?user=bob",
         "/inbox?rejected=none&approved=none")  # fmt: skip


async def lived_in(memory: Memory) -> list[str]:
    """Store something of everything, and return the pages of traces."""
    alice = memory.scoped(user="alice")
    await alice.remember("Prefers homestays", id="stay", rating=1, metadata={"trip": "Lisbon"}, source="me")
    await alice.revise("stay", content="Prefers homestays when she travels")
    old = await alice.remember("Works in Porto", kind=Kind.FACT, happened_at="2024-01-01", key="job")
    await alice.remember("Works in Lisbon", kind=Kind.FACT, key="job", supersedes=old.id)
    for n in range(8):
        speaker = {"speaker": "user" if n % 2 else "assistant"}
        await alice.remember(f"Message {n} of homestays", kind=Kind.MESSAGE, session="monday", payload=speaker)
    await alice.topics.set("user.language", "Elixir")
    await alice.context("homestays?", tokens=40, min_confidence=0.0)
    await alice.recall("homestays?", limit=2)
    await alice.recall(" ")
    await memory_tools(alice).call("add_memory", {"content": "Prefers quiet rooms"})
    traces = (await alice.admin.traces()).traces
    await memory.admin.retain([{"keep": "30d", "kind": "fact"}, {"keep": "forever", "kind": "topic"}])
    await KeptCases(memory, alice.scope).add(traces[1], "stay")
    return [f"/trace?id={each.id}&q=homestays" for each in traces]


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1280, "light"),
        pytest.param(1280, "dark", marks=pytest.mark.weekly),
        pytest.param(390, "light", marks=pytest.mark.weekly),
    ],
)
async def test_axe_finds_nothing(browser: Browser, tmp_path: Path, scheme: Any, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.async_playwright", reason="axe-playwright-python is not installed")
    settings = Settings(keep_traces="7d", confirm=True)
    page = await browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
    found = dict[str, str]()
    async with (
        Memory.open(tmp_path / "memory.db", embedder=HashEmbedder(), settings=settings) as memory,
        running(create_app(memory, open=True)) as site,
    ):
        for path in (*(path for path, _ in PAGES), *BELOW, *await lived_in(memory)):
            await page.goto(
                f"{site}{path}{'&' if '?' in path else '?'}user=alice" if "user=" not in path else f"{site}{path}"
            )
            results = await axe.Axe().run(page)
            for fault in results.response["violations"]:
                found[f"{path}: {fault['id']}"] = "\n".join(node["html"] for node in fault["nodes"])
    assert found == {}
