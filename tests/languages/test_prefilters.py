"""What is left out before an expression is tried, and what is counted beforehand, changes no mark of any text."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memorist.languages import CODES, is_english, language, plain
from memorist.languages.detection import _WORD, _told
from memorist.languages.grammar import grammar
from memorist.languages.hints import Hints
from memorist.languages.phrases import recurring_in
from memorist.languages.table import Language, Phrases, words_of
from memorist.recall import marks_of
from memorist.recall.question import as_the_user_says
from memorist.records.origins import PYTHON
from memorist.records.record import Draft
from memorist.records.scope import Scope

_DATA = Path(__file__).parents[2] / "bench" / "data"
_SIGNS: tuple[Phrases, ...] = ("first_person", "timed", "corrects", "standing")


def texts() -> Iterator[str]:
    """Yield what is said in the conversations that lie beside the benchmarks, in many languages."""
    for file in sorted(_DATA.glob("*/corpus.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)["text"]


TEXTS = list(texts())


@pytest.mark.parametrize("code", CODES)
def test_a_phrase_is_found_by_its_hints_as_without_them(code: str) -> None:
    of = language(code)
    listed = [each for sign in _SIGNS for each in words_of(of.table.get(sign, ())) if each.replace(" ", "").isalpha()]
    found = 0
    for text in map(plain, [*TEXTS, *listed]):
        for sign in _SIGNS:
            held = of.pattern(sign).search(text) is not None
            assert of.says(sign, text) == held, (sign, text)
            found += held
        told = [name for name, each in of.life_changes.items() if each.told.search(text)]
        assert of.changes("told", text) == told, text
    assert found


@pytest.mark.parametrize("code", CODES)
def test_the_user_is_named_in_the_same_texts_with_hints_as_without(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of, named = language(code), ["the user", "The user's dog", "ユーザーの猫", "der Nutzer", "l'utilisateur", "用户的"]
    quick = [as_the_user_says(text, of) for text in [*TEXTS, *named]]
    monkeypatch.setattr(Language, "may_name_user", lambda of, text: True)
    assert quick == [as_the_user_says(text, of) for text in [*TEXTS, *named]]


def test_hints_change_no_mark_of_any_text(monkeypatch: pytest.MonkeyPatch) -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    said = [Draft(content=text, kind="message", payload={"role": "user"}) for text in [*TEXTS, "The user's dog died"]]
    records = [draft.to_record(Scope("default"), at, PYTHON) for draft in said]
    quick = [marks_of(record) for record in records]
    monkeypatch.setattr(Language, "may_name_user", lambda of, text: True)
    monkeypatch.setattr(Language, "_may_say", lambda of, what, text: True)
    monkeypatch.setattr(Hints, "possible", lambda hints, text: range(len(hints._needed)))
    assert quick == [marks_of(record) for record in records]
    assert {"the_loss_of_a_pet"} <= quick[-1]


def test_days_that_recur_are_found_by_their_hints_as_without_them() -> None:
    found = 0
    for code in CODES:
        of = grammar(code)
        patterns, hints = of.recurring
        for text in map(plain, TEXTS):
            matching = {at for at, pattern in enumerate(patterns) if pattern.search(text)}
            assert matching <= set(hints.possible(text)), text
            found += len(matching)
    assert found
    assert recurring_in("I swim every Tuesday and on Fridays") == {1, 4}


def test_english_is_told_by_the_weights_of_words_as_by_their_languages() -> None:
    known = _told("Latin").words
    other_languages = 0
    for text in TEXTS:
        if not text.isascii():
            continue
        english = other = 0.0
        for word in _WORD.findall(text[:600]):
            codes = known.get(plain(word), "").split()
            if codes[:1] == ["en"]:
                english += 1 / min(len(codes), 3)
            elif codes and "en" not in codes and not (word.isupper() and len(word) > 1):
                other += 1
        if english or other:
            assert is_english(text) == (english >= other), text
            other_languages += english < other
    assert other_languages
