"""A filter as SQL: the same meaning as `Filter.matches`, evaluated where the rows are.

Metadata is kept as JSON text: PostgreSQL's binary form forgets which numbers are floats, and floats compare
differently.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from memorist.records.filters import Comparison, Filter
from memorist.stores.postgres.rows import escaped
from memorist.stores.sql import OPERATORS, Sql, alive, by_type, sql_of_filter

ALIVE = alive("%s")
_TEXT = "(found.value #>> '{}')"
_WHOLE = "(found.value::text ~ '^-?[0-9]{1,18}$' OR found.value::text ~ '^-?[0-9]{19}$'"
_WHOLE += " AND abs(found.value::text::numeric + 0.5) < 9223372036854775808)"
_FLOAT = f"(CASE WHEN found.value::text !~ '[.eE]' AND abs(found.value::text::numeric) >= {2**1024 - 2**970}"
_FLOAT += " THEN CASE left(found.value::text, 1) WHEN '-' THEN '-Infinity' ELSE 'Infinity' END"
_FLOAT += " ELSE found.value::text END)"
_BEYOND = Decimal(10) ** 400
"""A number further from zero than any float."""


def sql_of(filter: Filter, now: datetime) -> Sql:
    """Return a condition on the table `records`, and the values of its placeholders."""
    return sql_of_filter(filter, now, "%s", _own_parts(filter), _test)


def _own_parts(filter: Filter) -> Iterator[Sql]:
    if filter.ids is not None:
        yield "id = ANY(%s::text[])", [[id for id in filter.ids if "\0" not in id]]
    if filter.kinds is not None:
        yield "kind = ANY(%s::text[])", [sorted(map(str, filter.kinds))]
    for column in ("agent", "session", "key", "key_prefix", "source"):
        value = getattr(filter, column)
        if value is not None and "\0" in value:
            yield "false", []  # no name contains NUL, and PostgreSQL does not accept it
        elif value is not None and column == "key_prefix":
            yield "key >= %s AND left(key, %s) = %s", [value, len(value), value]
        elif value is not None and column == "source":
            yield "left(source || ':', %s) = %s", [len(value) + 1, f"{value}:"]
        elif value is not None:
            yield f"{column} = %s", [value]
    if filter.derived_from is not None:
        among = "EXISTS (SELECT 1 FROM json_array_elements_text(derived_from::json) AS ids(id) WHERE ids.id = ANY(%s))"
        yield f"derived_from IS NOT NULL AND {among}", [[id for id in filter.derived_from if "\0" not in id]]


def _test(column: str, test: Comparison) -> Sql:
    field = column + " -> %s::text" * len(test.path)
    path = [escaped(name) for name in test.path]
    if test.operator == "exists":
        return f"(({field}) IS NOT NULL)", path
    if test.operator in OPERATORS:
        sql, values = _compared(test.operator, test.value)
    else:
        sql, values = _equal(test.value if test.operator == "in" else (test.value,))
    # A list matches by its elements; a mapping equals nothing.
    return (
        f"EXISTS (SELECT 1 FROM (SELECT {field} AS value OFFSET 0) AS field,"
        " json_array_elements(CASE json_typeof(field.value) WHEN 'array' THEN field.value WHEN 'object' THEN '[]'"
        " ELSE json_build_array(field.value) END) AS found(value)"
        f" WHERE field.value IS NOT NULL AND CASE json_typeof(found.value) {sql} ELSE false END)",
        [*path, *values],
    )


def _equal(given: Iterable[Any]) -> Sql:
    """Return the cases in which the value found equals one of the values of the same type."""
    plain, texts, numbers = by_type(given)
    whole = [exact for each in numbers if (exact := _exact(each)) == exact.to_integral_value()]
    floats = [float(each) for each in numbers if _exact(float(each)) == _exact(each)]
    sql = (
        f"WHEN 'string' THEN {_TEXT} = ANY(%s::text[])"
        f" WHEN 'number' THEN CASE WHEN {_WHOLE} THEN found.value::text::numeric = ANY(%s::numeric[])"
        f" ELSE {_FLOAT}::float8 = ANY(%s::float8[]) END"
        " WHEN 'boolean' THEN found.value::text = ANY(%s::text[]) WHEN 'null' THEN %s::boolean"
    )
    return sql, [list(map(escaped, texts)), whole, floats, sorted({*plain} - {"null"}), "null" in plain]


def _compared(operator: str, value: Any) -> Sql:
    sign = OPERATORS[operator]
    if isinstance(value, str):
        return f"WHEN 'string' THEN {_TEXT} COLLATE \"C\" {sign} %s::text", [escaped(value)]
    exact, near = _exact(value), float(value)
    # A whole number that is not a float is rounded to the next float; if that is on its other side, equality flips.
    rounded = _exact(near)
    if rounded > exact and operator in ("gt", "lte"):
        float_sign = {"gt": ">=", "lte": "<"}[operator]
    elif rounded < exact and operator in ("gte", "lt"):
        float_sign = {"gte": ">", "lt": "<="}[operator]
    else:
        float_sign = sign
    sql = (
        f"WHEN 'number' THEN CASE WHEN {_WHOLE} THEN found.value::text::numeric {sign} %s::numeric"
        f" ELSE {_FLOAT}::float8 {float_sign} %s::float8 END"
    )
    return sql, [exact, near]


def _exact(number: float) -> Decimal:
    """Return a number's exact value; for infinity, a value beyond every float."""
    if number in (float("inf"), float("-inf")):
        return _BEYOND if number > 0 else -_BEYOND
    return Decimal(number)
