"""Export and load: the same records again, each under its own user."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from inside import core_of
from memorist.errors import EmbedderUnavailableError, FormatError, InvalidInputError, ScopeError
from memorist.memory import Memory
from memorist.operations.lines import BadLine
from memorist.records.record import Draft, Record
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio
HEADER = '{"format": "memorist", "version": 1}'
Open = Callable[..., Memory]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def open_file(tmp_path: Path) -> Open:
    """Return a function that opens a file of the test's own by its name."""
    return lambda name, **scope: Memory.open(tmp_path / f"{name}.db", embedder=HashEmbedder(), **scope)


@pytest.fixture
async def old(open_file: Open) -> AsyncIterator[Memory]:
    """A memory with something of everything in it."""
    async with open_file("old") as memory:
        alice = memory.scoped(user="alice")
        home = await alice.facts.add("Alice lives in Oslo", happened_at="2023-05-01", source="chat")
        await alice.facts.supersede(home.id, "Alice lives in Bergen", happened_at="2024-02-01")
        await alice.topics.set("user.language", "Elixir")
        note = await alice.remember(
            Draft(
                content="Line one\nline two\u2028three \x85 ñ 漢 \U0001f600", id="ünï", cue="which lines?",
                metadata={"a": [1, {"b": None}]}, payload={"steps": ["x"]}, expires_at="2099-01-01",
                verified=True, agent="planner", session="s",
            )
        )  # fmt: skip
        await alice.rate(note.id, 0.5)
        await memory.scoped(user="bob").remember("Bob likes tea", id="same")
        await memory.remember("The office closes at six", id="same")
        yield memory


async def lines_of(memory: Memory, *, everyone: bool = True) -> list[str]:
    return [line async for line in memory.export(everyone=everyone)]


async def test_what_was_exported_and_loaded_is_the_same_to_the_last_field(old: Memory, open_file: Open) -> None:
    lines = await lines_of(old)
    async with open_file("new") as new:
        report = await new.load(lines)
        assert (report.added, report.existing, report.bad) == (6, 0, [])
        assert await lines_of(new) == lines
        assert await new.admin.users() == await old.admin.users()
        [hit] = await new.scoped(user="bob").recall("who likes tea?")
        assert hit.record.content == "Bob likes tea"


async def test_loading_again_adds_nothing_and_changes_nothing(old: Memory) -> None:
    lines = await lines_of(old)
    report = await old.load(lines)
    assert (report.added, report.existing, report.bad) == (0, 6, [])
    assert await lines_of(old) == lines


async def test_a_record_with_the_same_id_is_left_alone(old: Memory, open_file: Open) -> None:
    async with open_file("new") as new:
        await new.scoped(user="bob").remember("Bob likes coffee now", id="same")
        report = await new.load(await lines_of(old))
        assert (report.added, report.existing) == (5, 1)
        kept = await new.scoped(user="bob").get("same")
        assert kept is not None and kept.content == "Bob likes coffee now"


async def test_each_line_is_one_line_for_every_reader(old: Memory) -> None:
    text = "\n".join(await lines_of(old))
    assert len(text.splitlines()) == 7
    assert json.loads(text.splitlines()[0]) == {"format": "memorist", "version": 1}


async def test_iterating_goes_on_page_by_page(old: Memory) -> None:
    assert [each async for each in old.iterate(page=2)] == [each async for each in old.iterate()]


async def test_a_users_export_holds_only_theirs(old: Memory) -> None:
    owners = {json.loads(line)["user"] for line in (await lines_of(old.scoped(user="bob"), everyone=False))[1:]}
    assert owners == {"bob"}
    assert {json.loads(line)["user"] for line in (await lines_of(old, everyone=False))[1:]} == {None}
    with pytest.raises(ScopeError):
        await lines_of(old.scoped(user="bob"), everyone=True)


async def test_the_loading_tenant_takes_the_records_over(old: Memory, open_file: Open) -> None:
    async with open_file("new", tenant="acme") as new:
        assert (await new.load(await lines_of(old))).added == 6
        assert await new.count(everyone=True, superseded=True) == 6
    async with open_file("new") as elsewhere:
        assert await elsewhere.count(everyone=True) == 0


async def test_a_user_cannot_load_another_users_records(old: Memory, open_file: Open) -> None:
    async with open_file("new", user="alice") as alice:
        with pytest.raises(ScopeError, match="'alice'"):
            await alice.load(await lines_of(old))
        assert await alice.count(superseded=True) == 0
        assert (await alice.load(await lines_of(old.scoped(user="alice"), everyone=False))).added == 4


async def test_bad_lines_are_counted_and_the_good_ones_kept(old: Memory, open_file: Open) -> None:
    header, first, second, *_ = await lines_of(old)
    wrong = json.loads(first) | {"id": "w", "rating": 7}
    extra = json.loads(first) | {"id": "x", "mood": "good"}
    lines: list[Any] = [
        header, "", first, "{", "[1]", json.dumps(wrong), json.dumps(extra), '{"id": "only"}', b'{"id": "\xff"}',
        second,
    ]  # fmt: skip
    async with open_file("new") as new:
        report = await new.load(lines)
    assert report.added == 2
    assert [line.number for line in report.bad] == [4, 5, 6, 7, 8, 9]
    reasons = [line.reason for line in report.bad]
    for reason, part in zip(reasons, ["not JSON", "a list", "rating", "mood", "lacks", "UTF-8"], strict=True):
        assert part in reason


async def test_a_key_that_is_taken_makes_one_bad_line(old: Memory, open_file: Open) -> None:
    async with open_file("new") as new:
        await new.scoped(user="alice").topics.set("user.language", "Rust")
        report = await new.load(await lines_of(old))
        assert report.added == 5 and len(report.bad) == 1
        assert await new.scoped(user="alice").topics.get("user.language") == "Rust"


async def test_exports_may_be_joined(old: Memory, open_file: Open) -> None:
    async def joined() -> AsyncIterator[str]:
        for line in await lines_of(old.scoped(user="alice"), everyone=False):
            yield line + "\n"
        for line in await lines_of(old.scoped(user="bob"), everyone=False):
            yield line + "\n"

    async with open_file("new") as new:
        report = await new.load(joined())
        assert (report.added, report.bad) == (5, [])


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ('{"text": "Hi", "speaker": "Ann"}', "chat file.*memorist load"),
        ('{"format": "memorist", "version": 2}', "version 2.*upgrade"),
        ('{"format": "memorist", "version": "1"}', "its version is '1'"),
        ('{"format": "memorist"}', "its version is None"),
        ('{"format": "other"}', "found was"),
        ("id,text", "not JSON"),
        ("[]", "a list"),
        ("7", "a number"),
    ],
)
async def test_a_file_that_is_no_export_is_refused(open_file: Open, first: str, reason: str) -> None:
    async with open_file("new") as new:
        with pytest.raises(FormatError, match=reason):
            await new.load([first, HEADER])


async def test_nothing_is_no_export_and_one_text_is_no_lines(open_file: Open) -> None:
    async with open_file("new") as new:
        with pytest.raises(FormatError, match="it is empty"):
            await new.load(["", "\n"])
        with pytest.raises(InvalidInputError, match="an iterable of lines"):
            await new.load(HEADER)
        assert (await new.load(["\ufeff" + HEADER])).added == 0


async def test_an_embedder_that_cannot_be_reached_ends_the_load(
    old: Memory, open_file: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_file("new") as new:

        async def unreachable(*_: object) -> list[bool]:
            raise EmbedderUnavailableError("no answer")

        monkeypatch.setattr(core_of(new), "embed", unreachable)
        with pytest.raises(EmbedderUnavailableError):
            await new.load(await lines_of(old))


async def test_what_one_record_is_refused_for_is_said_of_that_line(
    old: Memory, open_file: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_file("new") as new:
        embed = core_of(new).embed

        async def picky(records: list[Record], vectors: list[Any]) -> Any:
            if any("tea" in record.content for record in records):
                raise InvalidInputError("no tea")
            return await embed(records, vectors)

        monkeypatch.setattr(core_of(new), "embed", picky)
        lines = await lines_of(old)
        report = await new.load(lines)
        number = next(number for number, line in enumerate(lines, start=1) if "tea" in line)
        assert (report.added, report.bad) == (5, [BadLine(number, "no tea")])


WRONG: list[Any] = [
    None, True, False, 0, 1, -1, 1.5, 1e300, 2**31, 2**70, "", " ", "x", "2023-01-01", [], [1], ["x"], [[]], {},
    {"a": 1}, {"role": 1},
]  # fmt: skip


@pytest.mark.parametrize("with_origin", [True, False])
async def test_a_line_with_a_wrong_field_is_bad_or_loads_and_never_breaks_the_load(
    old: Memory, open_file: Open, with_origin: bool
) -> None:
    plain = next(each for each in map(json.loads, await lines_of(old)) if each.get("id") == "ünï")
    wrong = [{**plain, name: value} for name in plain if name != "origin" for value in WRONG]
    if with_origin:
        wrong += [{**plain, "origin": value} for value in WRONG]
        wrong += [{**plain, "origin": {**plain["origin"], part: value}} for part in plain["origin"] for value in WRONG]
    else:
        for each in wrong:
            del each["origin"]
    async with open_file("new") as new:
        report = await new.load([HEADER, *map(json.dumps, wrong)])
        assert report.added + report.existing + len(report.bad) == len(wrong)
        assert report.bad and report.added and report.existing
        assert not [each for each in report.bad if "__init__" in each.reason or "object has no" in each.reason]


async def test_a_line_whose_source_is_no_text_says_so(old: Memory) -> None:
    plain = {"id": "x", "kind": "note", "content": "x", "created_at": "2024-01-01", "updated_at": "2024-01-01"}
    report = await old.load([HEADER, json.dumps({**plain, "source": 1})])
    assert report.bad == [BadLine(2, "source must be a string, not int")]
