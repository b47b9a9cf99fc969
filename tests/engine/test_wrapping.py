"""Engines around engines: what the inner one is, the outer one says too."""

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from memorist.cli.making import EngineWhenAsked
from memorist.engine.remote import RemoteEngine
from memorist.engine.traced import Telemetry, TracedEngine
from memorist.errors import MemoristError
from memorist.operations import requests
from memorist.operations.calls import Call
from memorist.records.origins import PYTHON
from memorist.records.scope import Scope

pytestmark = pytest.mark.anyio


async def test_a_span_says_that_another_process_answers_through_any_wrapping() -> None:
    spans, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    nobody_there = RemoteEngine("http://127.0.0.1:9", None, 1.0)
    engine = TracedEngine(EngineWhenAsked(nobody_there), Telemetry(tracer_provider=tracers))
    with pytest.raises(MemoristError):
        await engine.answer(Call(Scope(), PYTHON), requests.Get(id="r1"))
    assert [span.kind for span in spans.get_finished_spans()] == [SpanKind.CLIENT]
