"""Chat models, through the real client and a real HTTP server."""

import asyncio
import sys
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from chatserver import GONE, SLOW_DOWN, ChatServer, completion
from memorist.errors import InvalidInputError, MissingExtraError, ModelError, ModelUnavailableError, install_command
from memorist.language import ChatModel, Prices, Reply, Usage, open_chat_model, reflect

pytest.importorskip("openai")

from memorist.language.endpoint import OpenAIChatModel

pytestmark = pytest.mark.anyio

HELLO = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
SCHEMA = {
    "type": "object",
    "properties": {"words": {"type": "array", "items": {"type": "string"}}},
    "required": ["words"],
    "additionalProperties": False,
}


async def complete(server: ChatServer, schema: Any = SCHEMA, **options: Any) -> Reply:
    async with OpenAIChatModel("m", base_url=server.url, **{"max_retries": 0} | options) as model:
        return await model.complete(HELLO, schema=schema)


async def test_a_text_comes_back_with_its_tokens_and_cost(server: ChatServer) -> None:
    server.replies = ["Good day"]
    reply = await complete(server, None, prices=Prices(prompt=2.0, completion=10.0))
    assert (reply.text, reply.data, reply.problem) == ("Good day", None, None)
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.estimated) == (100, 10, False)
    assert reply.usage.cost == pytest.approx((2.0 * 100 + 10.0 * 10) / 1_000_000)
    assert server.requests[0]["messages"] == HELLO
    assert "response_format" not in server.requests[0]


async def test_a_schema_is_sent_as_the_api_has_it(server: ChatServer) -> None:
    server.replies = [{"words": ["good", "day"]}]
    reply = await complete(server, options={"temperature": 0})
    assert reply.data == {"words": ["good", "day"]}
    form = server.requests[0]["response_format"]
    assert form == {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}}
    assert server.requests[0]["temperature"] == 0


async def test_a_server_without_schemas_is_asked_in_words_from_then_on(server: ChatServer) -> None:
    pytest.importorskip("json_repair")
    refusal = (400, {"error": {"message": "response_format is not supported"}})
    server.replies = [refusal, "Sure:\n```json\n{'words': ['good', 'day'],}\n```", '{"words": []}']
    async with OpenAIChatModel("m", base_url=server.url, max_retries=0) as model:
        assert (await model.complete(HELLO, schema=SCHEMA)).data == {"words": ["good", "day"]}
        assert (await model.complete(HELLO, schema=SCHEMA)).data == {"words": []}
    assert ["response_format" in request for request in server.requests] == [True, False, False]
    assert '"words"' in server.requests[1]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "empty"),
        (None, "empty"),
        ("<think>hm</think>", "empty"),
        ("I'm sorry, but I can't help with that.", "refused"),
        ((200, completion(None, refusal="No.")), "refused"),
        ((200, completion("", "content_filter")), "refused"),
        ("good day", "not JSON"),
        ("}{", "cut off"),
        ('{"words": ["good", "da', "cut off"),
        ('{"words": ["good",', "cut off"),
        ((200, completion('{"words": ["good"]}', "length")), "cut off"),
        ('{"letters": []}', "the requested schema"),
        ('{"words": "good"}', "the requested schema"),
        ('{"words": [1]}', "the requested schema"),
        ("[]]", "not JSON"),
        ("null", "not JSON"),
        ((200, {**completion("x"), "choices": []}), "empty"),
    ],
)
async def test_an_answer_that_says_nothing_is_told_by_its_problem(server: ChatServer, reply: Any, problem: str) -> None:
    server.replies = [reply]
    answer = await complete(server)
    assert answer.data is None
    assert problem in (answer.problem or "")


@pytest.mark.parametrize(
    "text",
    [
        '{"words": ["a"]}',
        '```json\n{"words": ["a"]}\n```',
        'Here you are: {"words": ["a"]} Anything else?',
        '<think>{"words": []}?</think>{"words": ["a"]}',
        '["a"]',
        "{'words': ['a']}",
        '{"words": ["a",]}',
        '{words: ["a"]}',
        '{"words": ["a"]',
    ],
)
async def test_small_faults_in_an_answer_are_passed_over(server: ChatServer, text: str) -> None:
    pytest.importorskip("json_repair")
    server.replies = [text]
    assert (await complete(server)).data == {"words": ["a"]}


async def test_without_the_repair_a_faulty_answer_names_what_would_help(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "json_repair", None)
    server.replies = ["{words: ['a']}"]
    assert install_command("llm") in ((await complete(server)).problem or "")


async def test_busy_and_failing_servers_are_tried_again(server: ChatServer) -> None:
    server.replies = [SLOW_DOWN, (500, b"oops", {"retry-after-ms": "1"}), {"words": ["a"]}]
    assert (await complete(server, max_retries=2)).data == {"words": ["a"]}
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("reply", "error", "complaint"),
    [
        (SLOW_DOWN, ModelUnavailableError, "HTTP 429: .*slow down"),
        ((500, b"oops"), ModelUnavailableError, "HTTP 500"),
        ((503, {"error": "loading"}), ModelUnavailableError, "HTTP 503"),
        ((401, {"error": {"message": "no"}}), ModelUnavailableError, "rejected the API key .*401.*check api_key"),
        ((403, {"error": {"message": "no"}}), ModelUnavailableError, "rejected the API key .*403"),
        ((404, {"error": {"message": "no model m"}}), ModelUnavailableError, "check the model's name and the base URL"),
        ((413, {"error": {"message": "too long"}}), ModelError, "HTTP 413: .*too long"),
        ((200, b"<html>hello</html>"), ModelUnavailableError, "unreadable response|without choices"),
        ((200, b""), ModelUnavailableError, "unreadable response|without choices"),
        ((200, {"hello": "world"}), ModelUnavailableError, "without choices"),
        ((200, b"{"), ModelUnavailableError, "unreadable response|without choices"),
        (GONE, ModelUnavailableError, "cannot be reached"),
    ],
)
async def test_each_failure_has_an_error_of_its_own(
    server: ChatServer, reply: Any, error: type[ModelError], complaint: str
) -> None:
    server.always = reply
    with pytest.raises(ModelError, match=complaint) as caught:
        await complete(server, None)
    assert type(caught.value) is error
    assert "'m' at http://127.0.0.1" in str(caught.value)


async def test_an_answer_that_does_not_come_in_time_is_unavailable(server: ChatServer) -> None:
    server.always = held = threading.Event()
    with pytest.raises(ModelUnavailableError, match=r"did not answer within 0\.2 s"):
        await complete(server, timeout=0.2)
    held.set()


async def test_a_failure_counts_and_the_next_call_may_succeed(server: ChatServer) -> None:
    server.replies = [SLOW_DOWN, {"words": []}]
    async with OpenAIChatModel("m", base_url=server.url, max_retries=0) as model:
        with pytest.raises(ModelUnavailableError):
            await model.complete(HELLO)
        await model.complete(HELLO)
        assert (model.usage.calls, model.usage.failures) == (1, 1)


async def test_no_more_calls_run_at_once_than_allowed(server: ChatServer) -> None:
    async with OpenAIChatModel("m", base_url=server.url, concurrency=2) as model:
        await asyncio.gather(*(model.complete(HELLO) for _ in range(8)))
        assert model.usage.calls == 8
        assert model.usage.concurrency == 2
    assert server.busiest <= 2


async def test_another_host_never_gets_the_key_in_the_environment(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    await complete(server)
    await complete(server, api_key="sk-given")
    assert [request["key"] for request in server.requests] == ["Bearer none", "Bearer sk-given"]


async def test_no_error_repeats_a_password(server: ChatServer) -> None:
    server.always = (413, {"error": {"message": "no"}})
    url = server.url.replace("http://", "http://user:hunter2@")
    async with OpenAIChatModel("m", base_url=url, api_key="sk-secret", max_retries=0) as model:
        with pytest.raises(ModelError) as caught:
            await model.complete(HELLO)
    assert "hunter2" not in str(caught.value) and "sk-secret" not in str(caught.value)


async def test_no_key_for_openai_itself_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        await open_chat_model("openai:gpt-5-mini").complete(HELLO)


async def test_without_the_library_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[llm\]'"):
        await open_chat_model("openai:gpt-5-mini", api_key="k").complete(HELLO)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("openai:gpt-5-mini", "'gpt-5-mini' at OpenAI"),
        ("openai:m@http://localhost:8000/v1", "'m' at http://localhost:8000/v1"),
        ("http://localhost:8000/v1#org/m", "'org/m' at http://localhost:8000/v1"),
        ("ollama:qwen3:8b", "'qwen3:8b' at http://localhost:11434/v1"),
    ],
)
def test_a_text_names_a_model(spec: str, name: str) -> None:
    model = open_chat_model(spec)
    assert isinstance(model, OpenAIChatModel)
    assert name in model.name


@pytest.mark.parametrize("spec", ["", "gpt-5", "openai:", "ollama:", "http://localhost/v1", "openai:@http://x/v1"])
def test_a_text_that_names_none_is_an_error(spec: str) -> None:
    with pytest.raises(InvalidInputError, match="write"):
        open_chat_model(spec)


def test_what_is_no_model_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match="not int"):
        open_chat_model(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="concurrency"):
        open_chat_model("openai:m", concurrency=0)


async def test_an_async_function_is_a_model() -> None:
    async def echo(messages: list[dict[str, str]]) -> str:
        return messages[-1]["content"]

    model = open_chat_model(echo, prices=Prices(prompt=4_000_000, completion=0))
    assert open_chat_model(model) is model
    reply = await model.complete(HELLO)
    assert reply.text == "Hello"
    assert reply.usage.estimated and reply.usage.cost == pytest.approx(4 * reply.usage.prompt_tokens)


PARTS = [
    {"type": "thinking", "thinking": "hm"},
    {"type": "text", "text": '{"words": '},
    {"type": "text", "text": " []}"},
]


@pytest.mark.parametrize(
    "message", [PARTS, {"role": "assistant", "content": PARTS}, SimpleNamespace(content=PARTS), ["words"]]
)
async def test_a_function_may_answer_with_a_message_or_its_parts(message: Any) -> None:
    reply = await open_chat_model(lambda messages: message).complete(HELLO)
    assert reply.text == ('["words"]' if message == ["words"] else '{"words":  []}')


async def test_a_blocking_function_is_a_model_and_holds_nobody_up() -> None:
    here = threading.get_ident()

    def echo(messages: list[dict[str, str]]) -> str:
        assert threading.get_ident() != here
        return messages[-1]["content"]

    assert (await open_chat_model(echo).complete(HELLO)).text == "Hello"


async def test_a_function_may_answer_with_the_data_of_a_reply() -> None:
    async def answer(messages: Any, schema: Any) -> Reply:
        return Reply(text="", data={"words": ["a"]})

    assert (await open_chat_model(answer).complete(HELLO, schema=SCHEMA)).data == {"words": ["a"]}


async def test_a_function_gets_the_schema_as_an_argument_or_in_words() -> None:
    seen: list[Any] = []

    async def plain(messages: list[dict[str, str]]) -> Any:
        seen.append('"words"' in messages[0]["content"])
        return {"words": ["a"]}

    async def knowing(messages: list[dict[str, str]], schema: Any = None) -> Reply:
        seen.append((schema == SCHEMA, '"words"' in messages[0]["content"]))
        return Reply(text='{"words": ["b"]}', usage=Usage(prompt_tokens=7, completion_tokens=3))

    assert (await open_chat_model(plain).complete(HELLO, schema=SCHEMA)).data == {"words": ["a"]}
    reply = await open_chat_model(knowing).complete(HELLO, schema=SCHEMA)
    assert (reply.data, reply.usage.prompt_tokens, reply.usage.estimated) == ({"words": ["b"]}, 7, False)
    assert seen == [True, (True, False)]


async def test_a_function_that_fails_or_hangs_is_unavailable() -> None:
    async def broken(messages: Any) -> str:
        raise RuntimeError("no line")

    async def hanging(messages: Any) -> str:
        await asyncio.Event().wait()
        return ""

    with pytest.raises(ModelUnavailableError, match="broken failed: RuntimeError: no line"):
        await open_chat_model(broken).complete(HELLO)
    with pytest.raises(ModelUnavailableError, match="did not answer within"):
        await open_chat_model(hanging, timeout=0.01).complete(HELLO)


def test_any_object_with_complete_is_a_model() -> None:
    class Own:
        async def complete(self, messages: Any, *, schema: Any = None) -> Reply:
            return Reply(text="")

    own = Own()
    assert isinstance(own, ChatModel)
    assert open_chat_model(own) is own


@pytest.mark.parametrize(
    ("made", "reflection", "problem"),
    [
        (Reply(text='{"reflection": "It went well."}'), "It went well.", None),
        (Reply(text="", data={"reflection": "It went well."}), "It went well.", None),
        (Reply(text="", data={"other": 1}), "Done: a: b", "the answer is empty"),
        (RuntimeError("no line"), "Done: a: b", "the chat model failed: RuntimeError: no line"),
        ("It went well.", "Done: a: b", "the chat model failed: TypeError: complete() returned str, not a Reply"),
    ],
)
async def test_a_step_gets_on_with_any_object_s_answer(made: Any, reflection: str, problem: str | None) -> None:
    class Own:
        async def complete(self, messages: Any, *, schema: Any = None) -> Reply:
            if isinstance(made, Exception):
                raise made
            return cast(Reply, made)

    found = await reflect({"task": "a", "result": "b"}, model=Own())
    assert found.text == reflection and (found.problem and found.problem.reason) == problem


def test_usages_add_up() -> None:
    total = Usage(calls=1, cost=0.5, concurrency=4) + Usage(calls=2, prompt_tokens=5, estimated=True, concurrency=2)
    assert total == Usage(calls=3, prompt_tokens=5, estimated=True, cost=0.5, concurrency=4)
    assert (Usage() + Usage()).cost is None
