"""The contract of a LangGraph store as tests, to run against any store.

    class TestMyStore(LangGraphStoreContract):
        @pytest.fixture
        def store(self) -> Iterator[BaseStore]:
            yield MyStore(...)

The store is new and empty for each test. It indexes whole values, with an embedder for which texts that share
words are similar, and never returns an expired item. To skip a test on purpose, set it to None in the subclass.
"""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
)

__all__ = ["LangGraphStoreContract"]

_ODD_TEXTS = [
    "%", "_", "*", "a%", "a_c", "[a]", "a/b", "a b", "it's", 'say "x"', "'; DROP TABLE store; --", "back\\slash",
    "é", "記憶", "line\n", "-1", "$", "{x}",
]  # fmt: skip
_VALUE = {"text": "x", "n": 3, "f": 2.5, "yes": True, "none": None, "list": ["a", {"b": [1]}], "é": {"ü": "記憶"}}
_PEOPLE: Mapping[str, dict[str, Any]] = {
    "ann": {"name": "Ann", "age": 30, "vip": True, "tags": ["x", "y"], "home": {"city": "Oslo", "no": 1}},
    "bob": {"name": "Bob", "age": 40, "vip": False, "tags": [], "home": {"city": "Bergen", "no": 2}},
    "cid": {"name": "it's Cid", "age": 40.5, "vip": 1, "a-b": 1, "1st": "one", "é": "accent", "gone": None},
}
_FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"name": "Ann"}, "ann"),
    ({"name": "ann"}, ""),
    ({"name": "it's Cid"}, "cid"),
    ({"name": "' OR 1=1 --"}, ""),
    ({"age": 40}, "bob"),
    ({"age": 40.0}, "bob"),
    ({"age": "40"}, ""),
    ({"name": {"$eq": "Bob"}}, "bob"),
    ({"name": {"$ne": "Bob"}}, "ann cid"),
    ({"age": {"$gt": 30}}, "bob cid"),
    ({"age": {"$gte": 30, "$lt": 40.5}}, "ann bob"),
    ({"age": {"$lte": 40}}, "ann bob"),
    ({"tags": ["x", "y"]}, "ann"),
    ({"tags": ["y", "x"]}, ""),
    ({"a-b": 1}, "cid"),
    ({"1st": "one"}, "cid"),
    ({"name": "Bob", "age": 40}, "bob"),
    ({"name": "Bob", "age": 30}, ""),
    ({}, "ann bob cid"),
]


def _value(store: BaseStore, key: str = "k", namespace: tuple[str, ...] = ("a",)) -> dict[str, Any] | None:
    """Return an item's value, or None where there is no item."""
    item = store.get(namespace, key)
    return None if item is None else item.value


def _keys(found: list[SearchItem]) -> list[str]:
    return [each.key for each in found]


class LangGraphStoreContract:
    """Every promise of LangGraph's `BaseStore`, against the store of the fixture `store`."""

    @pytest.fixture
    def store(self) -> Any:
        """Return a new, empty store."""
        raise NotImplementedError("say how to make a store")

    # --- one item --------------------------------------------------------------------------------------

    def test_an_item_comes_back_as_it_was_put(self, store: BaseStore) -> None:
        store.put(("users", "ann"), "prefs", _VALUE)
        item = store.get(("users", "ann"), "prefs")
        assert item is not None
        assert (item.namespace, item.key, item.value) == (("users", "ann"), "prefs", _VALUE)
        assert item.created_at.tzinfo is not None
        assert timedelta(0) <= item.updated_at - item.created_at < timedelta(seconds=1)

    def test_what_is_not_there_is_none(self, store: BaseStore) -> None:
        assert store.get(("users",), "nobody") is None
        store.put(("users",), "ann", {"text": "x"})
        assert store.get(("users",), "an") is None
        assert store.get(("users", "ann"), "ann") is None

    def test_putting_again_replaces_the_whole_value(self, store: BaseStore) -> None:
        store.put(("a",), "k", {"text": "old", "more": 1})
        store.put(("a",), "k", {"text": "new"})
        assert _value(store) == {"text": "new"}
        assert len(store.search(("a",))) == 1

    def test_putting_again_keeps_when_it_was_created(self, store: BaseStore) -> None:
        store.put(("a",), "k", {"text": "old"})
        before = store.get(("a",), "k")
        store.put(("a",), "k", {"text": "new"})
        after = store.get(("a",), "k")
        assert before is not None
        assert after is not None
        assert after.created_at == before.created_at < after.updated_at

    def test_any_mapping_is_a_value(self, store: BaseStore) -> None:
        store.put(("a",), "k", MappingProxyType({"text": "x"}))
        assert _value(store) == {"text": "x"}

    def test_an_empty_value_is_a_value(self, store: BaseStore) -> None:
        store.put(("a",), "k", {})
        assert _value(store) == {}

    def test_a_deleted_item_is_gone_from_every_read(self, store: BaseStore) -> None:
        store.put(("a",), "k", {"text": "cats purr"})
        store.delete(("a",), "k")
        store.delete(("a",), "never was")
        assert store.get(("a",), "k") is None
        assert store.search(("a",)) == []
        assert store.search(("a",), query="cats purr") == []
        store.put(("a",), "k", {"text": "back"})
        assert store.get(("a",), "k") is not None

    @pytest.mark.parametrize("key", ["", " ", ".", "a.b", *_ODD_TEXTS, "k" * 200])
    def test_any_text_is_a_key(self, store: BaseStore, key: str) -> None:
        store.put(("a",), key, {"text": "x"})
        store.put(("a",), key + "!", {"text": "y"})
        item = store.get(("a",), key)
        assert item is not None
        assert (item.key, item.value) == (key, {"text": "x"})
        store.delete(("a",), key)
        assert _keys(store.search(("a",))) == [key + "!"]

    # --- namespaces ------------------------------------------------------------------------------------

    def test_the_same_key_in_two_namespaces_is_two_items(self, store: BaseStore) -> None:
        for namespace in (("a",), ("b",), ("a", "b")):
            store.put(namespace, "k", {"text": "/".join(namespace)})
        found = [store.get(namespace, "k") for namespace in (("a",), ("b",), ("a", "b"))]
        assert [each and each.value["text"] for each in found] == ["a", "b", "a/b"]

    def test_a_prefix_ends_with_a_label(self, store: BaseStore) -> None:
        for namespace in (("a",), ("a", "b"), ("ab",), ("A",), ("b", "a")):
            store.put(namespace, "k", {"text": "x"})
        assert {each.namespace for each in store.search(("a",))} == {("a",), ("a", "b")}
        assert {each.namespace for each in store.search(("a",), query="x")} == {("a",), ("a", "b")}
        assert {each.namespace for each in store.search(())} == {("a",), ("a", "b"), ("ab",), ("A",), ("b", "a")}
        assert store.list_namespaces(prefix=("a",)) == [("a",), ("a", "b")]

    @pytest.mark.parametrize("label", _ODD_TEXTS)
    def test_a_label_means_itself(self, store: BaseStore, label: str) -> None:
        store.put((label, "in"), "k", {"text": "x"})
        store.put(("abc", "in"), "k", {"text": "x"})
        store.put((label + "x",), "k", {"text": "x"})
        assert [each.namespace for each in store.search((label,))] == [(label, "in")]
        assert [each.namespace for each in store.search((label,), query="x")] == [(label, "in")]

    def test_a_key_is_no_part_of_a_namespace(self, store: BaseStore) -> None:
        store.put(("a", "b"), "c", {"text": "1"})
        store.put(("a",), "b.c", {"text": "2"})
        store.put(("a",), "b..c", {"text": "3"})
        store.put(("a",), ".b.c", {"text": "4"})
        assert [each.value["text"] for each in store.search(("a", "b"))] == ["1"]
        assert len(store.search(("a",))) == 4

    @pytest.mark.parametrize("namespace", [(), ("langgraph",), ("a.b",), ("",), ("a", ""), ("a\0",), (1,), (None,)])
    def test_a_bad_namespace_is_refused(self, store: BaseStore, namespace: Any) -> None:
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {"text": "x"})
        with pytest.raises(InvalidNamespaceError):
            asyncio.run(store.aput(namespace, "k", {"text": "x"}))
        assert store.search(()) == []

    @pytest.mark.parametrize("bad", ["a.b", "", "a\0"])
    def test_a_bad_label_is_refused_in_a_batch_too(self, store: BaseStore, bad: str) -> None:
        condition = MatchCondition("prefix", (bad,))
        for op in (PutOp((bad,), "k", {}), GetOp((bad,), "k"), SearchOp((bad,)), ListNamespacesOp((condition,))):
            with pytest.raises(InvalidNamespaceError):
                store.batch([op])
            with pytest.raises(InvalidNamespaceError):
                asyncio.run(store.abatch([op]))

    def test_reading_makes_no_namespace(self, store: BaseStore) -> None:
        store.get(("a",), "k")
        store.search(("b",), query="x")
        store.delete(("c",), "k")
        assert store.list_namespaces() == []

    # --- listing namespaces ----------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            ({}, ["a/b/c", "a/b/d/e", "a/b/d/i", "a/b/f", "a/c/f", "b/a", "b/a/c"]),
            ({"prefix": ("a", "b")}, ["a/b/c", "a/b/d/e", "a/b/d/i", "a/b/f"]),
            ({"prefix": ("a", "b"), "max_depth": 3}, ["a/b/c", "a/b/d", "a/b/f"]),
            ({"prefix": ("a", "*", "f")}, ["a/b/f", "a/c/f"]),
            ({"prefix": ("*", "a")}, ["b/a", "b/a/c"]),
            ({"suffix": ("c",)}, ["a/b/c", "b/a/c"]),
            ({"suffix": ("a", "*")}, ["b/a/c"]),
            ({"prefix": ("a",), "suffix": ("f",)}, ["a/b/f", "a/c/f"]),
            ({"max_depth": 1}, ["a", "b"]),
            ({"limit": 2}, ["a/b/c", "a/b/d/e"]),
            ({"limit": 2, "offset": 5}, ["b/a", "b/a/c"]),
            ({"max_depth": 2, "offset": 1, "limit": 1}, ["a/c"]),
            ({"prefix": ("x",)}, []),
            ({"prefix": ("a", "b", "c", "d")}, []),
        ],
    )
    def test_namespaces_are_listed(self, store: BaseStore, asked: dict[str, Any], expected: list[str]) -> None:
        for path in ("b/a/c", "a/b/c", "a/b/d/e", "a/b/d/i", "a/b/f", "a/c/f", "b/a"):
            for key in ("k1", "k2"):
                store.put(tuple(path.split("/")), key, {"text": "x"})
        assert ["/".join(each) for each in store.list_namespaces(**asked)] == expected
        assert ["/".join(each) for each in asyncio.run(store.alist_namespaces(**asked))] == expected

    def test_a_namespace_goes_with_its_last_item(self, store: BaseStore) -> None:
        store.put(("a", "b"), "k1", {"text": "x"})
        store.put(("a", "b"), "k2", {"text": "x"})
        store.delete(("a", "b"), "k1")
        assert store.list_namespaces() == [("a", "b")]
        store.delete(("a", "b"), "k2")
        assert store.list_namespaces() == []

    # --- searching without a query ---------------------------------------------------------------------

    def test_a_search_without_a_query_finds_all_and_ranks_none(self, store: BaseStore) -> None:
        for number in range(12):
            store.put(("a",), f"k{number}", {"n": number})
        assert len(store.search(("a",))) == 10
        found = store.search(("a",), limit=100)
        assert {each.key for each in found} == {f"k{number}" for number in range(12)}
        assert {each.score for each in found} == {None}

    def test_pages_are_whole_and_apart(self, store: BaseStore) -> None:
        for number in range(7):
            store.put(("a",), f"k{number}", {"n": number})
        pages = [store.search(("a",), limit=3, offset=offset) for offset in (0, 3, 6, 9)]
        assert [len(page) for page in pages] == [3, 3, 1, 0]
        assert len({each.key for page in pages for each in page}) == 7
        assert store.search(("a",), limit=0) == []

    def _put_people(self, store: BaseStore) -> None:
        for key, value in _PEOPLE.items():
            store.put(("people",), key, value)

    @pytest.mark.parametrize(("filter", "expected"), _FILTERS, ids=str)
    def test_a_filter_chooses(self, store: BaseStore, filter: dict[str, Any], expected: str) -> None:
        self._put_people(store)
        assert sorted(each.key for each in store.search(("people",), filter=filter)) == expected.split()

    @pytest.mark.parametrize(("name", "expected"), [("é", ["cid"]), ("' OR 1=1 --", [])])
    def test_any_text_names_a_field(self, store: BaseStore, name: str, expected: list[str]) -> None:
        self._put_people(store)
        assert _keys(store.search(("people",), filter={name: "accent"})) == expected

    def test_a_filter_goes_into_a_field(self, store: BaseStore) -> None:
        self._put_people(store)
        assert _keys(store.search(("people",), filter={"home": {"city": "Oslo", "no": 1}})) == ["ann"]

    def test_true_is_not_one(self, store: BaseStore) -> None:
        self._put_people(store)
        assert _keys(store.search(("people",), filter={"vip": True})) == ["ann"]
        assert _keys(store.search(("people",), filter={"vip": 1})) == ["cid"]

    def test_a_filter_goes_before_limit_and_offset(self, store: BaseStore) -> None:
        for number in range(30):
            store.put(("a",), f"k{number:02}", {"text": f"word {number}", "even": number % 2})
        for query in (None, "word"):
            pages = [store.search(("a",), query=query, filter={"even": 0}, limit=4, offset=at) for at in (0, 4, 12)]
            assert [len(page) for page in pages] == [4, 4, 3]
            assert all(each.value["even"] == 0 for page in pages for each in page)

    def test_an_unknown_operator_is_refused(self, store: BaseStore) -> None:
        store.put(("a",), "k", {"n": 1})
        with pytest.raises(ValueError):
            store.search(("a",), filter={"n": {"$near": 1}})

    # --- searching by meaning --------------------------------------------------------------------------

    def test_the_nearest_comes_first(self, store: BaseStore) -> None:
        for key, text in {"cat": "the cat sleeps all day", "car": "a fast red car", "sea": "waves of the sea"}.items():
            store.put(("a",), key, {"text": text})
        found = store.search(("a",), query="fast red car", limit=3)
        scores = [each.score for each in found if each.score is not None]
        assert found[0].key == "car"
        assert len(scores) == 3
        assert scores == sorted(scores, reverse=True)
        assert _keys(store.search(("a",), query="fast red car", limit=1)) == ["car"]
        assert _keys(store.search(("a",), query="fast red car", limit=2, offset=1)) == [each.key for each in found[1:]]
        assert _keys(asyncio.run(store.asearch(("a",), query="fast red car", limit=1))) == ["car"]

    def test_a_query_heeds_the_filter(self, store: BaseStore) -> None:
        store.put(("a",), "k1", {"text": "fast red car", "kind": "x"})
        store.put(("a",), "k2", {"text": "slow blue car", "kind": "y"})
        assert _keys(store.search(("a",), query="fast red car", filter={"kind": "y"})) == ["k2"]

    def test_a_changed_text_is_found_as_it_is_now(self, store: BaseStore) -> None:
        store.put(("a",), "k1", {"text": "fast red car"})
        store.put(("a",), "k2", {"text": "green apple tree"})
        store.put(("a",), "k1", {"text": "waves of the sea"})
        store.put(("a",), "k2", {"text": "fast red car"})
        assert _keys(store.search(("a",), query="fast red car", limit=1)) == ["k2"]

    def test_what_is_not_indexed_is_stored_and_has_no_score(self, store: BaseStore) -> None:
        store.put(("a",), "k1", {"text": "fast red car"}, index=False)
        store.put(("a",), "k2", {"text": "green apple tree"})
        assert store.get(("a",), "k1") is not None
        assert len(store.search(("a",))) == 2
        scores = {each.key: each.score for each in store.search(("a",), query="fast red car")}
        assert scores.get("k1") is None
        assert scores["k2"] is not None

    @pytest.mark.parametrize("path", ["text", "in.text", "notes[0].text", "notes[*].text", "notes[-1].text"])
    def test_the_paths_given_are_indexed_alone(self, store: BaseStore, path: str) -> None:
        car = {"text": "fast red car"}
        store.put(("a",), "yes", {**car, "in": car, "notes": [car], "other": "green apple tree"}, index=[path])
        apple = {"text": "green apple tree"}
        store.put(("a",), "no", {**apple, "in": apple, "notes": [apple], "other": "fast red car"}, index=[path])
        assert _keys(store.search(("a",), query="fast red car", limit=2)) == ["yes", "no"]

    def test_an_item_put_without_index_loses_the_one_it_had(self, store: BaseStore) -> None:
        store.put(("a",), "k", {"text": "fast red car"})
        store.put(("a",), "k", {"text": "fast red car"}, index=False)
        assert len(store.search(("a",))) == 1
        assert [each.score for each in store.search(("a",), query="fast red car")] in ([], [None])

    # --- batches ---------------------------------------------------------------------------------------

    def test_results_come_in_the_order_of_the_operations(self, store: BaseStore) -> None:
        store.put(("a",), "k1", {"n": 1})
        store.put(("b",), "k2", {"n": 2})
        ops: list[Op] = [
            GetOp(("a",), "k1"),
            PutOp(("c",), "k3", {"n": 3}),
            SearchOp(("b",)),
            GetOp(("a",), "none"),
            ListNamespacesOp(),
            PutOp(("a",), "k1", None),
        ]
        got, put, found, missing, listed, deleted = store.batch(ops)
        assert got.value == {"n": 1}  # type: ignore[union-attr]
        assert [each.key for each in found] == ["k2"]  # type: ignore[union-attr]
        assert listed == [("a",), ("b",)]
        assert (put, missing, deleted) == (None, None, None)
        assert store.get(("a",), "k1") is None
        assert store.get(("c",), "k3") is not None

    def test_reads_see_what_was_before_the_batch(self, store: BaseStore) -> None:
        store.put(("a",), "k", {"n": "old"})
        ops: list[Op] = [PutOp(("a",), "k", {"n": "new"}), GetOp(("a",), "k"), SearchOp(("a",)), ListNamespacesOp()]
        _, got, found, listed = asyncio.run(store.abatch(ops))
        assert got.value == {"n": "old"}  # type: ignore[union-attr]
        assert [each.value for each in found] == [{"n": "old"}]  # type: ignore[union-attr]
        assert listed == [("a",)]

    def test_the_last_put_of_an_item_counts(self, store: BaseStore) -> None:
        store.batch([PutOp(("a",), "k", {"n": 1}), PutOp(("a",), "k", {"n": 2})])
        assert _value(store) == {"n": 2}
        store.batch([PutOp(("a",), "k", {"n": 3}), PutOp(("a",), "k", None)])
        assert store.get(("a",), "k") is None
        store.batch([PutOp(("a",), "k", None), PutOp(("a",), "k", {"n": 4})])
        assert store.get(("a",), "k") is not None

    def test_an_empty_batch_does_nothing(self, store: BaseStore) -> None:
        assert store.batch([]) == []
        assert asyncio.run(store.abatch([])) == []

    # --- asynchronous, and many at once ----------------------------------------------------------------

    def test_asynchronous_calls_do_the_same(self, store: BaseStore) -> None:
        async def script() -> None:
            await store.aput(("a",), "k", {"text": "x"})
            item = await store.aget(("a",), "k")
            assert item is not None
            assert item.value == {"text": "x"}
            assert len(await store.asearch(("a",))) == 1
            assert await store.alist_namespaces() == [("a",)]
            await store.adelete(("a",), "k")
            assert await store.aget(("a",), "k") is None

        asyncio.run(script())

    def test_many_tasks_lose_nothing(self, store: BaseStore) -> None:
        async def script() -> None:
            await asyncio.gather(*(store.aput(("a",), f"k{number % 10}", {"n": number}) for number in range(40)))

        asyncio.run(script())
        assert {each.key for each in store.search(("a",), limit=100)} == {f"k{number}" for number in range(10)}

    def test_many_threads_lose_nothing(self, store: BaseStore) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: store.put(("a",), f"k{number}", {"n": number}), range(40)))
        assert len(store.search(("a",), limit=100)) == 40

    # --- time to live ----------------------------------------------------------------------------------

    def test_a_time_to_live_is_kept_or_refused(self, store: BaseStore) -> None:
        if not store.supports_ttl:
            with pytest.raises(NotImplementedError):
                store.put(("a",), "k", {"text": "x"}, ttl=10)
            return
        store.put(("a",), "k", {"text": "x"}, ttl=10)
        assert store.get(("a",), "k") is not None
        assert len(store.search(("a",), refresh_ttl=False)) == 1

    def test_an_expired_item_is_not_found(self, store: BaseStore) -> None:
        if not store.supports_ttl:
            return
        store.put(("a",), "k", {"text": "x"}, ttl=-1)
        assert store.get(("a",), "k") is None
        assert store.search(("a",)) == []
        assert store.search(("a",), query="x") == []
        assert store.list_namespaces() == []
        store.put(("a",), "k", {"text": "x"})
        assert store.get(("a",), "k") is not None
