"""The steps without `await`, on a blocking memory."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from memorist import language
from memorist.language import sync as blocking
from memorist.sync import Memory


def model(messages: list[dict[str, str]]) -> Any:
    if "sings" in messages[-1]["content"]:
        return {"facts": [{"statement": "Alice sings in a choir", "date": "", "message": 1}]}
    return {"facts": [{"statement": "Alice moved to Oslo", "date": "", "message": 1}]}


def test_every_step_has_a_blocking_one_with_its_signature() -> None:
    steps = {name for name in language.__all__ if inspect.iscoroutinefunction(getattr(language, name))}
    assert steps | {"Digest"} == set(blocking.__all__)
    for name in steps:
        client, original = getattr(blocking, name), getattr(language, name)
        assert inspect.signature(client) == inspect.signature(original) and not inspect.iscoroutinefunction(client)
        assert client.__doc__.splitlines()[0] == original.__doc__.splitlines()[0]


def test_a_script_keeps_facts_and_digests_what_is_raw(tmp_path: Path) -> None:
    with Memory.open(str(tmp_path / "m.db"), user="alice", embedder="hash") as memory:
        kept = blocking.keep_facts(memory, "I moved to Oslo", model=model)
        assert [each.content for each in kept.records] == ["Alice moved to Oslo"]
        memory.conversation("monday").append([f"Alice sings in a choir: message {n}" for n in range(3)])
        digest, seen = blocking.Digest(memory=memory, model=model), list[tuple[int, int]]()
        assert digest.pending() == 3
        report = digest.run(lambda done, total: seen.append((done, total)))
        assert (report.messages, report.left, seen) == (3, 0, [(3, 3)])
        assert sorted(each.content for each in memory.facts.all()) == ["Alice moved to Oslo", "Alice sings in a choir"]


def test_the_steps_that_need_no_memory(tmp_path: Path) -> None:
    assert [each.text for each in blocking.extract_facts(iter(["I like tea"])).statements] == ["I like tea"]
    assert blocking.reflect({"task": "a", "result": "b"}).text == "Done: a: b"
    with pytest.raises(TypeError):
        blocking.reflect()  # type: ignore[call-arg]
