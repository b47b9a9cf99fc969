"""The arena: a toy memory goes through all of it, and what it measures is what it says."""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias

import pytest

FOLDER = Path(__file__).parents[2] / "bench" / "arena"
CHAT = [
    ("s1", "Ann", "I live in Leeds and work at the harbour office."),
    ("s1", "assistant", "Leeds must be lovely in spring."),
    ("s2", "Ann", "We moved! My new home is a flat in Hobart with a view."),
    ("s2", "Ann", "The cat is called Fado and hates boxes."),
]


def write_data(place: Path) -> Path:
    """Write two memories of which one holds what the other is asked."""
    rows, questions = [], []
    for group, name in (("g1", "Ann"), ("g2", "Bea")):
        for number, (session, speaker, text) in enumerate(CHAT):
            told = text.replace("Fado", f"Fado{group}")
            rows.append(
                {"id": f"D{number}", "group": group, "session": session, "timestamp": f"2025-0{number + 1}-01T10:00:00",
                 "speaker": name if speaker == "Ann" else speaker, "text": told}
            )  # fmt: skip
        asked = {"group": group, "question_date": "2025-11-01T10:00:00"}
        questions += [
            {
                **asked,
                "id": f"{group}#0",
                "question": "Where is my home?",
                "gold": ["D2"],
                "stale": ["D0"],
                "category": "now",
            },
            {**asked, "id": f"{group}#1", "question": "What is the cat called?", "gold": ["D3"], "category": "now"},
            {**asked, "id": f"{group}#2", "question": "Who is my boss?", "gold": [], "category": "abstention"},
        ]
    folder = place / "toy"
    folder.mkdir()
    for part, lines in (("corpus", rows), ("queries", questions)):
        (folder / f"{part}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.fixture
def arena(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return what imports a module of the arena."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if (file := getattr(sys.modules[name], "__file__", None)) and Path(file).parent == FOLDER:
            del sys.modules[name]


Toys: TypeAlias = tuple[Path, list["subprocess.CompletedProcess[str]"]]


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Toys:
    """Run the arena twice on a memory that works and one that does not; give the cells' folder and what was printed."""
    folder = tmp_path_factory.mktemp("arena")
    broken = folder / "broken.py"
    broken.write_text('"""Broken."""\nclass Memory:\n    def __init__(self, folder, embed=None):\n        1 / 0\n')
    command = [sys.executable, str(FOLDER / "run.py"), "--quick", "--here", "--data", str(write_data(folder))]
    command += ["--systems", str(FOLDER / "example.py"), str(broken), "--work", str(folder / "work")]
    environment = os.environ | {"MEMORIST_EMBEDDER": "hash"}
    runs = [subprocess.run(command, capture_output=True, text=True, env=environment) for _ in range(2)]
    return folder / "work" / "cells", runs


@pytest.mark.slow
def test_a_toy_memory_goes_through_all_of_it_and_what_was_measured_is_kept(toys: Toys) -> None:
    cells, (done, again) = toys
    assert done.returncode == 0, done.stderr
    failed = [line for line in done.stderr.splitlines() if "not had" in line and not line.startswith("broken")]
    assert "### toy: 4 questions" in done.stdout and failed == []
    [found, costs] = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| example")]
    assert found[1:5] != [""] * 4 and costs[-2].startswith("0 of "), "nothing that was acknowledged is lost"
    assert costs[-1] == "0 of 20 |", "and nothing that was deleted is left"
    assert done.stdout.splitlines()[-1].startswith("arena: evidence in 300 tokens, Memorist: toy ")
    cell = json.loads((cells / "example.own.answer.toy.json").read_text())
    assert cell["result"]["g1#1"]["hit@5"] == 1 and cell["made_by"]["adapter"]
    assert again.stdout.splitlines()[:-1] == done.stdout.splitlines()[:-1]
    measured = [line for line in again.stderr.splitlines() if not line.startswith("broken")]
    assert measured == [], "nothing is measured twice but what went wrong"


@pytest.mark.slow
def test_a_memory_that_fails_is_named_with_its_reason_and_the_others_go_on(toys: Toys) -> None:
    _, (done, _) = toys
    assert "`ZeroDivisionError: division by zero`" in done.stdout
    assert "**Memorist**" in done.stdout and "| example" in done.stdout


@pytest.mark.slow
def test_what_takes_too_long_is_named_and_not_tried_again(arena: Any, tmp_path: Path, capsys: Any) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import time\nclass Memory:\n    def __init__(self, folder, embed=None):\n        time.sleep(600)\n"
    )
    run = arena("run")
    size, place = replace(run.QUICK, seconds=1), run.Environment(run.System(slow), tmp_path, here=True)

    def cell(size: Any) -> Any:
        measuring = run.Arena(tmp_path, size, SimpleNamespace(environment={})).measure(place.system, place, [])
        return next(result for _, name, result in measuring if name == "install")

    assert cell(size) == {"error": "not done within 1 s"} and capsys.readouterr().err
    assert cell(size) == {"error": "not done within 1 s"} and not capsys.readouterr().err
    assert cell(replace(size, seconds=2)) == {"error": "not done within 2 s"}, "with more time it is"


def test_every_system_says_what_it_needs_in_forty_lines_of_code(arena: Any) -> None:
    found = arena("systems_of").systems(None)
    assert found[0].name == "memorist" and len({each.name for each in found}) == len(found) > 10
    for system in found:
        lines = system.path.read_text().split("class Memory", 1)[1].splitlines()
        assert len(lines) <= 40 and system.title and system.variants, system.name
        assert all("==" in each for each in system.packages if each != "memorist"), "a version for each"
    with pytest.raises(SystemExit, match=r"there is no system nobody; there are .*memorist"):
        arena("systems_of").systems(["nobody"])


def test_evidence_is_told_if_half_of_its_runs_of_words_are_there(arena: Any) -> None:
    measure = arena("measure")
    told = measure.told_of("- Ann: We MOVED! My new home is a flat", [CHAT[2][2], CHAT[3][2]])
    assert told["evidence"] == 0.5 and told["tokens"] == 10 and 0 < told["density"] < 1
    assert measure.told_of("", [CHAT[0][2]]) == {"evidence": 0, "told": 0, "tokens": 0}
    assert measure.told_of("我的家在柏林", ["家在柏林"])["evidence"] == 1, "letters are words there"


def test_what_is_current_stands_above_all_that_is_stale(arena: Any) -> None:
    ranked, question = arena("measure").ranked, {"gold": ["new"], "stale": ["old"], "also": ["too"]}
    assert [ranked(ids, question)["current"] for ids in (["x", "new", "old"], ["too", "old"], ["old", "new"], [])] == [
        1,
        1,
        0,
        0,
    ]
    assert ranked(["x", "new"], {"gold": ["new", "other"]}) == {
        "hit@5": 1,
        "all@5": 0,
        "nDCG@10": pytest.approx(0.387, abs=1e-3),
    }


def test_a_difference_that_few_questions_cannot_show_is_none(arena: Any) -> None:
    cell = arena("measure").cell
    same = {str(n): float(n % 2) for n in range(40)}
    better = dict.fromkeys(same, 1.0)
    assert cell(same).differs is None and cell(same, same).differs == 0
    assert cell(better, same).differs == 1 and cell(same, better).differs == -1
    assert cell({}) is None and cell(same).low < cell(same).mean == 50 < cell(same).high


def test_a_file_that_its_publisher_changed_is_not_taken(arena: Any, tmp_path: Path) -> None:
    fetch: ModuleType = arena("fetch")
    source = tmp_path / "source.json"
    source.write_text("{}")
    with pytest.raises(SystemExit, match=r"has changed: its sha256 is 44136fa3.*nothing was written"):
        fetch.fetched(source.as_uri(), "0" * 64, tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["source.json"]
    chat = {"session_1": [{"dia_id": "D1:1", "speaker": "Ann", "text": "Hi"}], "session_1_date_time": "8 May, 2023",
            "qa": [{"question": "Who?", "evidence": ["D1:1"], "category": 5}]}  # fmt: skip
    rows, [question] = fetch.conversations({"c": json.dumps(chat).encode()})
    assert rows[0]["timestamp"] == "8 May, 2023" and question["gold_sessions"] == ["session_1"]
    assert question["category"] == "5-adversarial"
