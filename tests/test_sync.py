import asyncio
import contextvars
import gc
import inspect
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memorist import kinds, sync
from memorist import memory as asynchronous
from memorist.admin import Admin
from memorist.blocking_client import BlockingClient, blocking_name
from memorist.errors import (
    ClosedError,
    ConflictError,
    FormatError,
    InvalidInputError,
    MemoristError,
    NotFoundError,
    ScopeError,
)
from memorist.records.record import Draft, Kind, Record
from memorist.sync import Memory
from memorist.testing import HashEmbedder

ROOT = Path(__file__).parent.parent
PAIRS = [(getattr(sync, name), getattr(sync, name)._of) for name in sync.__all__]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with Memory.open(path, embedder=HashEmbedder()) as opened:
        yield opened


@pytest.fixture
def client_of() -> Iterator[Callable[[type], Any]]:
    """Return a function that gives a class a blocking client, for this test alone."""
    before = dict(BlockingClient._clients)
    yield lambda original: type("Blocking", (BlockingClient,), {}, of=original)
    BlockingClient._clients.clear()
    BlockingClient._clients.update(before)


# --- by construction ---------------------------------------------------------------------------------


def interface(original: type) -> list[tuple[str, str]]:
    """Return the names of a class's public members, and what they are called in its blocking client."""
    return [(name, new) for name in vars(original) if (new := blocking_name(name)) is not None]


@pytest.mark.parametrize(("client", "original"), PAIRS)
def test_a_blocking_client_has_the_names_signatures_and_texts_of_its_original(client: type, original: type) -> None:
    assert interface(original)
    for name, new in interface(original):
        theirs, ours = inspect.getattr_static(original, name), inspect.getattr_static(client, new)
        assert type(theirs) is type(ours), name
        assert theirs.__doc__ == ours.__doc__, name
        if isinstance(theirs, property):
            theirs, ours = theirs.fget, ours.fget
        elif isinstance(theirs, classmethod):
            theirs, ours = theirs.__func__, ours.__func__
        assert inspect.signature(ours) == inspect.signature(theirs), name
        assert not inspect.iscoroutinefunction(ours) and not inspect.isasyncgenfunction(ours), name


def test_every_view_has_a_blocking_client() -> None:
    views = {each for each in vars(kinds).values() if inspect.isclass(each) and each.__name__ in sync.__all__}
    assert {original for _, original in PAIRS} == {asynchronous.Memory, Admin, *views}
    properties = {name for name, each in vars(asynchronous.Memory).items() if isinstance(each, property)}
    assert {view.__name__.lower() for view in views} - {"conversation"} == properties - {"scope", "admin"}


def test_the_text_of_a_class_is_written_for_blocking_calls() -> None:
    assert "with Memory.open" in (Memory.__doc__ or "")
    for client, _ in PAIRS:
        assert client.__doc__ and "await " not in client.__doc__ and "async with" not in client.__doc__


def test_the_stubs_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_sync_stub.py", "--check"], capture_output=True, text=True, env=here()
    )
    assert done.returncode == 0, done.stderr


def here() -> dict[str, str]:
    """Return an environment in which a new process imports the same package."""
    return {**os.environ, "PYTHONPATH": str(Path(sync.__file__).parent.parent)}


# --- the verbs ---------------------------------------------------------------------------------------


def test_a_plain_script_remembers_and_recalls(path: Path) -> None:
    with Memory.open(path, embedder=HashEmbedder()) as memory:
        alice = memory.scoped(user="alice")
        record = alice.remember("Prefers homestays when she travels")
        assert [hit.record for hit in alice.recall("where does she stay when she travels?")] == [record]
        assert memory.scoped(user="bob").recall("homestays") == []

    again = Memory.open(path, user="alice", embedder=HashEmbedder())
    assert again.get(record.id) == record
    again.close()
    with pytest.raises(ClosedError):
        again.get(record.id)


def test_views_and_scopes_are_blocking_too(memory: Memory) -> None:
    alice = memory.scoped(user="alice", session="monday")
    assert isinstance(alice, Memory) and alice.scope.user == "alice"

    alice.conversation().append(["a", "b"])
    alice.topics.set("user.language", "Elixir")
    alice.tools.record("q", "sql", {}, "r")
    assert [each.content for each in alice.conversation("monday")] == ["a", "b"]
    assert [each.content for each in sync.Conversation(alice).window(1)] == ["b"]
    assert alice.topics.get("user.language") == "Elixir"
    assert alice.tools.statistics("sql").calls == 1
    for name in ("notes", "topics", "episodes", "facts", "experiences", "tools"):
        assert isinstance(getattr(alice, name), BlockingClient), name


def test_an_asynchronous_memory_can_be_given_a_blocking_client(path: Path) -> None:
    async def check() -> None:
        async with asynchronous.Memory.open(path, embedder=HashEmbedder()) as memory:
            await memory.notes.add("one")
            assert Memory(memory).count() == 1
            assert sync.Notes(memory).add("two").kind == Kind.NOTE
            assert await memory.count() == 2

    asyncio.run(check())


def test_errors_keep_their_type(memory: Memory) -> None:
    memory.remember("a", id="a")
    with pytest.raises(ConflictError):
        memory.remember("b", id="a")
    with pytest.raises(InvalidInputError):
        memory.remember(" ")
    with pytest.raises(NotFoundError):
        memory.revise("nobody", content="b")
    with pytest.raises(ScopeError):
        memory.scoped(user="alice").scoped(user="bob")
    with pytest.raises(InvalidInputError, match="session"):
        memory.conversation()
    with pytest.raises(TypeError):
        memory.get()  # type: ignore[call-arg]
    with pytest.raises(InvalidInputError, match="path or a URL"), Memory.open(3):  # type: ignore[arg-type]
        pass


def test_a_class_of_ones_own_may_derive_from_a_blocking_client(path: Path) -> None:
    class Diary(Memory):
        def today(self) -> int:
            return self.count()

    with Diary.open(path, embedder=HashEmbedder()) as diary:
        assert isinstance(diary, Diary) and diary.today() == 0


# --- where it runs -----------------------------------------------------------------------------------


def test_it_works_inside_a_running_loop(memory: Memory) -> None:
    async def check() -> Record:
        return memory.remember("from within a loop")

    assert memory.get(asyncio.run(check()).id) is not None


def test_many_threads_may_share_it(memory: Memory) -> None:
    def work(number: int) -> str:
        return memory.scoped(user=f"user {number % 3}").remember(f"note {number}").id

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(work, range(60)))) == 60
    assert memory.admin.users() == {"user 0": 20, "user 1": 20, "user 2": 20}
    assert sum(each.name == "memorist" for each in threading.enumerate()) == 1


def test_context_variables_reach_the_embedder(path: Path) -> None:
    current: contextvars.ContextVar[str] = contextvars.ContextVar("current")
    seen: list[str] = []

    class Curious(HashEmbedder):
        async def embed(self, *args: Any, **kwargs: Any) -> Any:
            seen.append(current.get("nothing"))
            return await super().embed(*args, **kwargs)

    with Memory.open(path, embedder=Curious()) as memory:
        current.set("something")
        memory.remember("a text")
    assert seen == ["something"]


def test_a_callback_that_calls_back_is_told_so(memory: Memory) -> None:
    memory.conversation("s").append("hello")

    def count(text: str) -> int:
        return memory.count()

    with pytest.raises(MemoristError, match="which would deadlock"):
        memory.conversation("s").window(tokens=5, count_tokens=count)
    assert memory.count() == 1


@pytest.mark.posix
def test_an_interrupted_wait_cancels_the_work(client_of: Callable[[type], Any]) -> None:
    class Hanging:
        def __init__(self) -> None:
            self.cancelled = threading.Event()

        async def hang(self) -> None:
            try:
                while sys._current_frames()[caller].f_code is not threading.Condition.wait.__code__:  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
                os.kill(os.getpid(), signal.SIGINT)
                await asyncio.sleep(60)
            finally:
                self.cancelled.set()

    hanging, caller = Hanging(), threading.get_ident()
    with pytest.raises(KeyboardInterrupt):
        client_of(Hanging)(hanging).hang()
    assert hanging.cancelled.wait(60)


@pytest.mark.posix
def test_a_forked_process_gets_a_loop_of_its_own(path: Path) -> None:
    script = """
import os, sys
from memorist.sync import Memory
from memorist.testing import HashEmbedder
with Memory.open(sys.argv[1], embedder=HashEmbedder()) as memory:
    memory.remember("before")
child = os.fork()
with Memory.open(sys.argv[1], embedder=HashEmbedder()) as memory:
    memory.remember("child" if child == 0 else "parent")
if child == 0:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
with Memory.open(sys.argv[1], embedder=HashEmbedder()) as memory:
    print(sorted(each.content for each in memory.recent()))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, path], capture_output=True, text=True, timeout=240, env=here(), check=True
    )
    assert done.stdout.strip() == "['before', 'child', 'parent']"


def test_a_script_that_never_closes_ends_all_the_same(path: Path) -> None:
    script = """
import sys
from memorist.sync import Memory
from memorist.testing import HashEmbedder
memory = Memory.open(sys.argv[1], embedder=HashEmbedder())
memory.remember(["a", "b"])
lines = memory.export()
next(lines)
"""
    subprocess.run([sys.executable, "-c", script, path], timeout=240, env=here(), check=True)


# --- iterators ---------------------------------------------------------------------------------------


def test_an_export_is_a_plain_iterator_that_another_memory_loads(memory: Memory, tmp_path: Path) -> None:
    memory.remember([f"note {number}" for number in range(700)])
    assert isinstance(memory.export(), Iterator)

    with Memory.open(tmp_path / "copy.db", embedder=HashEmbedder()) as copy:
        report = copy.load(memory.export())
        assert (report.added, report.bad) == (700, [])
        assert copy.load(list(memory.export())).existing == 700
        assert list(copy.export()) == list(memory.export())


def test_load_takes_asynchronous_lines_too(memory: Memory) -> None:
    async def lines() -> AsyncIterator[str]:
        yield '{"format": "memorist", "version": 1}'

    assert memory.load(lines()).added == 0
    with pytest.raises(FormatError):
        memory.load(iter(["nonsense"]))


def test_a_failing_iterator_of_the_caller_fails_the_call(memory: Memory) -> None:
    def lines() -> Iterator[str]:
        yield '{"format": "memorist", "version": 1}'
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        memory.load(lines())
    with pytest.raises(KeyError, match="mine"):
        memory.remember(lines())
    assert memory.count() == 0


def test_what_the_caller_iterates_may_use_the_memory(memory: Memory) -> None:
    memory.remember(["one", "two"])
    copies = memory.remember(Draft(content=f"again: {each.content}") for each in memory.recent() if memory.count())
    assert [each.content for each in copies] == ["again: two", "again: one"]
    drawn = memory.remember("both again", derived_from=(each for each in copies if memory.count()))
    assert drawn.origin.derived_from == tuple(each.id for each in copies)


class Watched:
    """An asynchronous class to be given a blocking client, which tells how its iterator was used."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.given = 0
        self.closed = threading.Event()
        self._fail_at = fail_at

    async def numbers(self) -> AsyncIterator[int]:
        try:
            while self.given != self._fail_at:
                self.given += 1
                yield self.given
            raise LookupError("no more")
        finally:
            self.closed.set()


def test_an_iterator_is_lazy_and_closed_when_it_is_left(client_of: Callable[[type], Any]) -> None:
    watched = Watched()
    numbers = client_of(Watched)(watched).numbers()
    assert watched.given == 0
    assert [next(numbers) for _ in range(3)] == [1, 2, 3]
    assert watched.given < 10
    numbers.close()
    assert watched.closed.is_set()


def test_an_iterator_let_go_is_closed_too(client_of: Callable[[type], Any]) -> None:
    watched = Watched()
    numbers = client_of(Watched)(watched).numbers()
    next(numbers)
    del numbers
    gc.collect()
    assert watched.closed.wait(60)


def test_an_error_comes_after_the_items_before_it(client_of: Callable[[type], Any]) -> None:
    seen = []
    with pytest.raises(LookupError, match="no more"):
        for number in client_of(Watched)(Watched(fail_at=5)).numbers():
            seen.append(number)
    assert seen == [1, 2, 3, 4, 5]
