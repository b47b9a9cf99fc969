"""The contract of a memory, whichever engine answers it, as a test suite; it needs pytest.

```python
class TestMine(MemoryContract):
    @asynccontextmanager
    async def memory(self):
        async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
            yield memory
```
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import numpy as np
import pytest

from memorist.errors import (
    ClosedError,
    ConflictError,
    FormatError,
    InvalidInputError,
    NotFoundError,
    ScopeError,
    UnknownArgumentError,
)
from memorist.memory import Memory
from memorist.records.record import Draft, Kind
from memorist.testing.contract.base import scenario_in

_scenario = scenario_in("memory")


class MemoryContract:
    """A suite to derive from: the subclass says how a memory is made, and pytest runs the tests."""

    def memory(self) -> AbstractAsyncContextManager[Memory]:
        """Return a context manager that opens a new, empty memory, bound to no tenant, user or label."""
        raise NotImplementedError("say how to make a memory")

    # --- writing -----------------------------------------------------------------------------------

    @_scenario
    async def test_what_is_remembered_comes_back(self, memory: Memory) -> None:
        alice = memory.scoped(user="alice")
        fields: dict[str, Any] = {"metadata": {"n": [1, {"a": None}]}, "source": "chat", "happened_at": "2024-05-17"}
        record = await alice.remember("Her sister Nora lives in Bergen", **fields)
        assert await alice.get(record.id) == await alice.get(record) == record
        assert [hit.record for hit in await alice.recall("sister Nora Bergen")] == [record]
        one, two = await alice.remember(["one", Draft(content="two", kind=Kind.FACT)])
        assert (one.content, two.kind) == ("one", Kind.FACT)
        assert await alice.remember([]) == []

    @_scenario
    async def test_several_are_stored_all_or_none(self, memory: Memory) -> None:
        await memory.remember("there", id="taken")
        with pytest.raises(ConflictError):
            await memory.remember([Draft(content="new"), Draft(content="other", id="taken")])
        assert await memory.count() == 1

    @_scenario
    async def test_a_taken_id_is_replaced_or_left(self, memory: Memory) -> None:
        old = await memory.remember("old", id="x")
        assert await memory.remember("new", id="x", if_exists="ignore") == old
        new = await memory.remember("new", id="x", if_exists="replace")
        assert (new.version, (await memory.get("x") or old).content) == (2, "new")

    @_scenario
    async def test_another_agents_or_sessions_record_is_not_replaced(self, memory: Memory) -> None:
        await memory.scoped(session="a").remember("mine", id="x")
        for policy in ("replace", "ignore"):
            with pytest.raises(ConflictError):
                await memory.scoped(session="b").remember("theirs", id="x", if_exists=policy)
        assert [each.content for each in await memory.find("x")] == ["mine"]

    @_scenario
    async def test_what_is_forgotten_in_the_same_step_is_gone(self, memory: Memory) -> None:
        old = await memory.remember("old")
        await memory.remember("new", forgetting=old)
        assert [each.content for each in await memory.recent()] == ["new"]
        await memory.remember("newer", forgetting="new")  # one id, not three letters
        assert await memory.count() == 2

    @_scenario
    async def test_what_is_left_out_stays_and_none_clears_it(self, memory: Memory) -> None:
        full: dict[str, Any] = {
            "cue": "which drink?", "metadata": {"a": 1}, "payload": {"b": 2}, "source": "me",
            "happened_at": "2024-05-01", "expires_at": "2099-01-01",
        }  # fmt: skip
        for cleared in full:
            record = await memory.remember("tea", verified=True, **full)
            nothing: dict[str, Any] = {cleared: None}
            revised = await memory.revise(record.id, **nothing)
            assert revised == await memory.get(record.id)
            empty: Any = {} if cleared in ("metadata", "payload") else None
            for name in full:
                assert getattr(revised, name) == (empty if name == cleared else getattr(record, name)), name
            assert (revised.content, revised.verified, revised.version) == ("tea", True, 2)
        [hit] = (await memory.recall("tea", where={"a": {"$exists": False}}))[:1]
        assert hit.record.metadata == {}
        for name in ("content", "verified"):
            with pytest.raises(InvalidInputError, match=name):
                await memory.revise(record.id, **{name: None})  # type: ignore[arg-type]
        assert await memory.get(record.id) == revised

    @_scenario
    async def test_a_record_is_revised_and_rated(self, memory: Memory) -> None:
        record = await memory.remember("tea", metadata={"a": 1})
        revised = await memory.revise(record, content="coffee", metadata={"b": 2})
        rated = await memory.rate(record.id, 0.5, source="me")
        assert (revised.content, revised.metadata, rated.rating) == ("coffee", {"b": 2}, 0.5)
        actions = [str(change.action) for change in await memory.history(record.id)]
        assert actions == ["remembered", "revised", "rated"]
        for id in ("none", "other"):
            with pytest.raises(NotFoundError):
                await memory.revise(id, content="x")
        with pytest.raises(InvalidInputError):
            await memory.revise(record.id)
        with pytest.raises(InvalidInputError):
            await memory.revise(record.id, source="me")
        with pytest.raises(InvalidInputError):
            await memory.rate(record.id, 2)

    @_scenario
    async def test_what_a_record_was_derived_from_is_known_and_followed(self, memory: Memory) -> None:
        page = await memory.remember("Oslo is in Sweden", author="web", session="s")
        said, fact = await memory.remember(["We live in Oslo", Draft(content="We live in Sweden", derived_from=[page])])
        both = await memory.remember("We live in Oslo, Sweden", derived_from=[said, page])
        why = await memory.why(both)
        assert [(each.record, each.depth) for each in why.sources] == [(both, 0), (said, 1), (page, 1)]
        assert [each.trust for each in why.sources] == ["low", "high", "low"] and why.missing == ()
        assert {each.record.content for each in await memory.recall("Where?", min_trust="high")} == {"We live in Oslo"}
        found = await memory.scoped(session="s").derived(kind="note")
        assert (found.alone, [each.id for each in found.partly]) == ((fact,), [both.id])
        assert await memory.derived(page) == await memory.scoped(session="s").derived(session="s") == found
        assert await memory.forget(page, derived=True) == 2
        assert [(each.id, each.origin.lost) for each in await memory.find([fact, both])] == [(both.id, 1)]
        assert (await memory.why("none")).sources == ()
        with pytest.raises(NotFoundError):
            await memory.remember("x", derived_from=["none"])

    @_scenario
    async def test_ids_or_a_filter_choose_what_is_forgotten(self, memory: Memory) -> None:
        one, _, _ = await memory.remember(["one", Draft(content="two", metadata={"n": 2}), Draft(content="three")])
        assert await memory.forget(one, "unknown") == 1
        assert await memory.forget(where={"n": 2}) == 1
        with pytest.raises(InvalidInputError):
            await memory.forget()
        assert await memory.scoped(session="s").remember(["four", "five"]) != []
        assert await memory.forget(session="s") == 2
        assert [each.content for each in await memory.recent()] == ["three"]

    @_scenario
    async def test_a_purge_says_whose(self, memory: Memory) -> None:
        alice = memory.scoped(user="alice")
        await alice.remember("hers")
        await memory.remember("everyone's")
        with pytest.raises(InvalidInputError, match="shared"):
            await memory.purge()
        with pytest.raises(InvalidInputError):
            await alice.purge(shared=True)
        with pytest.raises(ScopeError):
            await alice.purge(user="bob")
        told = await memory.purge(user="alice", dry_run=True)
        assert (told.dry_run, told.purged, await alice.count()) == (True, 1, 1)
        await memory.scoped(user="carol").remember("a framework's own", kind=Kind.STATE)
        assert await memory.admin.users() == {"alice": 1, "carol": 0, None: 1}
        await memory.purge(user="carol")
        done = await memory.purge(user="alice")
        assert (done.dry_run, done.statement["records"]) == (False, told.statement["records"])
        assert await memory.admin.users() == {None: 1}
        await memory.remember("expired, and not swept yet", expires_at="2001-01-01")
        told = await memory.purge(shared=True, dry_run=True)
        assert (told.purged, (await memory.purge(shared=True)).purged) == (2, 2)
        assert await memory.admin.users() == {}

    # --- reading -----------------------------------------------------------------------------------

    @_scenario
    async def test_walls_keep_users_apart(self, memory: Memory) -> None:
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
        record = await alice.remember("Prefers homestays", key="stay", kind="topic")
        await memory.remember("The office is in Oslo")
        assert await bob.get(record.id) is None and await bob.find([record.id]) == []
        assert await bob.recall("homestays") == [] and await bob.count() == 0
        assert await bob.lookup("stay") is None and await bob.vectors([record.id]) == {}
        assert await bob.history(record.id) == [] and await bob.forget(record.id) == 0
        assert len(await bob.recall("office Oslo", shared=True)) == 1
        for refused in (bob.admin.users(), bob.count(everyone=True), bob.find("x", everyone=True), bob.admin.check()):
            with pytest.raises(ScopeError):
                await refused
        assert [each.id for each in await memory.find([record.id], everyone=True)] == [record.id]

    @_scenario
    async def test_every_narrowing_argument_narrows(self, memory: Memory) -> None:
        draft = Draft(
            content="tea", kind=Kind.FACT, metadata={"n": 1}, payload={"p": 2}, happened_at="2024-03-01",
            agent="a", session="s", verified=True, key="drink.tea", source="import:slack",
        )  # fmt: skip
        await memory.remember([draft, Draft(content="tea", happened_at="2024-01-01")])
        narrowings: list[dict[str, Any]] = [
            {"kind": "fact"}, {"kind": ["fact", "episode"]}, {"where": {"n": {"$in": {1, 5}}}}, {"payload": {"p": 2}},
            {"since": "2024-02-01"}, {"agent": "a"}, {"session": "s"}, {"verified": True}, {"key": "drink.tea"},
            {"key_prefix": "drink."}, {"from_source": "import"}, {"from_source": "import:slack"},
        ]  # fmt: skip
        for narrowing in narrowings:
            assert await memory.count(**narrowing) == 1, narrowing
            assert len(await memory.recall("tea", **narrowing)) == 1, narrowing
            assert len(await memory.recent(**narrowing)) == 1, narrowing
            assert len((await memory.browse(**narrowing)).records) == 1, narrowing
        assert await memory.count(until="2024-02-01") == 1

    @_scenario
    async def test_unknown_and_wrong_arguments_are_named(self, memory: Memory) -> None:
        with pytest.raises(UnknownArgumentError, match="limit"):
            await memory.recall("x", k=5)  # type: ignore[call-arg]
        with pytest.raises(UnknownArgumentError, match="verified"):
            await memory.remember("x", verifed=True)  # type: ignore[call-overload]
        wrong: list[Callable[[], Awaitable[object]]] = [
            lambda: memory.get(5),  # type: ignore[arg-type]
            lambda: memory.recall("x", limit="5"),  # type: ignore[arg-type]
            lambda: memory.recall("x", mode="best"),  # type: ignore[arg-type]
            lambda: memory.recall("x", since="10/11/2012"),
            lambda: memory.recall("x", where={"a": {"$near": 1}}),
            lambda: memory.browse(order="sideways"),  # type: ignore[arg-type]
            lambda: memory.browse(cursor="none of ours"),
            lambda: memory.count(kind="opinion"),
            lambda: memory.remember("  "),
            lambda: memory.remember("x", rating=2),
            lambda: memory.rate("x", 10**400),
        ]
        for call in wrong:
            with pytest.raises(InvalidInputError):
                await call()

    @_scenario
    async def test_pages_follow_each_other(self, memory: Memory) -> None:
        await memory.remember([f"note {number}" for number in range(7)])
        first = await memory.browse(order="oldest", limit=3)
        rest = await memory.browse(order="oldest", limit=10, cursor=first.next)
        assert [each.content for each in (*first.records, *rest.records)] == [f"note {number}" for number in range(7)]
        assert rest.next is None
        assert [each.content async for each in memory.iterate(page=2)] == [f"note {number}" for number in range(7)]

    @_scenario
    async def test_an_agent_is_told_within_a_budget(self, memory: Memory) -> None:
        await memory.remember("Prefers homestays when she travels", happened_at="2024-05-17")
        told = await memory.context("where does she prefer to stay when she travels?", tokens=100, min_confidence=0)
        assert "homestays" in told.text and told.tokens <= 100 and len(told.items) == 1
        assert (await memory.context("homestays travels", min_confidence=0, known=[told.items[0].record])).items == ()
        counted = await memory.context(
            "homestays travels", min_confidence=0, count_tokens=lambda text: len(text.split())
        )
        assert counted.tokens == len(counted.text.split())
        assert (await memory.context("   ", standing=False)).text == ""

    @_scenario
    async def test_embeddings_are_unit_vectors_by_id(self, memory: Memory) -> None:
        note, topic = await memory.remember([Draft(content="tea"), Draft(content="x", kind=Kind.TOPIC, key="k")])
        found = await memory.vectors([note.id, topic.id, "unknown"])
        assert list(found) == [note.id]
        assert np.linalg.norm(found[note.id]) == pytest.approx(1, abs=1e-5)

    @_scenario
    async def test_the_views_work_alike(self, memory: Memory) -> None:
        conversation = memory.conversation("monday")
        await conversation.append(["Where was I?", {"role": "assistant", "content": "In Oslo.", "id": "m2"}])
        assert [each.content for each in await conversation.window(tokens=100)] == ["Where was I?", "In Oslo."]
        await memory.topics.set("language", "Elixir")
        assert await memory.topics.list() == {"language": "Elixir"}
        fact = await memory.facts.add("Lives in Oslo")
        new = await memory.facts.supersede(fact.id, "Lives in Bergen")
        assert await memory.facts.current(fact.id) == new
        await memory.tools.record("flights?", "search", {"to": "OSL"}, "3", seconds=1)
        assert (await memory.tools.statistics("search")).calls == 1

    # --- the whole ---------------------------------------------------------------------------------

    @_scenario
    async def test_an_export_loads_into_the_same_records(self, memory: Memory) -> None:
        alice = memory.scoped(user="alice")
        old = await alice.facts.add("Lives in Oslo")
        await alice.facts.supersede(old.id, "Lives in Bergen")
        await memory.remember("everyone's")
        lines = [line async for line in memory.export(everyone=True)]
        kept = {each.id: each async for each in memory.iterate(superseded=True, everyone=True)}
        again = await memory.load(lines)
        assert (again.added, again.existing, again.bad) == (0, 3, [])
        await memory.purge(user="alice")
        await memory.purge(shared=True)
        assert (await memory.load(lines)).added == 3
        assert {each.id: each async for each in memory.iterate(superseded=True, everyone=True)} == kept
        with pytest.raises(FormatError):
            await memory.load(["{}"])

    @_scenario
    async def test_whole_records_are_restored_behind_their_own_walls(self, memory: Memory) -> None:
        alice = memory.scoped(user="alice")
        record = await alice.remember("hers")
        await alice.forget(record)
        with pytest.raises(ScopeError):
            await memory.scoped(user="bob").restore([record])
        report = await memory.restore([record, record])
        assert (report.added, report.existing, report.bad) == (1, 1, [])
        assert await alice.get(record) == record

    @_scenario
    async def test_the_store_can_be_checked_and_reindexed(self, memory: Memory) -> None:
        await memory.remember(["one", "two"])
        steps: list[tuple[int, int]] = []
        assert await memory.admin.reindex(lambda done, total: steps.append((done, total))) == 2
        assert steps[-1][0] == 2 and await memory.admin.check() == []

    @_scenario
    async def test_a_closed_memory_answers_nothing(self, memory: Memory) -> None:
        await memory.close()
        for call in (memory.recall("x"), memory.remember("x"), memory.count(), memory.context("x")):
            with pytest.raises(ClosedError):
                await call
