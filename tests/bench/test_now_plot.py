"""What the plots of bench/now draw: which rows a context told, and what was believed at the end of each month."""

import importlib.util
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "now" / "plot.py"
ROWS = [
    {"id": "a", "session": "s1", "speaker": "user", "timestamp": "2025-02-10T10:00:00", "text": "I work at Paylane"},
    {"id": "b", "session": "s2", "speaker": "user", "timestamp": "2025-04-10T10:00:00", "text": "I work at Haulr now"},
    {"id": "c", "session": "s2", "speaker": "user", "timestamp": "2025-01-05T10:00:00", "text": "My cat is called Tom"},
]
QUESTION = {"question": "Where do I work?", "gold": ["b"], "stale": ["a"], "question_date": "2025-12-01"}


@pytest.fixture(scope="module")
def plot() -> Any:
    spec = importlib.util.spec_from_file_location("now_plot", BENCH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_was_believed_follows_what_was_said(plot: Any) -> None:
    ends = [datetime(2025, month, 1, tzinfo=UTC) for month in (2, 3, 5)]
    with plot.filled(ROWS) as memory:
        found = plot.believed(memory, QUESTION, {row["id"]: row["timestamp"] for row in ROWS}, ends)
        assert [plot.STATES[each] for each in found] == ["not said yet", "what held then", "what held then"]
        share, tokens = plot.told(memory, QUESTION, 200)
    assert share == 1 and 0 < tokens <= 200


def test_both_pictures_are_drawn(plot: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    ends = [datetime(2025, month, 1, tzinfo=UTC) for month in (2, 3)]
    plot.draw_evidence({75: [(0.5, 60), (1.0, 70)], 150: [(1.0, 100)]}, tmp_path / "evidence.png")
    plot.draw_believed([("Where do I work?", [0, 1])], ends, tmp_path / "believed.png")
    assert all((tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG") for name in ("evidence", "believed"))
