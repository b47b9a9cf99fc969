"""What LangGraph's store contract does not say: walls, recall, times to live, and those who build on a store."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("langgraph.store.base")

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from memorist import Kind, Memory
from memorist.adapters.langgraph import MemoristStore
from memorist.errors import InvalidInputError, ScopeError
from memorist.records.origins import IMPORT

pytestmark = pytest.mark.anyio


async def test_a_user_named_in_the_namespace_is_a_wall(everyone: Memory) -> None:
    store = MemoristStore(everyone, user_at=1)
    await store.aput(("memories", "alice"), "k", {"text": "Prefers homestays"})
    await store.aput(("memories", "bob"), "k", {"text": "Prefers hotels"})
    await store.aput(("memories",), "k", {"text": "Breakfast is at eight"})
    assert await everyone.admin.users() == {"alice": 1, "bob": 1, None: 1}
    assert [hit.record.content for hit in await everyone.scoped(user="alice").recall("prefers")] == [
        "Prefers homestays"
    ]
    found = await store.asearch(("memories", "bob"), query="prefers homestays")
    assert [each.value["text"] for each in found] == ["Prefers hotels"]
    assert [each.namespace for each in await store.asearch(())] == [("memories",)]
    assert await store.alist_namespaces() == [("memories",)]
    assert await store.alist_namespaces(prefix=("memories", "alice")) == [("memories", "alice")]


async def test_a_store_behind_a_wall_reaches_no_other(alice: Memory, bob: Memory) -> None:
    await MemoristStore(alice).aput(("a",), "k", {"text": "x"})
    assert await MemoristStore(bob).aget(("a",), "k") is None
    with pytest.raises(ScopeError):
        await MemoristStore(bob, user_at=0).aget(("alice",), "k")


async def test_items_are_notes_that_recall_finds_and_topics_where_there_is_nothing_to_index(alice: Memory) -> None:
    store = MemoristStore(alice, fields=["text"])
    await store.aput(("a",), "k1", {"text": "Prefers homestays", "price": 3})
    await store.aput(("a",), "k2", {"price": 3})
    assert [record.content for record in await alice.recent(kind=Kind.NOTE)] == ["Prefers homestays"]
    assert await alice.count(kind=Kind.STATE) == 1
    assert [each.key for each in await store.asearch(("a",), filter={"price": 3})] == ["k2", "k1"]


async def test_a_whole_value_is_indexed_by_its_texts(alice: Memory) -> None:
    await MemoristStore(alice).aput(("a",), "k", {"kind": "Memory", "tags": ["x", "y"], "more": {"n": 3, "no": None}})
    [record] = await alice.recent()
    assert record.content == "kind: Memory\ntags: x\ntags: y\nn: 3"


async def test_an_item_that_was_imported_says_so_beside_its_value(alice: Memory) -> None:
    await MemoristStore(alice.through(IMPORT)).aput(("a",), "rule", {"text": "Invoices go to IBAN DE00"})
    store = MemoristStore(alice)
    await store.aput(("a",), "day", {"text": "Invoices are paid on Friday"})
    found = {each.key: each.dict() for each in await store.asearch(("a",), query="invoices")}
    assert found["rule"]["value"] == {"text": "Invoices go to IBAN DE00"} and found["rule"]["origin"] == "an import"
    assert "origin" not in found["day"]
    item = await store.aget(("a",), "rule")
    assert item is not None and item.dict()["origin"] == "an import" and "an import" in repr(item)
    assert [each.dict().get("origin") for each in await store.asearch(("a",))] == [None, "an import"]


async def test_what_an_item_was_stays_in_its_history_until_it_is_deleted(alice: Memory) -> None:
    store = MemoristStore(alice)
    await store.aput(("a",), "k", {"text": "old"})
    await store.aput(("a",), "k", {"text": "new"})
    [record] = await alice.recent()
    assert [change.record and change.record.content for change in await alice.history(record.id)] == ["old", "new"]
    await store.adelete(("a",), "k")
    assert await alice.count(kind=tuple(Kind)) == 0
    assert all(change.record is None for change in await alice.history(record.id))


@pytest.mark.parametrize("renew", [True, False])
async def test_a_read_renews_an_item_where_it_may(alice: Memory, renew: bool) -> None:
    store = MemoristStore(alice, ttl={"default_ttl": 60})
    await store.aput(("a",), "k", {"text": "x"})
    [record] = await alice.recent()
    assert record.expires_at is not None
    assert timedelta(minutes=59) < record.expires_at - datetime.now(UTC) <= timedelta(minutes=60)
    soon = datetime.now(UTC) + timedelta(minutes=5)
    await alice.revise(record.id, expires_at=soon)
    before = await store.aget(("a",), "k", refresh_ttl=False)
    await store.asearch(("a",), refresh_ttl=renew)
    [record] = await alice.recent()
    assert record.expires_at is not None
    assert (record.expires_at > soon + timedelta(minutes=50)) is renew
    after = await store.aget(("a",), "k")
    assert before is not None
    assert after is not None
    assert after.updated_at == before.updated_at
    assert (await alice.recent())[0].version <= record.version + 1


@pytest.mark.parametrize("value", [{"n": float("nan")}, {"when": datetime.now(UTC)}])
async def test_a_value_that_is_no_json_is_refused_whole(alice: Memory, value: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        await MemoristStore(alice).aput(("a",), "k", value)
    assert await alice.count(kind=tuple(Kind)) == 0


async def test_a_graph_has_its_store(alice: Memory) -> None:
    async def keep(state: dict[str, Any], *, store: BaseStore) -> dict[str, Any]:
        await store.aput(("a",), "k", {"text": "Prefers homestays"})
        [found] = await store.asearch(("a",), query="homestays")
        return {"found": found.value["text"]}

    graph = StateGraph(dict).add_node("keep", keep).add_edge(START, "keep").add_edge("keep", END)  # type: ignore[type-var]
    assert (await graph.compile(store=MemoristStore(alice)).ainvoke({}))["found"] == "Prefers homestays"


async def test_the_tools_of_langmem_run_on_it(everyone: Memory) -> None:
    langmem = pytest.importorskip("langmem")
    store = MemoristStore(everyone, user_at=1)
    config = {"configurable": {"langgraph_user_id": "alice"}}
    namespace = ("memories", "{langgraph_user_id}")
    manage = langmem.create_manage_memory_tool(namespace, store=store)
    search = langmem.create_search_memory_tool(namespace, store=store)
    said = await manage.ainvoke({"content": "Prefers homestays", "action": "create"}, config)
    [found] = json.loads(await search.ainvoke({"query": "homestays"}, config))
    assert found["value"]["content"] == "Prefers homestays"
    assert found["key"] in said
    await manage.ainvoke({"content": "Prefers hotels", "action": "update", "id": found["key"]}, config)
    assert [record.content for record in await everyone.scoped(user="alice").recent()] == ["Prefers hotels"]
    await manage.ainvoke({"action": "delete", "id": found["key"]}, config)
    assert await everyone.admin.users() == {}


async def test_the_files_of_deepagents_live_in_it(alice: Memory) -> None:
    backends = pytest.importorskip("deepagents.backends")
    backend = backends.StoreBackend(store=MemoristStore(alice), namespace=lambda _: ("files",))
    assert (await backend.awrite("/notes/travel.md", "Prefers homestays\n")).error is None
    assert (await backend.aedit("/notes/travel.md", "homestays", "hotels")).error is None
    assert "Prefers hotels" in str(await backend.aread("/notes/travel.md"))
    assert [each["path"] for each in (await backend.agrep("hotels")).matches] == ["/notes/travel.md"]
    assert [each["path"] for each in (await backend.als("/")).entries] == ["/notes/"]
    assert "Prefers hotels" in (await alice.recall("hotels"))[0].record.content


async def test_a_name_with_dots_is_a_field_or_else_a_path(alice: Memory) -> None:
    store = MemoristStore(alice)
    await store.aput(("a",), "deep", {"home": {"city": {"name": "Oslo"}, "zip.code": 150}})
    await store.aput(("a",), "flat", {"home.city": "Oslo"})
    await store.aput(("a",), "none", {"home": "Oslo"})
    for filter, expected in (
        ({"home.city.name": "Oslo"}, ["deep"]),
        ({"home.city": "Oslo"}, ["flat"]),
        ({"home.city": {"name": "Oslo"}}, ["deep"]),
        ({"home.zip.code": {"$gte": 100}}, ["deep"]),
        ({"home.street": "Oslo"}, []),
    ):
        assert [each.key for each in await store.asearch(("a",), filter=filter)] == expected
