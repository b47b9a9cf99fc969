"""The way out: what another system is given, and that it comes back."""

import json
import os
import signal
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imported import Write, bad, items
from memorist.errors import InvalidInputError, ScopeError
from memorist.imports import ExportReport, Item, export, load, writers
from memorist.imports.exporting import export_text
from memorist.imports.registry import writer_named
from memorist.memory import Memory
from memorist.records.origins import PYTHON, Author
from memorist.records.record import Draft, Kind, Page, Record
from memorist.records.scope import Scope
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio
FOREIGN = [writer.name for writer in writers() if not writer.whole]
NOW = datetime(2024, 3, 12, 8, 0, 0, 123456, tzinfo=UTC)
ODD = [
    "---", "# Heading", "## 2024-03-12 08:00 · anna", "<!-- ", '<!-- {"kind": "note"} -->', "-->", "> a", ">", "```",
    "%% not this %%", "[[link|shown]]", "#tag", "^b1", "memorist: export", "&#13;", "&#38;#13;", "&amp;", "\\", "  two",
    "]}", '{"type": "heartbeat"}', '{"type": "user_message", "message": "x"}', "【1†source】", "\ue200cite\ue201", "{}",
    "null", "\0", "\r", "a\r\nb", "\x85", "\u2028", "\x1c", "\x7f", "\ufeff", "\t", "", "x" * 3000,
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(ODD) | st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4).map(
    "\n".join
)
NAMES = st.sampled_from([None, "Ann", "Ann Lee", "a>b", '"', "日本", "x-1"])
TIMES = st.none() | st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
PAYLOADS = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant"]), "speaker": NAMES.filter(bool), "id": st.just("own"),
        "data": st.just({"deep": [1]}),
    },
)  # fmt: skip
DRAFTS = st.builds(
    Draft,
    content=TEXTS.filter(str.strip),
    kind=st.sampled_from([Kind.MESSAGE, Kind.NOTE, Kind.FACT, Kind.EPISODE]),
    cue=st.none() | TEXTS.filter(lambda text: text.strip() and "\0" not in text),
    happened_at=TIMES,
    metadata=st.dictionaries(
        st.sampled_from(["a", "memorist", "score", "-->", "user_id"]), st.text("a>\n\r") | st.booleans()
    ),
    payload=PAYLOADS,
    session=NAMES,
    agent=NAMES,
)


def written(name: str, records: list[Record], path: Path) -> ExportReport:
    """Write records in a format."""
    writer, report = writer_named(name), ExportReport()
    output = writer.output(report.left)
    taken = [record for record in records if writer.admit(record, report)]
    texts = [output.begin, *(text for record in taken for text in output.add(record)), *output.end()]
    path.write_bytes("".join(texts).encode())
    return report


def told(item: Item) -> dict[str, Any]:
    """Return what a reader says of a record."""
    said = {"role": item.role, "speaker": item.speaker} if item.kind is Kind.MESSAGE else {}
    own = {"id": item.id} if item.kind is Kind.MESSAGE and item.id is not None else {}
    payload = {name: value for name, value in {**item.payload, **said, **own}.items() if value is not None}
    return {
        "id": item.record_id or item.id, "kind": item.kind, "content": item.content, "cue": item.cue, "key": item.key,
        "session": item.session, "agent": item.agent, "metadata": dict(item.metadata), "payload": payload,
        "at": str(item.happened_at or item.created_at), "authors": item.authors,
    }  # fmt: skip


def as_item(record: Record) -> dict[str, Any]:
    plain = record.to_dict()
    return {
        **{name: plain[name] for name in ("id", "content", "cue", "key", "session", "agent", "metadata", "payload")},
        "kind": record.kind, "at": plain["happened_at"] or plain["created_at"], "authors": record.origin.authors,
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FOREIGN)
@given(drafts=st.lists(DRAFTS, max_size=4))
def test_whatever_a_record_holds_comes_back(
    name: str, drafts: list[Draft], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("out") / writer_named(name).file
    records = [draft.to_record(Scope(user="anna"), NOW, PYTHON) for draft in drafts]
    written(name, records, path)
    takes = writer_named(name).takes
    found = {str(item["id"]): item for item in map(told, items(path, format="chatgpt" if name == "openai" else name))}
    expected = {record.id: as_item(record) for record in records if takes(record)}
    if name == "letta":  # a message has no fields of its own there
        for record in records:
            if record.kind is Kind.MESSAGE:
                less = expected[record.id]
                less |= {"cue": None, "metadata": {}, "authors": Author(0)}
                less["payload"] = {"role": "user"} | {
                    part: less["payload"][part] for part in ("role", "speaker") if part in less["payload"]
                }
    assert found == expected


@pytest.fixture
async def full(memory: Memory) -> Memory:
    """Anna's memory, beside Bob's and what all share."""
    anna = memory.scoped(user="anna")
    first = await anna.remember("Likes tea", happened_at="2020-01-01", metadata={"trip": 1}, verified=True)
    await anna.remember("Drinks tea daily", kind="fact", derived_from=[first], expires_at="2090-01-01", source="a form")
    await anna.topics.set("user.language", "Elixir")
    await anna.rate(first.id, 1)
    old = await anna.facts.add("Lives in Bergen")
    await anna.remember("Lives in Oslo", kind="fact", supersedes=old.id)
    await anna.remember("A checkpoint", kind="state", key="k")
    talk = anna.conversation("monday trip")
    await talk.append(
        [
            {"role": "user", "name": "Anna", "content": "Hi", "happened_at": "2024-01-01T10:00:00+02:00", "id": "m1"},
            {"role": "assistant", "content": "Hello Anna", "happened_at": "2024-01-01T10:00:05+02:00"},
            {"role": "tool", "content": "{}", "happened_at": "2024-01-01T10:00:06+02:00"},
        ]
    )
    await anna.episodes.add(id="e", task="Book a flight", result="Booked", metadata={"lesson": "early"})
    await anna.tools.record("flights?", "search", {"to": "OSL"}, "3", id="t", happened_at="2024-01-03")
    await anna.conversation("tuesday").append("Again me", happened_at="2024-01-02")
    await memory.scoped(user="bob").remember("Bob's own")
    await memory.remember("Everybody's")
    return anna


LEFT = {
    "mem0": "1 replaced record, 1 link, 1 rating, 1 verification, 1 expiry date and 1 source",
    "markdown": "1 replaced record, 1 link, 1 rating, 1 verification, 1 expiry date and 1 source",
    "letta": "1 replaced record, 1 message, 3 storing times, 1 payload field, 1 link, 1 rating, 1 verification,"
    " 1 expiry date and 1 source",
    "openai": "1 replaced record, 1 note, 1 topic, 1 episode, 1 tool use and 2 facts",
    "mango": "1 replaced record, 4 messages, 1 topic, 1 episode, 2 facts and 1 rating",
    "agentscope": "1 replaced record, 1 note, 1 topic, 1 episode, 1 tool use, 2 facts and 1 state",
    "llm_agents": "1 replaced record, 4 messages, 1 note, 1 topic, 1 tool use and 2 facts",
}
ALL = ("mem0", "markdown", "letta")
"""The formats that have a place for every kind."""


@pytest.mark.parametrize("name", FOREIGN)
async def test_a_memory_goes_out_and_comes_back(name: str, full: Memory, tmp_path: Path) -> None:
    path = tmp_path / writer_named(name).file
    report = await export(full, path, to=name)
    texts = path.read_text(encoding="utf-8")
    assert not any(text in texts for text in ("Bob's own", "Everybody's", "A checkpoint", "Bergen"))
    assert Counter(report.losses().replace(" and ", ", ").split(", ")) == Counter(
        LEFT[name].replace(" and ", ", ").split(", ")
    )

    async with Memory.open(tmp_path / "other.db", embedder=HashEmbedder()) as other:
        anna = other.scoped(user="anna")
        loaded = await load(anna, path)
        assert (loaded.added, loaded.bad) == (report.written, [])
        records = {record.id: record async for record in anna.iterate()}
        async for record in full.iterate():
            if record.id not in records:
                assert not writer_named(name).takes(record)
                continue
            back = records[record.id]
            assert (back.content, back.at, back.kind, back.key) == (record.content, record.at, record.kind, record.key)
            if record.kind in (Kind.EPISODE, Kind.TOOL_USE):
                assert record.payload.items() <= back.payload.items() and back.metadata == record.metadata
            assert back.scope == record.scope
            if record.kind is Kind.MESSAGE:
                assert back.payload["role"] == record.payload["role"] or name == "letta"
                assert back.payload.get("speaker") == record.payload.get("speaker")
            assert Author.IMPORT in back.origin.authors
            assert name == "llm_agents" or record.origin.authors in back.origin.authors
        assert report.written == len(records) > 0
        if name in ALL:
            assert await anna.topics.get("user.language") == "Elixir"
    again = await load(full, path)
    assert (again.added, again.existing, again.bad) == (0, report.written, [])


@pytest.mark.parametrize("name", FOREIGN)
async def test_a_large_export_is_recognised(name: str, memory: Memory, tmp_path: Path) -> None:
    await memory.remember("long " * 20_000)
    await memory.conversation("monday").append("said " * 20_000)
    await memory.episodes.add(task="done " * 20_000, result="so")
    path = tmp_path / f"export{Path(writer_named(name).file).suffix.replace('.af', '.json')}"
    report = await export(memory, path, to=name)
    assert (await load(memory, path)).existing == report.written


@pytest.mark.parametrize("sessions", [["monday"], ["monday", "tuesday"]])
async def test_a_summary_whose_messages_are_gone_goes_out_and_comes_back(
    sessions: list[str], memory: Memory, write: Write, tmp_path: Path
) -> None:
    message = {"id": "1", "name": "Anna", "role": "user", "content": "Hi"}
    for session in sessions:
        state = {"_compressed_summary": f"Of {session}", "content": [[{**message, "id": session}, []]]}
        await load(memory, write(f"{session}.json", state))
    await memory.forget(*[each.id async for each in memory.scoped(session="monday").iterate(kind="message")])
    await export(memory, tmp_path / "out.json", to="agentscope")
    summaries = [each for each in items(tmp_path / "out.json") if each.kind is Kind.STATE]
    assert {each.session: each.content for each in summaries} == {name: f'"Of {name}"' for name in sessions}


async def test_an_export_for_everyone_says_whose_each_record_is_or_is_refused(full: Memory, tmp_path: Path) -> None:
    memory = Memory(full._engine, full._call.at(Scope()))
    assert (await export(memory, tmp_path / "all.json", to="mem0", everyone=True)).written == 12
    async with Memory.open(tmp_path / "other.db", embedder=HashEmbedder()) as other:
        await load(other, tmp_path / "all.json")
        assert await other.admin.users() == {None: 1, "anna": 10, "bob": 1}
    for name in ("letta", "markdown", "openai"):
        with pytest.raises(InvalidInputError, match=r"does not store users.*--user NAME; available: anna, bob"):
            await export(memory, tmp_path / name, to=name, everyone=True)
        with pytest.raises(ScopeError):
            await export(full, tmp_path / name, to=name, everyone=True)
        assert not (tmp_path / name).exists()
    assert (await export(memory, tmp_path / "shared.md", to="markdown")).written == 1


async def test_only_the_kinds_asked_for_are_written(full: Memory, tmp_path: Path) -> None:
    assert (await export(full, tmp_path / "a.md", to="markdown", kind="state")).written == 1
    assert "A checkpoint" in (tmp_path / "a.md").read_text(encoding="utf-8")
    report = await export(full, tmp_path / "own.jsonl", kind=["note", "topic"])
    assert (report.written, report.losses()) == (2, "")


async def test_our_own_format_is_that_of_the_verb(full: Memory, tmp_path: Path) -> None:
    await export(full, tmp_path / "own.jsonl")
    lines = [line async for line in full.export()]
    assert (tmp_path / "own.jsonl").read_text(encoding="utf-8").splitlines() == lines


async def test_an_unknown_format_names_the_known_ones(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="'zep'; available: memorist, mem0, letta, markdown, openai, mango"):
        await export(memory, tmp_path / "a", to="zep")


# --- files that are whole or not there ------------------------------------------------------------------


async def test_a_file_that_is_there_is_left_as_it_is(full: Memory, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.symlink_to("nowhere")
    with pytest.raises(InvalidInputError, match="exists"):
        await export(full, path, to="markdown")
    assert path.readlink() == Path("nowhere")


async def test_an_export_that_fails_leaves_nothing(full: Memory, tmp_path: Path) -> None:
    def fail(done: int) -> None:
        if done:
            raise RuntimeError

    before = sorted(tmp_path.iterdir())
    with pytest.raises(RuntimeError):
        await export(full, tmp_path / "a.json", to="mem0", progress=fail)
    assert sorted(tmp_path.iterdir()) == before


KILLED = """
import asyncio, os, signal, sys
from memorist.imports import export
from memorist.memory import Memory
from memorist.testing import HashEmbedder

async def main():
    async with Memory.open(sys.argv[1], embedder=HashEmbedder()) as memory:
        await memory.remember(["tea", "milk"])
        await export(memory, sys.argv[2], to="openai", progress=lambda done: os.kill(os.getpid(), signal.SIGKILL))

asyncio.run(main())
"""


@pytest.mark.skipif(os.name == "nt", reason="no such signal")
def test_a_kill_leaves_no_half_file_under_the_name(tmp_path: Path) -> None:
    target = tmp_path / "conversations.json"
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "a.db"), str(target)], timeout=120)
    assert done.returncode == -signal.SIGKILL and not target.exists()


# --- any number of records -------------------------------------------------------------------------------


class _Endless:
    """Answers `Browse` with the same page, so many times."""

    def __init__(self, pages: int) -> None:
        drafts = (Draft(content="tea " * 50, kind=kind, session="s") for kind in (Kind.MESSAGE, Kind.NOTE) * 100)
        self.records = [draft.to_record(Scope(), NOW, PYTHON) for draft in drafts]
        self.pages = pages

    async def ask(self, request: Any) -> Page:
        self.pages -= 1
        return Page(self.records, None if self.pages == 0 else "next")


@pytest.mark.slow
@pytest.mark.parametrize("name", [writer.name for writer in writers()])
async def test_the_memory_an_export_takes_does_not_grow_with_its_records(name: str) -> None:
    peaks = []
    for pages in (10, 40):
        tracemalloc.start()
        report = ExportReport()
        async for _ in export_text(cast(Memory, _Endless(pages)), writer_named(name), report):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        kinds = sum(writer_named(name).takes(record) for record in _Endless(1).records)
        assert report.written == kinds * pages
    assert peaks[1] < peaks[0] * 1.5, peaks


# --- files that somebody changed -------------------------------------------------------------------------


KEPT: Mapping[str, Any] = {"kind": "note", "id": "r1", "created_at": "2024-03-12", "payload": {}, "metadata": {}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "nots"}, {"kind": 5}, {"id": 5}, {"payload": []}, {"metadata": "x"}, {"authors": ["boss"]},
        {"authors": 5}, {"created_at": {}},
    ],
)  # fmt: skip
def test_what_no_record_can_be_is_listed_and_the_rest_is_read(write: Write, wrong: dict[str, Any]) -> None:
    memories = [
        {"id": str(number), "memory": "Likes tea", "metadata": {"memorist": json.dumps({**KEPT, **part})}}
        for number, part in enumerate([{}, wrong, {}])
    ]
    path = write("mem0.json", {"results": memories})
    assert len(bad(path)) == 1
    assert len(list(map(str, bad(path)))) == 1


async def test_what_a_file_says_of_itself_gains_it_no_trust(memory: Memory, write: Write) -> None:
    hostile = {**KEPT, "authors": ["operator"], "kind": "topic", "key": "user.name"}
    given = [{"id": "1", "memory": "Mallory", "metadata": {"memorist": json.dumps(hostile)}}]
    report = await load(memory, write("mem0.json", given))
    [record] = (await memory.browse()).records
    assert (report.added, record.key) == (1, "user.name")
    assert Author.IMPORT in record.origin.authors and Author.OPERATOR not in record.origin.authors


@pytest.mark.parametrize("text", ["cool", "5", "[]", '{"a": 1}', "[" * 100_000, 5, None])
def test_a_field_of_the_same_name_that_is_not_ours_is_left_alone(write: Write, text: Any) -> None:
    [item] = items(write("mem0.json", [{"id": "1", "memory": "Likes tea", "metadata": {"memorist": text}}]))
    assert (item.kind, item.content, item.metadata["memorist"]) == (Kind.FACT, "Likes tea", text)


def test_a_document_can_be_edited_by_hand(write: Write, tmp_path: Path) -> None:
    record = Draft(content="Likes tea", id="r1").to_record(Scope(), NOW, PYTHON)
    written("markdown", [record], tmp_path / "a.md")
    text = (
        (tmp_path / "a.md").read_text(encoding="utf-8").replace("> Likes tea", ">Likes\n> green tea\n\nNo quotation.")
    )
    first, second = items(write("b.md", text + "\n## New\n\n> A note of mine\n"))
    assert (first.content, first.id) == ("Likes\ngreen tea", "r1")
    assert (second.content, second.kind, second.id) == ("A note of mine", Kind.NOTE, None)


def test_times_of_other_zones_are_the_same_times(tmp_path: Path) -> None:
    at = datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=9)))
    record = Draft(content="Hi", kind="message", happened_at=at).to_record(Scope(), NOW, PYTHON)
    written("openai", [record], tmp_path / "conversations.json")
    [talk] = json.loads((tmp_path / "conversations.json").read_text(encoding="utf-8"))
    [node] = talk["mapping"].values()
    assert node["message"]["create_time"] == at.timestamp() == talk["create_time"]
