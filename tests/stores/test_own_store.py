"""The template of a store of one's own keeps the contract, is short, and is opened by its entry point's name."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from memorist.memory import Memory
from memorist.stores import Store
from memorist.testing import StoreContract

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))
from own_store import OwnStore  # noqa: E402


class TestOwnStore(StoreContract):
    async def make_store(self) -> Store:
        return OwnStore()


def test_it_is_short_enough_for_a_template() -> None:
    assert len((EXAMPLES / "own_store.py").read_text().splitlines()) < 150


@pytest.mark.anyio
async def test_it_is_opened_by_the_name_of_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = EntryPoint("mine", "own_store:OwnStore", "memorist.stores")
    monkeypatch.setattr("memorist.stores.entry_points", lambda **wanted: [mine] if wanted.get("name") == "mine" else [])

    async with Memory.open("mine:anything", embedder="hash", user="alice") as alice:
        await alice.remember(["Likes tea", "Likes coffee"])
        [hit] = await alice.recall("tea", limit=1)

    assert hit.record.content == "Likes tea"
