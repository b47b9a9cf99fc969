"""The memories of the adapters' tests: each test of a framework's adapter runs on one here and on one at a server."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from importlib.util import find_spec

import pytest

from memorist.blocking_client import run
from memorist.memory import Memory

SYSTEMS = {"llm_agents": "llm_agents_from_scratch", "mango": "mango", "mem0": "mem0", "promptise": "promptise"}
"""The adapters' folders that are run where the system itself is installed, and what it is imported as."""
collect_ignore = [folder for folder, system in SYSTEMS.items() if find_spec(system) is None]
FRAMEWORKS = (
    "adk", "agent_framework", "claude", "crewai", "langgraph", "llama_index", "openai_agents", "pydantic_ai", "strands",
)  # fmt: skip


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "everyone" in metafunc.fixturenames and metafunc.definition.path.parent.name in FRAMEWORKS:
        metafunc.parametrize("everyone", ["local", "remote"], indirect=True)


@pytest.fixture(scope="session", autouse=True)
def mem0_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """mem0 reads once, as it is imported, where its own files are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEM0_DIR", str(tmp_path_factory.mktemp("mem0")))
        patch.setenv("MEM0_TELEMETRY", "False")
        yield


@pytest.fixture
async def everyone(request: pytest.FixtureRequest, reopen: Callable[..., Memory]) -> AsyncIterator[Memory]:
    if getattr(request, "param", "local") == "local":
        async with reopen() as memory:
            yield memory
        return
    pytest.importorskip("uvicorn")
    from memorist.serve.app import create_app
    from servers import running

    stack = AsyncExitStack()

    async def serve() -> str:
        stored = await stack.enter_async_context(reopen())
        return await stack.enter_async_context(running(create_app(stored, open=True)))

    url = run(serve)  # on another thread's loop: adapters of blocking frameworks block this one
    try:
        async with Memory.connect(url) as memory:
            yield memory
    finally:
        run(stack.aclose)
