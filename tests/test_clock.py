"""One clock, `Settings.clock`, decides what time it is for everything that a memory stores, reads and lets expire."""

from datetime import datetime, timedelta

import pytest

from clocks import MovedClock
from memorist import Memory
from memorist.adapters.entries import SessionEntries, SessionEntry
from memorist.errors import InvalidInputError
from memorist.serve.auth import Tokens, UnauthorizedError

pytestmark = pytest.mark.anyio
DAY = 86_400


def is_present(moment: datetime | None, clock: MovedClock) -> bool:
    return moment is not None and abs(clock() - moment) < timedelta(hours=1)


async def test_what_is_stored_is_dated_by_it(alice: Memory, clock: MovedClock) -> None:
    clock.advance(400 * DAY)
    record = await alice.remember("Tea")
    message = await alice.conversation("s").append("Hello")
    await SessionEntries(alice.scoped(session="t"), "test").append([SessionEntry({"n": 1})])

    assert is_present(alice.clock(), clock)
    assert is_present(record.created_at, clock)
    assert is_present(message.happened_at, clock)
    [entry] = await alice.recent(1, kind="state", session="t")
    assert is_present(entry.happened_at, clock)


async def test_relative_bounds_count_from_it(alice: Memory, clock: MovedClock) -> None:
    await alice.remember("Tea")
    clock.advance(2 * DAY)
    await alice.remember("Coffee")

    assert [each.content for each in await alice.recent(since="1 day ago")] == ["Coffee"]
    assert [each.content for each in (await alice.browse(until="1 day ago")).records] == ["Tea"]
    assert [hit.record.content for hit in await alice.recall("Tea", as_of="36h")] == ["Tea"]
    assert await alice.forget(since="3d", until="1d") == 1
    with pytest.raises(InvalidInputError, match="beyond the calendar"):
        await alice.recent(since="999999999 days ago")


async def test_what_expires_is_gone_by_it(alice: Memory, clock: MovedClock) -> None:
    clock.advance(400 * DAY)
    await alice.remember("Tea", expires_at=60)
    later = await alice.remember("Coffee", expires_at=60)
    later = await alice.revise(later.id, expires_at="2 days")
    assert later.expires_at is not None and is_present(later.expires_at - timedelta(days=2), clock)

    clock.advance(DAY)
    assert [each.id for each in await alice.recent()] == [later.id]
    clock.advance(DAY)
    assert await alice.recent() == []


async def test_a_token_expires_by_it(everyone: Memory, clock: MovedClock) -> None:
    tokens = Tokens(everyone)
    clock.advance(400 * DAY)
    secret, token = await tokens.create("ci", expires_at=60)
    assert is_present(token.created_at, clock)
    assert (await tokens.grant(secret)).name == "ci"

    clock.advance(61)
    assert token.expired(clock())
    with pytest.raises(UnauthorizedError, match="expired"):
        await tokens.grant(secret)
