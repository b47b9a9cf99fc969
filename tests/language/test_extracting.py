"""Facts from messages into the memory, over a real endpoint that answers as it is told."""

import asyncio
import threading
from typing import Any

import pytest

from chatserver import GONE, SLOW_DOWN, ChatServer, completion
from memorist.errors import InvalidInputError
from memorist.framing.frame import frame
from memorist.kinds import Message
from memorist.language import (
    ChatModel,
    Decision,
    Problem,
    Prompts,
    Statement,
    Usage,
    extract_facts,
    keep_facts,
    reconcile,
)
from memorist.memory import Memory
from memorist.records.times import parse_time

pytestmark = pytest.mark.anyio


def fact(statement: str, date: str = "", message: int = 1) -> dict[str, Any]:
    return {"statement": statement, "date": date, "message": message}


def facts(*statements: str) -> dict[str, Any]:
    return {"facts": [fact(each) for each in statements]}


def decide(decision: str, number: int = 0, statement: str = "") -> dict[str, Any]:
    return {"decision": decision, "fact": number, "statement": statement}


async def contents(memory: Memory) -> list[str]:
    return sorted(record.content for record in await memory.facts.all())


# --- extracting ----------------------------------------------------------------------------------------


async def test_facts_name_their_subject_and_have_their_dates_worked_out(server: ChatServer, model: ChatModel) -> None:
    server.replies = [
        {"facts": [fact("Alice moved to Oslo on 2024-03-03", "2024-03-03"), fact("Alice likes tea", "", 2)]}
    ]
    said = [
        {
            "role": "user",
            "name": "Alice",
            "content": "I moved to Oslo yesterday",
            "happened_at": "2024-03-04",
            "id": "a",
        },
        {"role": "user", "name": "Alice", "content": "I like tea", "happened_at": "2024-03-05", "id": "b"},
    ]
    found = await extract_facts(said, model=model, now="2024-03-10")
    assert [each.text for each in found.statements] == ["Alice moved to Oslo on 2024-03-03", "Alice likes tea"]
    assert [f"{each.happened_at:%F} {each.told_at:%F}" for each in found.statements] == [
        "2024-03-03 2024-03-04",
        "2024-03-05 2024-03-05",
    ]
    assert [each.messages for each in found.statements] == [("a",), ("b",)]
    assert found.problem is None
    assert (found.usage.calls, found.usage.prompt_tokens, found.usage.batches) == (1, 100, 1)
    asked = server.asked()
    assert asked["today"] == "2024-03-10 (Sunday)"
    assert asked["messages"][0] == {
        "number": 1,
        "speaker": "Alice",
        "date": "2024-03-04 00:00 (Monday)",
        "text": "I moved to Oslo yesterday",
    }


async def test_messages_without_a_date_are_of_the_day(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    server.replies = [{"facts": [fact("Alice likes tea")]}]
    kept = await keep_facts(alice, ["I like tea"], model=model, now="2024-03-10")
    assert f"{kept.records[0].happened_at:%F}" == "2024-03-10"
    assert server.asked()["messages"][0]["date"] == "2024-03-10 00:00 (Sunday)"
    raw = await keep_facts(alice, ["I like coffee"], now="2024-03-10")
    assert f"{raw.records[0].happened_at:%F}" == "2024-03-10"


async def test_a_date_that_is_not_one_leaves_the_message_s(server: ChatServer, model: ChatModel) -> None:
    server.replies = [{"facts": [fact("Alice moves in May 2025", "May 2025"), fact("Alice is glad", "", 9)]}]
    found = await extract_facts(Message(content="I move in May", happened_at="2024-03-04"), model=model)  # type: ignore[arg-type]
    assert {f"{each.happened_at:%F}" for each in found.statements} == {"2024-03-04"}


async def test_without_a_model_what_the_users_said_is_returned(alice: Memory) -> None:
    said = [{"role": "user", "name": "Alice", "content": "I like tea"}, {"role": "assistant", "content": "Noted."}]
    found = await extract_facts(said)
    assert [(each.text, each.raw) for each in found.statements] == [("Alice: I like tea", "no chat model")]
    assert str(found.problem) == "no chat model"
    assert (await extract_facts([])).statements == ()


async def test_long_conversations_go_in_batches(server: ChatServer, model: ChatModel) -> None:
    server.always = lambda body: facts("The user counts to many")
    found = await extract_facts([f"the {number} messages of this" for number in range(45)], model=model)
    assert sorted(len(server.asked(place)["messages"]) for place in range(3)) == [5, 20, 20]
    assert (len(found.statements), found.usage.batches, found.usage.calls) == (3, 3, 3)
    assert server.busiest <= 4


async def test_no_more_batches_run_at_once_than_a_model_is_opened_with() -> None:
    busy = busiest = 0

    async def model(messages: Any) -> Any:
        nonlocal busy, busiest
        busy += 1
        busiest = max(busiest, busy)
        for _ in range(5):
            await asyncio.sleep(0)
        busy -= 1
        return facts("The user counts to many")

    found = await extract_facts([f"the {number} messages of this" for number in range(200)], model=model)
    assert (found.usage.calls, busiest) == (10, 4)


async def test_a_server_without_schemas_is_asked_for_one_once_in_a_step(server: ChatServer) -> None:
    pytest.importorskip("openai")
    server.always = lambda body: (400, "no schemas", {}) if "response_format" in body else facts("The user counts")
    text = "a long message " * 400
    found = await extract_facts([text] * 12, model=f"openai:m@{server.url}")
    assert found.problem is None and found.usage.calls == 6
    assert sum("response_format" in request for request in server.requests) <= 4  # those that began at once


@pytest.mark.parametrize(
    "recalled",
    [
        frame(["Alice lives in Oslo"]),
        "<memory_context>\nAlice lives in Oslo\n</memory_context>\n",
        "<long_term_memory>Alice lives in Oslo</long_term_memory>",
    ],
)
async def test_what_recall_put_into_a_prompt_is_never_extracted(
    server: ChatServer, model: ChatModel, alice: Memory, recalled: str
) -> None:
    server.always = lambda body: facts("The user likes tea")
    await keep_facts(alice, [recalled, recalled + "I like tea"], model=model)
    assert [each["text"] for each in server.asked(0)["messages"]] == ["I like tea"]
    assert (await keep_facts(alice, recalled, model=model)).outcomes == ()
    assert (await keep_facts(alice, recalled)).outcomes == ()
    assert len(server.requests) == 1


# --- what goes wrong -------------------------------------------------------------------------------------

FAILURES = [
    ("nothing", "", "the answer is empty"),
    ("garbage", "%%% oh no", "the answer is not JSON"),
    ("half a JSON", '{"facts": [{"statement": "Alice li', "the answer is cut off"),
    ("an end too early", (200, completion('{"facts": []}', "length")), "the answer is cut off"),
    ("a refusal", "I'm sorry, but I can't assist with that.", "the model refused"),
    ("a refusal of the API", (200, completion(None, refusal="No.")), "the model refused"),
    ("the requested schema", {"facts": ["Alice lives in Oslo"]}, "the requested schema"),
    ("blank facts", facts("  "), "every fact in the answer is blank"),
    ("no facts", facts(), "found nothing to remember"),
    ("another script", facts("アリスは二〇二四年からオスロに住んでいる"), "in another language"),
    ("another language", facts("Alice lebt seit dem Mai in der Stadt und ist mit dem Hund dort"), "language (German)"),
    ("a bad request", (413, {"error": {"message": "too long"}}), "HTTP 413"),
]


@pytest.mark.parametrize(("answer", "reason"), [each[1:] for each in FAILURES], ids=[each[0] for each in FAILURES])
async def test_an_answer_of_no_use_stores_the_raw_text_and_says_so(
    server: ChatServer, model: ChatModel, alice: Memory, answer: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.always = answer
    said = "I have lived in Oslo with the dog since the first of May and it is a fine city for us"
    kept = await keep_facts(alice, said, model=model)
    assert kept.problem is not None and reason in kept.problem.reason and not kept.problem.temporary
    [record] = await alice.facts.all()
    assert record.content == said
    assert reason in record.payload["raw"]
    assert reason in caplog.text


@pytest.mark.parametrize("answer", [SLOW_DOWN, (500, b"oops"), GONE], ids=["429", "500", "a lost connection"])
async def test_an_outage_loses_nothing_and_is_temporary(
    server: ChatServer, model: ChatModel, alice: Memory, answer: Any
) -> None:
    server.always = answer
    kept = await keep_facts(alice, "I live in Oslo", model=model)
    assert kept.problem is not None and kept.problem.temporary
    assert kept.usage.failures == 1
    assert await contents(alice) == ["I live in Oslo"]


async def test_a_time_out_loses_nothing(server: ChatServer, alice: Memory) -> None:
    pytest.importorskip("openai")
    from memorist.language.endpoint import OpenAIChatModel

    server.always = held = threading.Event()
    async with OpenAIChatModel("m", base_url=server.url, timeout=0.2, max_retries=0) as model:
        kept = await keep_facts(alice, "I live in Oslo", model=model)
    held.set()
    assert kept.problem == Problem(f"the model 'm' at {server.url} did not answer within 0.2 s", temporary=True)
    assert await contents(alice) == ["I live in Oslo"]


async def test_one_bad_batch_of_several_leaves_the_others(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    def answer(body: dict[str, Any]) -> Any:
        return "%%%" if "number 7 " in body["messages"][1]["content"] else facts("The user counts")

    server.always = answer
    found = await extract_facts([f"number {number} is there" for number in range(25)], model=model)
    assert [each.raw for each in found.statements].count(None) == 1
    assert len([each for each in found.statements if each.raw]) == 20


async def test_no_facts_can_also_mean_none(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    kept = await keep_facts(alice, "Hi!", model=model, raw_if_none=False)
    assert (kept.outcomes, kept.problem) == ((), None)
    assert await alice.count() == 0


async def test_an_answer_in_the_language_asked_for_is_fine(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    server.replies = [facts("Alice lebt seit dem Mai in der Stadt und ist mit dem Hund dort")]
    said = "I have lived in Oslo with the dog since the first of May and it is a fine city for us"
    kept = await keep_facts(alice, said, model=model, prompts=Prompts(language="German"))
    assert kept.problem is None
    assert "is written in German" in server.requests[0]["messages"][0]["content"]


async def test_what_is_no_message_is_an_error(alice: Memory) -> None:
    for given in ([{"text": "hello"}], [None], None, 5):
        with pytest.raises(InvalidInputError):
            await keep_facts(alice, given)  # type: ignore[arg-type]


# --- reconciling -------------------------------------------------------------------------------------------


async def test_the_same_fact_told_ten_times_is_one_record(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    said = [f"I really do like tea, {number}" for number in range(10)]
    words = [
        "Alice likes tea",
        "alice  likes tea.",
        "Alice is fond of tea",
        "Tea is what Alice likes",
        "Alice LIKES tea!",
    ] * 2

    def answer(body: dict[str, Any]) -> Any:
        data = body["messages"][1]["content"]
        return decide("contained", 1) if '"stored"' in data else facts(words.pop(0))

    server.always = answer
    for each in said:
        await keep_facts(alice, each, model=model)
    assert await contents(alice) == ["Alice likes tea"]
    assert len(await alice.history((await alice.facts.all())[0].id)) == 1


async def test_without_a_model_the_same_words_told_ten_times_are_one_record(alice: Memory) -> None:
    for _ in range(10):
        kept = await keep_facts(alice, "I like tea")
    assert await contents(alice) == ["I like tea"]
    assert kept.outcomes[0].decision is Decision.CONTAINED


async def test_a_contradiction_leaves_one_current_fact_and_its_history(
    server: ChatServer, model: ChatModel, alice: Memory
) -> None:
    [oslo] = await reconcile(alice, [Statement(text="Alice lives in Oslo")], model=model)
    assert oslo.decision is Decision.ADD
    assert server.requests == [], "near to none, so nothing was asked"
    server.replies = [decide("contradicted", 1)]
    [bergen] = await reconcile(alice, ["Alice lives in Bergen"], model=model)
    assert (bergen.decision, bergen.replaced) == (Decision.CONTRADICTED, oslo.record)
    assert await contents(alice) == ["Alice lives in Bergen"]
    chain = await alice.facts.history(bergen.record.id)
    assert [(each.content, each.current) for each in chain] == [
        ("Alice lives in Oslo", False),
        ("Alice lives in Bergen", True),
    ]


async def test_an_update_says_what_both_say(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    await alice.facts.add("Alice has a dog")
    server.replies = [decide("update", 1, "Alice has a dog called Rex")]
    [updated] = await reconcile(alice, ["Alice has a dog whose name is Rex"], model=model)
    assert updated.decision is Decision.UPDATE
    assert await contents(alice) == ["Alice has a dog called Rex"]


async def test_news_that_came_late_goes_into_the_history(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    def told(text: str, date: str) -> Statement:
        return Statement(text=text, happened_at=parse_time(date), told_at=parse_time(date))

    [bergen] = await reconcile(alice, [told("Alice lives in Bergen", "2024-02-01")], model=model)
    server.replies = [decide("contradicted", 1)]
    [late] = await reconcile(alice, [told("Alice lives in Oslo", "2023-05-01")], model=model)
    assert late.decision is Decision.OUTDATED
    assert late.record.id == bergen.record.id
    assert await contents(alice) == ["Alice lives in Bergen"]
    assert [each.content for each in await alice.facts.history(bergen.record.id)] == [
        "Alice lives in Oslo",
        "Alice lives in Bergen",
    ]
    [then] = await alice.facts.search("where does Alice live?", as_of="2023-12-31", limit=1)
    assert then.record.content == "Alice lives in Oslo"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("%%%", "not JSON"),
        (decide("contained", 7), "names fact 7"),
        (decide("contained", 0), "names fact 0"),
        ({"decision": "maybe", "fact": 1, "statement": ""}, "the requested schema"),
        (decide("update", 1, " "), "lacks the merged sentence"),
        (decide("update", 1, "アリスはルンという犬を飼っている"), "another language"),
        (SLOW_DOWN, "429"),
    ],
)
async def test_what_could_not_be_reconciled_is_added_and_marked(
    server: ChatServer, model: ChatModel, alice: Memory, answer: Any, reason: str
) -> None:
    await alice.facts.add("Alice has a dog")
    server.always = answer
    [added] = await reconcile(alice, ["Alice has a dog called Rex"], model=model)
    assert added.decision is Decision.ADD and added.problem is not None
    assert reason in added.record.payload["unreconciled"]
    assert await contents(alice) == ["Alice has a dog", "Alice has a dog called Rex"]


async def test_a_model_that_is_out_is_asked_once(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    await alice.facts.add("Alice has a dog")
    told = [f"Alice has a dog called {name}" for name in ("Rex", "Bello", "Waldi")]
    server.replies = [facts(*told)]
    server.always = SLOW_DOWN
    kept = await keep_facts(alice, "I have three dogs", model=model)
    assert kept.count(Decision.ADD) == 3 and kept.problem is not None and kept.problem.temporary
    assert ["429" in each.payload["unreconciled"] for each in kept.records] == [True, True, True]
    assert (len(server.requests), kept.usage.failures) == (2, 1)


async def test_what_is_no_statement_is_an_error(alice: Memory) -> None:
    with pytest.raises(InvalidInputError, match="a statement must be a Statement or a string, not NoneType"):
        await reconcile(alice, [None])  # type: ignore[list-item]
    for nearest in (0, True):
        with pytest.raises(InvalidInputError, match="nearest must be a whole number"):
            await reconcile(alice, ["Alice sings"], nearest=nearest)
    assert await contents(alice) == []
    await reconcile(alice, "Alice sings")
    assert await contents(alice) == ["Alice sings"]


async def test_no_user_s_facts_are_reconciled_with_another_s(
    server: ChatServer, model: ChatModel, alice: Memory, bob: Memory
) -> None:
    await alice.facts.add("The user lives in Oslo")
    [added] = await reconcile(bob, ["The user lives in Oslo"], model=model)
    assert added.decision is Decision.ADD and server.requests == []


async def test_fields_go_to_each_record(alice: Memory) -> None:
    kept = await keep_facts(alice, "I like tea", source="chat", metadata={"trip": 1}, session="monday")
    [record] = kept.records
    assert (record.source, record.metadata, record.scope.session) == ("chat", {"trip": 1}, "monday")


async def test_many_at_once_lose_nothing_and_double_nothing(alice: Memory) -> None:
    said = [f"I own {number} books" for number in (1, 2, 3)] * 5
    await asyncio.gather(*(keep_facts(alice, each) for each in said))
    assert await contents(alice) == ["I own 1 books", "I own 2 books", "I own 3 books"]


async def test_contradictions_at_once_leave_one_current_fact(alice: Memory) -> None:
    async def contradicting(messages: Any) -> Any:
        return decide("contradicted", 1)

    await alice.facts.add("Alice lives in Oslo")
    towns = ["Bergen", "Rome", "Paris", "Bonn"]
    await asyncio.gather(*(reconcile(alice, [f"Alice lives in {town}"], model=contradicting) for town in towns))
    [current] = await alice.facts.all()
    assert len(await alice.facts.history(current.id)) == 5


async def test_what_holds_again_is_there_again(alice: Memory) -> None:
    async def contradicting(messages: Any) -> Any:
        return decide("contradicted", 1)

    async def adding(messages: Any) -> Any:
        return decide("add")

    await reconcile(alice, ["Alice lives in Oslo"])
    await reconcile(alice, ["Alice lives in Bergen"], model=contradicting)
    await reconcile(alice, ["Alice lives in Oslo"], model=adding)
    assert await contents(alice) == ["Alice lives in Bergen", "Alice lives in Oslo"]


async def test_usage_is_reported(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    await alice.facts.add("Alice has a dog")
    server.replies = [facts("Alice has a dog called Rex"), decide("add")]
    kept = await keep_facts(alice, "My dog is called Rex", model=model)
    assert kept.usage.calls == kept.usage.batches == 2
    assert kept.usage != Usage() and kept.usage.prompt_tokens == 200
    assert kept.count(Decision.ADD) == 1
