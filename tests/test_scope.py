import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import InvalidInputError, ScopeError
from memorist.records.scope import Reach, Scope, Wall, checked_name

HIDDEN = [
    "\0", "\n", "\t", "\x1b", "\x7f", "\x85", "\xad", "\u034f", "\u061c", "\u115f", "\u180e", "\u200b", "\u200e",
    "\u2028", "\u202e", "\u2060", "\u2066", "\u2069", "\u2800", "\u3164", "\ufe00", "\ufe0f", "\ufeff", "\ufff9",
    "\U000e0041",
    "\U000e0100", "\ud800", "\udfff", "\u200c", "\u200d",
]  # fmt: skip
SEEN = [
    "می\u200cخواهم", "क्\u200dष", "ශ්\u200dරී", "র\u200d্য", "👩\u200d👩\u200d👧", "❤\ufe0f\u200d🔥", "👍🏽",
    "ab", "山田\u3000太郎",
    "O'Neill, Jr.", "नी", "مُحَمَّد", "🇳🇴",
]  # fmt: skip


@pytest.mark.parametrize("name", ["", "  ", "a\0b", "x" * 513, 5, b"x", " a", "a\u3000", "\xa0a", "a\n"])
@pytest.mark.parametrize("label", ["tenant", "user", "agent", "session"])
def test_a_name_is_a_text_that_every_store_can_keep(label: str, name: Any) -> None:
    with pytest.raises(InvalidInputError, match=label):
        Scope(**{label: name})


@pytest.mark.parametrize("half", ["\ud800", "cut \ud83d", "\udfff"])
def test_half_a_character_is_written_out_in_a_label_and_refused_in_a_wall(half: str) -> None:
    for wall in ({"tenant": half}, {"user": half}):
        with pytest.raises(InvalidInputError, match="a lone surrogate"):
            Scope(**wall)
    written = half.encode("ascii", "backslashreplace").decode()
    assert Scope(agent=half, session=half) == Scope(agent=written, session=written)


def test_any_other_name_is_fine() -> None:
    for name in ("a", "a b", "../../etc", "'; DROP TABLE records;--", "日本", "🙂", "x" * 512, "NULL", "%", *SEEN):
        assert Scope(name, name, name, name).wall == Wall(name, name)


@pytest.mark.parametrize("character", HIDDEN, ids=lambda character: f"U+{ord(character):04X}")
def test_a_name_holds_nothing_that_cannot_be_seen(character: str) -> None:
    for name in (f"ali{character}ce", f"alice{character}", f"{character}alice", f"日{character}本", character):
        with pytest.raises(InvalidInputError, match="user must not"):
            Scope(user=name)


@pytest.mark.parametrize("name", ["می\u200c", "\u200dक", "क्\u200d", "👩\u200da", "a\u200d👩", "👩\u200c👩", "^\u200d^"])
def test_a_joiner_stands_only_where_a_script_needs_it(name: str) -> None:
    with pytest.raises(InvalidInputError, match="invisible"):
        Scope(user=name)


def test_names_of_one_reading_are_one_name() -> None:
    composed, decomposed = "Jos\xe9", "Jose\u0301"

    assert Scope(user=decomposed) == Scope(user=composed)
    assert Scope(user=composed).narrowed(user=decomposed).user == composed
    assert Scope("Caf\xe9").narrowed(tenant="Cafe\u0301").tenant == "Caf\xe9"
    assert Scope(user="Josè") != Scope(user="José")
    assert Scope(user="Alice") != Scope(user="alice")


@given(st.text())
def test_a_name_is_an_error_or_reads_the_same_ever_after(name: str) -> None:
    try:
        kept = checked_name("user", name)
    except InvalidInputError:
        return
    assert checked_name("user", kept) == kept
    assert kept == unicodedata.normalize("NFC", name) == kept.strip()
    assert kept.encode().decode() == kept
    assert checked_name("user", unicodedata.normalize("NFD", name)) == kept


def test_a_wall_once_set_stays() -> None:
    alice = Scope("acme", "alice")

    assert alice.narrowed(user="alice", tenant="acme") == alice
    with pytest.raises(ScopeError, match="bob"):
        alice.narrowed(user="bob")
    with pytest.raises(ScopeError, match="other"):
        alice.narrowed(tenant="other")
    with pytest.raises(ScopeError, match="other"):
        Scope("acme").narrowed(tenant="other")
    with pytest.raises(ScopeError):
        Scope(user="alice").narrowed(tenant="other")
    with pytest.raises(InvalidInputError):
        Scope("acme").narrowed(user="")


def test_labels_may_be_replaced() -> None:
    scope = Scope("acme", "alice", agent="planner", session="s1")

    assert scope.narrowed(session="s2") == Scope("acme", "alice", "planner", "s2")
    assert scope.narrowed() == scope


def test_a_label_is_seen_by_those_who_have_it_or_none() -> None:
    record = Scope(user="alice", agent="planner", session="s1")

    assert Scope(user="alice").sees(record)
    assert Scope(user="alice", agent="planner").sees(record)
    assert not Scope(user="alice", agent="writer").sees(record)
    assert not Scope(user="alice", agent="planner", session="s2").sees(record)
    assert not Scope(user="alice", session="s1").sees(Scope(user="alice"))


def test_reach() -> None:
    alice = Scope("acme", "alice")

    assert alice.reach() == Reach("acme", ("alice",))
    assert alice.reach(shared=True).walls() == (Wall("acme", "alice"), Wall("acme", None))
    assert Scope("acme").reach() == Scope("acme").reach(shared=True) == Reach("acme", (None,))
    assert Scope("acme").reach(everyone=True) == Reach("acme", None)
    with pytest.raises(ScopeError, match="alice"):
        alice.reach(everyone=True)
    with pytest.raises(ScopeError):
        Scope("acme").reach(everyone=True).walls()
