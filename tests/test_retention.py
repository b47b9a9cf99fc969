"""Retention: rules in the store say how long records are kept, and the sweep obeys them."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from clocks import MovedClock
from inside import before_next_write, core_of
from memorist.audit.log import Act
from memorist.errors import InvalidInputError, ScopeError
from memorist.memory import Memory
from memorist.records.record import Draft
from memorist.records.retention import Rule, RuleLike
from memorist.serve.app import create_app
from servers import running

pytestmark = pytest.mark.anyio
DAY = 86_400
RULES: list[RuleLike] = [
    {"kind": "message", "keep": "90d"},
    {"keep": "30d", "where": {"trial": True}},
    Rule("forever", kind="topic"),
]


async def filled(memory: Memory) -> None:
    for user in ("alice", "bob"):
        scoped = memory.scoped(user=user)
        await scoped.remember([Draft(content="said", kind="message"), Draft(content="noted")])
        await scoped.remember(["on trial"], metadata={"trial": True})
        await scoped.remember(Draft(content="Elixir", kind="topic", key="language", metadata={"trial": True}))


async def kinds(memory: Memory) -> list[str]:
    return sorted(str(record.kind) for record in (await memory.browse(everyone=True)).records)


async def test_what_is_too_old_is_told_first_and_deleted_then(everyone: Memory, clock: MovedClock) -> None:
    await filled(everyone)
    assert [rule.to_dict() for rule in await everyone.admin.retain(RULES)] == [
        {"kind": "message", "keep": "90d"},
        {"keep": "30d", "where": {"trial": True}},
        {"keep": "forever", "kind": "topic"},
    ]
    assert (await everyone.admin.retention()).due == {}
    clock.advance(31 * DAY)
    assert (await everyone.admin.retention()).due == {"note": 2}
    clock.advance(60 * DAY)
    report = await everyone.admin.retention()
    assert (len(report.rules), report.due) == (3, {"message": 2, "note": 2})
    assert (await everyone.admin.retention([{"keep": "1d"}])).due == {"message": 2, "note": 4, "topic": 2}
    assert len(await kinds(everyone)) == 8, "nothing was deleted by telling"
    assert await everyone.admin.sweep() == 4
    assert await kinds(everyone) == ["note", "note", "topic", "topic"]


async def test_every_process_obeys_the_rules_when_it_opens_and_when_it_writes(
    everyone: Memory, reopen: Callable[..., Memory], clock: MovedClock
) -> None:
    await filled(everyone)
    await everyone.admin.retain([{"kind": "message", "keep": "90d"}])
    clock.advance(91 * DAY)
    async with reopen():
        pass
    assert await everyone.count(everyone=True, kind="message") == 0
    await everyone.remember(Draft(content="imported", kind="message", happened_at="2001-01-01"))
    await everyone.remember("within the hour")
    assert await everyone.count(kind="message") == 1
    clock.advance(1 * 3600)
    await everyone.remember("a write later")
    assert await everyone.count(kind="message") == 0


async def test_a_record_that_is_changed_meanwhile_is_judged_anew(everyone: Memory, clock: MovedClock) -> None:
    await everyone.remember([Draft(content="kept", id="kept"), Draft(content="gone", id="gone")])
    clock.advance(31 * DAY)
    await everyone.admin.retain([{"kind": "note", "keep": "30d"}, {"keep": "forever", "where": {"pinned": True}}])

    before_next_write(everyone, lambda: everyone.revise("kept", metadata={"pinned": True}))
    assert await everyone.admin.sweep() == 1
    assert await everyone.admin.sweep() == 0
    assert [record.id for record in (await everyone.browse()).records if record.kind == "note"] == ["kept"]


async def test_rules_are_of_a_tenant_and_deletions_are_in_the_audit(everyone: Memory, clock: MovedClock) -> None:
    log = core_of(everyone).store.audit
    assert log is not None
    other = everyone.scoped(tenant="other")
    for memory in (everyone, other):
        await memory.remember(Draft(content="said", kind="message", session="s"))
    await everyone.admin.retain([{"kind": ["message"], "session": "s", "keep": "1h"}])
    assert (await other.admin.retention()).rules == ()
    clock.advance(2 * 3600)
    await log.switch("changes", Act("audit changes", "python"))
    await everyone.remember("a write")
    assert (await everyone.count(kind="message"), await other.count(kind="message")) == (0, 1)
    [entry] = [each for each in await everyone.admin.audit() if each.said["verb"] == "retention"]
    assert (entry.said["records"], entry.said["tenant"]) == ({"expired": {"message": 1}}, "default")
    assert await everyone.admin.retain([]) == []
    assert (await everyone.admin.retention()).rules == ()


async def test_a_sweep_is_of_one_tenant_and_counts_nothing_of_another(everyone: Memory, clock: MovedClock) -> None:
    tenants = [everyone.scoped(tenant=name) for name in ("acme", "acme2", "acm")]
    for memory in tenants:
        await memory.scoped(user="alice").remember([Draft(content="brief", expires_at=3 * 3600), Draft(content="old")])
        await memory.admin.retain([{"keep": "2h"}])
    await everyone.remember("a write, after which none enforces the rules for an hour")
    clock.advance(2 * 3600)
    reader = core_of(everyone).store
    await reader.sweep(clock())
    clock.advance(2 * 3600)
    gone = [await memory.admin.sweep() for memory in tenants]
    assert gone == [2, 2, 2]


async def test_a_sweep_that_fails_is_tried_again_and_fails_no_write(
    everyone: Memory, clock: MovedClock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await everyone.remember([Draft(content="brief", expires_at=60), Draft(content="old", kind="message")])
    await everyone.admin.retain([{"kind": "message", "keep": "1h"}])
    clock.advance(2 * 3600)
    for kind in ("note", "message"):  # the sweep of what has expired, then that by the rules
        with closing(apsw.Connection(str(tmp_path / "memory.db"))) as beside:
            beside.execute(
                f"CREATE TRIGGER fails BEFORE DELETE ON records WHEN old.kind = '{kind}'"
                " BEGIN SELECT RAISE(ABORT, 'no'); END"
            )
            caplog.clear()
            assert await everyone.remember("a write")
            assert "failed and will be retried" in caplog.text
            beside.execute("DROP TRIGGER fails")
        clock.advance(60)
    await everyone.remember("a minute later")
    assert await everyone.count(kind="message") == 0
    assert len(await everyone.history((await everyone.recent(1))[0].id)) == 1


@pytest.mark.parametrize(
    "rules",
    [
        "90d", {"keep": "90d"}, [{"kind": "message"}], [{"keep": "soon"}], [{"keep": "0d"}], [{"keep": 90}],
        [{"keep": "90d", "kind": "massage"}], [{"keep": "90d", "session": 5}],
        [{"keep": "90d", "where": {"a": {"$x": 1}}}],
        [{"keep": "90d", "colour": "red"}], [5],
    ],
)  # fmt: skip
async def test_wrong_rules_are_refused_and_the_old_ones_stay(everyone: Memory, rules: Any) -> None:
    await everyone.admin.retain([{"keep": "1d"}])
    with pytest.raises(InvalidInputError):
        await everyone.admin.retain(rules)
    assert (await everyone.admin.retention()).rules == (Rule("1d"),)


async def test_behind_a_users_wall_there_are_no_rules(alice: Memory) -> None:
    for refused in (alice.admin.retain([]), alice.admin.retention(), alice.admin.sweep()):
        with pytest.raises(ScopeError):
            await refused


async def test_a_server_answers_alike(everyone: Memory, clock: MovedClock) -> None:
    await filled(everyone)
    async with running(create_app(everyone, open=True)) as url, Memory.connect(url) as remote:
        assert await remote.admin.retain(RULES) == list((await everyone.admin.retention()).rules)
        with pytest.raises(InvalidInputError, match="keep"):
            await remote.ask(_unchecked("soon"))
        clock.advance(91 * DAY)
        assert await remote.admin.retention() == await everyone.admin.retention()
        assert (await remote.admin.retention([Rule("1d")])).due == {"message": 2, "note": 4, "topic": 2}
        assert await remote.admin.sweep() == 4


def _unchecked(keep: str) -> Any:
    from memorist.operations import requests

    request = requests.Retain(rules=(Rule("1d"),))
    object.__setattr__(request.rules[0], "keep", keep)
    return request
