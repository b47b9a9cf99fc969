"""What a server tells of itself: spans, measures, logs. They say what happened, and never what was remembered."""

import io
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from memorist.engine.traced import Telemetry
from memorist.errors import NotFoundError, ScopeError, WaitingError
from memorist.memory import Memory
from memorist.serve.app import Limits, create_app
from memorist.serve.auth import Tokens
from memorist.serve.observability import Observer, start_logging
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

SECRET = "Zanzibar"
USER = "carolina"
ID = "diagnosis-of-may"
QUERY = "Quetzalcoatl"
TELLING = (SECRET, USER, ID, QUERY)


class Told:
    """Everything that was told."""

    def __init__(self, **given: Any) -> None:
        self.spans = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self.spans))
        meters = MeterProvider([self._reader])
        self.telemetry = Telemetry(tracer_provider=tracers, meter_provider=meters, **given)
        self.log = io.StringIO()

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans.get_finished_spans() if span.name == name]

    def measures(self) -> dict[str, list[Any]]:
        data: Any = self._reader.get_metrics_data()
        metrics = [
            each for resource in data.resource_metrics for scope in resource.scope_metrics for each in scope.metrics
        ]
        return {metric.name: list(metric.data.data_points) for metric in metrics}

    def entries(self) -> list[dict[str, Any]]:
        """Return what was logged, without the line that tells of the store's opening."""
        found = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [each for each in found if each["logger"] != "memorist.stores"]

    def all(self) -> str:
        spans = "".join(span.to_json() for span in self.spans.get_finished_spans())
        return f"{spans}\n{self._reader.get_metrics_data().to_json()}\n{self.log.getvalue()}"  # type: ignore[union-attr]


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture(autouse=True)
def logged(told: Told) -> Iterator[None]:
    levels = {name: logging.getLogger(name).level for name in ("memorist",)}
    handler = start_logging("json", told.log)
    yield
    logging.getLogger().removeHandler(handler)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


Serve = Callable[..., httpx.AsyncClient]


@pytest.fixture
async def serve(everyone: Memory, told: Told) -> AsyncIterator[Serve]:
    """Return a function that returns a client of a server that is observed."""
    made: list[httpx.AsyncClient] = []

    def start(token: str | None = None, *, open: bool = True, names: bool = False, **limits: Any) -> httpx.AsyncClient:
        observer = Observer(told.telemetry, names=names)
        app = create_app(everyone, open=open, limits=Limits(**limits), observer=observer)
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        made.append(httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers))
        return made[-1]

    yield start
    for each in made:
        await each.aclose()


async def everything(http: httpx.AsyncClient) -> None:
    """Make calls of each sort, good and bad, all about what nobody else is to know."""
    params, record = {"user": USER}, {"content": f"The password is {SECRET}", "id": ID, "metadata": {"city": SECRET}}
    await http.post("/v1/records", json={"records": [record]}, params=params)
    await http.post("/v1/recall", json={"query": f"{QUERY} {SECRET}"}, params=params)
    await http.get(f"/v1/records/{ID}", params=params)
    await http.patch(f"/v1/records/{ID}", json={"content": SECRET * 2}, headers={"Memorist-User": USER})
    await http.get(f"/v1/lookup?key={SECRET}", params=params)
    await http.get(f"/v1/records/{SECRET}")
    await http.get(f"/{SECRET}/{USER}")
    await http.post("/v1/records", json={"records": [{"content": SECRET, SECRET: USER}]}, params=params)
    await http.post("/v1/records", content=f'{{"{SECRET}"', headers={"Content-Type": "application/json"})
    await http.post("/v1/recall", json={"query": SECRET, "since": SECRET}, params=params)
    await http.get("/v1/export", params=params)
    await http.get("/", params={"user": USER, "q": SECRET})
    await http.post("/v1/load", content=f"{SECRET}\n", params=params)
    await http.post("/v1/purge", params=params)


async def test_nothing_of_a_memory_gets_into_logs_spans_or_metrics(serve: Serve, told: Told) -> None:
    http = serve()
    await everything(http)
    metrics = (await http.get("/metrics")).text
    assert len(told.spans.get_finished_spans()) > 20 and len(told.entries()) >= 14
    assert [word for word in TELLING if word.lower() in (told.all() + metrics).lower()] == []


async def test_what_a_crash_says_is_not_logged(serve: Serve, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(self: Memory, *_: Any, **__: Any) -> None:
        try:
            raise KeyError(SECRET)
        except KeyError as error:
            raise RuntimeError(f"cannot recall {SECRET}") from error

    monkeypatch.setattr(Memory, "ask", broken)
    answer = await serve().post("/v1/recall", json={"query": SECRET})
    logging.getLogger("asyncio").error("Task exception\nfuture: %s", SECRET, exc_info=RuntimeError(SECRET))
    logging.getLogger("other").warning("failed: %s", ValueError(SECRET))
    assert answer.status_code == 500 and SECRET not in answer.text + told.all()
    [request] = [entry for entry in told.entries() if entry["message"] == "request"]
    assert (request["status"], request["error"]) == (500, "RuntimeError")
    [task] = [entry for entry in told.entries() if entry["logger"] == "asyncio"]
    assert task["exception"][0] == "RuntimeError"


async def test_a_request_is_one_line(serve: Serve, told: Told, everyone: Memory) -> None:
    secret, _ = await Tokens(everyone).create("laptop", user=USER)
    http = serve(secret)
    await http.get(f"/v1/records/{ID}")
    await http.get("/health")
    [entry] = told.entries()
    assert entry.pop("milliseconds") > 0 and entry.pop("time").endswith("+00:00")
    [span] = told.named("GET /v1/records/{id}")
    assert entry == {
        "level": "info", "logger": "memorist.serve.requests", "message": "request", "method": "GET",
        "route": "/v1/records/{id}", "status": 404, "token": "laptop", "error": "NotFoundError",
        "trace_id": f"{span.context.trace_id:032x}", "span_id": f"{span.context.span_id:016x}",
    }  # fmt: skip
    assert secret not in told.all()


async def test_names_are_told_where_that_is_asked_for(everyone: Memory, serve: Serve, told: Told) -> None:
    await serve(names=True).post("/v1/count", json={}, params={"user": USER})
    assert (told.entries()[0]["tenant"], told.entries()[0]["user"]) == ("default", USER)
    naming = Told(names=True)
    memory = everyone.traced(naming.telemetry).scoped(user=USER, session="monday")
    await memory.remember(SECRET)
    [span] = naming.named("create_memory")
    assert span.attributes["user.id"] == USER and span.attributes["gen_ai.conversation.id"] == "monday"
    assert span.attributes["gen_ai.memory.store.id"] == "default"
    assert SECRET not in naming.all()


async def test_a_verb_is_a_span_within_its_request_which_goes_on_with_the_callers_trace(
    serve: Serve, told: Told
) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    headers = {"traceparent": f"00-{trace_id}-b7ad6b7169203331-01"}
    await serve().post("/v1/recall", json={"query": QUERY}, headers=headers)
    [request], [verb] = told.named("POST /v1/recall"), told.named("search_memory")
    assert f"{request.context.trace_id:032x}" == trace_id
    assert verb.parent.span_id == request.context.span_id
    assert dict(request.attributes) == {
        "url.scheme": "http",
        "http.request.method": "POST",
        "http.route": "/v1/recall",
        "http.response.status_code": 200,
    }


async def test_verbs_have_the_names_of_the_conventions(everyone: Memory, told: Told) -> None:
    memory = everyone.traced(told.telemetry).scoped(user=USER)
    first = await memory.remember(["Likes tea", SECRET])
    await memory.remember("Likes milk", id=first[0].id, if_exists="replace")
    await memory.recall(QUERY, limit=1)
    await memory.context(QUERY)
    await memory.get("nothing")
    await memory.revise(first[1].id, content=SECRET * 2)
    await memory.forget(first[0].id)
    await memory.count()
    await memory.purge()
    seen = [
        (span.name, said.get("gen_ai.operation.name"), said.get("gen_ai.memory.record.count"))
        for span in told.spans.get_finished_spans()
        for said in [span.attributes or {}]
    ]
    assert seen == [
        ("create_memory", "create_memory", 2),
        ("upsert_memory", "upsert_memory", 1),
        ("search_memory", "search_memory", 1),
        ("search_memory", "search_memory", 0),
        ("search_memory", "search_memory", 0),
        ("update_memory", "update_memory", 1),
        ("delete_memory", "delete_memory", 1),
        ("memorist count", None, None),
        ("delete_memory", "delete_memory", 1),
    ]
    published = {
        "gen_ai.operation.name", "gen_ai.memory.record.count", "gen_ai.memory.record.id", "gen_ai.memory.store.id",
        "gen_ai.memory.query.text", "gen_ai.memory.records", "gen_ai.agent.name", "gen_ai.conversation.id", "user.id",
    }  # fmt: skip
    names = {name for span in told.spans.get_finished_spans() for name in span.attributes or {}}
    assert {name for name in names if not name.startswith("memorist.")} <= published
    assert [word for word in TELLING if word in told.all()] == []


async def test_what_waits_for_the_user_has_not_failed(told: Told) -> None:
    async with Memory.open(":memory:", embedder=HashEmbedder(), confirm=True) as memory:
        with pytest.raises(WaitingError):
            await memory.traced(told.telemetry).remember(SECRET, proposed=True)
    [span] = told.named("create_memory")
    assert span.status.is_unset and "error.type" not in told.all()


@pytest.mark.parametrize("value", ["true", "SPAN_ONLY", "span_and_event", "", "false", "NO_CONTENT", "EVENT_ONLY"])
async def test_texts_are_told_only_where_the_conventions_variable_asks_for_it(
    everyone: Memory, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", value)
    capturing, refusing = Told(), Told(content=False)
    for each in (capturing, refusing):
        memory = everyone.traced(each.telemetry).scoped(user=USER)
        await memory.remember(SECRET, id=ID, metadata={"n": 1}, if_exists="replace")
        await memory.recall(f"{QUERY} {SECRET}")
    assert [word for word in TELLING if word in refusing.all()] == []
    if value.lower() not in ("true", "span_only", "span_and_event"):
        assert [word for word in TELLING if word in capturing.all()] == []
        return
    [search], [stored] = capturing.named("search_memory"), capturing.named("upsert_memory")
    assert search.attributes["gen_ai.memory.query.text"] == f"{QUERY} {SECRET}"
    [found] = json.loads(search.attributes["gen_ai.memory.records"])
    assert found.pop("score") > 0 and found == {"content": SECRET, "id": ID, "metadata": {"n": 1}}
    assert json.loads(stored.attributes["gen_ai.memory.records"]) == [found]
    assert USER not in capturing.all()


async def test_measures_are_kept_of_requests_and_verbs(serve: Serve, told: Told) -> None:
    await everything(serve())
    measures = told.measures()
    recalls = [point for point in measures["memorist.verb.duration"] if point.attributes["memorist.verb"] == "recall"]
    assert sum(point.count for point in recalls) >= 1
    written = {point.attributes["memorist.verb"]: point.value for point in measures["memorist.records.written"]}
    assert written == {"remember": 1, "revise": 1}
    assert sum(point.count for point in measures["http.server.request.duration"]) == 14


async def test_prometheus_reads_the_counts(serve: Serve) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    http = serve()
    await http.post("/v1/records", json={"records": [{"content": "One"}, {"content": "Two"}]})
    await http.post("/v1/recall", json={"query": "One"})
    await http.get("/nowhere")
    await http.request("BREW", "/v1/recall")
    answer = await http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = text_string_to_metric_families(answer.text)
    samples = {(each.name, *each.labels.values()): each.value for family in families for each in family.samples}
    assert samples["memorist_http_requests_total", "POST", "/v1/records", "201"] == 1
    assert samples["memorist_http_requests_total", "GET", "unmatched", "404"] == 1
    assert samples["memorist_http_requests_total", "OTHER", "/v1/recall", "405"] == 1
    assert samples["memorist_http_request_duration_seconds_count", "POST", "/v1/recall"] == 1
    assert samples["memorist_http_requests_active",] == 1
    assert samples["memorist_records_written_total", "remember"] == 2
    assert samples["memorist_verb_duration_seconds_count", "recall"] == 1


async def test_a_request_that_is_refused_for_its_size_is_counted_too(serve: Serve, told: Told) -> None:
    await serve(body_bytes=10).post("/v1/recall", json={"query": "longer than that"})
    assert told.entries()[0]["status"] == 413


async def test_metrics_are_for_operators(serve: Serve, everyone: Memory) -> None:
    tokens = Tokens(everyone)
    scraper, _ = await tokens.create("prometheus", tenant=None, right="metrics")
    tenants, _ = await tokens.create("acme", right="admin")
    assert (await serve(open=False).get("/metrics")).status_code == 401
    assert (await serve(tenants).get("/metrics")).status_code == 403
    http = serve(scraper)
    assert (await http.get("/metrics")).status_code == 200
    for method, path in (("GET", "/v1/records"), ("GET", "/v1/caller"), ("GET", "/v1/export"), ("POST", "/v1/purge")):
        assert (await http.request(method, path)).status_code == 403


async def test_a_token_for_metrics_opens_no_memory_to_mcp(everyone: Memory) -> None:
    from memorist.serve.mcp import Gate

    secret, _ = await Tokens(everyone).create("prometheus", tenant=None, right="metrics")
    with pytest.raises(ScopeError):
        await Gate(memory=everyone).admit([(b"authorization", f"Bearer {secret}".encode())], None)


async def test_mcp_calls_are_spans_without_what_they_are_about(everyone: Memory, told: Told) -> None:
    from mcp import Client, MCPError

    from memorist.serve.mcp import Access, create_server

    server = create_server(Access(everyone.scoped(user=USER)), tools="all", telemetry=told.telemetry)
    async with Client(server) as client:
        await client.call_tool("add_memory", {"content": SECRET})
        await client.call_tool("search_memories", {"query": SECRET})
        await client.call_tool("get_memory", {"id": SECRET})
        for wrong in (client.call_tool(SECRET, {}), client.read_resource(f"memorist://topics/{SECRET}")):
            with pytest.raises(MCPError):
                await wrong
    [call] = told.named("tools/call search_memories")
    verb, _ = told.named("search_memory")
    assert verb.parent.span_id == call.context.span_id
    assert {span.name for span in told.spans.get_finished_spans()} >= {"tools/call add_memory", "resources/read"}
    assert [word for word in TELLING if word in told.all()] == []


async def test_an_embedded_memory_is_observed_too(everyone: Memory, told: Told) -> None:
    memory = everyone.traced(told.telemetry).scoped(user=USER)
    await memory.topics.set("language", SECRET)
    assert await memory.topics.get("language") == SECRET
    with pytest.raises(NotFoundError):
        await memory.revise(ID, content=SECRET)
    assert len([line async for line in memory.export()]) == 2
    [failed] = told.named("update_memory")
    assert (
        failed.attributes["error.type"] == "NotFoundError" and not failed.events and failed.status.description is None
    )
    assert told.named("upsert_memory") and told.named("search_memory")
    assert [word for word in TELLING if word in told.all()] == []


async def test_a_view_of_another_scope_is_observed_and_keeps_its_walls(everyone: Memory, told: Told) -> None:
    memory = everyone.traced(told.telemetry)
    await memory.scoped(user="alice").remember("Hers")
    assert await memory.scoped(user="bob").count() == 0
    with pytest.raises(ScopeError):
        memory.scoped(user="alice").scoped(user="bob")
    assert memory.scoped(session="x").unlabelled().scope == everyone.scope


def test_text_lines_are_for_people() -> None:
    stream = io.StringIO()
    handler = start_logging("text", stream)
    try:
        fields = {"route": "/v1/recall", "status": 200, "token": "evil\nname"}
        logging.getLogger("memorist.serve.requests").info("request", extra={"fields": fields})
    finally:
        logging.getLogger().removeHandler(handler)
    assert stream.getvalue().endswith("request route=/v1/recall status=200 token=evil\\nname\n")
    assert stream.getvalue().count("\n") == 1
