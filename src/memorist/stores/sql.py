"""What both stores that speak SQL share: how conditions are joined, and how far candidates are looked for."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from memorist.filters import All, Any_, Condition, Not, Test

Sql: TypeAlias = tuple[str, list[Any]]
"""An expression in brackets, and the values of its placeholders."""
MOST_SPEAKERS = 1000
"""The most speakers' names that a question is compared with: each is looked up in the text."""
FIRST_LINES = 1000
"""The number of messages of a conversation in which a second speaker is looked for."""
BESIDE = 2
"""The distance over which a message influences its neighbours. Messages within it of one that was found are
candidates too; messages within twice the distance are read only to rank those."""


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
