"""The core tools, which every MCP server offers by itself."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import Tool

import memorist.embedders
from memorist.agents import memory_tools
from memorist.memory import Memory
from memorist.serve.auth import Right
from memorist.serve.mcp import Access, create_server

pytestmark = pytest.mark.anyio

NAMES = ["search_memories", "add_memory", "update_memory", "delete_memory", "get_context"]
TOKENIZER = Path(memorist.embedders.__file__).with_name("model") / "tokenizer.json"


def told(answer: object) -> str:
    [content] = getattr(answer, "content")  # noqa: B009
    return str(content.text)


def tokens(tools: list[Tool]) -> int:
    """Return how many tokens a model reads of tools. Of the bundled tokenizer, which splits JSON finer than others."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()
    shown = [each.model_dump(by_alias=True, exclude_none=True, exclude={"annotations", "title"}) for each in tools]
    return len(tokenizer.encode(json.dumps(shown), add_special_tokens=False).ids)


async def test_five_tools_say_what_they_say_everywhere_in_few_tokens(alice: Memory) -> None:
    async with Client(create_server(Access(alice))) as client:
        found = (await client.list_tools()).tools
        assert [each.name for each in found] == NAMES
        for tool, schema in zip(found, memory_tools(alice).schemas, strict=True):
            assert (tool.description, tool.input_schema) == (schema.description, dict(schema.parameters))
            assert tool.output_schema is None
        assert tokens(found) < 900


@pytest.mark.slow
async def test_every_command_offers_these_and_all_when_asked(serve: Any, by_http: Any, by_stdio: Any) -> None:
    for command, says, count in (
        (("serve", "--tools", "all"), "Serving at ", 14),
        (("mcp", "--http"), "Serving MCP at ", 5),
    ):
        url = serve(command=command, says=says).removesuffix("/mcp")
        async with by_http(f"{url}/mcp") as client:
            assert len((await client.list_tools()).tools) == count
    async with by_stdio("--tools", "core") as client:
        assert [each.name for each in (await client.list_tools()).tools] == NAMES


async def test_a_memory_is_added_found_corrected_told_and_deleted(alice: Memory) -> None:
    async with Client(create_server(Access(alice))) as client:
        added = json.loads(told(await client.call_tool("add_memory", {"content": "Alice moved to Oslo in May 2024"})))
        [hit] = json.loads(told(await client.call_tool("search_memories", {"query": "Where is Alice?"})))["hits"]
        assert (hit["id"], hit["text"]) == (added["id"], "Alice moved to Oslo in May 2024")
        await client.call_tool("update_memory", {"id": added["id"], "content": "Alice moved to Bergen in May 2024"})
        context = told(await client.call_tool("get_context", {"query": "Where did Alice move in May 2024?"}))
        assert "Bergen" in context
        assert context.startswith("<memory-")
        assert json.loads(told(await client.call_tool("delete_memory", {"id": added["id"]})))["deleted"]


async def test_a_reader_has_the_tools_that_read(alice: Memory) -> None:
    async with Client(create_server(Access(alice, Right.READ))) as client:
        assert [each.name for each in (await client.list_tools()).tools] == ["search_memories", "get_context"]
        refused = await client.call_tool("add_memory", {"content": "mine"})
        assert refused.is_error
        assert "needs the right" in told(refused)


async def test_what_is_wrong_is_said(alice: Memory) -> None:
    async with Client(create_server(Access(alice))) as client:
        assert (await client.call_tool("search_memories", {})).is_error
        assert "no argument 'user'" in told(await client.call_tool("search_memories", {"query": "x", "user": "bob"}))
        assert "no record" in told(await client.call_tool("update_memory", {"id": "none", "content": "x"}))
        with pytest.raises(MCPError, match="--tools all"):
            await client.call_tool("rate_memory", {"id": "x", "rating": 1})


async def test_nothing_internal_is_told_or_logged(
    alice: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    text = "Alice's secret in /srv/data"

    async def broken(*arguments: Any, **options: Any) -> None:
        raise RuntimeError(text)

    monkeypatch.setattr(Memory, "recall", broken)
    async with Client(create_server(Access(alice))) as client:
        with caplog.at_level(logging.DEBUG, logger="memorist"):
            failed = told(await client.call_tool("search_memories", {"query": "x"}))
    assert failed == "the server failed; see its log"
    assert "RuntimeError" in caplog.text and text not in caplog.text


async def test_a_project_is_a_scope_of_its_own_but_for_topics(everyone: Memory) -> None:
    here, there = (everyone.scoped(user="alice", agent=project) for project in ("/src/shop", "/src/blog"))
    async with Client(create_server(Access(here))) as shop, Client(create_server(Access(there))) as blog:
        added = json.loads(told(await shop.call_tool("add_memory", {"content": "We deploy with ship.sh"})))
        await shop.call_tool("add_memory", {"content": "vim", "topic": "user.editor"})
        assert json.loads(told(await blog.call_tool("search_memories", {"query": "ship.sh"}))) == {"hits": []}
        assert (await blog.call_tool("update_memory", {"id": added["id"], "content": "mine"})).is_error
        assert not json.loads(told(await blog.call_tool("delete_memory", {"id": added["id"]})))["deleted"]
        assert await there.topics.get("user.editor") == "vim"
        assert [record.content for record in await here.recent(kind="note")] == ["We deploy with ship.sh"]
