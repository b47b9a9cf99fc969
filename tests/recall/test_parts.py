"""Long messages are embedded in parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Draft, Kind, Memory
from memorist.embedders import BatchedEmbedder
from memorist.recall.parts import MOST, PART, SHORT, embedded, parts_of
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

LONG = " ".join(["Could you suggest a good way to water plants on a balcony while nobody is at home for a week?"] * 4)
ASIDE = "By the way, my cousin Ines plays the cello."


@given(st.text(st.sampled_from("ab .?!\n;"), max_size=3000))
def test_parts_hold_all_words_in_order(text: str) -> None:
    parts = parts_of(text)
    if len(text.split()) <= SHORT:
        assert parts == [text]
        return
    assert all(0 < len(part.split()) <= PART for part in parts)
    words = " ".join(parts).split()
    assert words == text.split()[: len(words)]
    assert len(parts) == MOST or len(words) == len(text.split())


def test_a_sentence_stays_whole_where_it_can() -> None:
    assert parts_of(f"{LONG} {ASIDE}")[-1].endswith(ASIDE)


async def test_a_record_has_the_mean_direction_of_its_parts() -> None:
    embedder = BatchedEmbedder(HashEmbedder())
    drafts = [
        Draft(content=f"{LONG} {ASIDE}", kind=Kind.MESSAGE), Draft(content=ASIDE, kind=Kind.MESSAGE),
        Draft(content=f"{LONG} {ASIDE}"),
    ]  # fmt: skip
    async with Memory.open(":memory:", embedder="hash") as memory:
        records = await memory.remember(drafts)
    rows = await embedded(embedder, records)
    parts = await embedder.embed(parts_of(records[0].content))
    mean = parts.sum(axis=0)
    assert rows[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)
    assert rows[1:] == pytest.approx(await embedder.embed([ASIDE, records[2].content]), abs=1e-5)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(3), abs=1e-5)


async def test_what_was_mentioned_by_the_way_is_found(alice: Memory) -> None:
    await alice.remember([Draft(content=f"{LONG} {ASIDE}", kind=Kind.MESSAGE), Draft(content=LONG, kind=Kind.MESSAGE)])
    [first, _] = await alice.recall("who plays the cello", limit=2, mode="dense")
    assert ASIDE in first.record.content
