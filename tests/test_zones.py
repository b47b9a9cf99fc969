"""The zone of a memory's user: whose days are meant, and told."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import apsw
import pytest
from click.testing import CliRunner

from clocks import MovedClock
from memorist import Memory
from memorist.cli.app import app
from memorist.config import Settings
from memorist.errors import InvalidInputError
from memorist.imports import Options, load
from memorist.records.record import Record
from memorist.records.zones import machine_zone, name_of, zone_of
from memorist.testing import HashEmbedder
from opening import undo_latest

Open = Callable[..., Memory]
pytestmark = pytest.mark.anyio

NEW_YORK = "America/New_York"
EVENING = datetime(2026, 11, 3, 1, 30, tzinfo=UTC)
"""Half past eight in the evening of 2 November, in New York."""


async def told(memory: Memory, question: str, **more: Any) -> str:
    return (await memory.context(question, min_confidence=0.0, **more)).text


@contextmanager
def machine_in(zone: str) -> Iterator[None]:
    """Run as on a machine whose clock is set to a zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", zone)
        patch.delenv("MEMORIST_ZONE", raising=False)
        time.tzset()
        yield
    time.tzset()


async def test_an_evening_is_told_on_its_own_day_and_its_yesterday_is_the_day_before(alice: Memory) -> None:
    there = alice.scoped(zone=NEW_YORK)
    await there.conversation("s").append("I repaired the bicycle yesterday", happened_at=EVENING)
    text = await told(there, "Who repaired the bicycle?")
    assert "[2 Nov 2026]" in text
    assert "yesterday (1 Nov 2026)" in text


async def test_the_same_message_is_told_in_the_zone_of_whoever_asks(alice: Memory) -> None:
    await alice.conversation("s").append("I repaired the bicycle yesterday", happened_at=EVENING)
    assert "yesterday (2 Nov 2026)" in await told(alice, "Who repaired the bicycle?")
    assert "yesterday (1 Nov 2026)" in await told(alice.scoped(zone=NEW_YORK), "Who repaired the bicycle?")


@pytest.mark.parametrize("given", ["2026-11-02T20:30-05:00", EVENING.astimezone(ZoneInfo(NEW_YORK))])
async def test_a_time_keeps_the_offset_that_it_brings(alice: Memory, given: Any) -> None:
    message = await alice.conversation("s").append("I repaired the bicycle yesterday", happened_at=given)
    record = await alice.get(message.record.id if message.record else "")
    assert record is not None and record.happened_at == EVENING
    assert record.to_dict()["happened_at"] == "2026-11-02T20:30:00.000000-05:00"
    for zone in ("UTC", "Asia/Tokyo"):
        assert "yesterday (1 Nov 2026)" in await told(alice.scoped(zone=zone), "Who repaired the bicycle?")


async def test_an_offset_outlives_revisions_the_history_exports_and_a_new_process(reopen: Open) -> None:
    async with reopen(user="alice") as memory:
        note = await memory.remember("The bicycle is repaired", happened_at="2026-11-02T20:30-05:00")
        await memory.revise(note.id, content="The bicycle is repaired and clean")
        [first, _] = await memory.history(note.id)
        lines = [line async for line in memory.export()]
    async with reopen(user="alice") as memory, Memory.open(":memory:", embedder=HashEmbedder()) as other:
        await other.load(lines)
        [moved] = await other.scoped(user="alice").recent()
        [kept] = await memory.recent()
    for record in (first.record, kept, moved):
        assert record is not None and record.happened_at is not None
        assert record.happened_at.isoformat() == "2026-11-02T20:30:00-05:00"


@pytest.mark.parametrize("given", ["2026-11-02 20:30", datetime(2026, 11, 2, 20, 30), "2 November 2026, 8:30 pm"])
async def test_a_time_that_names_no_zone_is_one_of_the_memory(alice: Memory, given: Any) -> None:
    there = alice.scoped(zone=NEW_YORK)
    assert (await there.remember("The bicycle is repaired", happened_at=given)).happened_at == EVENING
    assert await there.count(since=given) == 1
    assert await there.count(until=given) == 0
    assert await alice.count(since=given) == 1
    assert await alice.scoped(zone="Pacific/Honolulu").count(since=given) == 0
    note = await there.remember("The tyre is flat")
    assert (await there.revise(note.id, happened_at=given)).happened_at == EVENING


async def test_a_day_that_names_no_zone_is_told_as_that_day_wherever_one_asks(alice: Memory) -> None:
    await alice.scoped(zone="Pacific/Auckland").facts.add("The bicycle is repaired", happened_at="2026-11-02")
    for zone in (NEW_YORK, "UTC", "Pacific/Auckland"):
        assert "2 Nov 2026" in await told(alice.scoped(zone=zone), "What about the bicycle?")


@pytest.mark.parametrize(
    ("zone", "asked", "right"),
    [(NEW_YORK, "What did I do on Monday?", "repaired"), ("UTC", "What did I do on Tuesday?", "repaired")],
)
async def test_a_day_asked_for_is_one_of_the_zone(alice: Memory, zone: str, asked: str, right: str) -> None:
    talk = alice.conversation("s")
    await talk.append("We visited the museum", happened_at=EVENING - timedelta(days=2))
    await talk.append("I repaired the bicycle", happened_at=EVENING)
    await talk.append("We bought some flowers", happened_at=EVENING + timedelta(days=2))
    [best, *_] = await alice.scoped(zone=zone).recall(asked, now=EVENING + timedelta(days=3))
    assert right in best.record.content


async def ranked(memory: Memory, zone: str) -> list[list[str]]:
    """Return what some questions find of a week of mornings and evenings in a zone."""
    there = memory.scoped(user=zone, zone=zone)
    said = ["bought flowers", "visited the museum", "repaired the bicycle", "cooked soup", "read a book", "met Ana"]
    for day, what in enumerate(said, 2):
        when = "Yesterday evening" if day % 2 else "This morning"
        await there.conversation("s").append(f"{when} we {what}", happened_at=f"2026-11-{day:02} {7 + day % 2 * 14}:15")
    asked = ["What did we do on Wednesday?", "What did we do on 3 November?", "What was yesterday?", "And on Friday?"]
    found = [await there.recall(question, now="2026-11-08 22:30") for question in asked]
    return [[hit.record.content for hit in hits] for hits in found]


@pytest.mark.parametrize("zone", [NEW_YORK, "Asia/Tokyo", "Asia/Kolkata", "Pacific/Auckland"])
async def test_the_same_week_is_ranked_alike_in_every_zone(everyone: Memory, zone: str) -> None:
    assert await ranked(everyone, zone) == await ranked(everyone, "UTC")


async def test_how_long_ago_counts_days_of_the_zone(alice: Memory) -> None:
    await alice.remember("I repaired the bicycle", happened_at=EVENING)
    question, now = "How long ago did I repair the bicycle?", EVENING + timedelta(hours=4)
    assert ", today]" in await told(alice, question, now=now)
    assert ", yesterday]" in await told(alice.scoped(zone=NEW_YORK), question, now=now)


async def test_the_days_on_which_clocks_are_changed_are_whole_days(alice: Memory) -> None:
    berlin = alice.scoped(zone="Europe/Berlin")
    long_day = [datetime(2026, 10, 24, 22, 30, tzinfo=UTC), datetime(2026, 10, 25, 22, 30, tzinfo=UTC)]
    for hour, moment in enumerate(long_day):  # both are on 25 October, which has 25 hours there
        await berlin.remember(f"The lamp was changed, number {hour}", happened_at=moment)
    text = await told(berlin, "Which lamps were changed?")
    assert text.count("[25 Oct 2026]") == 1
    assert await berlin.count(since="2026-10-25", until="2026-10-26") == 2
    short = datetime(2026, 3, 29, 21, 30, tzinfo=UTC)
    await berlin.remember("The clock was repaired yesterday", happened_at=short)
    assert "yesterday (28 Mar 2026)" in await told(berlin, "Was the clock repaired?")


async def test_lines_of_the_hour_that_comes_twice_are_in_the_order_in_which_they_were_said(alice: Memory) -> None:
    berlin, talk = alice.scoped(zone="Europe/Berlin"), alice.conversation("s")
    twice = datetime(2026, 10, 25, 0, 50, tzinfo=UTC)  # 2:50, and 20 minutes later 2:10
    await talk.append("The lamp is red", happened_at=twice)
    await talk.append("The lamp is green", happened_at=twice + timedelta(minutes=20))
    text = await told(berlin, "Which colour has the lamp?")
    assert -1 < text.index("red") < text.index("green")


async def test_two_users_of_one_file_have_their_own_zones(everyone: Memory) -> None:
    for user, zone, day in (("alice", NEW_YORK, "1"), ("bob", "Asia/Tokyo", "2")):
        memory = everyone.scoped(user=user, zone=zone)
        await memory.conversation("s").append("I repaired the bicycle yesterday", happened_at=EVENING)
        assert f"yesterday ({day} Nov 2026)" in await told(memory, "Who repaired the bicycle?")
        assert memory.scoped(agent="x").unlabelled().zone == ZoneInfo(zone)


async def test_a_file_of_an_earlier_version_is_told_in_the_zone_of_the_memory(tmp_path: Path) -> None:
    async with Memory.open(path := tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        note = await memory.remember("I repaired the bicycle yesterday", happened_at=EVENING)
        await memory.revise(note.id, verified=True)
    with closing(apsw.Connection(str(path))) as connection:
        rows = connection.execute("SELECT epoch, before FROM changes WHERE before IS NOT NULL").fetchall()
        for epoch, before in rows:  # a row as it was, without the new column
            row = json.dumps(json.loads(str(before))[:-1])
            connection.execute("UPDATE changes SET before = ? WHERE epoch = ?", (row, epoch))
        undo_latest(connection)
    async with Memory.open(path, embedder=HashEmbedder(), zone=NEW_YORK) as memory:
        changes = await memory.history(note.id)
        assert [change.record.happened_at for change in changes if change.record is not None] == [EVENING] * 2
        assert "yesterday (1 Nov 2026)" in await told(memory, "Who repaired the bicycle?")
        late = await memory.remember("The lamp is red", happened_at="2026-11-02T20:30-05:00")
        assert late.to_dict()["happened_at"].endswith("-05:00")


@pytest.mark.posix
async def test_without_a_setting_the_zone_is_that_of_the_machine(tmp_path: Path) -> None:
    with machine_in(NEW_YORK):
        async with Memory.open(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
            note = await memory.remember("I repaired the bicycle yesterday", happened_at="2026-11-02 20:30")
            assert note.happened_at == EVENING
            assert "yesterday (1 Nov 2026)" in await told(memory, "Who repaired the bicycle?")


@pytest.mark.posix
def test_a_machine_whose_zone_has_no_name_has_one_all_the_same() -> None:
    with machine_in("EAST-13:45"):
        zone = machine_zone()
        assert name_of(zone) is None
        assert EVENING.astimezone(zone).isoformat() == "2026-11-03T15:15:00+13:45"
        assert datetime(2026, 11, 3, 15, 15, tzinfo=zone) == EVENING


async def test_the_setting_names_the_zone_and_an_argument_another(tmp_path: Path) -> None:
    settings = Settings.load({"MEMORIST_ZONE": "Asia/Tokyo"})
    async with Memory.open(tmp_path / "m.db", embedder=HashEmbedder(), settings=settings) as memory:
        assert str(memory.zone) == "Asia/Tokyo"
    async with Memory.open(tmp_path / "m.db", embedder=HashEmbedder(), settings=settings, zone=NEW_YORK) as memory:
        assert str(memory.zone) == NEW_YORK
        assert str(memory.scoped(zone=UTC).zone) == "UTC"


@pytest.mark.parametrize(
    "name", ["Mars/Base", "", "../etc/passwd", "EST5", "Europe", "a\0b", "x" * 1000, "🦋", 5, b"x"]
)
async def test_a_wrong_name_is_one_clear_error(alice: Memory, name: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"there is no time zone .*; give a name such as Europe/Lisbon, or UTC"):
        zone_of(name)
    with pytest.raises(InvalidInputError, match="there is no time zone"):
        alice.scoped(zone=name)
    with pytest.raises(InvalidInputError, match="there is no time zone"):
        Memory.open(":memory:", zone=name)


async def test_a_note_imported_with_a_zone_is_told_on_its_day(alice: Memory, tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("text,time\nThe bicycle is repaired,2026-09-17 08:00\n")
    await load(alice, tmp_path / "notes.csv", options=Options(zone=ZoneInfo("Asia/Tokyo")))
    [record] = await alice.recent(kind=("note", "message"))
    assert record.happened_at == datetime(2026, 9, 16, 23, tzinfo=UTC)
    assert "[17 Sep 2026]" in await told(alice, "Is the bicycle repaired?")
    assert "[17 Sep 2026]" in await told(alice.scoped(zone=NEW_YORK), "Is the bicycle repaired?")


async def test_what_is_imported_has_the_zone_of_the_memory(alice: Memory, tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("text,time\nThe bicycle is repaired,2026-11-02 20:30\n")
    await load(alice.scoped(zone=NEW_YORK), tmp_path / "notes.csv")
    [record] = await alice.recent(kind=("note", "message"))
    assert record.happened_at == EVENING


def test_the_command_line_shows_and_reads_times_in_the_zone_of_its_option(tmp_path: Path) -> None:
    def run(*words: str) -> str:
        done = CliRunner().invoke(app, ["--db", str(tmp_path / "m.db"), "--embedder", "hash", *words])
        assert done.exit_code == 0, done.output
        return done.output

    run("--zone", NEW_YORK, "remember", "The bicycle was repaired yesterday", "--at", "2026-11-02 20:30")
    run("remember", "The lamp is red", "--at", "2026-11-03T01:30Z")
    shown = run("--zone", NEW_YORK, "recent")
    assert shown.count("2026-11-02 20:30") == 2
    assert "2026-11-03 01:30" in run("recent")
    assert json.loads(run("--zone", NEW_YORK, "count", "--since", "2026-11-02 20:30", "--json")) == 2
    assert "yesterday (1 Nov 2026)" in run("--zone", NEW_YORK, "context", "Who repaired the bicycle?")
    wrong = CliRunner().invoke(app, ["--db", str(tmp_path / "m.db"), "--zone", "Mars/Base", "recent"])
    assert wrong.exit_code == 2
    assert wrong.output == "error: there is no time zone 'Mars/Base'; give a name such as Europe/Lisbon, or UTC\n"


def test_two_processes_with_different_zones_tell_one_record_each_in_its_own(tmp_path: Path) -> None:
    async def run(zone: str, *words: str) -> str:
        command = (sys.executable, "-m", "memorist", "--db", str(tmp_path / "m.db"), "--embedder", "hash", *words)

        env = {**os.environ, "MEMORIST_ZONE": zone}
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=env)
        return (await process.communicate())[0].decode()

    async def both() -> list[str]:
        await run("UTC", "remember", "The bicycle was repaired yesterday", "--at", "2026-11-03T01:30Z")
        return [await run(zone, "context", "Who repaired the bicycle?") for zone in (NEW_YORK, "Asia/Tokyo")]

    american, japanese = asyncio.run(both())
    assert "yesterday (1 Nov 2026)" in american
    assert "yesterday (2 Nov 2026)" in japanese


async def test_the_clock_is_read_in_the_zone(tmp_path: Path) -> None:
    clock = MovedClock()
    async with Memory.open(
        tmp_path / "m.db", embedder=HashEmbedder(), settings=Settings(clock=clock), zone="Pacific/Auckland"
    ) as memory:
        note = await memory.remember("I repaired the bicycle yesterday")
        day = note.created_at.astimezone(ZoneInfo("Pacific/Auckland")) - timedelta(days=1)
        assert f"yesterday ({day.day} {day:%b %Y})" in await told(memory, "Who repaired the bicycle?")


async def test_only_the_times_that_are_told_are_read_in_the_zone(
    alice: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, read = alice.scoped(zone=NEW_YORK), list[str]()
    await alice.remember([f"The bicycle has repair number {number} behind it" for number in range(50)])
    read_in = Record.read_in

    def reading(record: Record, zone: tzinfo) -> Record:
        read.append(record.id)
        return read_in(record, zone)

    monkeypatch.setattr(Record, "read_in", reading)
    context = await there.context("Which repair does the bicycle have?", tokens=150, min_confidence=0.0)
    assert len(context.items) > 2
    assert len(set(read)) <= len(context.items) + 3  # those looked at for what belongs beside them
