"""What is said of a hit: the points of its signals are those that ranked it."""

import pytest

from memorist.recall.artefact import weights_of
from memorist.recall.explaining import LABELS, contributions
from memorist.sync import Memory


def test_each_signal_that_is_weighed_has_a_name_for_people() -> None:
    assert set(LABELS) == set(weights_of("any"))


@pytest.mark.parametrize("question", ["Where do I live?", "What happened at the harbour?", "bike shed code"])
def test_the_points_add_up_to_the_differences_of_the_sums(question: str) -> None:
    """What is not weighed, as a rating, these records do not have."""
    with Memory.open(":memory:", embedder="default") as memory:
        memory.remember(
            ["I live in Cologne", "I moved to Leipzig in May", "The harbour froze over", "Shed code is 4471"]
        )
        first, *others = memory.recall(question, limit=4, explain=True)
        assert others
        for other in others:
            told = sum(contributions(first.signals).values()) - sum(contributions(other.signals).values())
            assert told == pytest.approx(first.signals["sum"] - other.signals["sum"], abs=0.02)
