"""Engines around engines: what the inner one is, the outer one says too."""

import logging

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from memorist.cli.making import EngineWhenAsked
from memorist.engine.remote import RemoteEngine
from memorist.engine.traced import Telemetry, TracedEngine
from memorist.errors import ClosedError, MemoristError
from memorist.memory import Memory
from memorist.operations import requests
from memorist.operations.calls import Call
from memorist.records.origins import PYTHON
from memorist.records.scope import Scope
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio


async def test_a_span_says_that_another_process_answers_through_any_wrapping() -> None:
    spans, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    nobody_there = RemoteEngine("http://127.0.0.1:9", None, 1.0)
    engine = TracedEngine(EngineWhenAsked(nobody_there), Telemetry(tracer_provider=tracers))
    with pytest.raises(MemoristError):
        await engine.answer(Call(Scope(), PYTHON), requests.Get(id="r1"))
    assert [span.kind for span in spans.get_finished_spans()] == [SpanKind.CLIENT]


async def test_a_context_says_how_often_it_recalled(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "memorist.context")
    async with Memory.open(":memory:", embedder=HashEmbedder(), user="alice") as memory:
        await memory.remember("The harbour is deployed by a script")
        await memory.context("What deploys the harbour?")
        await memory.recall("What deploys the harbour?")
    [said] = [record.getMessage() for record in caplog.records if record.name == "memorist.context"]
    assert said.startswith("a context was made of ") and int(said.split()[5]) >= 1


async def test_an_engine_that_is_closed_answers_nothing_and_closes_again() -> None:
    memory = Memory.open(":memory:", embedder=HashEmbedder())
    with pytest.raises(ClosedError):
        await memory.count()
    async with memory:
        assert await memory.count() == 0
    await memory.close()
    with pytest.raises(ClosedError):
        await memory.count()
