from types import SimpleNamespace
from typing import Any

import pytest

from memorist.agents import read_messages, text_of
from memorist.errors import InvalidInputError
from memorist.kinds import Message


def brief(messages: Any) -> list[tuple[str, str]]:
    return [(each.role, each.content) for each in read_messages(messages)]


def test_messages_of_openai() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    read = read_messages(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "name": "Ann", "content": [{"type": "text", "text": "Rain?"}, {"type": "image_url"}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "sun"},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot say."}]},
        ]
    )
    assert read == [
        Message(role="system", content="Be brief."),
        Message(role="user", content="Rain?", name="Ann"),
        Message(
            role="assistant",
            content="",
            data={"tool_calls": [{"id": "c1", "name": "weather", "arguments": {"city": "Oslo"}}]},
        ),
        Message(role="tool", content="sun", data={"tool_call_id": "c1"}),
        Message(role="assistant", content="I cannot say."),
    ]


def test_items_of_the_responses_api() -> None:
    read = read_messages(
        [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Rain?"}]},
            {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "function_call", "id": "f1", "call_id": "c1", "name": "weather", "arguments": "{broken"},
            {"type": "function_call_output", "call_id": "c1", "output": "sun"},
            {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "No."}]},
        ]
    )
    assert [(each.role, each.content, each.id) for each in read] == [
        ("user", "Rain?", None),
        ("assistant", "", "f1"),
        ("tool", "sun", None),
        ("assistant", "No.", "m1"),
    ]
    assert read[1].data == {"tool_calls": [{"id": "c1", "name": "weather", "arguments": {"arguments": "{broken"}}]}


def test_messages_of_anthropic() -> None:
    thought = SimpleNamespace(type="thinking", thinking="secret")
    text = SimpleNamespace(type="text", text="Let me look.")
    use = SimpleNamespace(type="tool_use", id="t1", name="weather", input={"city": "Oslo"})
    answer = SimpleNamespace(id="msg_1", type="message", role="assistant", content=[thought, text, use])
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "sun"}]}
    read = read_messages([answer, {"role": "user", "content": [result, {"type": "text", "text": "And now?"}]}])
    assert read == [
        Message(
            role="assistant",
            content="Let me look.",
            id="msg_1",
            data={"tool_calls": [{"id": "t1", "name": "weather", "arguments": {"city": "Oslo"}}]},
        ),
        Message(role="tool", content="sun", data={"tool_call_id": "t1"}),
        Message(role="user", content="And now?"),
    ]


def test_messages_of_langchain() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    blocks = [
        {"type": "thinking", "thinking": "secret", "signature": "x"},
        {"type": "text", "text": "The sky"},
        {"type": "text", "text": " is blue."},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
    ]
    call = {"id": "t1", "name": "look", "args": {}, "type": "tool_call"}
    given = [
        messages.SystemMessage("Be brief."),
        messages.HumanMessage("Which colour?", id="h1", name="Ann"),
        messages.AIMessage(blocks, id="a1", tool_calls=[call]),
        messages.ToolMessage("blue", tool_call_id="t1"),
        messages.AIMessageChunk("Blue."),
        messages.ChatMessage("Hm.", role="critic"),
    ]
    read = read_messages(given)
    assert [(each.role, each.content, each.id) for each in read] == [
        ("system", "Be brief.", None),
        ("user", "Which colour?", "h1"),
        ("assistant", "The sky is blue.", "a1"),
        ("tool", "blue", None),
        ("assistant", "Blue.", None),
        ("critic", "Hm.", None),
    ]
    assert read[2].data == {"tool_calls": [{"id": "t1", "name": "look", "arguments": {}}]}
    assert read_messages(messages.messages_to_dict(given)) == read


def test_objects_of_openai() -> None:
    chat = pytest.importorskip("openai.types.chat")
    refused = chat.ChatCompletionMessage(role="assistant", content=None, refusal="I cannot say.")
    assert read_messages([refused]) == [Message(role="assistant", content="I cannot say.")]


def test_plain_messages() -> None:
    assert brief("hello") == [("user", "hello")]
    assert brief(Message(content="hi", role="assistant")) == [("assistant", "hi")]
    assert brief({"role": "user", "text": "one"}) == [("user", "one")]
    assert brief([("human", "a"), ("ai", "b"), "c"]) == [("user", "a"), ("assistant", "b"), ("user", "c")]
    assert brief({"role": "model", "parts": [{"text": "x"}, {"text": "y", "thought": True}]}) == [("assistant", "x")]
    assert brief([]) == []


def test_thinking_in_the_text_of_an_assistant_is_left_out() -> None:
    assert brief([("assistant", "<think>a\nb</think>\n\nYes.")]) == [("assistant", "Yes.")]
    assert brief([("user", "<think>is a tag</think>")]) == [("user", "<think>is a tag</think>")]


@pytest.mark.parametrize("wrong", [1, {"content": "x"}, [object()], {"type": "message", "content": "x"}, [None]])
def test_what_is_no_message_is_an_error(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="message 0 has no role"):
        read_messages(wrong)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("a", "a"),
        (["a", {"type": "text", "text": "b"}, {"type": "thinking", "thinking": "c"}], "a\nb"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": ", b"}], "a, b"),
        ({"type": "text", "text": "a"}, "a"),
        ([{"type": "text", "text": None}, {"type": "tool_use", "id": "1"}], ""),
    ],
)
def test_the_text_of_a_content(content: Any, text: str) -> None:
    assert text_of(content) == text
