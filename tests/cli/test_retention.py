"""retention: set, show, dry-run, apply."""

from collections.abc import Callable
from typing import Any, TypeAlias

Command: TypeAlias = Callable[..., Any]


def test_rules_are_set_shown_tried_and_applied(memorist: Command) -> None:
    memorist("remember", "long ago", "--at", "2001-01-01", "--kind", "message")
    memorist("remember", "a value", "--at", "2001-01-01", "--kind", "topic", "--key", "k")
    assert "everything is kept" in memorist("retention", "show").out
    tried = memorist("retention", "dry-run", '{"keep": "7d", "where": {"trip": "Lisbon"}}', "message=90d", "--json")
    assert tried.json["due"] == {"message": 1}
    assert memorist("count", "--json").json == 2, "nothing is deleted, and nothing set"
    assert "everything is kept" in memorist("retention", "show").out

    assert memorist("retention", "set", "message=90d", "topic=forever").out == "2 rules set\n"
    assert memorist("count", "--json").json == 1, "the next command that opened the store obeyed"
    shown = memorist("retention", "show").out
    assert "keep 90d: kind message" in shown and "keep forever: kind topic" in shown
    assert memorist("retention", "apply", "--json").json == {"swept": 0}


def test_wrong_rules_are_wrong_usage(memorist: Command) -> None:
    memorist("remember", "x")
    for rule in ("message", "message=soon", "massage=90d", "{", '{"kind": "message"}'):
        assert memorist("retention", "set", rule).code == 2
