"""Digesting what is raw, over a real endpoint that answers as it is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from chatserver import SLOW_DOWN, ChatServer
from memorist.errors import InvalidInputError
from memorist.framing.frame import frame
from memorist.language import ChatModel, Digest, keep_experiences, keep_facts, reconcile
from memorist.memory import Memory
from memorist.records.origins import Author

pytestmark = pytest.mark.anyio


def understanding(body: dict[str, Any]) -> Any:
    """Answer each step as a model would that says what it is given."""
    data = json.loads(body["messages"][1]["content"])
    if "stored" in data:
        return {"decision": "add", "fact": 0, "statement": ""}
    if "experiences" in data:
        return {"judgements": [{"number": each["number"], "valid": True, "score": 0.9} for each in data["experiences"]]}
    if "score" in data:
        return {"experiences": [{"when_to_use": "A flight is cancelled", "experience": "Take the night train"}]}
    return {
        "facts": [
            {"statement": each["text"].replace("I ", "Alice "), "date": "", "message": each["number"]}
            for each in data["messages"]
        ]
    }


async def contents(memory: Memory) -> list[str]:
    return sorted(record.content for record in await memory.facts.all())


async def test_messages_become_facts_once(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    server.always = understanding
    await alice.conversation("monday").append(["I like tea", "I own a boat"])
    await alice.conversation("friday").append("I sing")
    digest = Digest(alice, model)
    assert await digest.pending() == 3
    report = await digest.run()
    assert (report.messages, report.left, report.raw, report.problem) == (3, 0, 0, None)
    assert report.decisions == {"add": 3}
    assert (report.usage.calls, report.usage.batches, report.usage.concurrency) == (4, 4, 4), (
        "2 to extract, 2 to reconcile"
    )
    assert await contents(alice) == ["Alice like tea", "Alice own a boat", "Alice sing"]
    assert (await Digest(alice, model).run()).messages == 0
    await alice.conversation("friday").append("I dance")
    assert (await Digest(alice, model).run()).messages == 1
    assert [message.content for message in await alice.conversation("friday").all()] == ["I sing", "I dance"]
    assert {record.source for record in await alice.facts.all()} == {"digest"}


async def test_a_fact_names_the_message_it_is_from(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    server.always = understanding
    said = await alice.conversation("monday").append("I like tea", happened_at="2024-03-04")
    await Digest(alice, model).run()
    [fact] = await alice.facts.all()
    assert said.record is not None and fact.payload["messages"] == [said.record.id]
    assert f"{fact.happened_at:%F}" == "2024-03-04"


async def test_an_outage_ends_the_run_and_the_next_goes_on(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    await alice.conversation("monday").append([f"I own {number} boats" for number in range(10)])
    server.replies = [understanding, SLOW_DOWN]
    server.always = SLOW_DOWN
    report = await Digest(alice, model, batch=1, concurrency=2).run()
    assert report.messages == 1 and report.left == 9
    assert report.problem is not None and report.problem.temporary
    assert len(server.requests) == 2
    server.always = understanding
    seen: list[tuple[int, int]] = []
    report = await Digest(alice, model, batch=3).run(lambda done, total: seen.append((done, total)))
    assert (report.messages, report.left, report.problem) == (9, 0, None)
    assert seen == [(9, 9)]
    assert len(await contents(alice)) == 10


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_wrong_key_or_name_marks_nothing(
    server: ChatServer, model: ChatModel, alice: Memory, status: int
) -> None:
    await alice.conversation("monday").append("I like tea")
    server.always = (status, {"error": {"message": "no"}})
    report = await Digest(alice, model).run()
    assert (report.messages, report.raw, report.left) == (0, 0, 1)
    server.always = understanding
    assert (await Digest(alice, model).run()).messages == 1


async def test_an_outage_while_reconciling_loses_nothing(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    await alice.facts.add("Alice owns a boat")
    await alice.conversation("monday").append(["I own a red boat", "I own a blue boat"])
    server.replies = [understanding]
    server.always = SLOW_DOWN
    report = await Digest(alice, model).run()
    assert report.problem is not None and report.problem.temporary
    assert len(server.requests) == 2, "the second statement did not wait for the model again"
    assert await contents(alice) == ["Alice own a blue boat", "Alice own a red boat", "Alice owns a boat"]
    server.always = lambda body: {"decision": "contained", "fact": 1, "statement": ""}
    report = await Digest(alice, model).run()
    assert (report.records, report.left, report.decisions) == (2, 0, {"contained": 2})
    assert await contents(alice) == ["Alice owns a boat"]
    assert await Digest(alice, model).pending() == 0


async def test_an_answer_of_no_use_leaves_the_messages_as_they_are(
    server: ChatServer, model: ChatModel, alice: Memory
) -> None:
    await alice.conversation("monday").append(["I like tea", "I sing"])
    server.always = "%%%"
    report = await Digest(alice, model).run()
    assert (report.messages, report.raw, report.left) == (2, 2, 0)
    assert report.problem is not None and "not JSON" in report.problem.reason
    assert await contents(alice) == []
    [message, _] = await alice.conversation("monday").all()
    assert message.content == "I like tea" and message.record is not None
    assert "not JSON" in message.record.payload["digest_problem"]
    server.always = understanding
    assert (await Digest(alice, model).run()).messages == 0
    report = await Digest(alice, model, again=True).run()
    assert (report.messages, report.raw) == (2, 0)
    assert await contents(alice) == ["Alice like tea", "Alice sing"]
    assert await Digest(alice, model, again=True).pending() == 0


async def test_recalled_blocks_tools_and_systems_are_passed_over(
    server: ChatServer, model: ChatModel, alice: Memory
) -> None:
    server.always = understanding
    await alice.conversation("monday").append(
        [
            {"role": "system", "content": "You are brief"},
            {"role": "user", "content": frame(["Alice lives in Oslo"])},
            {"role": "user", "content": frame(["Alice lives in Oslo"]) + "I sing"},
            {"role": "tool", "content": '{"rows": []}'},
        ]
    )
    report = await Digest(alice, model).run()
    assert report.messages == 4
    assert [each["text"] for each in server.asked(0)["messages"]] == ["I sing"]
    assert await contents(alice) == ["Alice sing"]


async def test_raw_texts_become_facts_when_the_model_is_back(
    server: ChatServer, model: ChatModel, alice: Memory
) -> None:
    server.always = SLOW_DOWN
    await keep_facts(alice, "I like tea", model=model, metadata={"trip": 1})
    await keep_facts(alice, "I sing")
    server.always = understanding
    report = await Digest(alice, model).run()
    assert (report.records, report.left, report.problem) == (2, 0, None)
    assert await contents(alice) == ["Alice like tea", "Alice sing"]
    [tea] = [each for each in await alice.facts.all() if "tea" in each.content]
    assert tea.metadata == {"trip": 1} and "raw" not in tea.payload
    assert [each.content for each in await alice.facts.history(tea.id)] == ["I like tea", "Alice like tea"]
    assert await Digest(alice, model).pending() == 0


@pytest.mark.parametrize("decision", ["add", "update"])
async def test_a_raw_text_s_facts_are_trusted_no_more_than_it(
    server: ChatServer, model: ChatModel, alice: Memory, decision: str
) -> None:
    said = [{"role": "tool", "content": "I like tea"}]
    server.always = SLOW_DOWN
    await keep_facts(alice, said, model=model)
    [raw] = await alice.facts.all()
    await alice.facts.add("Alice likes tea with milk", author="user")
    server.replies = [
        {"facts": [{"statement": "Alice likes tea", "date": "", "message": 1}]},
        {"decision": decision, "fact": 1, "statement": "Alice likes tea, with milk"},
    ]
    assert (await Digest(alice, model).run()).problem is None
    [drawn] = [each for each in await alice.facts.all() if raw.id in each.origin.derived_from]
    assert raw.origin.authors == Author.TOOL and Author.TOOL in drawn.origin.authors
    assert (Author.USER in drawn.origin.authors) is (decision == "update"), "the older fact's author"


async def test_a_raw_text_without_facts_stays_and_is_done(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    await keep_facts(alice, "Hello there")
    server.always = {"facts": []}
    assert (await Digest(alice, model).run()).records == 1
    assert await contents(alice) == ["Hello there"]
    assert await Digest(alice, model, again=True).pending() == 0


async def test_a_raw_text_that_is_a_fact_already_stays(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    await keep_facts(alice, "Alice likes tea")
    two = [{"statement": each, "date": "", "message": 1} for each in ("Alice likes tea", "Rex barks")]
    server.replies = [{"facts": two}]
    server.always = {"decision": "add", "fact": 0, "statement": ""}
    assert (await Digest(alice, model).run()).problem is None
    assert await contents(alice) == ["Alice likes tea", "Rex barks"]
    assert await Digest(alice, model, again=True).pending() == 0


async def test_a_raw_text_that_stays_unreadable_is_taken_up_only_when_asked(
    server: ChatServer, model: ChatModel, alice: Memory
) -> None:
    await keep_facts(alice, "I like tea")
    server.always = "%%%"
    report = await Digest(alice, model).run()
    assert (report.records, report.raw) == (1, 1)
    assert await Digest(alice, model).pending() == 0
    assert await Digest(alice, model, again=True).pending() == 1


async def test_unreconciled_statements_that_fail_again_are_not_doubled(
    server: ChatServer, model: ChatModel, alice: Memory
) -> None:
    await alice.facts.add("Alice has a dog")
    server.always = SLOW_DOWN
    await reconcile(alice, ["Alice has a dog called Rex"], model=model)
    await Digest(alice, model).run()
    server.always = "%%%"
    await Digest(alice, model).run()
    assert await contents(alice) == ["Alice has a dog", "Alice has a dog called Rex"]


async def test_raw_trajectories_become_experiences(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    await keep_experiences(alice, {"messages": ["Get me home", {"role": "assistant", "content": "Done"}], "score": 1.0})
    server.always = understanding
    report = await Digest(alice, model).run()
    assert (report.records, report.experiences, report.problem) == (1, 1, None)
    found = await alice.experiences.search("what if the flight is cancelled?")
    assert [hit.record.content for hit in found] == ["Take the night train"]


async def test_a_run_killed_after_the_facts_stores_none_twice(
    server: ChatServer, model: ChatModel, alice: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.always = understanding
    await alice.conversation("monday").append(["I like tea", "I sing"])

    async def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "revise", killed)
    with pytest.raises(KeyboardInterrupt):
        await Digest(alice, model).run()
    monkeypatch.undo()
    report = await Digest(alice, model).run()
    assert report.decisions == {"contained": 2}
    assert await contents(alice) == ["Alice like tea", "Alice sing"]


async def test_each_agent_s_facts_are_its_own(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    server.always = understanding
    await alice.scoped(agent="cook").conversation("monday").append("I like tea")
    await Digest(alice, model).run()
    assert await contents(alice.scoped(agent="cook")) == ["Alice like tea"]
    assert await contents(alice.scoped(agent="pilot")) == []


async def test_without_a_model_nothing_is_done(alice: Memory) -> None:
    await alice.conversation("monday").append("I like tea")
    report = await Digest(alice, None).run()
    assert (report.messages, report.left, str(report.problem)) == (0, 1, "no chat model")
    with pytest.raises(InvalidInputError, match="batch"):
        Digest(alice, None, batch=0)


# --- the command -------------------------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    from memorist.cli.app import app

    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "cli.db"))
    monkeypatch.setenv("MEMORIST_EMBEDDER", "hash")
    for name in ("MEMORIST_CHAT_MODEL", "MEMORIST_CHAT_KEY", "MEMORIST_PROMPTS"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app(list(arguments), prog_name="memorist")
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def test_the_command_digests_everyone_and_says_what_it_cost(server: ChatServer, command: Any) -> None:
    pytest.importorskip("openai")
    server.always = understanding
    for user in ("alice", "bob"):
        command("remember", "I like tea", "--kind", "message", "--session", "monday", "--user", user)
    model = f"{server.url}#m"
    code, out, _ = command("digest", "--model", model, "--everyone", "--json", "--prompt-price", "1")
    report = json.loads(out)
    assert code == 0
    assert (report["messages"], report["decisions"], report["left"]) == (2, {"add": 2}, 0)
    assert report["usage"]["calls"] == 2 and report["usage"]["cost"] == pytest.approx(200 / 1_000_000)
    assert "0 messages and 0 raw records read: nothing new" in command("digest", "--model", model, "--user", "bob")[1]


def test_the_command_says_what_is_left_and_fails(server: ChatServer, command: Any, monkeypatch: Any) -> None:
    pytest.importorskip("openai")
    server.always = SLOW_DOWN
    monkeypatch.setenv("MEMORIST_CHAT_MODEL", f"{server.url}#m")
    command("remember", "I like tea", "--kind", "message", "--user", "alice")
    code, out, err = command("digest", "--user", "alice")
    assert code == 1
    assert "0 messages and 0 raw records read" in out
    assert "HTTP 429" in err and "1 not processed; the next run resumes there" in err


def test_a_model_that_is_out_is_asked_for_one_user_of_everyone(server: ChatServer, command: Any) -> None:
    pytest.importorskip("openai")
    server.always = SLOW_DOWN
    for user in ("alice", "bob", "carol"):
        command("remember", "I like tea", "--kind", "message", "--user", user)
    code, out, _ = command("digest", "--model", f"{server.url}#m", "--everyone", "--json")
    assert (code, json.loads(out)["left"]) == (1, 3)
    assert len({server.asked(number)["messages"][0]["text"] for number in range(len(server.requests))}) == 1
    assert len(server.requests) == 3  # one call and its two tries more


def test_the_command_needs_a_model(command: Any, tmp_path: Path) -> None:
    code, _, err = command("digest")
    assert (code, "name a chat model" in err) == (2, True)
    assert ", not both" in command("digest", "-m", "openai:m", "--everyone", "--user", "a")[2]
