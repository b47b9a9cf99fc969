"""The demo: offline, quick, and true to what it says."""

import json
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from memorist import demo
from memorist.cli import demo as command
from memorist.config import Settings
from memorist.embedders.onnx import BUNDLED

Command: TypeAlias = Callable[..., Any]


def test_the_conversation_is_a_chat_of_two_users_with_the_answers_in_it() -> None:
    messages = [json.loads(line) for line in (files(demo) / "conversation.jsonl").read_text("utf-8").splitlines()]
    assert len(messages) > 50
    assert {message["user"] for message in messages} == {"maya", "tom"}
    assert len({message["timestamp"][:10] for message in messages}) == 4
    for question in demo.QUESTIONS:
        assert [m["user"] for m in messages if m["id"] == question.expected] == [question.user]


def test_the_demo_shows_each_user_their_own_answer_and_leaves_nothing(memorist: Command, db: Path) -> None:
    result = memorist("demo")
    assert (result.code, result.err) == (0, "")
    assert result.out.count("Do I prefer a hotel") == 2
    assert " Question " in result.out
    assert "of 7 right" in result.out and "all 61 were there" in result.out
    file = Path(re.sub(r"\s", "", result.out).split("Thefilewas")[1].split(";")[0])
    assert not file.exists() and not file.parent.exists()
    assert not db.exists()


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_demo_fits_the_terminal(memorist: Command, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = memorist("demo").out
    table = [line for line in shown.splitlines() if "──" in line]
    assert len(table) == 9 and {len(line) for line in table} == {min(width, 120)}


def test_a_database_given_is_kept_and_can_be_asked(memorist: Command, tmp_path: Path) -> None:
    file = tmp_path / "keep.db"
    assert f"memorist --db {file} recall" in memorist("--db", file, "demo").out
    assert "all 61 were there" in memorist("--db", file, "demo").out, "a second time it is the same conversation"
    assert memorist("--db", file, "count", "--json").out == "61\n"
    found = memorist("--db", file, "recall", "what is my cat called?", "--user", "maya", "--json").json
    assert any("Figo" in hit["record"]["content"] for hit in found)
    assert memorist("--db", file, "recall", "what is my cat called?", "--json").json == []


def test_a_wrong_answer_is_shown_as_one() -> None:
    missing = demo.DemoAnswer(demo.QUESTIONS[0], [], 0.001)
    assert missing.rank is None
    assert "nothing" in command._found(missing).plain


@pytest.mark.skipif(
    not (BUNDLED / "model.onnx").is_file() and Settings.load().embedder is None, reason="there is no bundled model"
)
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_every_answer_is_right_with_the_real_model(tmp_path: Path, anyio_backend: str) -> None:
    outcome = await demo.run(Settings.load().with_given(url=tmp_path / "demo.db"), "default")
    assert [answer.rank for answer in outcome.answers] == [1] * 7
    users = {
        hit.record.scope.user for answer in outcome.answers for hit in answer.hits if answer.question.user == "tom"
    }
    assert users == {"tom"}
