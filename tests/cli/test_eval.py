"""`memorist eval`: hit rates on one's own questions, and what got worse."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def cases(tmp_path: Path, memorist: Any) -> Path:
    for id, text in (("stay", "Prefers homestays when she travels"), ("nuts", "Allergic to walnuts")):
        assert memorist("remember", text, "--id", id, "--user", "alice").code == 0
    file = tmp_path / "cases.jsonl"
    lines = [
        {"question": "homestays when she travels?", "find": "stay"},
        {"question": "allergic to walnuts?", "find": ["no such id", "ALLERGIC to  walnuts"]},
        {"question": "what is her cat called?", "find": ["Fado"], "user": "alice"},
    ]
    file.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    return file


def test_it_prints_hit_rates_and_tokens_and_keeps_the_run(memorist: Any, cases: Path) -> None:
    done = memorist("eval", cases, "--user", "alice")
    assert done.code == 0
    assert done.out.startswith("3 cases\nhit@1     66.7%\n") and "Not found: what is her cat called?" in done.out
    assert "points" not in done.out, "there is no run before the first"
    kept = json.loads(Path(f"{cases}.last.json").read_text())
    assert [each["place"] for each in kept["outcomes"]] == [1, 1, None]


def test_it_tells_what_got_worse_since_the_last_run(memorist: Any, cases: Path) -> None:
    memorist("eval", cases, "--user", "alice")
    memorist("forget", "stay", "--user", "alice", "--yes")
    memorist("remember", "Has a cat called Fado", "--user", "alice")
    done = memorist("eval", cases, "--user", "alice")
    assert "Worse: homestays when she travels?  place 1 → not found, not told" in done.out
    assert "Better: what is her cat called?" in done.out and "+0.0 points" in done.out
    again = memorist("eval", cases, "--user", "alice", "--json").json
    assert (again["worse"], again["better"], again["cases"]) == ([], [], 3)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("no json", "line 1 is not JSON"),
        ("[1]", "line 1 is not a JSON object"),
        ('{"question": "a", "find": "b", "k": 1}', "unknown field 'k'"),
        ('{"question": " ", "find": "b"}', "line 1 has no question"),
        ('{"question": "a", "find": []}', "nothing to find"),
        ('{"question": "a", "find": "b", "user": 1}', "user must be a string"),
        ("", "there are no cases"),
    ],
)
def test_what_is_no_case_is_told_by_line(memorist: Any, cases: Path, line: str, told: str) -> None:
    cases.write_text(line)
    done = memorist("eval", cases)
    assert done.code == 1 and told in done.err


def test_another_file_beside_it_is_not_taken_for_a_run(memorist: Any, cases: Path) -> None:
    for text in ("{}", "no json", "[]"):
        Path(f"{cases}.last.json").write_text(text)
        assert "not a report of an earlier run" in memorist("eval", cases).err
    cases.write_bytes(b"\xff")
    assert "not UTF-8" in memorist("eval", cases).err
    assert memorist("eval", cases.with_name("none.jsonl")).code == 1


TOY = """
class Memory:
    def __init__(self, folder, embed):
        self.rows, self.embed, self.dimensions = [], embed, embed.dimensions

    def add(self, rows):
        assert len(self.embed([row["text"] for row in rows])[0]) == self.dimensions
        self.rows += rows

    def search(self, question, k, when):
        return [(row["id"], 0.0) for row in sorted(self.rows, key=lambda row: "walnuts" not in row["text"])][:k]

    def close(self):
        pass
"""


def test_it_asks_another_memory_the_same_of_the_same_records(memorist: Any, cases: Path, tmp_path: Path) -> None:
    toy = tmp_path / "toy.py"
    toy.write_text(TOY)
    done = memorist("eval", cases, "--user", "alice", "--against", toy, "--tokens", "600")
    lines = done.out.splitlines()
    assert lines[1].split() == ["hit@1", "66.7%", str(toy), "33.3%"] and lines[2].endswith(f"{toy} 66.7%")
    assert lines[4].split()[-1] == "66.7%", "all that it found stands in its context"
    found = memorist("eval", cases, "--user", "alice", "--against", toy, "--json").json["against"]
    assert found["name"] == str(toy) and [each["place"] for each in found["outcomes"]] == [2, 1, None]


def test_another_memory_that_there_is_not_is_told_before_anything_is_asked(
    memorist: Any, cases: Path, tmp_path: Path
) -> None:
    none = memorist("eval", cases, "--against", "nobody")
    assert none.code == 2 and "there is no memory 'nobody'" in none.err and "mem0" in none.err
    (tmp_path / "empty.py").write_text("")
    assert "has no class Memory" in memorist("eval", cases, "--against", tmp_path / "empty.py").err
    (tmp_path / "needs.py").write_text('PACKAGES = ("nowhere-to-be-had==1",)\nimport nowhere_to_be_had\n')
    assert "pip install nowhere-to-be-had==1" in memorist("eval", cases, "--against", tmp_path / "needs.py").err
    assert not Path(f"{cases}.last.json").exists()
