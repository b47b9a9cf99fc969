"""`memorist traces`: the calls that agents made."""

from typing import Any

import pytest


def test_it_lists_the_calls_where_they_are_kept(memorist: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memorist("remember", "Prefers homestays", "--user", "alice")
    memorist("recall", "homestays?", "--user", "alice")
    assert "No traces are stored." in memorist("traces", "--user", "alice").out
    monkeypatch.setenv("MEMORIST_KEEP_TRACES", "7d")
    memorist("recall", "homestays?", "--user", "alice")
    memorist("recall", "homestays?", "--user", "bob")
    kept = memorist("traces", "--user", "alice", "--json").json["traces"]
    assert [(each["question"], each["door"], len(each["hits"])) for each in kept] == [("homestays?", "cli", 1)]
    shown = memorist("traces", kept[0]["id"], "--user", "alice").out
    assert "1 found" in shown and kept[0]["id"] in shown
    assert "homestays?" in memorist("traces", "--empty", "--everyone").out
    more = memorist("traces", "--limit", "1", "--everyone")
    assert "More: --cursor" in more.out
    assert memorist("traces", "--everyone", "--user", "alice").code == 1
