"""The common part of filters in SQL: how conditions are joined."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from memorist.filters import All, Any_, Condition, Not, Test

Sql: TypeAlias = tuple[str, list[Any]]
"""An expression in brackets, and the values of its placeholders."""


def sql_of_condition(condition: Condition, test: Callable[[Test], Sql]) -> Sql:
    """Return a condition as SQL; `test` returns the SQL of one comparison."""
    match condition:
        case All(parts):
            return joined([sql_of_condition(each, test) for each in parts], " AND ", "true")
        case Any_(parts):
            return joined([sql_of_condition(each, test) for each in parts], " OR ", "false")
        case Not(inner):
            sql, values = sql_of_condition(inner, test)
            return f"(NOT {sql})", values
        case Test():
            return test(condition)


def joined(parts: Sequence[Sql], word: str, empty: str) -> Sql:
    """Return the parts joined by a word; `empty` if there are none."""
    sql = word.join(sql for sql, _ in parts) or empty
    return f"({sql})", [value for _, values in parts for value in values]
