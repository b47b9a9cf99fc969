"""Stores of older versions, and what their users find in them with this one."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from kept import VERSIONS, restored, unpacked, written
from memorist import Kind, Memory
from memorist.config import Settings
from memorist.files.cases import KeptCases
from memorist.serve.auth import Tokens

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = pytest.mark.anyio
SETTINGS = Settings(clock=written, keep_traces=9000 * 86400.0)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.slow, pytest.mark.postgres])])
def url(request: pytest.FixtureRequest, version: str, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(unpacked(f"{version}.db", tmp_path / "memory.db"))
    server: Server = request.getfixturevalue("server")
    return restored(version, server, tmp_path)


@pytest.fixture
async def memory(url: str) -> AsyncIterator[Memory]:
    async with Memory.open(url, embedder="hash", settings=SETTINGS) as memory:
        yield memory


async def test_what_was_remembered_is_found_with_its_history_and_origin(memory: Memory) -> None:
    alice = memory.scoped(user="alice")
    [best, *_] = await alice.recall("Moved to Porto?", kind=Kind.FACT)
    assert best.record.content == "Moved to Porto yesterday"
    was = await alice.get("lisbon")
    assert was is not None and (was.superseded_by, was.happened_at) == (best.record.id, was.at)
    assert [each.content for each in (await alice.derived("asked")).alone] == ["Wants to see the dentist"]
    assert [each.record.content for each in await memory.recall("office closes")] == ["The office closes at six"]


async def test_a_users_own_topics_are_left_as_they_were(memory: Memory) -> None:
    """Also one whose key begins as those of a framework."""
    alice = memory.scoped(user="alice")
    assert await alice.topics.get("adk/language") == "Gleam"
    assert [each.record.content for each in await alice.history("language") if each.record] == ["Elixir", "Gleam"]
    assert await alice.topics.list() == {"adk/language": "Gleam"}


async def test_what_frameworks_keep_is_state_and_in_no_list(memory: Memory) -> None:
    alice = memory.scoped(user="alice")
    assert {each.key for each in await alice.recent(limit=100) if each.kind is Kind.TOPIC} == {"adk/language"}
    assert await alice.count(kind=Kind.STATE) == 47
    assert await memory.count(kind=Kind.STATE) == 1


async def test_what_an_operator_has_set_is_there(memory: Memory) -> None:
    [token] = await Tokens(memory).list()
    assert (token.grant.name, token.grant.user, str(token.grant.right)) == ("phone", "alice", "read")
    assert dict(token.grant.limits) == {"requests": "600/min"}
    [rule] = (await memory.admin.retention()).rules
    assert (rule.kind, rule.keep) == (Kind.MESSAGE, "9000d")
    assert len(await memory.admin.audit()) > 3
    assert await memory.admin.verify_audit() == []


async def test_traces_are_listed_and_make_cases(memory: Memory) -> None:
    alice = memory.scoped(user="alice")
    traces = (await alice.admin.traces()).traces
    assert {each.question for each in traces} == {"Where does she live?"}
    kept = KeptCases(memory, alice.scope)
    await kept.add(traces[0], "lisbon")
    assert [each.question for each in (await kept.list()).values()] == ["Where does she live?"]


@pytest.mark.parametrize("version", VERSIONS[:1], indirect=True)
async def test_where_a_framework_went_on_its_newer_value_stands_and_the_older_one_is_kept(
    version: str, tmp_path: Path
) -> None:
    path = unpacked(f"{version}.db", tmp_path / "memory.db")
    key = "strands/monday"
    with apsw.Connection(str(path)) as connection:  # as a version between the two has written it
        columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(records)")]
        changed = {"number": "number + 1000", "id": "'newer'", "kind": "'state'", "content": "'\"newer\"'"}
        values = ", ".join(changed.get(name, name) for name in columns)
        connection.execute(f"INSERT INTO records SELECT {values} FROM records WHERE key = ?", (key,))
    async with Memory.open(path, user="alice", embedder="hash", settings=SETTINGS) as memory:
        current = await memory.lookup(key, kind=Kind.STATE)
        assert current is not None and current.id == "newer"
        page = await memory.browse(kind=Kind.STATE, key=key, superseded=True)
        [older] = [each for each in page.records if each.id != "newer"]
        assert older.superseded_by == "newer" and "monday" in older.content


async def test_the_history_of_what_was_a_topic_is_state_too(tmp_path: Path) -> None:
    path = unpacked(f"{VERSIONS[0]}.db", tmp_path / "memory.db")
    with apsw.Connection(str(path)) as connection:  # as if the topic above were a framework's
        connection.execute("""UPDATE records SET payload = '{"form":"adk"}' WHERE id = 'language'""")
    async with Memory.open(path, user="alice", embedder="hash", settings=SETTINGS) as memory:
        assert [each.record.kind for each in await memory.history("language") if each.record] == [Kind.STATE] * 2
