"""The benchmark's back end finds, in a tiny corpus, what it should, through Memorist's public interface."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from memorist.embedders import Role
from memorist.testing import HashEmbedder

FOLDER = Path(__file__).parents[2] / "bench" / "recall"
CHAT = [
    {"id": "a", "session": "1", "timestamp": "1:56 pm on 8 May, 2023", "speaker": "Ann", "text": "I adopted a beagle."},
    {"id": "b", "session": "1", "timestamp": "1:57 pm on 8 May, 2023", "speaker": "Bob", "text": "What is its name?"},
    {"id": "c", "session": "1", "timestamp": "1:58 pm on 8 May, 2023", "speaker": "Ann", "text": " "},
    {"id": "d", "session": "2", "timestamp": "9:00 am on 2 June, 2023", "speaker": "Bob", "text": "My kitchen leaks."},
]
TOOLS = [
    {"id": "t", "session": "t", "timestamp": None, "speaker": "tool", "text": "get_weather: the weather of a city"},
    {"id": "u", "session": "u", "timestamp": None, "speaker": "tool", "text": "book_flight: a seat on an aeroplane"},
]


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModuleType]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    import shared  # type: ignore[import-not-found]  # the path above

    monkeypatch.setattr(shared, "EMBEDDER", shared.CachedEmbedder(HashEmbedder(), tmp_path))
    yield shared
    for name in {"shared", "memorist_backend"} - before:
        sys.modules.pop(name, None)


@pytest.fixture
def backend(shared: ModuleType) -> ModuleType:
    return import_module("memorist_backend")


def test_the_best_row_comes_first(backend: ModuleType) -> None:
    index = backend.build(CHAT)
    try:
        asked_at = {"question_date": "2023/06/10 (Sat) 9:00"}
        best, second = backend.search(index, "Which dog did Ann adopt, a beagle?", 2, asked_at)
    finally:
        backend.close(index)
    assert best[0] == "a"
    assert 1 >= best[1] > second[1] >= 0


def test_rows_without_a_time_are_found_too(backend: ModuleType) -> None:
    index = backend.build(TOOLS)
    try:
        assert backend.search(index, "weather of a city", 1)[0][0] == "t"
    finally:
        backend.close(index)


def test_nothing_is_embedded_twice_not_even_in_another_run(shared: ModuleType, tmp_path: Path) -> None:
    first, second = (shared.CachedEmbedder(HashEmbedder(), tmp_path) for _ in range(2))
    rows = first.embed_now(["a beagle", "a cat", "a beagle"], Role.QUERY)
    assert first.computed == 2
    assert (second.embed_now(["a cat", "a beagle"], Role.QUERY) == rows[1:]).all()
    assert second.computed == 0


def test_people_are_named_in_the_text_and_roles_are_not(shared: ModuleType) -> None:
    assert shared.text_of(CHAT[0]) == "Ann: I adopted a beagle."
    assert shared.text_of(TOOLS[0]) == TOOLS[0]["text"]
