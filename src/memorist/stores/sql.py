"""What both stores that speak SQL share: filters and conditions, and how far candidates are looked for."""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias

from memorist.records.filters import AllOf, AnyOf, Comparison, Condition, Filter, Not
from memorist.records.times import to_micros

Sql: TypeAlias = tuple[str, list[Any]]
"""An expression in brackets, and the values of its placeholders."""
MOST_SPEAKERS = 1000
"""The most speakers' names that a question is compared with: each is looked up in the text."""
OPERATORS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
FIRST_LINES = 1000
"""The number of messages of a conversation in which a second speaker is looked for."""
BESIDE = 2
"""The distance over which a message influences its neighbours. Messages within it of one that was found are
candidates too; messages within twice the distance are read only to rank those."""


def alive(mark: str) -> str:
    """Return the condition of records that have not expired, with a placeholder for the present."""
    return f"(expires_at IS NULL OR expires_at > {mark})"


def sql_of_filter(
    filter: Filter, now: datetime, mark: str, own: Iterable[Sql], test: Callable[[str, Comparison], Sql]
) -> Sql:
    """Return a filter as a condition on the table `records`.

    Args:
        filter: which records.
        now: the present.
        mark: the placeholder of a value.
        own: the parts that a store words by itself: ids, kinds, labels, keys and sources.
        test: returns the SQL of a comparison of what lies in a column of JSON.
    """
    parts: list[Sql] = [(alive(mark), [to_micros(filter.expired_by(now))]), *own]
    if filter.since is not None:
        parts.append((f"at >= {mark}", [to_micros(filter.since)]))
    if filter.until is not None:
        parts.append((f"at < {mark}", [to_micros(filter.until)]))
    if filter.verified is not None:
        parts.append((f"verified = {mark}", [filter.verified]))
    if filter.without:
        parts.append((f"authors & {mark} = 0", [filter.without.value]))
    if filter.as_of is not None:
        valid = f"at <= {mark} AND (superseded_at IS NULL OR superseded_at > {mark})"
        parts.append((valid, [to_micros(filter.as_of)] * 2))
    elif not filter.superseded:
        parts.append(("superseded_at IS NULL", []))
    for column, condition in (("metadata", filter.where), ("payload", filter.payload)):
        if condition is not None:
            parts.append(sql_of_condition(condition, partial(test, column)))
    return joined(parts, " AND ", "true")


def sql_of_condition(condition: Condition, test: Callable[[Comparison], Sql]) -> Sql:
    """Return a condition as SQL; `test` returns the SQL of one comparison."""
    match condition:
        case AllOf(parts):
            return joined([sql_of_condition(each, test) for each in parts], " AND ", "true")
        case AnyOf(parts):
            return joined([sql_of_condition(each, test) for each in parts], " OR ", "false")
        case Not(inner):
            sql, values = sql_of_condition(inner, test)
            return f"(NOT {sql})", values
        case Comparison():
            return test(condition)


def by_type(values: Iterable[Any]) -> tuple[list[str], list[str], list[float]]:
    """Return the values to equal: truths and null, as JSON writes them, then texts, then numbers."""
    plain, texts, numbers = list[str](), list[str](), list[float]()
    for value in values:
        if value is None or isinstance(value, bool):
            plain.append(json.dumps(value))
        elif isinstance(value, str):
            texts.append(value)
        else:
            numbers.append(value)
    return plain, texts, numbers


def joined(parts: Sequence[Sql], word: str, empty: str) -> Sql:
    """Return the parts joined by a word; `empty` if there are none."""
    sql = word.join(sql for sql, _ in parts) or empty
    return f"({sql})", [value for _, values in parts for value in values]
