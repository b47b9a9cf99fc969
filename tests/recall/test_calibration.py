"""A score is the probability that a hit answers."""

from collections.abc import AsyncIterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from memorist import Memory
from memorist.recall.calibration import Crowd, calibrated, crowd_of

pytestmark = pytest.mark.anyio

NOTES = (
    "Works as a nurse in Hamburg", "Has two daughters, Lea and Mia", "Drives an old Volvo", "Hates coriander",
    "Meets his trainer on Thursdays", "Owes Karl forty euros", "Is afraid of heights", "Speaks Danish at home",
    "Plans to retire in 2031", "Broke his left wrist in spring",
)  # fmt: skip


@pytest.fixture
async def notes() -> AsyncIterator[Memory]:
    async with Memory.open(":memory:") as memory:
        await memory.remember(list(NOTES))
        yield memory


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("which car does he own?", "Drives an old Volvo"),
        ("what herb should not be in his food?", "Hates coriander"),
        ("would he enjoy climbing a tower?", "Is afraid of heights"),
        ("which injury did he have?", "Broke his left wrist in spring"),
    ],
)
async def test_a_short_note_asked_about_in_other_words_is_likely(notes: Memory, question: str, note: str) -> None:
    first, second = await notes.recall(question, limit=2)
    assert first.record.content == note
    assert first.score > 0.3 > 0.1 > second.score


@pytest.mark.parametrize("question", ["asdf qwer zxcv", "lorem ipsum dolor", "what is the boiling point of ethanol?"])
async def test_nonsense_and_what_nothing_answers_score_next_to_nothing(notes: Memory, question: str) -> None:
    assert all(hit.score < 0.15 for hit in await notes.recall(question, limit=10))


async def test_of_many_alike_each_is_less_likely() -> None:
    async with Memory.open(":memory:") as memory:
        await memory.remember("Likes green tea")
        [alone] = await memory.recall("which tea does she like?")
        await memory.remember([f"Likes green tea {n}" for n in range(9)])
        first, *_ = await memory.recall("which tea does she like?")
    assert alone.score > 0.9
    assert first.score < 0.3


@given(
    arrays.arrays(np.float32, st.integers(1, 30), elements=st.floats(-20, 60, width=32)), st.booleans(), st.booleans()
)
def test_scores_are_in_the_order_of_the_sums_and_no_more_than_one_together(
    total: np.ndarray[tuple[int], np.dtype[np.float32]], talk: bool, state: bool
) -> None:
    scores = calibrated(total, crowd_of(total, talk=talk, state=state))
    assert ((scores >= 0) & (scores <= 1)).all()
    assert scores.sum() <= 1 + 1e-3
    order = np.argsort(total, kind="stable")
    assert (np.diff(scores[order]) >= -1e-6).all()


def test_of_several_states_the_best_stands_out() -> None:
    total = np.array([12, 11, 10], np.float32)
    [best, *_], [state, *_] = (calibrated(total, crowd_of(total, talk=False, state=state)) for state in (False, True))
    assert state > best + 0.1


def test_of_no_records_nothing_is_told() -> None:
    none = np.zeros(0, np.float32)
    assert crowd_of(none, talk=True) == Crowd()
    assert len(calibrated(none, Crowd())) == 0
