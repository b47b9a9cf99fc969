from typing import Any

import pytest

from memorist.errors import InvalidInputError, ScopeError
from memorist.scope import Reach, Scope, Wall


@pytest.mark.parametrize("name", ["", "  ", "a\0b", "x" * 513, "\ud800", 5, b"x"])
@pytest.mark.parametrize("label", ["tenant", "user", "agent", "session"])
def test_a_name_is_a_text_that_every_store_can_keep(label: str, name: Any) -> None:
    with pytest.raises(InvalidInputError, match=label):
        Scope(**{label: name})


def test_any_other_name_is_fine() -> None:
    for name in ("a", " a ", "../../etc", "'; DROP TABLE records;--", "日本", "🙂", "x" * 512, "NULL", "%", "\u202e"):
        assert Scope(name, name, name, name).wall == Wall(name, name)


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
