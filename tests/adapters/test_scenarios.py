"""What a user of any framework relies on, as the same scenarios for a program in each, on a file and at a server."""

import asyncio
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from memorist import Memory
from opening import bytes_beside
from programs import PROGRAMS, Program

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("kind", PROGRAMS, ids=lambda each: each.__name__)]
everywhere = pytest.mark.parametrize("everyone", ["local", "remote"], indirect=True)
elsewhere_weekly = pytest.mark.parametrize(
    "everyone", ["local", pytest.param("remote", marks=pytest.mark.weekly)], indirect=True
)
"""Where a test imports the framework in another process, which writes to the file itself in either case."""

QUESTION = "Where do I prefer to stay when I travel?"


@pytest.fixture
def program(kind: type[Program], everyone: Memory) -> Program:
    pytest.importorskip(kind.needs)
    return kind(everyone)


@everywhere
async def test_each_user_is_told_their_own_whatever_the_session(program: Program) -> None:
    await program.say("alice", "monday", "I prefer homestays when I travel")
    await program.say("bob", "monday", "I prefer castles when I travel")
    alices = await program.say("alice", "tuesday", QUESTION)
    bobs = await program.say("bob", "monday", QUESTION)
    assert ("homestays" in alices, "castles" in alices) == (True, False)
    assert ("homestays" in bobs, "castles" in bobs) == (False, True)
    assert "castles" not in str(await program.heard("alice", "monday"))
    assert await program.heard("carol", "monday") == []


@everywhere
async def test_a_long_thread_is_kept_whole_and_in_order(program: Program) -> None:
    said = [f"This is number {n}." for n in range(program.turns)]
    for text in said:
        await program.say("alice", "monday", text)
    heard = await program.heard("alice", "monday")
    assert [each for each in heard if each.startswith("This is")] == said
    if len(heard) > len(said):
        assert heard[1::2] == ["Noted."] * len(said), "an answer in the same words is kept each time"


@everywhere
async def test_nothing_of_turns_at_once_is_lost(program: Program) -> None:
    talks = [(user, f"s{n}") for user in ("alice", "bob") for n in range(4)]
    await asyncio.gather(*(program.say(*talk, f"From {' '.join(talk)}.") for talk in talks))
    for talk in talks:
        heard = await program.heard(*talk)
        assert [each for each in heard if each.startswith("From")] == [f"From {' '.join(talk)}."]


@everywhere
async def test_nothing_of_turns_at_once_on_one_session_is_lost(program: Program) -> None:
    if not program.together:
        pytest.skip("the framework takes one turn after another")
    await program.say("alice", "monday", "Hello")
    await asyncio.gather(*(program.say("alice", "monday", f"This is number {n}.") for n in range(8)))
    heard = await program.heard("alice", "monday")
    assert sorted(each for each in heard if each.startswith("This")) == [f"This is number {n}." for n in range(8)]


@everywhere
async def test_what_was_said_is_kept_where_the_model_fails(program: Program) -> None:
    def fails() -> str:
        raise RuntimeError("the model is away")

    await program.say("alice", "monday", "This is the first.")
    program.answer = fails
    with suppress(Exception):
        await program.say("alice", "monday", "This is the second.")
    heard = await program.heard("alice", "monday")
    assert [each for each in heard if each.startswith("This")] == ["This is the first.", "This is the second."]


@everywhere
async def test_half_a_character_costs_no_turn_and_no_memory(program: Program) -> None:
    if not program.halved:
        pytest.skip("the framework itself fails")
    await program.say("alice", "cut \ud83d", "I prefer homestays when I travel \ud83d")
    await program.say("alice", "cut \ud83d", "That is all, thanks.")
    await program.say("alice", "cut \ud83e", "This is another session.")
    assert "homestays" in await program.say("alice", "tuesday", QUESTION)
    heard = await program.heard("alice", "cut \ud83d")
    assert [each[:32] for each in heard if each.startswith("I prefer")] == ["I prefer homestays when I travel"]
    assert "That is all, thanks." in heard
    assert "This is another session." not in heard


@everywhere
async def test_what_is_forgotten_is_gone_and_of_no_one_else(program: Program, tmp_path: Path) -> None:
    await program.say("alice", "monday", "My word for the travel is quetzal")
    await program.say("bob", "monday", "My word for the travel is okapi")
    await program.forget("alice", "monday")
    assert await program.heard("alice", "monday") == []
    assert "quetzal" not in await program.say("alice", "tuesday", "What is my word for the travel?")
    assert "okapi" in await program.say("bob", "tuesday", "What is my word for the travel?")
    await program.say("alice", "tuesday", "My word for the travel is axolotl")
    await program.memory.purge(user="alice")
    assert await program.heard("alice", "tuesday") == []
    left = b"".join(bytes_beside(tmp_path / "memory.db").values())
    assert b"okapi" in left
    assert b"quetzal" not in left
    assert b"axolotl" not in left


def _talk(kind: type[Program], path: Path, *said: str) -> int:
    program = Path(__file__).parents[1] / "support" / "programs.py"
    command = [sys.executable, str(program), kind.__name__, str(path), *said]
    return subprocess.run(command, check=False, timeout=240).returncode


@pytest.mark.slow
@elsewhere_weekly
async def test_what_another_process_was_told_is_known_here(
    program: Program, kind: type[Program], tmp_path: Path
) -> None:
    await program.say("alice", "monday", "This is the first.")
    done = await asyncio.to_thread(
        _talk, kind, tmp_path / "memory.db", "alice", "monday", "I prefer homestays when I travel"
    )
    assert done == 0
    assert "homestays" in await program.say("alice", "tuesday", QUESTION)
    heard = await program.heard("alice", "monday")
    assert {"This is the first.", "I prefer homestays when I travel"} <= set(heard)


@pytest.mark.slow
@elsewhere_weekly
async def test_a_killed_process_loses_nothing_that_was_said(
    program: Program, kind: type[Program], tmp_path: Path
) -> None:
    said = ["This is the first.", "This is the second: die"]
    assert await asyncio.to_thread(_talk, kind, tmp_path / "memory.db", "alice", "monday", *said) == 9
    assert [each for each in await program.heard("alice", "monday") if each.startswith("This")] == said
    await program.say("alice", "monday", "This is the third.")
    assert (await program.heard("alice", "monday"))[-2:] == ["This is the third.", "Noted."] or program.turns < 9
