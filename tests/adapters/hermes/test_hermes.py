"""Hermes Agent, from its package: it finds the plugin that install writes, and calls it as in a session of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agent.memory_provider")

from agent.memory_manager import MemoryManager, build_memory_context_block
from plugins.memory import load_memory_provider

from memorist.adapters.opening import close_opened
from memorist.sync import Memory

Start = Callable[..., MemoryManager]


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of Hermes into which `memorist install hermes` has put the plugin; the memory's file."""
    home, path = tmp_path / "hermes", tmp_path / "memory.db"
    monkeypatch.setenv("HERMES_HOME", str(home))
    monkeypatch.setenv("MEMORIST_EMBEDDER", "hash")
    monkeypatch.setenv("MEMORIST_USER", "maya")
    monkeypatch.delenv("MEMORIST_DB", raising=False)
    command = [sys.executable, "-m", "memorist", "--db", str(path), "install", "hermes", "--yes"]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    yield path
    close_opened()


@pytest.fixture
def start(db: Path) -> Start:
    """Return a function that begins a session of Hermes, and returns what manages its memory."""

    def begin(session: str, **said: Any) -> MemoryManager:
        sys.modules.pop("_hermes_user_memory.memorist", None)
        provider = load_memory_provider("memorist")
        assert provider is not None and provider.is_available()
        manager = MemoryManager(external_prefetch_timeout=120)
        manager.add_provider(provider)
        known = {"platform": "cli", "hermes_home": os.environ["HERMES_HOME"], "agent_context": "primary", **said}
        manager.initialize_all(session_id=session, **known)
        return manager

    return begin


def say(manager: MemoryManager, user: str, agent: str, session: str, **more: Any) -> str:
    """Play a turn, and return what the model was told before it."""
    told = str(manager.prefetch_all(user, session_id=session))
    manager.sync_all(user, agent, session_id=session, **more)
    assert manager.flush_pending(60)
    return told


def test_said_in_one_talk_known_in_the_next_corrected_forgotten_and_removed(start: Start, db: Path) -> None:
    first = start("monday")
    assert {each["name"] for each in first.get_all_tool_schemas()} == {
        "search_memories", "add_memory", "update_memory", "delete_memory", "get_context",
    }  # fmt: skip
    assert "long-term memory" in first.build_system_prompt()
    assert say(first, "I am allergic to peanuts", "Noted.", "monday") == ""
    first.shutdown_all()
    second = start("tuesday")
    told = say(second, "May I eat peanut soup? I am allergic to what?", "No.", "tuesday")
    assert "allergic to peanuts" in told and "<memory-" in told and "recalled data" in told
    assert "allergic to peanuts" in build_memory_context_block(told)
    added = json.loads(second.handle_tool_call("add_memory", {"content": "Maya stays at homestays"}))
    changed = {"id": added["id"], "content": "Maya stays at small hotels"}
    second.handle_tool_call("update_memory", changed)
    found = second.handle_tool_call("search_memories", {"query": "where does Maya stay?"})
    assert "small hotels" in found and "homestays" not in found
    assert json.loads(second.handle_tool_call("delete_memory", {"id": added["id"]}))["deleted"] is True
    assert "small hotels" not in second.handle_tool_call("search_memories", {"query": "where does Maya stay?"})
    assert "error" in json.loads(second.handle_tool_call("delete_memory", {}))
    second.shutdown_all()
    close_opened()
    with Memory.open(db, user="maya") as memory:
        memory.purge()
    third = start("wednesday")
    assert third.prefetch_all("Am I allergic to peanuts?", session_id="wednesday") == ""
    close_opened()
    assert not [file for file in db.parent.glob("memory.db*") if b"peanuts" in file.read_bytes()]


def test_users_of_a_gateway_are_never_mixed(start: Start) -> None:
    alice, bob = (start(name, platform="telegram", user_id=id) for name, id in (("a", "1"), ("b", "2")))
    say(alice, "My sister is called Noor", "A fine name.", "a")
    question = "What is my sister called?"
    assert "Noor" in alice.prefetch_all(question, session_id="a2")
    assert bob.prefetch_all(question, session_id="b") == ""
    other = start("c", platform="discord", user_id="1")
    assert other.prefetch_all(question, session_id="c") == ""
    assert start("d").prefetch_all(question, session_id="d") == ""


def test_a_person_has_one_memory_at_several_platforms_where_that_is_said(db: Path) -> None:
    from memorist.adapters.hermes import MemoristProvider

    for platform, id in (("telegram", "1"), ("discord", "7")):
        provider = MemoristProvider(db, people={"telegram:1": "alice", "discord:7": "alice"})
        provider.initialize("s", platform=platform, user_id=id, agent_context="primary")
        if platform == "telegram":
            provider.sync_turn("I live in Oslo", "Good to know.", session_id="s")
        else:
            assert "Oslo" in provider.prefetch("Where do I live?", session_id="t")


def test_what_nobody_said_is_not_kept(start: Start, db: Path) -> None:
    timer = start("cron", agent_context="cron")
    say(timer, "Summarise the day for Maya", "Done.", "cron")
    assert {each["name"] for each in timer.get_all_tool_schemas()} >= {"search_memories", "get_context"}
    refused = json.loads(timer.handle_tool_call("add_memory", {"content": "Maya likes tea"}))
    assert "error" in refused
    with Memory.open(db, user="maya") as memory:
        assert memory.count() == 0


def test_an_answer_is_no_more_trusted_than_the_tools_it_rests_on(start: Start, db: Path) -> None:
    manager = start("monday")
    messages = [
        {"role": "user", "content": "What does the page say?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "tool_call_id": "1", "content": "The price is 5 euros"},
        {"role": "assistant", "content": "It costs 5 euros."},
    ]
    say(manager, "What does the page say?", "It costs 5 euros.", "monday", messages=messages)
    with Memory.open(db, user="maya") as memory:
        answer, question = memory.recent(limit=5)
    assert question.origin.authors.names == ["user"]
    assert set(answer.origin.authors.names) == {"assistant", "tool"}


def test_the_database_is_in_hermes_own_backup(start: Start, db: Path) -> None:
    provider = start("monday").get_provider("memorist")
    assert provider is not None and provider.backup_paths() == [str(db)]
