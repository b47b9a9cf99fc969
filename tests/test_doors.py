"""One law at every door: the same calls, played through each, are answered alike.

Hypothesis draws calls with hostile names, ids, keys, times and types, unknown arguments and repeats. Each call is
made in Python, and through one door on a database of its own; both must return the same records, or raise an error
of the same class. Of an import, and of what a hook keeps, all that it stored is compared. A new door joins by one
class in `DOORS`. `pytest tests/test_doors.py --doors 5000` plays more.
"""

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from doors.base import Door
from doors.calls import CHANGED, EXPIRED, HOOKED, IMPORTED, PROPOSED, TWICE, ZONED, Call, calls
from doors.command import CommandLine
from doors.console import Console
from doors.mcp import Mcp, McpByHttp, McpByStdio
from doors.playing import compared
from doors.python import Blocking, Connected, Python
from doors.rest import Rest, RestByHeader
from doors.typescript import TypeScript
from memorist.memory import Memory
from memorist.testing import HashEmbedder

DOORS: Mapping[str, Callable[[Memory, Path], Door]] = {
    "blocking": Blocking, "connect": Connected, "rest": Rest, "rest by header": RestByHeader, "mcp": Mcp,
    "mcp by http": McpByHttp, "mcp by stdio": McpByStdio, "command line": CommandLine, "console": Console,
    "typescript": TypeScript,
}  # fmt: skip
_CONFIRMED = (Blocking, Connected, Rest, RestByHeader, TypeScript)
"""The doors through which one can say that an agent asks. Through MCP nobody else does, so that all would wait."""
PROCESSES = ("mcp by stdio",)
"""The doors that start a process for each user."""


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockingPortal]:
    with pytest.MonkeyPatch.context() as patch, start_blocking_portal() as portal:
        for variable in [name for name in os.environ if name.startswith("MEMORIST_") and name != "MEMORIST_CONFIG"]:
            patch.delenv(variable)
        patch.setenv("MEMORIST_EMBEDDER", "hash")
        patch.setenv("MEMORIST_KEEP_TRACES", "1d")
        patch.setenv("MEMORIST_AUDIT", "changes")
        patch.setenv("MEMORIST_SIGNING_KEY", str(tmp_path_factory.mktemp("key") / "key"))
        # chance and time are in it, and every imported record has it
        patch.setattr("memorist.imports.loading.make_import_id", lambda now: "20240101-000000-000000")
        yield portal


@asynccontextmanager
async def pair(make: Callable[[Memory, Path], Door], folder: Path) -> AsyncIterator[tuple[Door, Door]]:
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(
                Memory.open(folder / f"{name}.db", embedder=HashEmbedder(), confirm=make in _CONFIRMED)
            )
            for name in ("law", "door")
        ]
        law = await stack.enter_async_context(Python(opened[0], folder / "law.db").ready())
        yield law, await stack.enter_async_context(make(opened[1], folder / "door.db").ready())


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in PROCESSES else []) for name in DOORS]
)
def test_every_door_answers_as_python_does(
    name: str, portal: BlockingPortal, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with portal.wrap_async_context_manager(pair(DOORS[name], tmp_path)) as (law, door):
        plays = request.config.getoption("--doors") // (2 if name in PROCESSES else 1)

        @settings(max_examples=plays, suppress_health_check=list(HealthCheck))
        @given(st.lists(calls().filter(door.takes), min_size=1, max_size=5))
        @example(EXPIRED)
        @example(TWICE)
        @example(CHANGED)
        @example(PROPOSED)
        @example(ZONED)
        @example(IMPORTED)
        @example(HOOKED)
        def play(drawn: list[Call]) -> None:
            assert portal.call(compared, law, door, [call for call in drawn if door.takes(call)]) == []

        play()
