"""What requests take: any value for any argument makes a request, or one short error that says what is wrong."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest

from memorist.errors import InvalidInputError, MemoristError, UnknownArgumentError, shown
from memorist.memory import Memory
from memorist.operations import requests

DEEP, DEEP_LIST = cast(Any, {}), cast(Any, [])
for _ in range(5000):
    DEEP, DEEP_LIST = {"$not": DEEP}, [DEEP_LIST]
ODD: list[Any] = [
    10**5000, 10**400, -(10**400), 2**63, -(2**63) - 1, -1, 0, 1.5, float("nan"), float("inf"), -float("inf"), 1e308,
    True, False, None, "", " ", "5", "\ud800", "\0", "x" * 100_000, b"5", [], {}, set(), [None], [[[]]], [10**5000],
    {"a": object()}, {1: 2}, ("a",), object(), float, lambda: 1, complex(1), Decimal(1), Fraction(1, 2),
    np.int64(3), np.float64("nan"), datetime.max, datetime.min, timedelta(1),
    DEEP, DEEP_LIST, [DEEP], {"a": DEEP_LIST},
]  # fmt: skip
NEEDED: Mapping[str, Any] = {
    "records": ["Likes tea"], "id": "x1", "ids": ["x1"], "rating": 1, "content": "Likes tea", "user": "alice",
    "query": "tea", "key": "x1", "target": "/none/memory.db",
}  # fmt: skip
KINDS = [each for _, each in sorted(vars(requests).items()) if "verb" in getattr(each, "__dict__", {})]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.verb)
def test_any_value_makes_a_request_or_one_short_error(kind: Any) -> None:
    needed = {name: value for name, value in NEEDED.items() if name in kind.arguments()}
    for name in kind.arguments():
        for value in ODD:
            try:
                request = kind.of({**needed, name: value})
            except InvalidInputError as error:
                assert len(str(error)) < 600
            else:
                assert hash(request) == hash(kind(**vars(request)))


def test_equal_requests_have_one_hash_whatever_they_hold() -> None:
    first = requests.Recall(query="tea", where={"a": {"$in": [1, 2]}, "b": 1})
    same = requests.Recall(query="tea", where={"b": 1.0, "a": {"$in": (1, 2)}})
    assert first == same and len({first, same, requests.Recall(query="tea", where={"a": 2})}) == 2
    draft = {"content": "tea", "metadata": {"a": []}}
    assert len({requests.Remember(records=(draft,)), requests.Remember(records=(draft,))}) == 1  # type: ignore[arg-type]


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["kind", "payload", "user_id"])
async def test_views_take_no_arguments_that_they_do_not_have(alice: Memory, name: str) -> None:
    views: Any = alice
    with pytest.raises(UnknownArgumentError, match=name):
        await views.notes.add("text", **{name: "x"})
    with pytest.raises(UnknownArgumentError, match=name):
        await views.tools.record("q", "t", {}, **{name: "x"})
    for view in (views.notes, views.facts, views.episodes, views.experiences, views.tools):
        with pytest.raises(UnknownArgumentError, match=name):
            await view.search("tea", **{name: "x"})


@pytest.mark.anyio
@pytest.mark.parametrize("lines", [5, None, "text", {1: 2}, [None], [[]], [1], object()])
async def test_what_is_no_lines_or_records_cannot_be_loaded(alice: Memory, lines: Any) -> None:
    with pytest.raises(InvalidInputError):
        await alice.load(lines)
    with pytest.raises(InvalidInputError):
        await alice.restore(lines)


@pytest.mark.anyio
@pytest.mark.parametrize("tokens", [10**400, 10**7 + 1, -1, 0, True, 2.5, float("nan"), "600", None])
async def test_a_budget_of_tokens_has_bounds(alice: Memory, tokens: Any) -> None:
    with pytest.raises(InvalidInputError, match="tokens"):
        await alice.context("tea", tokens=tokens)


@pytest.mark.anyio
async def test_numbers_beyond_every_float_are_errors(alice: Memory) -> None:
    for odd in (10**400, -(10**400), float("nan"), float("inf"), True, "1"):
        with pytest.raises(MemoristError, match="seconds must be a finite number"):
            await alice.tools.record("q", "t", {}, seconds=odd)  # type: ignore[arg-type]
        with pytest.raises(MemoristError, match="at_least must be a finite number"):
            await alice.experiences.search("q", at_least=odd)  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_half_a_character_is_kept_with_a_mark_in_what_is_revised(alice: Memory) -> None:
    old = await alice.remember("Tea")
    new = await alice.revise(old.id, content="Tea \ud83d", cue="\ud83d", source="\ud83d", metadata={"a": "\ud83d"})

    assert (new.content, new.cue, new.source, new.metadata) == ("Tea \ufffd", "\ufffd", r"\ud83d", {"a": "\ufffd"})
    assert [hit.record.id for hit in await alice.recall("tea \ud83d", where={"a": "\ud83d"})] == [old.id]


def test_an_error_shows_any_value_in_short() -> None:
    assert shown("tea") == "'tea'"
    assert shown("x" * 1000) == f"'{'x' * 59}… (1,002 characters)"
    assert shown(10**5000) == "int too long to show"
