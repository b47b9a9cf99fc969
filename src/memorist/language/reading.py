"""Parsing a model's answer: JSON is taken out of prose and fences, and repaired where that is safe."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from memorist.errors import install_command
from memorist.records.content import whole_text

_THOUGHTS = re.compile(r"<think(?:ing)?>(?:.*?</think(?:ing)?>|(?P<rest>.*))", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```(?:json)?\s*+(.*?)(?:^|(?<=[}\]]))[ \t]*```", re.DOTALL | re.IGNORECASE | re.MULTILINE)
"""A fence ends on a line of its own or after a bracket: texts in the JSON may hold three backticks too."""
_REFUSAL = re.compile(
    r"\W*(?:(?:i['’]?m|i am|we['’]?re)\s+(?:very |so )?(?:sorry|unable|not able)"
    r"|(?:sorry|apologies|unfortunately)\b.{0,40}\b(?:can['’]?t|cannot|can not|unable|won['’]?t)"
    r"|i\s+(?:can['’]?t|cannot|can not|won['’]?t|will not)\s+(?:help|assist|do|comply|provide|fulfil|answer)"
    r"|as an ai\b)",
    re.IGNORECASE,
)


def with_schema(messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the messages with the schema of the answer written into the first."""
    form = json.dumps(schema, ensure_ascii=False)
    wish = f"\n\nAnswer with one JSON object and nothing else. It fits this JSON schema:\n{form}"
    first, *rest = [dict(message) for message in messages]
    return [{**first, "content": first["content"] + wish}, *rest]


def without_thoughts(text: str) -> str:
    """Return an answer without the model's reasoning before it."""
    return _THOUGHTS.sub(lambda found: "" if found["rest"] is None else found[0], text).strip()


def is_refusal(text: str) -> bool:
    """Return whether a text begins like a model's refusal."""
    return _REFUSAL.match(text) is not None


def read_answer(
    text: str, schema: Mapping[str, Any], *, cut: bool = False, refused: bool = False
) -> tuple[Any, str | None]:
    """Return the parsed answer and None, or None and why the answer is unusable.

    Prose and fences around the JSON are ignored, and small faults in it repaired. A truncated answer is rejected,
    since the missing part may matter.
    """
    text = without_thoughts(text)
    if refused:
        return None, "the model refused"
    if not text:
        return None, "the answer is empty"
    data = _plain(text)
    if data is None and (fenced := _FENCE.match(text, max(text.find("```"), 0))) is not None:
        text = fenced[1].strip()
        data = _plain(text)
    if data is None:
        begin = text.find("{")
        if begin < 0:
            return None, "the model refused" if is_refusal(text) else "the answer is not JSON"
        text = text[begin:]
        end = text.rfind("}") + 1
        if end and _closers(text[:end]) == "":  # the rest is prose
            text = text[:end]
        missing = _closers(text)
        # more than closing brackets is missing: the text ends inside a value, or after a comma
        cut = cut or missing is None or (missing != "" and text.rstrip()[-1:] not in ('"', "'", "}", "]"))
        data = None if cut else _plain(text + (missing or "")) or _repaired(text)
    if cut:
        return None, "the answer is cut off"
    if data is None:
        return None, f"the answer is not JSON; {install_command('llm')} repairs small faults"
    try:
        data = _storable(data)
    except RecursionError:
        return None, "the answer nests too deep"
    properties = schema.get("properties", {})
    if isinstance(data, list) and len(properties) == 1:  # the object with one list that the schema asks for
        data = {next(iter(properties)): data}
    return (data, None) if fits(data, schema) else (None, "the answer does not match the requested schema")


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return whether a JSON value fits a schema, for the keywords that the steps use."""
    if "anyOf" in schema:
        return any(fits(value, each) for each in schema["anyOf"])
    if "enum" in schema and value not in schema["enum"]:
        return False
    kind = schema.get("type")
    if kind == "object":
        return (
            isinstance(value, dict)
            and all(name in value for name in schema.get("required", ()))
            and all(fits(value[name], each) for name, each in schema.get("properties", {}).items() if name in value)
        )
    if kind == "array":
        return isinstance(value, list) and all(fits(each, schema.get("items", {})) for each in value)
    if kind in ("number", "integer"):
        return isinstance(value, int if kind == "integer" else int | float) and not isinstance(value, bool)
    forms: Mapping[Any, Any] = {"string": str, "boolean": bool, "null": type(None)}
    return kind not in forms or isinstance(value, forms[kind])


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _repaired(text: str) -> Any:
    try:
        from json_repair import repair_json
    except ImportError:
        return None
    try:
        return repair_json(text, return_objects=True) or None
    except (ValueError, RecursionError):
        return None


def _closers(text: str) -> str | None:
    """Return the brackets that are missing at the end of a text; None if it ends inside a string."""
    inside = escaped = False
    missing: list[str] = []
    for letter in text:
        if escaped:
            escaped = False
        elif inside and letter == "\\":
            escaped = True
        elif letter == '"':
            inside = not inside
        elif not inside and letter in "{[":
            missing.append("}" if letter == "{" else "]")
        elif not inside and letter in "}]" and missing:
            missing.pop()
    return None if inside else "".join(reversed(missing))


def _storable(value: Any) -> Any:
    """Return JSON values without characters that no store can keep: lone surrogates and NULs."""
    if isinstance(value, str):
        return whole_text(value).replace("\0", "")
    if isinstance(value, list):
        return [_storable(each) for each in value]
    if isinstance(value, dict):
        return {_storable(name): _storable(each) for name, each in value.items()}
    return value
