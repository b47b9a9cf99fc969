"""Reads, repairs and stores the tool calls that agents report."""

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from memorist.errors import InvalidInputError
from memorist.kinds import ToolUse
from memorist.records.times import parse_time


def call_key(use: ToolUse) -> str:
    """Return a text that is equal for two calls with the same input and output."""
    return json.dumps([dict(use.arguments), use.result], sort_keys=True, ensure_ascii=False)


def read_call(given: object, now: datetime) -> tuple[ToolUse, datetime] | None:
    """Return the call that an agent reported, and when it happened; None if it has no tool name or no output.

    Missing and unreadable fields get defaults: the time is `now`, a negative token cost is a quarter of the
    characters, `success` is true, and the score is 1 for a success and 0 for a failure.
    """
    if not isinstance(given, Mapping):
        return None
    name, output = given.get("tool_name"), given.get("output")
    if not isinstance(name, str) or not name.strip() or output is None or output == "":
        return None
    arguments, output = _plain(given.get("input")), _plain(output)
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"input": arguments}
    success = _truth(given.get("success", True))
    tokens = _number(given.get("token_cost"))
    if tokens is not None and tokens < 0:
        tokens = len(f"{json.dumps(arguments, ensure_ascii=False)}{output}") / 4
    seconds, score = _number(given.get("time_cost")), _number(given.get("score"))
    use = ToolUse(
        tool=name.strip(),
        arguments=arguments,
        result=output,
        success=success,
        seconds=None if seconds is None or seconds < 0 else seconds,
        tokens=None if tokens is None else round(tokens),
        score=float(success) if score is None else score,
    )
    return use, _time(given.get("create_time"), now)


def _plain(value: object) -> Any:
    """Return the value as JSON; what JSON does not have, such as NaN, becomes a text."""
    return json.loads(json.dumps(value, default=str), parse_constant=str)


def _truth(value: object) -> bool:
    return value.strip().lower() not in ("false", "no", "0", "") if isinstance(value, str) else bool(value)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _time(value: object, otherwise: datetime) -> datetime:
    if isinstance(value, str | int | float | datetime) and value:
        with suppress(InvalidInputError):
            return parse_time(value)
    return otherwise
