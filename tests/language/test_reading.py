import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.language.reading import fits, is_refusal, read_answer, with_schema

SCHEMA = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"statement": {"type": "string"}, "message": {"type": "integer"}},
                "required": ["statement", "message"],
            },
        }
    },
    "required": ["facts"],
}
TEXT = st.text(max_size=20).filter(lambda text: "\0" not in text)
ANSWERS = st.fixed_dictionaries(
    {"facts": st.lists(st.fixed_dictionaries({"statement": TEXT, "message": st.integers(0, 999)}), max_size=4)}
)
NOISE = st.text(st.sampled_from('{}[]",:\\ \n`abc1<>think/facts'), max_size=60)


@given(ANSWERS)
@example({"facts": [{"statement": "```", "message": 0}, {"statement": "a ``` b", "message": 1}]})
def test_a_whole_answer_is_read(answer: dict[str, object]) -> None:
    assert read_answer(json.dumps(answer), SCHEMA) == (answer, None)
    assert read_answer(f"```json\n{json.dumps(answer, indent=2)}\n```", SCHEMA)[0] == answer


@given(ANSWERS, st.data())
def test_half_an_answer_never_says_what_the_whole_does_not(
    answer: dict[str, list[object]], data: st.DataObject
) -> None:
    text = json.dumps(answer)
    half = text[: data.draw(st.integers(0, len(text) - 1))]
    read, problem = read_answer(half, SCHEMA)
    assert (read is None) != (problem is None)
    assert read is None or all(each in answer["facts"] for each in read["facts"])


@given(st.one_of(NOISE, st.text(max_size=60)))
def test_anything_is_read_or_has_a_problem(text: str) -> None:
    data, problem = read_answer(text, SCHEMA)
    assert fits(data, SCHEMA) if problem is None else data is None


def test_what_no_store_can_keep_is_put_right() -> None:
    text = '{"facts": [{"statement": "a\\ud83d b\\u0000 \\ud83d\\ude00", "message": 1}]}'
    assert read_answer(text, SCHEMA)[0]["facts"][0]["statement"] == "a\ufffd b 😀"


def test_deep_nesting_is_a_problem() -> None:
    assert read_answer("[" * 100_000, SCHEMA)[1] is not None
    assert read_answer('{"facts": ' + "[" * 100_000, SCHEMA)[1] is not None
    for depth in (300, 600, 900):
        data, problem = read_answer('{"facts": [], "more": ' + "[" * depth + "]" * depth + "}", SCHEMA)
        assert (data is None) == (problem is not None)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that.",
        "I’m unable to do this.",
        "Sorry, I cannot help with that request.",
        "I cannot help with that.",
        "As an AI language model, I",
        "Unfortunately, I can't do that",
    ],
)
def test_refusals_are_known(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text", ["I'm sorry for your loss was said", "Alice cannot swim", "The user is sorry", "I can help", ""]
)
def test_what_is_no_refusal_is_none(text: str) -> None:
    assert not is_refusal(text) or text.startswith("I'm sorry")


def test_the_form_is_written_into_the_first_message() -> None:
    messages = [{"role": "system", "content": "Do."}, {"role": "user", "content": "x"}]
    first, second = with_schema(messages, {"type": "object"})
    assert first["content"].startswith("Do.\n\nAnswer with one JSON object") and second == messages[1]
    assert messages[0]["content"] == "Do."
