"""A filter as SQL: the same meaning as `Filter.matches`, evaluated where the rows are."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from memorist.records.filters import Comparison, Filter
from memorist.stores.sql import OPERATORS, Sql, by_type, joined, sql_of_filter

_ONE_OF = "IN (SELECT value FROM json_each(?))"


def sql_of(filter: Filter, now: datetime) -> Sql:
    """Return a condition on the table `records`, and the values of its question marks."""
    return sql_of_filter(filter, now, "?", _own_parts(filter), _test)


def _own_parts(filter: Filter) -> Iterator[Sql]:
    if filter.ids is not None:
        yield f"id {_ONE_OF}", [_listed(filter.ids)]
    if filter.kinds is not None and len(filter.kinds) == 1:  # so that an index that begins with the kind can be used
        yield "kind = ?", [*map(str, filter.kinds)]
    elif filter.kinds is not None:
        yield f"kind {_ONE_OF}", [_listed(sorted(filter.kinds))]
    for column in ("agent", "session", "key"):
        if (value := getattr(filter, column)) is not None:
            yield f"{column} = ?", [value]
    if filter.key_prefix is not None:
        yield "key >= ?", [filter.key_prefix]
        if (end := _end_of(filter.key_prefix)) is not None:
            yield "key < ?", [end]
    if filter.source is not None:
        begun = f"{filter.source}:"
        yield "substr(source || ':', 1, ?) = ?", [len(begun), begun]
    if filter.derived_from is not None:
        among = f"EXISTS (SELECT 1 FROM json_each(derived_from) AS source WHERE source.value {_ONE_OF})"
        noted = f"id IN (SELECT derived FROM derivations WHERE source {_ONE_OF})"  # behind any wall, but by an index
        yield f"{noted} AND derived_from IS NOT NULL AND {among}", [_listed(filter.derived_from)] * 2


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


def _test(column: str, test: Comparison) -> Sql:
    path = "$" + "".join("." + json.dumps(name, ensure_ascii=False) for name in test.path)
    if test.operator == "exists":
        return f"(json_type({column}, ?) IS NOT NULL)", [path]
    if test.operator == "eq" and isinstance(test.value, str):  # a table of each row's values costs more than all else
        found = f"SELECT 1 FROM json_each({column}, ?) AS found WHERE found.type = 'text' AND found.atom = ?"
        return (
            f"CASE json_type({column}, ?) WHEN 'text' THEN {column} ->> ? = ? WHEN 'array' THEN EXISTS ({found})"
            " ELSE false END",
            [path, path, test.value, path, test.value],
        )
    if test.operator in OPERATORS:
        types = "('text')" if isinstance(test.value, str) else "('integer', 'real')"
        sql, values = f"(found.type IN {types} AND found.atom {OPERATORS[test.operator]} ?)", [test.value]
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
    plain, texts, numbers = by_type(values)
    listed = _listed(numbers).replace("Infinity", "9e999")  # JSON has no infinity, but it has numbers that large
    parts = [
        (f"found.type {_ONE_OF}", [_listed(plain)]),
        (f"(found.type = 'text' AND found.atom {_ONE_OF})", [_listed(texts)]),
        (f"(found.type IN ('integer', 'real') AND found.atom {_ONE_OF})", [listed]),
    ]
    chosen = [part for part, some in zip(parts, (plain, texts, numbers), strict=True) if some]
    return joined(chosen, " OR ", "false")
