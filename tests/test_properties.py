"""A memory against a plain model of it: whatever is done in whatever order, by whichever scopes."""

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from children import open_memory
from memorist.errors import ConflictError, InvalidInputError, NotFoundError, ScopeError
from memorist.memory import Memory
from memorist.operations.arguments import UNSET
from memorist.records.record import Draft, Kind, Record
from memorist.records.scope import Scope, Wall

pytestmark = pytest.mark.slow

_T = TypeVar("_T")

SCOPES = st.builds(
    Scope,
    st.sampled_from(["acme", "other"]),
    st.sampled_from([None, "a", "b"]),
    st.none(),
    st.sampled_from([None, None, "s1", "s2"]),
)
IDS = st.sampled_from(["i1", "i2", "i3", "i4"])
KEYS = st.sampled_from(["k1", "k2"])
KINDS = st.sampled_from([Kind.NOTE, Kind.FACT, Kind.TOPIC])
WORDS = ["tea", "milk", "sugar", "lemon", "honey"]
CONTENTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
FIELDS = st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 2), max_size=2)
DRAFTS = st.builds(
    Draft, content=CONTENTS, kind=KINDS, id=st.none() | IDS, key=st.none() | KEYS, metadata=FIELDS,
    session=st.sampled_from([None, None, "s1"]),
)  # fmt: skip
POLICIES: st.SearchStrategy[Literal["error", "replace", "ignore"]] = st.sampled_from(["error", "replace", "ignore"])


@dataclass(frozen=True)
class Kept:
    """What the model knows of a record."""

    id: str
    kind: Kind
    content: str
    key: str | None
    session: str | None
    fields: dict[str, Any]
    place: int
    rating: float | None = None
    version: int = 1
    by: str | None = None

    @property
    def current(self) -> bool:
        return self.by is None

    @classmethod
    def of(cls, record: Record, place: int) -> "Kept":
        return cls(
            record.id, record.kind, record.content, record.key, record.scope.session, dict(record.metadata), place,
            record.rating, record.version, record.superseded_by,
        )  # fmt: skip


@dataclass
class House:
    """What the model knows behind one wall: its records, and how many changes each id has seen."""

    records: dict[str, Kept] = field(default_factory=dict)
    changes: dict[str, int] = field(default_factory=dict)

    def keep(self, kept: Kept) -> None:
        self.records[kept.id] = kept
        self.changed(kept.id)

    def drop(self, id: str) -> None:
        del self.records[id]
        self.changed(id)

    def changed(self, id: str) -> None:
        self.changes[id] = self.changes.get(id, 0) + 1

    def holder(self, kind: Kind, key: str | None) -> Kept | None:
        found = (each for each in self.records.values() if each.current and (each.kind, each.key) == (kind, key))
        return None if key is None else next(found, None)

    def seen(self, scope: Scope, *, superseded: bool = False) -> list[Kept]:
        """Return what a scope sees, oldest first."""
        found = [
            each
            for each in self.records.values()
            if (superseded or each.current) and scope.session in (None, each.session)
        ]
        return sorted(found, key=lambda each: each.place)

    def copy(self) -> "House":
        return House(dict(self.records), dict(self.changes))


class Conflict(Exception):
    """The model expects a ConflictError."""


class Agreement(RuleBasedStateMachine):
    """Runs each verb on the memory and on the model, and compares."""

    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        self.houses: dict[Wall, House] = {}
        self.place = 0
        self.memories: dict[str, Memory] = {}
        self.open()

    def open(self) -> None:
        for tenant in ("acme", "other"):
            self.memories[tenant] = self.run(open_memory(self.folder / "memory.db", tenant=tenant).__aenter__())

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.close()
            self.runner.close()
            shutil.rmtree(self.folder)

    def close(self) -> None:
        for memory in self.memories.values():
            self.run(memory.close())

    def run(self, call: Awaitable[_T]) -> _T:
        async def awaited() -> _T:
            return await call

        return self.runner.run(awaited())

    def memory(self, scope: Scope) -> Memory:
        return self.memories[scope.tenant].scoped(user=scope.user, session=scope.session)

    def house(self, scope: Scope) -> House:
        return self.houses.setdefault(scope.wall, House())

    def next_place(self) -> int:
        self.place += 1
        return self.place

    # --- writing ---------------------------------------------------------------------------------------

    @rule(scope=SCOPES, drafts=st.lists(DRAFTS, min_size=1, max_size=4), policy=POLICIES)
    def remember(self, scope: Scope, drafts: list[Draft], policy: Literal["error", "replace", "ignore"]) -> None:
        drafts = [draft if draft.id else replace(draft, id=f"n{self.next_place()}") for draft in drafts]
        house = self.house(scope).copy()
        try:
            for draft in drafts:
                self.place_draft(house, scope, draft, policy)
        except Conflict:
            try:
                self.run(self.memory(scope).remember(drafts, if_exists=policy))
            except ConflictError:
                return
            raise AssertionError("expected a conflict") from None
        records = self.run(self.memory(scope).remember(drafts, if_exists=policy))
        self.houses[scope.wall] = house
        if policy != "ignore":
            assert [record.content for record in records] == [draft.content for draft in drafts]

    def place_draft(self, house: House, scope: Scope, draft: Draft, policy: str) -> None:
        assert draft.id is not None
        kind = Kind(draft.kind)
        place = self.next_place()
        taken, holder = house.records.get(draft.id), house.holder(kind, draft.key)
        session = draft.session or scope.session
        new = Kept(draft.id, kind, draft.content, draft.key, session, dict(draft.metadata or {}), place)
        old = taken or holder
        if policy == "error" and old is not None:
            raise Conflict
        if taken is not None and scope.session not in (None, taken.session):
            raise Conflict
        if old is not None and policy == "ignore":
            return
        if old is not None:
            if holder is not None and holder.id != old.id:
                raise Conflict
            if taken is not None and new.session not in (None, taken.session):
                raise Conflict
            new = replace(
                new, id=old.id, place=old.place, version=old.version + 1, rating=old.rating, session=old.session
            )
        house.keep(new)

    @rule(scope=SCOPES, id=IDS, content=CONTENTS, key=st.none() | KEYS)
    def supersede(self, scope: Scope, id: str, content: str, key: str | None) -> None:
        house, memory = self.house(scope), self.memory(scope)
        old = house.records.get(id)
        call = memory.remember(content, kind="fact", key=key, supersedes=id)
        if old is None or scope.session not in (None, old.session):
            self.expect(NotFoundError, call)
        elif not old.current:
            self.expect(InvalidInputError, call)
        elif (holder := house.holder(Kind.FACT, key)) is not None and holder.id != id:
            self.expect(ConflictError, call)
        else:
            record = self.run(call)
            house.keep(replace(old, by=record.id, version=old.version + 1))
            house.keep(Kept.of(record, self.next_place()))

    @rule(scope=SCOPES, id=IDS, content=st.none() | CONTENTS, fields=FIELDS)
    def revise(self, scope: Scope, id: str, content: str | None, fields: dict[str, int]) -> None:
        old = self.house(scope).records.get(id)
        call = self.memory(scope).revise(id, content=UNSET if content is None else content, metadata=fields)
        if old is None or scope.session not in (None, old.session):
            self.expect(NotFoundError, call)
        else:
            self.run(call)
            text = old.content if content is None else content
            self.house(scope).keep(replace(old, content=text, fields=fields, version=old.version + 1))

    @rule(scope=SCOPES, id=IDS, rating=st.none() | st.sampled_from([-1.0, 0.5, 1.0]))
    def rate(self, scope: Scope, id: str, rating: float | None) -> None:
        old = self.house(scope).records.get(id)
        call = self.memory(scope).rate(id, rating)
        if old is None or scope.session not in (None, old.session):
            self.expect(NotFoundError, call)
        else:
            self.run(call)
            self.house(scope).keep(replace(old, rating=rating, version=old.version + 1))

    @rule(scope=SCOPES, ids=st.lists(IDS, min_size=1))
    def forget(self, scope: Scope, ids: list[str]) -> None:
        gone = [each.id for each in self.house(scope).seen(scope, superseded=True) if each.id in ids]
        assert self.run(self.memory(scope).forget(*ids)) == len(gone)
        for id in gone:
            self.house(scope).drop(id)

    @rule(scope=SCOPES, kind=KINDS, value=st.integers(0, 2))
    def forget_what_passes(self, scope: Scope, kind: Kind, value: int) -> None:
        seen = self.house(scope).seen(scope, superseded=True)
        gone = [each.id for each in seen if each.kind == kind and each.fields.get("x") == value]
        assert self.run(self.memory(scope).forget(kind=kind, where={"x": value})) == len(gone)
        for id in gone:
            self.house(scope).drop(id)

    @rule(scope=SCOPES)
    def purge(self, scope: Scope) -> None:
        if scope.session is not None:
            self.expect(ScopeError, self.memory(scope).purge(shared=scope.user is None))
        else:
            done = self.run(self.memory(scope).purge(shared=scope.user is None))
            assert done.purged == len(self.house(scope).records)
            self.houses[scope.wall] = House()

    def expect(self, error: type[Exception], call: Awaitable[object]) -> None:
        try:
            self.run(call)
        except error:
            return
        raise AssertionError(f"expected {error.__name__}")

    # --- reading ---------------------------------------------------------------------------------------

    @rule(scope=SCOPES, shared=st.booleans(), words=CONTENTS, mode=st.sampled_from(["hybrid", "dense", "lexical"]))
    def recall(self, scope: Scope, shared: bool, words: str, mode: Any) -> None:
        hits = self.run(self.memory(scope).recall(words, limit=1000, mode=mode, shared=shared))
        expected = {(scope.user, each.id): each for each in self.house(scope).seen(scope) if each.kind.recallable}
        if shared and scope.user is not None:
            others = self.house(replace(scope, user=None)).seen(scope)
            expected.update({(None, each.id): each for each in others if each.kind.recallable})
        found = {(hit.record.scope.user, hit.record.id): hit.record for hit in hits}
        assert len(found) == len(hits)
        assert {name: record.content for name, record in found.items()} == {
            name: expected[name].content for name in found
        }
        assert all(record.scope.tenant == scope.tenant for record in found.values())
        if mode == "dense":
            assert found.keys() == expected.keys()
        else:
            held = {name for name, each in expected.items() if set(each.content.split()) & set(words.split())}
            assert held <= found.keys()

    @rule(scope=SCOPES, id=IDS, key=KEYS, kind=KINDS)
    def get_and_lookup(self, scope: Scope, id: str, key: str, kind: Kind) -> None:
        house, memory = self.house(scope), self.memory(scope)
        kept = house.records.get(id)
        record = self.run(memory.get(id))
        if kept is None or scope.session not in (None, kept.session):
            assert record is None
        else:
            assert record is not None
            assert (Kept.of(record, kept.place), record.scope.wall) == (kept, scope.wall)
        holder, held = house.holder(kind, key), self.run(memory.lookup(key, kind=kind))
        assert (held and held.id) == (holder and holder.id)

    @rule(scope=SCOPES, size=st.integers(1, 4), order=st.sampled_from(["newest", "oldest", "key"]))
    def browse_pages(self, scope: Scope, size: int, order: Any) -> None:
        seen, cursor = [], None
        while True:
            page = self.run(self.memory(scope).browse(limit=size, order=order, superseded=True, cursor=cursor))
            seen += page.records
            if (cursor := page.next) is None:
                break
        expected = self.house(scope).seen(scope, superseded=True)
        if order == "key":
            expected = sorted((each for each in expected if each.key), key=lambda each: (each.key, each.place))
        elif order == "newest":
            expected.reverse()
        assert [record.id for record in seen] == [each.id for each in expected]

    @rule(scope=SCOPES, kind=KINDS, value=st.integers(0, 2))
    def count_and_recent(self, scope: Scope, kind: Kind, value: int) -> None:
        seen = [each for each in self.house(scope).seen(scope) if each.kind == kind and each.fields.get("y") == value]
        asked: dict[str, Any] = {"kind": kind, "where": {"y": value}}
        assert self.run(self.memory(scope).count(**asked)) == len(seen)
        found = self.run(self.memory(scope).recent(1000, **asked))
        assert [record.id for record in found] == [each.id for each in reversed(seen)]

    @rule(scope=SCOPES, id=IDS)
    def history(self, scope: Scope, id: str) -> None:
        changes = self.run(self.memory(replace(scope, session=None)).history(id))
        house = self.house(scope)
        assert len(changes) == house.changes.get(id, 0)
        if id in house.records:
            assert changes[-1].record is not None
            assert changes[-1].record.content == house.records[id].content
        else:
            assert all(change.record is None for change in changes)

    @rule()
    def reopen(self) -> None:
        self.close()
        self.open()

    @rule(tenant=st.sampled_from(["acme", "other"]))
    def export_and_load(self, tenant: str) -> None:
        async def copied() -> list[Record]:
            lines = [line async for line in self.memories[tenant].export(everyone=True)]
            async with open_memory(":memory:", tenant=tenant) as copy:
                report = await copy.load(lines)
                assert report.bad == []
                return (await copy.browse(everyone=True, superseded=True, order="oldest", limit=1000)).records

        browse = self.memories[tenant].browse(everyone=True, superseded=True, order="oldest", limit=1000)
        assert self.run(copied()) == self.run(browse).records

    @invariant()
    def nothing_else_is_there(self) -> None:
        if not hasattr(self, "memories"):
            return
        for tenant, memory in self.memories.items():
            page = self.run(memory.browse(everyone=True, superseded=True, limit=1000))
            stored = {(record.scope.wall, record.id): record for record in page.records}
            kept = {(wall, id): each for wall, house in self.houses.items() for id, each in house.records.items()}
            kept = {name: each for name, each in kept.items() if name[0].tenant == tenant}
            assert {name: Kept.of(record, kept[name].place) for name, record in stored.items() if name in kept} == kept
            assert stored.keys() == kept.keys()
            counts = {
                wall.user: sum(each.current for each in house.records.values())
                for wall, house in self.houses.items()
                if wall.tenant == tenant and house.records
            }
            assert self.run(memory.admin.users()) == counts


Agreement.TestCase.settings = settings(max_examples=25, stateful_step_count=30, suppress_health_check=list(HealthCheck))
TestAgreement = Agreement.TestCase
