"""Nothing that grows with its input runs on the event loop: one caller's large text never makes others wait."""

import asyncio
import contextvars
import json
import threading
from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx
import pytest

from memorist.memory import Memory
from memorist.recall import terms_of
from memorist.records.record import Draft
from memorist.system.offload import LARGE, is_large, offload

pytestmark = pytest.mark.anyio

LONG = "The tea is green. I always want it hot! " * 5_000
PARSED, WRITTEN = json.loads, json.dumps
WATCHED = (
    "json.dumps", "json.loads", "memorist.context.composing._context", "memorist.embedders.batching._hashed",
    "memorist.engine.core.marks_of", "memorist.engine.core.terms_of", "memorist.engine.purging.held_by",
    "memorist.operations.lines.line_of", "memorist.operations.lines.read_object", "memorist.recall.passages.parts_of",
    "memorist.recall.recaller.hits_of", "memorist.records.record.check_fields",
    "memorist.operations.requests.Remember.of",
    "memorist.serve.rest.access.fingerprint", "memorist.serve.rest.bodies._parsed",
    "memorist.serve.rest.records.fingerprint",
)  # fmt: skip


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bool]]:
    """Return which functions were called with a large input, and whether each stayed away from the loop's thread."""
    here, found = threading.get_ident(), dict[str, bool]()

    def watched(path: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*given: Any, **options: Any) -> Any:
            result = function(*given, **options)
            if path.endswith("held_by") or is_large(
                [*given, *options.values(), result if isinstance(result, str) else None]
            ):
                found[path] = found.get(path, True) and threading.get_ident() != here
            return result

        return call

    for path in WATCHED:
        *parents, name = path.split(".")
        at: Any = None
        for end in range(len(parents), 0, -1):  # the longest part of the path that is a module
            try:
                at = import_module(".".join(parents[:end]))
            except ModuleNotFoundError:
                continue
            for each in parents[end:]:
                at = getattr(at, each)
            break
        monkeypatch.setattr(at, name, watched(path, getattr(at, name)))
    yield found


async def test_a_large_text_is_never_worked_on_where_others_wait(
    everyone: Memory, http: httpx.AsyncClient, seen: dict[str, bool], tmp_path: Path
) -> None:
    async def ask(method: str, path: str, body: Any = None, **headers: str) -> Any:
        content = WRITTEN(body).encode() if body is not None else None
        sent = {"content-type": "application/json", **headers}
        answer = await http.request(method, f"/v1{path}", params={"user": "alice"}, content=content, headers=sent)
        assert answer.is_success, answer.text[:200]
        return answer

    message = {"content": LONG, "kind": "message", "payload": {"role": "user"}, "metadata": {"long": LONG}}
    stored = await ask("POST", "/records", {"records": [{"content": LONG}, message]})
    id = PARSED(stored.content)["records"][0]["id"]
    key = {"Idempotency-Key": "1"}
    for _ in range(2):
        await ask("POST", "/records", {"records": [{"content": LONG[1:]}]}, **key)
        await ask("PATCH", f"/records/{id}", {"content": LONG[2:]}, **key)
    for path in (f"/records/{id}", f"/records/{id}/history", "/records"):
        await ask("GET", path)
    await ask("POST", "/recall", {"query": "green tea"})
    await ask("POST", "/recall", {"query": LONG})
    await ask("POST", "/context", {"query": "green tea", "tokens": 100_000, "known": [LONG]})
    await ask("POST", "/context", {"query": LONG})
    lines = (await ask("GET", "/export")).content
    await everyone.admin.backup(tmp_path / "backup.db")
    await ask("POST", "/purge")
    loaded = await http.post("/v1/load", params={"user": "alice"}, content=lines)
    assert PARSED(loaded.content)["added"] == 3
    assert {name for name, away in seen.items() if not away} == set()
    assert set(WATCHED) - set(seen) == set()  # so that a name that moved is noticed


async def test_the_loop_goes_on_while_a_large_text_is_analysed(
    everyone: Memory, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()

    def analysed(record: Any) -> str:
        assert answered.wait(60), "no other request was answered meanwhile"
        return terms_of(record)

    monkeypatch.setattr("memorist.engine.core.terms_of", analysed)
    storing = asyncio.create_task(http.post("/v1/records", json={"records": [{"content": LONG}]}))
    while not storing.done() and not answered.is_set():
        await asyncio.sleep(0)
        if (await http.post("/v1/count", json={})).status_code == 200:
            answered.set()
    assert (await storing).status_code == 201


async def test_small_work_stays_and_large_work_leaves_with_its_context() -> None:
    here, name = threading.get_ident(), contextvars.ContextVar("name", default="")
    name.set("alice")
    assert await offload(lambda: (threading.get_ident() == here, name.get()), "x" * (LARGE - 10)) == (True, "alice")
    assert await offload(lambda: (threading.get_ident() == here, name.get()), "x" * LARGE) == (False, "alice")
    with pytest.raises(ZeroDivisionError):
        await offload(lambda: 1 / 0, "x" * LARGE)


@pytest.mark.parametrize(
    "value",
    [
        "x" * LARGE, b"x" * LARGE, ["x"] * LARGE, {"a": [{"b": "x" * LARGE}]}, {"x" * LARGE: 1}, set(range(LARGE)),
        Draft(content="tea", metadata={"long": "x" * LARGE}), [Draft(content="x" * 100)] * (LARGE // 100 + 1),
    ],
)  # fmt: skip
def test_what_is_large(value: Any) -> None:
    assert is_large(value)


@pytest.mark.parametrize("value", [None, 1, "x" * (LARGE - 1), [Draft(content="tea")], {"a": {"b": ["c"]}}])
def test_what_is_not_large(value: Any) -> None:
    assert not is_large(value)


def _in_child(_: int) -> int:
    return asyncio.run(offload(threading.get_ident, "x" * LARGE))


@pytest.mark.slow
@pytest.mark.posix
async def test_a_forked_process_has_threads_of_its_own() -> None:
    await offload(lambda: None, "x" * LARGE)
    with get_context("fork").Pool(1) as pool:
        assert await asyncio.to_thread(lambda: pool.map_async(_in_child, [1]).get(60))
