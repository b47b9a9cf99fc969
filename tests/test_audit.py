"""The audit log: what it holds, that tampering shows, and that it holds nothing of a user after a purge."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from children import finish, open_memory, start, write_and_read, write_for_ever
from inside import core_of
from kept import unpacked
from memorist.audit.log import CHECKPOINT
from memorist.audit.signing import check, key_file, public_key, signed
from memorist.config import Settings
from memorist.engine.traced import Telemetry
from memorist.errors import FormatError, InvalidInputError, ScopeError, SignatureError
from memorist.memory import Memory
from memorist.operations.requests import Values
from memorist.records.origins import REST
from memorist.records.record import Draft
from memorist.stores.base import Store
from memorist.stores.wrapped import WrappedStore
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

NAME, MARK = "qvictimz", "qmarkz"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def audited(path: Path, mode: Any = "changes") -> Memory:
    key = path.with_name("signing.key")
    return Memory.open(settings=Settings(url=str(path), embedder=HashEmbedder(), audit=mode, signing_key=key))


async def said(memory: Memory, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(entry.said[name] for name in names) for entry in await memory.admin.audit()]


async def test_every_change_is_noted_with_its_verb_and_counts(path: Path) -> None:
    async with audited(path) as memory:
        alice = memory.scoped(user="alice")
        record = await alice.remember("Tea", id="mine")
        await alice.revise("mine", content="Coffee")
        await alice.rate("mine", 1)
        await alice.remember(["a", Draft(content="b", kind="fact")])
        await alice.remember(Draft(content="c", supersedes="mine"), forgetting=[])
        await alice.recall("coffee")
        await alice.forget(record.id)
        await alice.forget(record.id)  # which changes nothing
        await alice.forget(kind="fact")
        await alice.remember("for a moment", expires_at=-1)
    async with audited(path) as memory:
        assert (await memory.scoped(user="alice").purge()).purged == 2
        assert await said(memory, "verb", "door", "records") == [
            ("audit changes", "python", {}),
            ("remember", "python", {"remembered": {"note": 1}}),
            ("revise", "python", {"revised": {"note": 1}}),
            ("rate", "python", {"rated": {"note": 1}}),
            ("remember", "python", {"remembered": {"fact": 1, "note": 1}}),
            ("remember", "python", {"remembered": {"note": 1}, "superseded": {"note": 1}}),
            ("forget", "python", {"forgotten": {"note": 1}}),
            ("forget", "python", {"forgotten": {"fact": 1}}),
            ("remember", "python", {"remembered": {"note": 1}}),
            ("sweep", "python", {"expired": {"note": 1}}),
            ("purge", "python", {"purged": {"note": 2}}),
        ]
        [wall] = {wall for (wall,) in await said(memory, "wall")} - {None}
        assert await memory.admin.verify_audit() == []
        await memory.scoped(user="alice").remember("again")
        assert await memory.scoped(user="alice").admin.audit() == (await memory.admin.audit())[-1:]
        assert (await memory.admin.audit())[-1].said["wall"] != wall, "who comes again is another"


async def test_reads_are_noted_only_where_that_is_asked_for(path: Path) -> None:
    async with audited(path, "reads") as memory:
        alice = memory.scoped(user="alice")
        await alice.remember(["Likes tea", "Likes coffee"])
        await alice.recall("tea", limit=1)
        await alice.context("does she like tea or coffee?")
        await alice.browse(limit=1)
        await alice.ask(Values(fields=("content",), limit=1))
        await alice.count()
        await alice.purge(dry_run=True)
        assert (await said(memory, "verb", "records"))[2:] == [
            ("recall", {"read": {"note": 1}}),
            ("context", {"read": {"note": 2}}),
            ("browse", {"read": {"note": 1}}),
            ("values", {"read": {"note": 1}}),
            ("count", {}),
        ]


async def test_the_log_of_an_older_version_goes_on_in_its_chain(tmp_path: Path) -> None:
    path = unpacked("audited-39ec06a.db", tmp_path / "memory.db")
    before = ["audit reads", "remember", "remember", "recall", "forget", "remember", "purge"]
    async with open_memory(path) as memory:
        assert [verb for (verb,) in await said(memory, "verb")] == before
        alice = memory.scoped(user="alice")
        await alice.remember("Moved to Bergen")
        await alice.recall("coffee", limit=1)
        assert [verb for (verb,) in await said(memory, "verb")] == [*before, "remember", "recall"]
        walls = {wall for verb, wall in await said(memory, "verb", "wall") if verb == "recall"}
        assert walls == {1}, "the wall of the older entries"
        assert await memory.admin.verify_audit() == []
    with apsw.Connection(str(path)) as connection:
        connection.execute("UPDATE audit SET entry = replace(entry, 'forget', 'revise') WHERE number = 5")
    async with open_memory(path) as memory:
        assert await memory.admin.verify_audit()


async def test_the_mode_is_the_stores_and_off_is_noted_too(path: Path) -> None:
    async with open_memory(path) as memory:
        await memory.remember("before")
        assert await memory.admin.audit() == [] == await memory.admin.verify_audit()
        async with audited(path):
            await memory.remember("another opened the file and asked for the log")
        async with audited(path, "off"):
            await memory.remember("after")
        assert [verb for (verb,) in await said(memory, "verb")] == ["audit changes", "remember", "audit off"]
        assert await memory.admin.verify_audit() == []


async def test_who_called_is_noted_by_door_and_token(path: Path) -> None:
    async with audited(path) as memory:
        await memory.through(REST, token="0123456789ab").remember("x")
        assert (await said(memory, "door", "token"))[-1] == ("rest", "0123456789ab")


def tamper(path: Path, statement: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(statement)
    connection.close()


def edited(field: str, value: str) -> str:
    return f"UPDATE audit SET entry = json_set(entry, '$.{field}', {value}) WHERE number = 3"


@pytest.mark.parametrize(
    "statement",
    [
        *(
            edited(field, "'x'")
            for field in ("at", "verb", "door", "token", "tenant", "wall", "records", "records.remembered.note", "new")
        ),
        *(
            f"UPDATE audit SET entry = {text} WHERE number = 3"
            for text in ("'no JSON'", "'[]'", "'{}'", "entry || ' '", "'{\"wall\":9,' || substr(entry, 2)", "5")
        ),
        "UPDATE audit SET hash = replace(hash, substr(hash, 1, 1), 'g') WHERE number = 3",
        "DELETE FROM audit WHERE number = 3",
        "DELETE FROM audit WHERE number = 1",
        "UPDATE audit SET number = number + 1 WHERE number = 5",
        "UPDATE audit SET entry = (SELECT entry FROM audit WHERE number = 2) WHERE number = 4",
        "INSERT INTO audit SELECT 0, entry, hash FROM audit WHERE number = 1",
        "INSERT INTO audit SELECT -(1 << 62), entry, hash FROM audit WHERE number = 1",
    ],
)
async def test_a_change_of_anything_is_found(path: Path, statement: str) -> None:
    async with audited(path) as memory:
        for n in range(4):
            await memory.remember(f"note {n}", kind=["note", "fact"][n % 2])
        assert await memory.admin.verify_audit() == []
        tamper(path, statement)
        assert await memory.admin.verify_audit() != []
        assert len(await memory.admin.audit()) >= 4


async def test_an_entry_is_shown_whatever_its_number(path: Path) -> None:
    async with audited(path) as memory:
        await memory.remember("Tea")
        tamper(path, "INSERT INTO audit SELECT -number, entry, hash FROM audit")
        numbers = [-2, -1, 1, 2]
        assert [entry.number for entry in await memory.admin.audit()] == numbers
        assert [entry.number async for entry in memory.admin.audit_entries()] == numbers
        assert [entry.number for entry in await memory.admin.audit(after=-2, limit=2)] == [-1, 1]
        assert [fault.split(":")[0] for fault in await memory.admin.verify_audit()] == [
            "entry -2 was inserted", "entry -1 was inserted",
        ]  # fmt: skip
        with pytest.raises(InvalidInputError, match="64 bits"):
            await memory.admin.audit(after=2**63)


async def test_a_cut_tail_and_a_rewritten_log_are_found_against_a_checkpoint(path: Path) -> None:
    async with audited(path) as memory:
        await memory.remember(["a", "b"])
        early = await memory.admin.checkpoint()
        await memory.remember("c")
        late = await memory.admin.checkpoint()
        assert (early["number"], late["number"]) == (2, 3)
        assert await memory.admin.verify_audit(early, late) == []
        tamper(path, "DELETE FROM audit WHERE number = 3")
        assert await memory.admin.verify_audit() == [] == await memory.admin.verify_audit(early)
        [fault] = await memory.admin.verify_audit(early, late)
        assert "the end of the log was removed" in fault
        await memory.remember("another third entry")
        [fault] = await memory.admin.verify_audit(early, late)
        assert "the log was rewritten" in fault


async def test_a_purge_leaves_the_chain_whole_and_nothing_of_the_user(path: Path) -> None:
    async with audited(path, "reads") as memory:
        victim = memory.scoped(user=NAME)
        await victim.remember(MARK, id=f"id-{MARK}", session=MARK, agent=MARK, source=MARK, metadata={MARK: MARK})
        await victim.recall(MARK)
        await memory.scoped(user="anna").remember("Tea")
        checkpoint = await memory.admin.checkpoint()
        await victim.purge()
        assert await memory.admin.verify_audit(checkpoint) == []
        assert len(await memory.admin.audit()) == 5
    assert not any(word.encode() in each.read_bytes() for each in path.parent.iterdir() for word in (NAME, MARK))


@pytest.mark.slow
async def test_processes_that_write_at_once_and_kills_leave_one_unbroken_chain(path: Path) -> None:
    async with audited(path) as memory:
        await memory.remember("first")
    writers = [start(write_and_read, path, name, 15) for name in ("one", "two")]
    killed = start(write_for_ever, path, "killed")
    for process in (*writers, killed):
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "open\n"
    for process in writers:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert killed.stdout is not None
    acknowledged = [killed.stdout.readline() for _ in range(40)]
    killed.kill()
    acknowledged += killed.communicate()[0].splitlines(keepends=True)
    for process in writers:
        finish(process)
    async with open_memory(path) as memory:
        assert await memory.admin.verify_audit() == []
        noted = [entry.said async for entry in memory.admin.audit_entries()]
        assert sum(said["verb"] == "forget" for said in noted) >= sum("forgotten" in line for line in acknowledged)
        remembered = sum(said["records"].get("remembered", {}).get("note", 0) for said in noted)
        gone = sum(said["records"].get("forgotten", {}).get("note", 0) for said in noted)
        assert remembered - gone == await memory.count(), "every change has its entry, and no entry is of none"


async def test_what_a_store_without_a_log_says(path: Path) -> None:
    class Plain(WrappedStore):
        audit = Store.audit

    async with open_memory(path) as memory:
        core = core_of(memory)
        core.store = Plain(core.store)
        with pytest.raises(InvalidInputError, match="keeps no audit log; SQLite and postgresql://"):
            await memory.admin.audit()
        await memory.remember("which it stores")
        assert len((await memory.browse()).records) == 1


async def test_a_user_sees_only_entries_about_itself(path: Path) -> None:
    async with audited(path) as memory:
        await memory.scoped(user="bob").remember("x")
        alice = memory.scoped(user="alice")
        assert await alice.admin.audit() == []
        for refused in (alice.admin.checkpoint, alice.admin.verify_audit):
            with pytest.raises(ScopeError):
                await refused()


def test_a_mode_that_there_is_not() -> None:
    with pytest.raises(InvalidInputError, match="audit must be one of off, changes, reads"):
        Settings(audit="all")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="MEMORIST_AUDIT must be one of"):
        Settings.load({"MEMORIST_AUDIT": "yes"})


# --- signatures ----------------------------------------------------------------------------------------


@pytest.mark.posix
async def test_a_checkpoint_is_signed_with_a_key_that_only_its_owner_reads(path: Path) -> None:
    key = path.with_name("signing.key")
    async with audited(path) as memory:
        checkpoint = await memory.admin.checkpoint()
        check(checkpoint, CHECKPOINT, public_key(key))
        assert await memory.admin.checkpoint() != checkpoint
    assert key.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir() if "signing" in each.name] == ["signing.key"]


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda it: it.update(number=7), SignatureError, "changed after it was signed"),
        (lambda it: it.update(more=1), SignatureError, "changed after it was signed"),
        (lambda it: it.pop("at"), SignatureError, "changed after it was signed"),
        (lambda it: it["signature"].update(value="AAAA"), SignatureError, "changed after|damaged"),
        (lambda it: it["signature"].update(algorithm="none"), SignatureError, "changed after"),
        (lambda it: it["signature"].update(signed_by="the auditor"), SignatureError, "changed after"),
        (lambda it: it["signature"].update(value=5), SignatureError, "damaged"),
        (lambda it: it["signature"].pop("value"), SignatureError, "damaged"),
        (lambda it: it["signature"].update(key="x"), SignatureError, "another key"),
        (lambda it: it.update(signature=None), SignatureError, "not signed"),
        (lambda it: it.update(signature=[]), SignatureError, "damaged"),
        (lambda it: it.pop("signature"), FormatError, "no audit checkpoint"),
        (lambda it: it.update(type="x"), FormatError, "no audit checkpoint"),
    ],
)
def test_a_statement_that_is_not_what_was_signed(
    tmp_path: Path, change: Callable[[dict[str, Any]], Any], error: type[Exception], text: str
) -> None:
    key = tmp_path / "signing.key"
    statement = signed({"type": CHECKPOINT, "number": 1, "at": "2024-01-01"}, key)
    check(statement, CHECKPOINT, public_key(key))
    changed = json.loads(json.dumps(statement))
    change(changed)
    with pytest.raises(error, match=text):
        check(changed, CHECKPOINT, public_key(key))


def test_keys_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other, key = tmp_path / "other.key", tmp_path / "config" / "signing.key"
    statement = signed({"type": CHECKPOINT}, key)
    with pytest.raises(SignatureError, match="another key"):
        check(statement, CHECKPOINT, public_key(other))
    with pytest.raises(SignatureError, match="44 letters"):
        check({**statement, "signature": {"key": "x", "value": "x"}}, CHECKPOINT, "x")
    other.write_text("no key")
    with pytest.raises(SignatureError, match="cannot be read"):
        signed({}, other)
    with pytest.raises(SignatureError, match="cannot be read or made"):
        signed({}, other / "below" / "a file")
    (config := key.with_name("config.toml")).touch()
    monkeypatch.setenv("MEMORIST_CONFIG", str(config))
    assert key_file() == key


def test_without_the_extra_a_statement_says_that_it_is_not_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives.asymmetric.ed25519", None)
    statement = signed({"type": CHECKPOINT}, tmp_path / "signing.key")
    assert statement["signature"] is None
    assert "memorist[signed]" in statement["unsigned"]
    with pytest.raises(SignatureError, match="not signed: the extra"):
        check(statement, CHECKPOINT, "any")


async def test_a_change_is_an_event_of_its_span(path: Path) -> None:
    exported = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    async with audited(path) as memory:
        traced = memory.traced(Telemetry(tracer_provider=provider))
        await traced.remember(["x", "y"])
        await traced.recall("x")
        await traced.purge(user="anna", dry_run=True)
    first, *others = exported.get_finished_spans()
    [event] = first.events
    assert event.name == "memorist.audit"
    assert event.attributes == {
        "memorist.verb": "remember",
        "memorist.door": "python",
        "memorist.records.written": 2,
    }
    assert [each.events for each in others] == [(), ()]


def test_settings_name_the_key(tmp_path: Path) -> None:
    settings = Settings.load({"MEMORIST_SIGNING_KEY": str(tmp_path / "k"), "MEMORIST_AUDIT": "reads"})
    assert (settings.signing_key, settings.audit) == (tmp_path / "k", "reads")
    assert replace(settings, audit=None).audit is None
