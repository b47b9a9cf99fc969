"""Long messages are embedded in parts."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Draft, Kind, Memory, Record, Scope
from memorist.embedders import BatchedEmbedder
from memorist.recall.passages import MOST, NAME, PART, SHORT, embedded, parts_of
from memorist.records.origins import PYTHON
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

LONG = " ".join(["Could you suggest a good way to water plants on a balcony while nobody is at home for a week?"] * 4)
ASIDE = "By the way, my cousin Ines plays the cello."


NOON = datetime(2024, 5, 8, 12, tzinfo=UTC)


def said(text: str, speaker: str = "Ann") -> Record:
    return Draft(content=text, kind=Kind.MESSAGE, payload={"speaker": speaker}).to_record(Scope(), NOON, PYTHON)


@given(st.text(st.sampled_from("ab .?!\n;"), min_size=1, max_size=3000).filter(str.strip))
def test_parts_hold_all_words_in_order(text: str) -> None:
    parts = parts_of(said(text))
    if len(text.split()) <= SHORT:
        assert parts == [said(text).text]
        return
    assert all(0 < len(part.split()) <= PART for part in parts)
    words = " ".join(parts).split()
    assert words == text.split()[: len(words)]
    assert len(parts) == MOST or len(words) == len(text.split())


def test_a_sentence_stays_whole_where_it_can() -> None:
    assert parts_of(said(f"{LONG} {ASIDE}"))[-1].endswith(ASIDE)


@pytest.mark.parametrize(
    "sentence",
    [
        "今天我们在公园里散步的时候遇到了以前的邻居。",
        "きょうは図書館で昔の友だちに会って長く話しました。",
        "วันนี้ฉันไปตลาดกับแม่และซื้อผลไม้หลายอย่าง\n",
    ],
)
def test_a_long_message_is_cut_in_scripts_without_spaces_too(sentence: str) -> None:
    text = sentence * 12
    parts = parts_of(said(text))
    assert len(parts) > 1
    assert "".join(parts) == text.replace("\n", "")
    assert all(len(part) <= 2 * PART for part in parts)
    assert parts_of(said(sentence)) == [sentence]


async def test_a_long_message_is_the_mean_of_its_parts_and_a_persons_is_of_unit_length() -> None:
    embedder = BatchedEmbedder(HashEmbedder())
    text = f"{LONG} {ASIDE}"
    note = Draft(content=text).to_record(Scope(), NOON, PYTHON)
    rows = await embedded(embedder, [said(text), said(text, "Assistant"), said(ASIDE), note])
    parts = await embedder.embed(parts_of(said(text)))
    mean = parts.mean(axis=0)
    assert rows[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)
    assert rows[1] == pytest.approx(mean, abs=1e-5)
    assert rows[2:] == pytest.approx(await embedder.embed([ASIDE, text]), abs=1e-5)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("get_weather: Returns the weather. Parameters: city", "get weather"),
        ("math.hypot(x, y) is the length", "math hypot"),
        ("getUserName", "get user name"),
    ],
)
async def test_a_function_is_mixed_with_its_name_in_words(text: str, name: str) -> None:
    embedder = BatchedEmbedder(HashEmbedder())
    rows = await embedded(embedder, [Draft(content=text).to_record(Scope(), NOON, PYTHON)])
    whole, words = await embedder.embed([text, name])
    assert rows[0] == pytest.approx((1 - NAME) * whole + NAME * words, abs=1e-5)


@pytest.mark.parametrize("text", ["Tea: with honey", "Alice likes tea", "3.5 is a number", "e.g. this", "-"])
def test_other_texts_have_no_name(text: str) -> None:
    assert parts_of(Draft(content=text).to_record(Scope(), NOON, PYTHON)) == [text]


async def test_what_was_mentioned_by_the_way_is_found(alice: Memory) -> None:
    await alice.remember([Draft(content=f"{LONG} {ASIDE}", kind=Kind.MESSAGE), Draft(content=LONG, kind=Kind.MESSAGE)])
    [first, _] = await alice.recall("who plays the cello", limit=2, mode="dense")
    assert ASIDE in first.record.content
