"""A page over all users is the same, whether each one's index is walked or all records are sorted."""

from datetime import timedelta
from pathlib import Path

import pytest

from memorist.memory import Memory
from memorist.records.record import Draft
from memorist.stores.base import Order
from memorist.stores.sqlite import selecting
from memorist.testing.contract.base import NOON

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("order", ["newest", "oldest", "key"])
async def test_many_users_are_paged_as_few_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: Order) -> None:
    async def pages(size: int) -> list[tuple[str | None, str]]:
        found: list[tuple[str | None, str]] = []
        cursor = None
        while True:
            page = await memory.browse(everyone=True, order=order, limit=size, cursor=cursor)
            found += [(record.scope.user, record.id) for record in page.records]
            if (cursor := page.next) is None:
                return found

    async with Memory.open(tmp_path / "memory.db", embedder="hash") as memory:
        for user in (None, "alice", "bob", "carol"):
            mine = memory if user is None else memory.scoped(user=user)
            await mine.remember(
                [
                    Draft(content="Tea", id=f"{n}", key=f"{n}", happened_at=NOON + timedelta(hours=n % 3))
                    for n in range(9)
                ]
            )
        few = await pages(7)
        monkeypatch.setattr(selecting, "_MOST_WALKED", 3)
        assert await pages(7) == await pages(50) == few
        assert len(set(few)) == 36
