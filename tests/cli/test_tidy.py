"""tidy: proposals, a yes, and the way back."""

from collections.abc import Callable
from typing import Any

Command = Callable[..., Any]


def test_nothing_goes_without_a_yes_and_undo_puts_it_back(memorist: Command) -> None:
    for text in ("Prefers homestays in Lisbon", "prefers homestays in Lisbon!", "Likes tea"):
        assert memorist("remember", text, "--user", "alice").code == 0
    shown = memorist("tidy", "--user", "alice")
    assert "duplicate" in shown.out and "MEMORIST_KEEP_TRACES" in shown.err
    assert memorist("count", "--user", "alice").out.strip().startswith("3")
    [found] = memorist("tidy", "--user", "alice", "--json").json["suggestions"]
    assert memorist("tidy", found["id"], "--user", "alice", "--json").json == {"archived": 1}
    assert memorist("count", "--user", "alice").out.strip().startswith("2")
    assert memorist("tidy", found["id"], "--user", "alice").code != 0
    assert memorist("tidy", "--undo", "--user", "alice", "--json").json == {"restored": 1}
    assert memorist("tidy", "--undo", "--user", "alice", "--json").json == {"restored": 0}
    assert memorist("tidy", "--yes", "--user", "alice").code == 0
    assert memorist("tidy", "--user", "bob").out.strip() == "Nothing to propose."
    assert memorist("count", "--user", "alice").out.strip().startswith("2")
