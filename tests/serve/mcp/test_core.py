"""The core tools, which `memorist mcp` offers by itself."""

import json

import pytest
from mcp import Client, MCPError

from memorist.agents import memory_tools
from memorist.memory import Memory
from memorist.serve.auth import Right
from memorist.serve.mcp import Access, create_server

pytestmark = pytest.mark.anyio

NAMES = ["search_memories", "add_memory", "update_memory", "delete_memory", "get_context"]


def told(answer: object) -> str:
    [content] = getattr(answer, "content")  # noqa: B009
    return str(content.text)


async def test_five_tools_say_what_they_say_everywhere_in_few_tokens(alice: Memory) -> None:
    async with Client(create_server(Access(alice), tools="core")) as client:
        found = (await client.list_tools()).tools
        assert [each.name for each in found] == NAMES
        for tool, schema in zip(found, memory_tools(alice).schemas, strict=True):
            assert (tool.description, tool.input_schema) == (schema.description, dict(schema.parameters))
        texts = [json.dumps([each.name, each.description, each.input_schema]) for each in found]
        assert sum(map(len, texts)) / 4 < 900


async def test_a_memory_is_added_found_corrected_told_and_deleted(alice: Memory) -> None:
    async with Client(create_server(Access(alice), tools="core")) as client:
        added = json.loads(told(await client.call_tool("add_memory", {"content": "Alice moved to Oslo in May 2024"})))
        [hit] = json.loads(told(await client.call_tool("search_memories", {"query": "Where is Alice?"})))
        assert (hit["id"], hit["text"]) == (added["id"], "Alice moved to Oslo in May 2024")
        await client.call_tool("update_memory", {"id": added["id"], "content": "Alice moved to Bergen in May 2024"})
        context = told(await client.call_tool("get_context", {"query": "Where did Alice move in May 2024?"}))
        assert "Bergen" in context
        assert context.startswith("<memory-")
        assert json.loads(told(await client.call_tool("delete_memory", {"id": added["id"]})))["deleted"]


async def test_a_reader_has_the_tools_that_read(alice: Memory) -> None:
    async with Client(create_server(Access(alice, Right.READ), tools="core")) as client:
        assert [each.name for each in (await client.list_tools()).tools] == ["search_memories", "get_context"]
        refused = await client.call_tool("add_memory", {"content": "mine"})
        assert refused.is_error
        assert "needs the right" in told(refused)


async def test_what_is_wrong_is_said(alice: Memory) -> None:
    async with Client(create_server(Access(alice), tools="core")) as client:
        assert (await client.call_tool("search_memories", {})).is_error
        assert "no record" in told(await client.call_tool("update_memory", {"id": "none", "content": "x"}))
        with pytest.raises(MCPError, match="--tools all"):
            await client.call_tool("rate_memory", {"id": "x", "rating": 1})
