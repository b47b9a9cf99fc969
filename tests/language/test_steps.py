"""Experiences, guidelines, summaries, reflections, questions, prompts, over a real endpoint that answers as told."""

import re
from pathlib import Path
from typing import Any

import pytest

from chatserver import SLOW_DOWN, ChatServer
from memorist.errors import InvalidInputError
from memorist.kinds import Episode, ToolUse
from memorist.language import (
    ChatModel,
    Prompts,
    Trajectory,
    draw_experiences,
    keep_experiences,
    keep_guidelines,
    reflect,
    rewrite_question,
    statistics_text,
    summarize,
    write_guidelines,
)
from memorist.language.prompting import NAMES
from memorist.language.steps import other_language
from memorist.memory import Memory

pytestmark = pytest.mark.anyio

TASK = {"messages": ["Book a flight to Oslo", {"role": "assistant", "content": "Booked SK 802"}], "score": 1.0}
USELESS = [
    ("", "empty"),
    ("%%%", "not JSON"),
    ('{"a', "cut off"),
    ("I'm sorry, I can't.", "refused|not JSON"),
    (SLOW_DOWN, "429"),
]


def lesson(number: int) -> dict[str, str]:
    return {"when_to_use": f"Booking flight {number}", "experience": f"Compare {number} airlines"}


def judged(number: int, valid: bool, score: float) -> dict[str, Any]:
    return {"number": number, "valid": valid, "score": score}


# --- experiences -------------------------------------------------------------------------------------------


async def test_only_experiences_judged_valid_are_kept(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    server.replies = [
        {"experiences": [lesson(number) for number in range(1, 6)]},
        {"judgements": [judged(1, True, 0.5), judged(2, True, 0.49), judged(3, False, 1.0), judged(4, True, 7)]},
    ]
    drawn = await keep_experiences(alice, TASK, model=model)
    assert [(each.experience, each.score) for each in drawn.lessons] == [
        ("Compare 1 airlines", 0.5),
        ("Compare 4 airlines", 1.0),
    ]
    assert len(drawn.refused) == 3, "the fifth was judged by nobody"
    assert drawn.problem is None and drawn.usage.calls == 2
    [hit] = await alice.experiences.search("Booking flight 1", limit=1)
    assert (hit.record.content, hit.record.payload) == ("Compare 1 airlines", {"score": 0.5})
    assert server.asked(0)["success"] is True


async def test_the_same_experience_twice_is_one_record(server: ChatServer, model: ChatModel, alice: Memory) -> None:
    server.replies = [{"experiences": [lesson(1)]}, {"judgements": [judged(1, True, 1)]}] * 3
    records = [(await keep_experiences(alice, TASK, model=model)).records[0].id for _ in range(3)]
    assert len(set(records)) == 1 and await alice.count(kind="experience") == 1


@pytest.mark.parametrize(("answer", "reason"), [*USELESS, ({"experiences": []}, "drew no experience")])
@pytest.mark.parametrize("step", [0, 1])
async def test_an_answer_of_no_use_keeps_the_trajectory_raw(
    server: ChatServer, model: ChatModel, alice: Memory, answer: Any, reason: str, step: int
) -> None:
    server.replies = [{"experiences": [lesson(1)]}] * step
    server.always = answer
    drawn = await keep_experiences(alice, Trajectory(messages=TASK["messages"], score=0.0), model=model)  # type: ignore[arg-type]
    [record] = drawn.records
    assert (record.cue, record.content) == ("Book a flight to Oslo", "assistant: Booked SK 802")
    assert record.payload["raw"] == str(drawn.problem)
    assert record.payload["trajectory"]["score"] == 0.0
    assert re.search(
        reason if step == 0 or isinstance(answer, str | tuple) else "the requested schema", str(drawn.problem)
    )


async def test_without_a_model_a_trajectory_is_one_experience() -> None:
    drawn = await draw_experiences([TASK, {"messages": ["Only asked"]}, {"messages": []}])
    assert [(each.when_to_use, each.experience, each.score) for each in drawn.lessons] == [
        ("Book a flight to Oslo", "assistant: Booked SK 802", 1.0),
        ("Only asked", "Only asked", 1.0),
    ]


@pytest.mark.parametrize("given", [{"score": 1}, 5, {"messages": [], "score": "good"}, {"messages": [5]}])
async def test_what_is_no_trajectory_is_an_error(given: Any) -> None:
    with pytest.raises(InvalidInputError):
        await draw_experiences([given])
    with pytest.raises(InvalidInputError):
        await draw_experiences(5)  # type: ignore[arg-type]


# --- guidelines --------------------------------------------------------------------------------------------

USES = [
    ToolUse(tool="search", arguments={"q": "a"}, result="3 hits", seconds=1.0, tokens=50, score=1.0),
    ToolUse(tool="search", arguments={"q": ""}, result="no query", success=False, seconds=2.0, tokens=150, score=0.5),
]
STATISTICS = """## Statistics
- **Success Rate**: 50.00%
- **Average Score**: 0.750
- **Average Time Cost**: 1.500s
- **Average Token Cost**: 100.0"""


def test_statistics_are_exact() -> None:
    assert statistics_text(USES) == STATISTICS
    unmeasured = [ToolUse(tool="t", arguments={}, result="", success=number < 19) for number in range(20)]
    assert statistics_text(unmeasured).splitlines()[1:] == [
        "- **Success Rate**: 95.00%",
        "- **Average Score**: 0.950",
        "- **Average Time Cost**: n/a",
        "- **Average Token Cost**: n/a",
    ]
    assert "n/a" in statistics_text([])


async def test_guidelines_end_with_statistics_that_no_model_wrote(server: ChatServer, model: ChatModel) -> None:
    server.replies = [{"guidelines": "Give a query.\n\n## Statistics\n- **Success Rate**: 100.00%"}]
    written = await write_guidelines("search", USES, model=model, previous=f"Old.\n\n{STATISTICS}")
    assert written.text == f"Give a query.\n\n{STATISTICS}"
    asked = server.asked()
    assert (asked["tool"], asked["guidelines"], len(asked["calls"])) == ("search", "Old.", 2)
    assert asked["calls"][1] == {
        "arguments": '{"q": ""}', "result": "no query", "success": False, "seconds": 2.0, "tokens": 150, "score": 0.5
    }  # fmt: skip


@pytest.mark.parametrize(("answer", "reason"), [*USELESS, ({"guidelines": "I cannot help with that"}, "refused")])
async def test_without_an_answer_the_guidelines_stand_with_new_statistics(
    server: ChatServer, model: ChatModel, answer: Any, reason: str
) -> None:
    server.always = answer
    written = await write_guidelines("search", USES, model=model, previous="Old.")
    assert written.text == f"Old.\n\n{STATISTICS}" and written.problem is not None


async def test_without_a_model_guidelines_show_what_worked_and_what_did_not() -> None:
    written = await write_guidelines("search", USES)
    assert written.text == f'Worked with: {{"q": "a"}}\nFailed with: {{"q": ""}}: no query\n\n{STATISTICS}'


async def test_guidelines_are_written_anew_only_for_new_calls(
    server: ChatServer, model: ChatModel, alice: Memory
) -> None:
    assert await keep_guidelines(alice, "search", model=model) is None
    server.always = {"guidelines": "Give a query."}
    for number in range(2):
        await alice.tools.record(f"find {number}", "search", {"q": str(number)}, "ok", seconds=1.0)
        for _ in range(3):
            await keep_guidelines(alice, "search", model=model)
        assert len(server.requests) == number + 1
    text = await alice.tools.guideline("search")
    assert text is not None and text.startswith("Give a query.\n\n## Statistics\n- **Success Rate**: 100.00%")


async def test_without_the_model_what_it_wrote_stands_with_new_statistics(
    server: ChatServer, model: ChatModel, alice: Memory
) -> None:
    await alice.tools.record("find", "search", {"q": "a"}, "ok")
    server.always = {"guidelines": "Give a query."}
    await keep_guidelines(alice, "search", model=model)
    same = await keep_guidelines(alice, "search")
    assert same is not None and same.text.startswith("Give a query.")
    await alice.tools.record("find", "search", {}, "no query", success=False)
    later = await keep_guidelines(alice, "search")
    assert later is not None and later.text.startswith("Give a query.\n\n## Statistics\n- **Success Rate**: 50.00%")


async def test_examples_are_always_of_the_newest_calls(alice: Memory) -> None:
    for word in ("a", "b"):
        await alice.tools.record("find", "search", {"q": word}, "ok")
        written = await keep_guidelines(alice, "search")
        assert written is not None and written.text.startswith(f'Worked with: {{"q": "{word}"}}\n\n## Statistics')


async def test_guidelines_that_a_model_could_not_write_are_tried_again(
    server: ChatServer, model: ChatModel, alice: Memory
) -> None:
    await alice.tools.record("find", "search", {"q": "a"}, "ok")
    server.always = SLOW_DOWN
    await keep_guidelines(alice, "search", model=model)
    server.always = {"guidelines": "Give a query."}
    written = await keep_guidelines(alice, "search", model=model)
    assert written is not None and written.problem is None and written.text.startswith("Give a query.")


# --- summaries -----------------------------------------------------------------------------------------------

TALK: list[Any] = [
    "I want to go to Oslo. By train.",
    {"role": "assistant", "content": "When?"},
    "In May. Is it warm?",
    "Thanks",
]


async def test_the_oldest_part_is_summarised(server: ChatServer, model: ChatModel) -> None:
    server.replies = [{"summary": "The user wants to go to Oslo by train."}]
    made = await summarize(TALK, model=model, keep_tokens=7, previous="They met.")
    assert made.text == "The user wants to go to Oslo by train."
    assert [len(made.covered), [each.content for each in made.rest]] == [2, ["In May. Is it warm?", "Thanks"]]
    assert server.asked()["summary"] == "They met."
    assert made.problem is None


@pytest.mark.parametrize(("answer", "reason"), [*USELESS, ({"summary": "I'm sorry, I can't"}, "refused")])
async def test_without_an_answer_a_summary_is_made_of_first_sentences(
    server: ChatServer, model: ChatModel, answer: Any, reason: str
) -> None:
    server.always = answer
    made = await summarize(TALK, model=model, keep_tokens=7)
    assert made.text == "user: I want to go to Oslo.\nassistant: When?"
    assert made.problem is not None


async def test_a_summary_without_a_model_keeps_to_its_words() -> None:
    made = await summarize([f"Sentence number {number} were found." for number in range(50)], keep_tokens=0, words=20)
    assert made.text.splitlines() == [f"user: Sentence number {number} were found." for number in (47, 48, 49)]
    assert (await summarize(TALK, previous="They met.")).text == "They met."
    with pytest.raises(InvalidInputError):
        await summarize(TALK, keep_tokens=-1)


# --- reflections -----------------------------------------------------------------------------------------------


async def test_a_reflection_looks_back(server: ChatServer, model: ChatModel) -> None:
    server.replies = [{"reflection": "The train was full; book earlier."}]
    made = await reflect(Episode(task="Get to Oslo", rollout="searched", error="no seat"), model=model)
    assert made.text == "The train was full; book earlier."
    assert server.asked() == {"task": "Get to Oslo", "rollout": "searched", "error": "no seat"}


@pytest.mark.parametrize(("answer", "reason"), [*USELESS, ({"reflection": " "}, "empty")])
async def test_without_an_answer_a_reflection_says_how_it_ended(
    server: ChatServer, model: ChatModel, answer: Any, reason: str
) -> None:
    server.always = answer
    made = await reflect({"task": "Get to Oslo", "error": "no seat"}, model=model)
    assert made.text == "Failed: Get to Oslo: no seat" and made.problem is not None


async def test_what_is_no_episode_is_an_error() -> None:
    for given in (None, "a task", {"colour": "red"}, {}):
        with pytest.raises(InvalidInputError):
            await reflect(given)  # type: ignore[arg-type]


async def test_without_a_model_a_reflection_says_how_it_ended() -> None:
    assert (await reflect(Episode(question="Capital?", answer="Oslo"))).text == "Done: Capital?: Oslo"
    assert (await reflect(Episode(task="Wait", rollout="…"))).text == "Ended without a result: Wait"
    with pytest.raises(InvalidInputError):
        await reflect({"colour": "red"})


# --- questions -----------------------------------------------------------------------------------------------

CALLED: list[Any] = ["My sister Nora called.", {"role": "assistant", "content": "How is she?"}]


async def test_a_question_is_rewritten_from_what_was_said(server: ChatServer, model: ChatModel) -> None:
    server.replies = [{"questions": ["Where does Nora live?", " What does Nora do? ", "Where does Nora live?", ""]}]
    made = await rewrite_question("Where does she live, and what does she do?", CALLED, model=model)
    assert made.texts == ("Where does Nora live?", "What does Nora do?") and made.problem is None
    assert made.query == "Where does Nora live? What does Nora do?"
    sent = server.asked()
    assert sent["question"] == "Where does she live, and what does she do?"
    assert [each["text"] for each in sent["conversation"]] == ["My sister Nora called.", "How is she?"]


@pytest.mark.parametrize("answer", [*(answer for answer, _ in USELESS), {"questions": []}, {"questions": [" "]}, {}])
async def test_without_an_answer_a_question_stays_as_it_is(server: ChatServer, model: ChatModel, answer: Any) -> None:
    server.always = answer
    made = await rewrite_question("Where does she live?", CALLED, model=model)
    assert made.texts == ("Where does she live?",) and made.problem is not None


async def test_a_question_without_a_model_stays_as_it_is() -> None:
    assert (await rewrite_question(" Where does she live? ")).texts == ("Where does she live?",)
    for given in ("", " ", None, 3):
        with pytest.raises(InvalidInputError):
            await rewrite_question(given)  # type: ignore[arg-type]


# --- prompts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_each_prompt_is_a_file_and_calls_its_input_data(name: str) -> None:
    text = Prompts().get(name)
    assert len(text) > 200 and "{{" not in text
    assert ("data" in text and "follow what" in text) or "do not do it" in text


async def test_a_folder_of_one_s_own_takes_their_place(
    tmp_path: Path, server: ChatServer, model: ChatModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reflection.md").write_text("Answer in {{ language }}, in one word.", encoding="utf-8")
    server.always = {"reflection": "Gut"}
    episode = Episode(task="Get to Oslo", result="there")
    await reflect(episode, model=model, prompts=Prompts(folder=tmp_path, language="German"))
    assert server.requests[0]["messages"][0]["content"].startswith("Answer in German, in one word.")
    monkeypatch.setenv("MEMORIST_PROMPTS", str(tmp_path))
    assert Prompts().get("reflection").startswith("Answer in the language that")
    assert Prompts().get("facts").startswith("You keep the long-term memory")


def test_a_prompt_can_say_more() -> None:
    prompts = Prompts(added={"facts": " Only what is eaten: {{language}}. "})
    assert prompts.get("facts").startswith(Prompts().get("facts"))
    assert prompts.get("facts").endswith("Only what is eaten: {{language}}.")
    assert prompts.get("judge") == Prompts().get("judge")
    with pytest.raises(InvalidInputError, match="no prompt 'fact'"):
        Prompts(added={"fact": "x"})
    with pytest.raises(InvalidInputError, match="not int"):
        Prompts(added={"facts": 5})  # type: ignore[dict-item]


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no folder of prompts"):
        Prompts(folder=tmp_path / "none").get("facts")
    (tmp_path / "facts.md").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        Prompts(folder=tmp_path).get("facts")
    (tmp_path / "facts.md").write_text(" \n")
    with pytest.raises(InvalidInputError, match="blank"):
        Prompts(folder=tmp_path).get("facts")


@pytest.mark.parametrize(
    ("answer", "source", "expected"),
    [
        ("Alice lives in Oslo", "I live in Oslo", None),
        ("Alice lives in Oslo", "Ich wohne in Oslo", None),  # too short to tell
        ("Алиса живёт в Осло", "I live in Oslo", "Russian"),
        ("Alice lives in Осло", "I live in Oslo", None),
        ("東京に住んでいます", "東京に住んでいる", None),
        ("2024-03-04", "I live in Oslo", None),
        ("", "", None),
        (
            "Alice est une amie de la famille et elle habite dans la ville avec son chien",
            "Alice is a friend of the family and she lives in the city with her dog",
            "French",
        ),
    ],
)
def test_another_language_is_told_only_where_it_is_plain(answer: str, source: str, expected: str | None) -> None:
    assert other_language(answer, source) == expected
