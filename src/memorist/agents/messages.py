"""Reads chat messages of any provider into `Message`: OpenAI, Anthropic, LangChain, Gemini and plain dictionaries.

Messages may be mappings or objects with the same fields; none of those packages is imported.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from memorist.errors import InvalidInputError
from memorist.kinds import Message
from memorist.records.content import field_of, text_of

AnyMessage: TypeAlias = Any
"""A text (of the user), a `Message`, a mapping, an object, or a pair of a role and a text."""

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool"}
_MESSAGE_TYPES = frozenset(("human", "ai", "system", "developer", "tool", "function", "chat", "message"))
_CALL_TYPES = frozenset(("tool_use", "tool_call", "function_call"))
_RESULTS = ("function_response", "functionResponse", "toolResult")
"""The fields of a part that hold a tool's result, where the part has no type."""
_THOUGHT = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>\s*", re.DOTALL)


def read_messages(messages: AnyMessage | Iterable[AnyMessage]) -> list[Message]:
    """Return messages in one form: role, text, name, id, and tool calls in `data`.

    Roles are "user", "assistant", "system", "developer" or "tool", or another name that was given. Thinking is
    left out, and so are images and other parts that are no text. `data` has ``tool_calls`` (each with id, name
    and arguments) of a message that calls tools, and ``tool_call_id`` of a result. A message of Anthropic's or
    Gemini's with tool results becomes one message for each result, and one for its text. The result of a tool that
    the model's provider runs, such as a web search, is a message of the role "tool", mostly without a text.

    Raises:
        InvalidInputError: something is not a message of a known form.
    """
    if isinstance(messages, str | Message | Mapping) or not isinstance(messages, Iterable):
        messages = [messages]
    return [read for position, each in enumerate(messages) for read in _read(each, position)]


def _read(given: AnyMessage, position: int) -> Iterator[Message]:
    if isinstance(given, Message):
        yield given
        return
    if isinstance(given, str):
        yield Message(content=given)
        return
    if isinstance(given, tuple) and len(given) == 2:
        given = {"role": given[0], "content": given[1]}
    kind = _kind_of(given)
    if isinstance(given, Mapping) and kind in _MESSAGE_TYPES and isinstance(given.get("data"), Mapping):
        given = given["data"]  # a message of LangChain's as a dictionary
    role = field_of(given, "role") or kind
    if kind == "function_call":
        yield Message(
            content="", role="assistant", id=_string(field_of(given, "id")), data={"tool_calls": [_call(given)]}
        )
    elif isinstance(kind, str) and kind.endswith(("_call", "_call_output")):  # or a call that the provider answers
        yield _result(given)
    elif field_of(given, "role") is None and isinstance(kind, str) and kind not in _MESSAGE_TYPES:
        return  # another item of a response, such as reasoning
    elif not isinstance(role, str) or role == "message":
        raise InvalidInputError(f"message {position} has no role: {type(given).__name__}")
    else:
        yield from _spoken(given, _ROLES.get(role, role))


def _kind_of(given: Any) -> Any:
    kind = field_of(given, "type")
    return kind.removesuffix("MessageChunk").lower() if isinstance(kind, str) else kind


def _spoken(given: Any, role: str) -> Iterator[Message]:
    content = next(
        (each for name in ("content", "parts", "text", "refusal") if (each := field_of(given, name)) is not None), None
    )
    parts = content if isinstance(content, list | tuple) else ()
    yield from (_result(result) for part in parts if (result := _result_in(part)) is not None)
    calls = [_call(part) for part in parts if field_of(part, "type") in _CALL_TYPES]
    known = {call["id"] for call in calls}
    listed = field_of(given, "tool_calls")
    calls += [call for each in listed or () if (call := _call(each))["id"] is None or call["id"] not in known]
    text = text_of(content)
    if role == "assistant":
        text = _THOUGHT.sub("", text, count=1) if _THOUGHT.match(text) else text
    if text.strip() or calls or not parts:
        yield _message(given, role, text, calls)


def _message(given: Any, role: str, text: str, calls: list[dict[str, Any]]) -> Message:
    data = {"tool_calls": calls, "tool_call_id": _string(field_of(given, "tool_call_id"))}
    kept = {name: value for name, value in data.items() if value}
    moment = next((each for name in ("happened_at", "timestamp") if (each := field_of(given, name)) is not None), None)
    return Message(
        content=text,
        role=role,
        name=_string(field_of(given, "name")) if role != "tool" else None,
        id=_string(field_of(given, "id")),
        happened_at=moment,
        data=kept or None,
    )


def _result_in(part: Any) -> Any:
    """Return the tool's result that a part of a message holds, or None."""
    if str(field_of(part, "type")).endswith("tool_result"):
        return part
    return next((held for name in _RESULTS if (held := field_of(part, name)) is not None), None)


def _result(given: Any) -> Message:
    call = next(
        (id for name in ("tool_use_id", "call_id", "toolUseId") if (id := _string(field_of(given, name)))), None
    )
    content = next((each for name in ("content", "output") if (each := field_of(given, name)) is not None), None)
    response = field_of(given, "response")
    text = text_of(content) if response is None else json.dumps(response, ensure_ascii=False, default=str)
    return Message(content=text, role="tool", data=None if call is None else {"tool_call_id": call})


def _call(given: Any) -> dict[str, Any]:
    """Return a tool call as its id, name and arguments."""
    inner = field_of(given, "function") or given
    found = (field_of(inner, name) for name in ("arguments", "args", "input"))
    arguments: Any = next((each for each in found if each is not None), {})
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            arguments = {"arguments": arguments}
    id = _string(field_of(given, "call_id")) or _string(field_of(given, "id"))
    plain = json.loads(json.dumps(arguments, default=str))
    return {"id": id, "name": _string(field_of(inner, "name")), "arguments": plain}


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
