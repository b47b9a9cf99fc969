"""In a process that has a store open, nothing but SQLite opens its files.

`conftest` watches for it in every test. Here every request, every page and every reader is tried on an open store in
turn, the source is searched for other ways to open a file, and a file is opened at each moment.
"""

import ast
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.routing import Route

import memorist
from children import open_memory
from inside import proposal_of
from locks import LOCKS, locked
from memorist.errors import FormatError, InvalidInputError, MemoristError, StoreUnavailableError, WaitingError
from memorist.files.foreign import foreign
from memorist.imports import Source, load, survey
from memorist.imports.registry import readers
from memorist.memory import Memory
from memorist.operations import requests
from memorist.records.record import Draft
from memorist.serve.console import add_console
from memorist.serve.limits import Limits
from memorist.serve.observability import Observer
from memorist.serve.rest.app import create_api
from memorist.stores.sqlite import SQLiteStore
from memorist.system.handles import open_file, read_file
from opening import plain_only

pytestmark = pytest.mark.anyio
needs_locks = pytest.mark.skipif(not LOCKS.exists(), reason="this system does not show its locks")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
async def memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Memory]:
    monkeypatch.setenv("MEMORIST_SIGNING_KEY", str(path.with_name("key")))
    monkeypatch.setenv("MEMORIST_AUDIT", "changes")
    monkeypatch.setenv("MEMORIST_CONFIRM", "true")
    async with open_memory(path) as opened:
        await opened.remember([Draft(content=f"Tea {n}", id=f"r{n}", key=f"k{n}", session="s") for n in range(9)])
        for content in ("Approved", "Rejected"):
            with suppress(WaitingError):
                await opened.remember(content, proposed=True)
        yield opened


# --- everything that can be asked -----------------------------------------------------------------------

ASKED: Mapping[str, Callable[[Path], requests.Request[Any]]] = {
    "Archive": lambda path: requests.Archive(ids=("r1",)),
    "Audit": lambda path: requests.Audit(),
    "Backup": lambda path: requests.Backup(target=path.with_name("backup.db")),
    "Browse": lambda path: requests.Browse(),
    "Changes": lambda path: requests.Changes(),
    "Check": lambda path: requests.Check(),
    "Checkpoint": lambda path: requests.Checkpoint(),
    "Context": lambda path: requests.Context(query="tea"),
    "Count": lambda path: requests.Count(),
    "Derived": lambda path: requests.Derived(ids=("r1",)),
    "Reject": lambda path: requests.Reject(id=proposal_of("Rejected")),
    "Find": lambda path: requests.Find(ids=("r1",)),
    "Forget": lambda path: requests.Forget(ids=("r2",)),
    "Get": lambda path: requests.Get(id="r1"),
    "History": lambda path: requests.History(id="r1"),
    "Inbox": lambda path: requests.Inbox(),
    "Approve": lambda path: requests.Approve(id=proposal_of("Approved")),
    "Lookup": lambda path: requests.Lookup(key="k1"),
    "Purge": lambda path: requests.Purge(shared=True),
    "Rate": lambda path: requests.Rate(id="r1", rating=1),
    "Recall": lambda path: requests.Recall(query="tea"),
    "Recent": lambda path: requests.Recent(),
    "Reindex": lambda path: requests.Reindex(),
    "Relabel": lambda path: requests.Relabel(ids=("r1",), to="tea"),
    "Remember": lambda path: requests.Remember(records=(Draft(content="Milk"),)),
    "Restore": lambda path: requests.Restore(records=()),
    "Retain": lambda path: requests.Retain(rules=()),
    "Retention": lambda path: requests.Retention(),
    "Revise": lambda path: requests.Revise(id="r1", content="Coffee"),
    "Secrets": lambda path: requests.Secrets(redact=True),
    "Sweep": lambda path: requests.Sweep(),
    "Tidy": lambda path: requests.Tidy(),
    "Traces": lambda path: requests.Traces(),
    "Users": lambda path: requests.Users(),
    "Vectors": lambda path: requests.Vectors(ids=("r1",)),
    "Why": lambda path: requests.Why(id="r1"),
    "Values": lambda path: requests.Values(fields=("content",)),
}


def test_every_request_is_tried() -> None:
    every = {
        name
        for name, each in vars(requests).items()
        if isinstance(each, type) and issubclass(each, requests.Request) and "verb" in vars(each)
    }
    assert every == set(ASKED)


@needs_locks
@pytest.mark.parametrize("name", ASKED)
async def test_no_request_ends_the_locks(name: str, memory: Memory, path: Path) -> None:
    await memory.recall("tea")
    await memory.admin.backup(path.with_name("earlier.db"))  # which a purge searches
    os.link(path, path.with_name("memory.db.v1.bak"))
    await memory.ask(ASKED[name](path))
    assert locked(path)


@pytest.mark.posix
@needs_locks
async def test_a_dry_run_that_finds_a_backup_replaced_by_the_store_itself_keeps_the_locks(
    memory: Memory, path: Path
) -> None:
    targets = [path.with_name(name) for name in ("hard.db", "soft.db", "index.db")]
    for target in targets:
        await memory.admin.backup(target)
        target.unlink()
    os.link(path, targets[0])
    targets[1].symlink_to(path)
    targets[2].symlink_to(f"{path}-shm")
    told = (await memory.purge(shared=True, dry_run=True)).statement["copies"]
    assert [str(each).count("it is not") + str(each).count("not searched") for each in told] == [1, 1, 1]
    assert locked(path)


BODIES: Mapping[str, Any] = {
    "/v1/recall": {"query": "tea"},
    "/v1/context": {"query": "tea"},
    "/v1/records": {"content": "Milk"},
    "/v1/find": {"ids": ["r1"]},
    "/v1/forget": {"ids": ["r3"]},
    "/v1/retention": {"rules": []},
    "/v1/records/r1": {"content": "Milk"},
    "/v1/records/r1/rating": {"rating": 1},
}
VALUES = {"id": "r1", "q": "tea", "session": "s", "key": "k1"}
"""What routes are asked with that need anything."""


@needs_locks
async def test_no_page_and_no_route_ends_the_locks(memory: Memory, path: Path) -> None:
    app = create_api(memory, open=True, observer=Observer(), quotas=None, settings=None)
    add_console(app, Limits())
    routes = [
        (method, route.path.replace("{id}", "r1"))
        for route in app.router.routes
        if isinstance(route, Route)
        for method in sorted(route.methods or ())
    ]
    answered, lost = Counter[int](), []
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        for method, target in routes:
            params = VALUES if not target.startswith("/v1") else {"key": "k1"} if "lookup" in target else {}
            body = BODIES.get(target) if method in ("POST", "PUT", "PATCH") else None
            answer = await http.request(method, target, params=params, json=body)
            answered[answer.status_code] += 1
            if not locked(path):
                lost.append((method, target))
    assert lost == []
    assert answered[200] > 30


# --- imports --------------------------------------------------------------------------------------------


@pytest.fixture
def folder(path: Path, memory: Memory) -> Path:
    """A folder that holds the open store, under its name and others, and beside it something to import."""
    folder = path.parent
    os.link(path, folder / "chroma.sqlite3")
    os.link(path, folder / "history.db")
    (folder / "chat.zip").symlink_to(path)
    (folder / "notes.md").symlink_to(f"{path}-wal")
    (folder / "linked.txt").symlink_to(f"{path}-shm")
    (folder / "meta.json").write_text("{}")
    (folder / "collection" / "one").mkdir(parents=True)
    os.link(path, folder / "collection" / "one" / "storage.sqlite")
    (folder / "tea.md").write_text("# Tea\n\nGreen, in the morning.\n")
    return folder


@needs_locks
@pytest.mark.parametrize("format", [None, *sorted(each.name for each in readers())])
async def test_no_import_of_the_stores_own_folder_ends_the_locks(
    format: str | None, folder: Path, memory: Memory, path: Path
) -> None:
    for each in (folder, *sorted(folder.rglob("*"))):
        try:
            with Source(each) as source:
                survey(source, format=format)
            await load(memory, each, format=format)
        except MemoristError:
            pass
        assert locked(path), each
    assert await memory.count() >= 9


@pytest.mark.posix
@plain_only
async def test_an_open_store_is_refused_by_name(folder: Path, memory: Memory, path: Path) -> None:
    for each in (path, folder / "history.db", Path(f"{path}-wal"), folder / "linked.txt"):
        with pytest.raises(InvalidInputError, match="database that is open"):
            await load(memory, each)
        with pytest.raises(InvalidInputError, match="database that is open"):
            await load(memory, each, format="memorist", trusted=True)
        with pytest.raises(FormatError, match="database that is open"), foreign(each):
            pass


@plain_only
async def test_a_memory_is_not_opened_by_the_other_sqlite(memory: Memory, path: Path) -> None:
    copy = await memory.admin.backup(path.with_name("copy.db"))
    with pytest.raises(FormatError, match="memorist migrate"), foreign(copy):
        pass


# --- when a file is opened, and when it is closed --------------------------------------------------------


@pytest.mark.posix
@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
async def test_a_file_of_an_open_store_is_opened_by_no_name(end: str, memory: Memory, path: Path) -> None:
    file = path.with_name(path.name + end)
    hard, soft = path.with_name("hard"), path.with_name("soft")
    os.link(file, hard)
    soft.symlink_to(file)
    for each in (file, hard, soft):
        with pytest.raises(OSError, match="database that is open"):
            open_file(each)


async def test_it_is_opened_again_after_the_store_is_closed(path: Path) -> None:
    async with open_memory(path):
        pass
    assert read_file(path) == path.read_bytes()


@needs_locks
async def test_a_file_that_is_being_read_when_the_store_is_opened_is_closed_after_it(path: Path) -> None:
    async with open_memory(path):
        pass
    before = handles_on(path)
    async with open_memory(path.with_name("other.db")) as other:
        for _ in range(2):
            stream = open_file(path)
            async with open_memory(path) as memory, open_memory(path):
                stream.close()
                assert stream.closed
                assert locked(path)
                await memory.remember("Tea")
            assert handles_on(path) == before
            await other.remember("Coffee")
            assert locked(path.with_name("other.db"))


def handles_on(path: Path) -> int:
    """Return how many handles of a file this process has."""
    return sum(os.path.realpath(each) == str(path) for each in Path("/proc/self/fd").iterdir())


@pytest.mark.posix
async def test_a_store_is_not_opened_by_a_second_name(memory: Memory, path: Path) -> None:
    os.link(path, path.with_name("other.db"))
    with pytest.raises(StoreUnavailableError, match="by another name"):
        await open_memory(path.with_name("other.db"))
    path.with_name("soft.db").symlink_to(path)
    async with open_memory(path.with_name("soft.db")) as same:
        assert await same.count() == 9
    assert not LOCKS.exists() or locked(path)


async def test_opening_with_a_wrong_key_leaves_an_open_store_its_locks(memory: Memory, path: Path) -> None:
    with pytest.raises(MemoristError):
        await SQLiteStore(path, key_from="env:NO_SUCH_KEY").open()
    assert not LOCKS.exists() or locked(path)


@pytest.mark.posix
def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        open_file(tmp_path)


# --- the source -----------------------------------------------------------------------------------------

SOURCE = Path(memorist.__file__).parent
OPENERS = frozenset(
    """open fdopen FileIO read_bytes read_text copyfile copyfileobj copy2 copytree mmap memmap fromfile FileResponse
    """.split()
)
"""Methods and functions that open, or close, a file by its name or handle."""
OF_FILES = frozenset(("open", "FileResponse", "sqlite3.connect", "zipfile.ZipFile", "apsw.Connection", "apsw.VFSFile"))
SAFE: Mapping[str, str] = {
    "system/handles.py": "this is where files are opened",
    "system/platforms.py": "folders, and on Windows a file that is nothing but a lock",
    "system/writing.py": "a temporary file that it has just made",
    "cli/__init__.py": "/dev/null in the place of a closed stream",
    "cli/servers.py": "a file of its own in the state folder",
    "cli/hooks/run.py": "a log of its own in the state folder",
    "adapters/host_files/lines.py": "a file that was read through `read_file` before it is written",
    "embedders/sessions.py": "a file that it has just made",
    "errors.py": "metadata of the package",
    "files/foreign.py": "it refuses a memory's file, by what stands in it",
    "framing/control_tokens.py": "a file of the package",
    "imports/readers/docx.py": "a zip that `open_file` has opened",
    "imports/sources.py": "the standard input, and zips that `open_file` has opened",
    "indexes/qdrant.py": "the files of an index that this process has locked",
    "stores/sqlite/claims.py": "a file that is nothing but a lock",
    "language/prompting.py": "a file of the package",
    "languages/detection.py": "a file of the package",
    "languages/table.py": "a file of the package",
    "recall/mapped_codes.py": "a file without a name",
    "secrets/finding.py": "a file of the package",
    "serve/counts.py": "a file without a name",
    "serve/rest/whole.py": "a copy that it has just made",
    "stores/postgres/copying.py": "a database without a name",
    "stores/sqlite/encryption.py": "this is where SQLite opens a store",
}
"""Where a file is opened in another way, and why it cannot be an open store's."""


NAMED = OPENERS | {name.rpartition(".")[2] for name in OF_FILES}


def _last(called: ast.expr) -> str:
    match called:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


@cache
def openers() -> Sequence[tuple[str, str]]:
    """Return each call in the source that may open a file, with the name of the source file; read once."""
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call) or _last(node.func) not in NAMED:
                continue
            called = ast.unparse(node.func)
            owner, _, name = called.rpartition(".")
            other = not owner or (name == "open" and owner.split(".")[-1] in NOT_FILES)
            if called in OF_FILES or (name in OPENERS and not other):
                found.append((file.relative_to(SOURCE).as_posix(), ast.unparse(node)))
    return found


NOT_FILES = frozenset(
    """Memory store other index bus self _gate copy part archive parts[0] _engine _inner _connection source target
    """.split()
)
"""What is opened and is no file by its name: memories, stores, parts of a source, members of a zip."""


def test_files_are_opened_in_one_place() -> None:
    others = [(file, call) for file, call in openers() if file not in SAFE]
    assert others == [], "open it with memorist.system.handles.open_file, or say here why it is no open store's"
    assert set(SAFE) == {file for file, _ in openers()}, "these do not open files any more"
