"""A filter as SQL: the same meaning as `Filter.matches`, evaluated where the rows are."""

import json
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any

from memorist.filters import Filter, Test
from memorist.stores.sql import Sql, joined, sql_of_condition
from memorist.times import to_micros

_TRUTH = {True: "true", False: "false"}
_ONE_OF = "IN (SELECT value FROM json_each(?))"
_OPERATORS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def sql_of(filter: Filter, now: datetime) -> Sql:
    """Return a condition on the table `records`, and the values of its question marks."""
    parts: list[str] = ["(expires_at IS NULL OR expires_at > ?)"]
    bindings: list[Any] = [to_micros(filter.expired_by(now))]

    def add(sql: str, *values: Any) -> None:
        parts.append(sql)
        bindings.extend(values)

    if filter.ids is not None:
        add(f"id {_ONE_OF}", _listed(filter.ids))
    if filter.kinds is not None and len(filter.kinds) == 1:  # so that an index that begins with the kind can be used
        add("kind = ?", *map(str, filter.kinds))
    elif filter.kinds is not None:
        add(f"kind {_ONE_OF}", _listed(sorted(filter.kinds)))
    for column in ("agent", "session", "key"):
        if (value := getattr(filter, column)) is not None:
            add(f"{column} = ?", value)
    if filter.since is not None:
        add("at >= ?", to_micros(filter.since))
    if filter.until is not None:
        add("at < ?", to_micros(filter.until))
    if filter.key_prefix is not None:
        add("key >= ?", filter.key_prefix)
        if (end := _end_of(filter.key_prefix)) is not None:
            add("key < ?", end)
    if filter.verified is not None:
        add("verified = ?", int(filter.verified))
    if filter.without:
        add("authors & ? = 0", filter.without.value)
    if filter.derived_from is not None:
        among = f"EXISTS (SELECT 1 FROM json_each(derived_from) AS source WHERE source.value {_ONE_OF})"
        add(f"derived_from IS NOT NULL AND {among}", _listed(filter.derived_from))
    if filter.as_of is not None:
        moment = to_micros(filter.as_of)
        add("at <= ? AND (superseded_at IS NULL OR superseded_at > ?)", moment, moment)
    elif not filter.superseded:
        add("superseded_at IS NULL")
    for column, condition in (("metadata", filter.where), ("payload", filter.payload)):
        if condition is not None:
            sql, values = sql_of_condition(condition, partial(_test, column))
            add(sql, *values)
    return " AND ".join(parts), bindings


def _end_of(prefix: str) -> str | None:
    """Return the first text, by code points, after all texts that begin with `prefix`; None if there is none."""
    rest = prefix.rstrip("\U0010ffff")
    if not rest:
        return None
    code = ord(rest[-1]) + 1
    return rest[:-1] + chr(0xE000 if code == 0xD800 else code)


def _listed(values: Iterable[Any]) -> str:
    """Return values for `_ONE_OF` as one JSON text, since there may be more of them than parameters."""
    return json.dumps(list(values), ensure_ascii=False)


def _test(column: str, test: Test) -> Sql:
    path = "$" + "".join("." + json.dumps(name, ensure_ascii=False) for name in test.path)
    if test.operator == "exists":
        return f"(json_type({column}, ?) IS NOT NULL)", [path]
    if test.operator in _OPERATORS:
        sql, values = _compared(_OPERATORS[test.operator], test.value)
    else:
        sql, values = _equal(test.value if test.operator == "in" else (test.value,))
    # json_each yields a list's elements, or the value itself; mappings are excluded.
    return (
        f"(ifnull(json_type({column}, ?), 'object') <> 'object'"
        f" AND EXISTS (SELECT 1 FROM json_each({column}, ?) AS found WHERE {sql}))",
        [path, path, *values],
    )


def _equal(values: Iterable[Any]) -> Sql:
    """Return the condition that the value found equals one of `values` of the same type."""
    plain: list[str] = []
    texts: list[str] = []
    numbers: list[float] = []
    for value in values:
        if value is None or isinstance(value, bool):
            plain.append("null" if value is None else _TRUTH[value])
        elif isinstance(value, str):
            texts.append(value)
        else:
            numbers.append(value)
    listed = _listed(numbers).replace("Infinity", "9e999")  # JSON has no infinity, but it has numbers that large
    parts = [
        (f"found.type {_ONE_OF}", [_listed(plain)]),
        (f"(found.type = 'text' AND found.atom {_ONE_OF})", [_listed(texts)]),
        (f"(found.type IN ('integer', 'real') AND found.atom {_ONE_OF})", [listed]),
    ]
    chosen = [part for part, some in zip(parts, (plain, texts, numbers), strict=True) if some]
    return joined(chosen, " OR ", "false")


def _compared(operator: str, value: Any) -> Sql:
    types = "('text')" if isinstance(value, str) else "('integer', 'real')"
    return f"(found.type IN {types} AND found.atom {operator} ?)", [value]
