"""bench/answers, with an endpoint that answers by a script."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from chatserver import chat_server
from memorist.language import open_chat_model
from memorist.testing import HashEmbedder

pytest.importorskip("openai")
pytestmark = pytest.mark.anyio
FILE = Path(__file__).parents[2] / "bench" / "answers" / "run.py"


@pytest.fixture(scope="module")
def bench() -> Any:
    spec = importlib.util.spec_from_file_location("bench_answers", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def data(tmp_path: Path) -> Path:
    base = {"group": "g", "session": "s", "speaker": "Ana", "role": "user"}
    said = ["The spare key is in the left gumboot behind the woodshed.", "My sister Jo lives at 30 Quay Terrace."]
    rows = [
        {**base, "id": str(at), "text": text, "timestamp": f"2026-01-1{at}T10:00:00+01:00"}
        for at, text in enumerate(said)
    ]
    asked = {"group": "g", "question_date": "2026-02-01T10:00:00+01:00", "language": "en"}
    questions = [
        {**asked, "question": "Where is the spare key?", "answer": "in the left gumboot", "category": "plain"},
        {**asked, "question": "Where does Jo live?", "answer": "30 Quay Terrace", "category": "other"},
        {**asked, "question": "What is my shoe size?", "answer": "", "category": "unknown"},
        {**asked, "question": "Thanks!", "answer": "", "category": "smalltalk"},
    ]
    for name, lines in (("corpus", rows), ("queries", questions)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return tmp_path


def reply(body: Any) -> str:
    """Answer as a model that says what stands in the prompt, and nothing else."""
    told = body["messages"][-1]["content"].partition("Question")[0]
    asked = body["messages"][-1]["content"].partition("Question")[2]
    if "spare key" in asked and "gumboot" in told:
        return "It is in the left gumboot."
    return "She lives at 3 Quay Terrace." if "Jo" in asked else "I do not know."


async def test_an_answer_is_scored_by_its_own_words(bench: Any, data: Path) -> None:
    with chat_server() as server:
        server.always = reply
        model = open_chat_model(f"openai:m@{server.url}", api_key="-")
        found = await bench.run(data, model, embedder=HashEmbedder())
        asked = [each["messages"][-1]["content"] for each in server.requests]
    assert len(asked) == 9, "three questions, told from three places; small talk is left out"
    right = {name: [each.right for each in answers] for name, answers in found.items()}
    assert right["recall"] == [True, False, True], "3 is not 30"
    assert right["nothing"] == [False, False, True]
    assert [each.told for each in found["recall"]] == [True, True, False]
    assert not any(each.told for each in found["nothing"])
    assert any("[10 Jan 2026] Ana: The spare key" in each for each in asked)
    lines = bench.table(found).splitlines()
    assert lines[0].startswith("| told from | tokens | told | right |")
    assert "| nothing | 0 | 0 | 0 |  | 100 |" in lines


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("I don't know.", True), ("I’m sorry, I do not have that information.", True),
        ("That was not mentioned.", True),
        ("Das weiß ich leider nicht.", True), ("It is in the gumboot.", False), ("Not on Monday, on Tuesday.", False),
    ],
)  # fmt: skip
def test_an_answer_that_does_not_know_is_told_from_one_that_does(bench: Any, text: str, unknown: bool) -> None:
    assert bench.says_unknown(text) is unknown
