import asyncio

import pytest

from memorist.agents import CallerContext, caller, current_caller
from memorist.agents.caller import serving

pytestmark = pytest.mark.anyio


async def test_each_task_has_its_own_caller() -> None:
    seen: dict[str, str | None] = {}
    ready = asyncio.Barrier(3)

    async def handle(name: str) -> None:
        with serving(CallerContext(user_id=name)):
            await ready.wait()  # all three are inside at once
            who = current_caller()
            seen[name] = None if who is None else who.user_id

    await asyncio.gather(*(handle(name) for name in ("alice", "bob", "carol")))
    assert seen == {"alice": "alice", "bob": "bob", "carol": "carol"}
    assert current_caller() is None


def test_a_caller_is_given_back_after_an_error() -> None:
    with pytest.raises(ValueError, match="oops"), serving(CallerContext(user_id="alice")):
        raise ValueError("oops")
    assert caller.get() is None


def test_a_token_is_not_shown() -> None:
    assert "secret" not in repr(CallerContext(user_id="alice", bearer_token="secret"))
    assert CallerContext().roles is not CallerContext().roles
