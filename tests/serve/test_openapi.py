"""What the server says of itself is true: requests made from its OpenAPI description, answers held against it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import schemathesis
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from memorist.memory import Memory
from memorist.serve.app import create_app
from memorist.testing import HashEmbedder
from servers import running

pytestmark = pytest.mark.slow


@schemathesis.serializer("application/x-ndjson")
def lines(context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


CHECKS = [not_a_server_error, response_schema_conformance, status_code_conformance, content_type_conformance]
PHASES = [Phase.explicit, Phase.generate]
CALM: Any = {"suppress_health_check": list(HealthCheck)}
LONG = {"/v1/backup", "/v1/reindex", "/v1/purge", "/v1/check"}
"""What reads or writes the whole file: a few examples are enough."""
PATIENCE = 60
"""Seconds: the client's own ten are few on a machine with more to do."""


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server in a thread of its own, whose memory holds something to find."""

    @asynccontextmanager
    async def serving(store: str) -> AsyncIterator[str]:
        async with Memory.open(store, embedder=HashEmbedder()) as memory:
            await memory.remember(["Tea with milk", "Coffee, black"], metadata={"hot": True})
            await memory.topics.set("language", "Elixir")
            async with running(create_app(memory, open=True)) as url:
                yield url

    if request.param == "sqlite":
        store = str(tmp_path_factory.mktemp("openapi") / "memory.db")
    else:
        store = request.getfixturevalue("server").new_url()
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(store)) as url:
        yield url


@pytest.fixture(scope="module")
def schema(url: str) -> Any:
    return schemathesis.openapi.from_url(f"{url}/openapi.json", timeout=PATIENCE)


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: f"{mode.value} data")
def test_every_route_answers_as_it_says(schema: Any, mode: Any) -> None:
    for operation in [found.ok() for found in schema.get_all_operations()]:
        few = 3 if operation.path in LONG else 6

        @settings(max_examples=few, phases=PHASES, **CALM)
        @given(case=operation.as_strategy(generation_mode=mode))
        def answers_as_it_says(case: Any) -> None:
            case.call_and_validate(checks=CHECKS, timeout=PATIENCE)

        with suppress(Unsatisfiable):  # there is nothing about this route that could be wrong
            answers_as_it_says()


def test_every_route_has_a_description(schema: Any) -> None:
    described = schema.raw_schema
    assert len(described["paths"]) >= 15
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert operation.get("description"), f"{method} {path} is not described"
