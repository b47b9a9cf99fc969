import base64
import copy
import json
import pickle
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import InvalidInputError
from memorist.operations.cursors import decode, make_page
from memorist.operations.requests import Browse
from memorist.records.codec import Plain
from memorist.records.origins import PYTHON, Author, Origin
from memorist.records.record import Draft, Kind, Record, check_fields, make_id
from memorist.records.scope import Scope
from memorist.stores import rows

SCOPE = Scope(tenant="acme", user="ann", agent="guide", session="s1")
NOON = datetime(2024, 5, 8, 12, tzinfo=UTC)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
NAMES = TEXT.filter(lambda name: "\0" not in name)
LABELS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"], max_codepoint=0x10FF), min_size=1)
PLAIN = st.dictionaries(
    TEXT,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=3,
)
MOMENTS = st.datetimes(timezones=st.just(UTC))
RECORDS = st.builds(
    Record, id=NAMES, kind=st.sampled_from(Kind),
    scope=st.builds(Scope, LABELS, st.none() | LABELS, st.none() | LABELS, st.none() | LABELS), content=TEXT,
    cue=st.none() | NAMES, key=st.none() | NAMES, metadata=PLAIN, payload=PLAIN, source=st.none() | NAMES,
    verified=st.booleans(), rating=st.none() | st.floats(-1, 1), created_at=MOMENTS, updated_at=MOMENTS,
    happened_at=st.none() | MOMENTS, expires_at=st.none() | MOMENTS, superseded_by=st.none() | NAMES,
    superseded_at=st.none() | MOMENTS, version=st.integers(1, 2**63 - 1),
    origin=st.builds(
        Origin, authors=st.integers(1, 255).map(Author), door=st.none() | NAMES, lost=st.integers(0, 9),
        derived_from=st.lists(NAMES, max_size=3).map(tuple),
    ),
)  # fmt: skip


RECORDS = RECORDS.map(lambda record: replace(record, **check_fields(record)))


def a_record(**fields: Any) -> Record:
    return (
        Draft(content="Tea", id="one").to_record(Scope(), NOON, PYTHON) if not fields else replace(a_record(), **fields)
    )


@given(RECORDS)
def test_a_record_survives_plain_values_and_json(record: Record) -> None:
    assert Record.from_dict(record.to_dict()) == record
    assert Record.from_dict(json.loads(json.dumps(record.to_dict()))) == record


def test_plain_values_are_flat_and_readable() -> None:
    plain = a_record().to_dict()

    assert (plain["tenant"], plain["user"], plain["kind"]) == ("default", None, "note")
    assert plain["created_at"] == "2024-05-08T12:00:00.000000Z"
    assert "scope" not in plain


@pytest.mark.parametrize(
    "changes",
    [
        {"id": None}, {"id": ""}, {"id": 5}, {"kind": "dream"}, {"kind": None}, {"content": None}, {"content": " "},
        {"created_at": None}, {"updated_at": None}, {"created_at": "soon"}, {"happened_at": []}, {"version": 0},
        {"version": "1"}, {"version": True}, {"version": 2**63}, {"verified": "yes"}, {"verified": None},
        {"superseded_by": 7}, {"superseded_at": "x"}, {"rating": 2}, {"rating": "1"}, {"metadata": None},
        {"metadata": []}, {"payload": "x"}, {"tenant": ""}, {"user": 5}, {"agent": " "}, {"mood": 1}, {"scope": {}},
    ],
)  # fmt: skip
def test_a_plain_record_that_is_none_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        Record.from_dict({**a_record().to_dict(), **changes})


@pytest.mark.parametrize("name", ["id", "kind", "content", "created_at", "updated_at"])
def test_a_plain_record_that_lacks_a_field_is_refused(name: str) -> None:
    plain = a_record().to_dict()
    del plain[name]
    with pytest.raises(InvalidInputError):
        Record.from_dict(plain)


def nested(depth: int) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for _ in range(depth):
        plain = {"in": [plain]}
    return plain


@pytest.mark.parametrize(
    "fields",
    [
        {"content": ""}, {"content": " \n"}, {"content": None}, {"content": b"x"},
        {"content": "x" * 10_000_001}, {"id": ""}, {"id": "x" * 513}, {"id": "a\0"}, {"cue": " "}, {"cue": "a\0"},
        {"key": ""}, {"key": "a\0"}, {"key": 5}, {"source": ""}, {"id": "\ud800" * 100}, {"rating": 1.1},
        {"rating": "good"}, {"rating": float("nan")}, {"metadata": {"a": float("nan")}},
        {"metadata": {"a": float("inf")}}, {"metadata": {"a": {1, 2}}}, {"metadata": "x"},
        {"metadata": [("a", 1)]}, {"metadata": {(1,): 2}}, {"payload": {"a": b"x"}}, {"payload": nested(101)},
        {"metadata": nested(100_000)}, {"happened_at": "someday"}, {"expires_at": "someday"}, {"expires_at": 1e300},
        {"kind": "dream"}, {"kind": None}, {"kind": []}, {"agent": ""}, {"session": "a\0"},
    ],
)  # fmt: skip
def test_a_draft_with_a_wrong_field_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        Draft(**{"content": "Tea", **fields}).to_record(Scope(), NOON, PYTHON)


def test_half_a_character_is_kept_with_a_mark_and_names_stay_apart() -> None:
    draft = Draft(
        content="A wave \ud83d", cue="\udc4b", id="\ud83d", key="\ud83e", source="\udfff",
        metadata={"\ud83d": ["cut \ud83d"], "b": {"\ud83f": "\ud83d\udc4b"}}, payload={"a": "\ud83d"},
        derived_from=["\ud83d", "\ud83e"], author="user", session="talk \ud83d",
    )  # fmt: skip
    record = draft.to_record(Scope(), NOON, PYTHON)

    assert (record.content, record.cue) == ("A wave \ufffd", "\ufffd")
    assert (record.id, record.key, record.source) == (r"\ud83d", r"\ud83e", r"\udfff")
    assert record.metadata == {r"\ud83d": ["cut \ufffd"], "b": {r"\ud83f": "👋"}}
    assert record.payload == {"a": "\ufffd"}
    assert record.origin.derived_from == (r"\ud83d", r"\ud83e")
    assert record.scope.session == r"talk \ud83d"
    assert Record.from_dict(record.to_dict()) == record


def test_fields_are_copied_as_json_would() -> None:
    inner = {"b": [1, (2, 3)]}
    record = Draft(content="Tea", metadata={"a": inner, 1: None}).to_record(Scope(), NOON, PYTHON)  # type: ignore[dict-item]
    inner["b"].append(4)

    assert record.metadata == {"a": {"b": [1, [2, 3]]}, "1": None}
    assert Draft(content="Tea", payload=nested(99)).to_record(Scope(), NOON, PYTHON).payload == nested(99)


def test_what_a_record_goes_by() -> None:
    record = a_record()
    assert (record.at, record.text, record.current) == (NOON, "Tea", True)

    earlier = NOON - timedelta(days=1)
    other = a_record(happened_at=earlier, cue="What to drink?", superseded_at=NOON, superseded_by="two")
    assert (other.at, other.text, other.current) == (earlier, "What to drink?", False)


def test_ids_are_random() -> None:
    assert len({make_id() for _ in range(1000)}) == 1000


@given(RECORDS, st.sampled_from(["newest", "oldest", "key"]))
def test_a_cursor_tells_where_a_page_ended(record: Record, order: Any) -> None:
    record = replace(record, key=record.key or "k")
    page = make_page([record, record], 1, order)

    place = (
        record.key
        if order == "key"
        else int((record.at - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1))
    )
    cursor = decode(page.next, order)
    assert cursor is not None
    assert (cursor[0] == place or order != "key") and cursor[2:] == (record.id, record.scope.user)
    assert page.records == [record]
    for other in {"newest", "oldest", "key"} - {order}:
        with pytest.raises(InvalidInputError, match=order):
            decode(page.next, other)


def test_the_last_page_has_no_cursor() -> None:
    assert make_page([a_record()], 1, "newest").next is None
    assert make_page([], 1, "newest").next is None
    assert make_page([a_record()], 0, "newest").next is None


def tampered(*parts: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "", "x", "🙂", 5, b"x", "bm90IGpzb24=", tampered(), tampered("newest", 1, 1, "id"),
        tampered("newest", "1", 1, "id", None),
        tampered("newest", 2**63, 1, "id", None), tampered("newest", 1, True, "id", None),
        tampered("newest", 1, 1, 5, None),
        tampered("newest", 1, 1, "id", 5), tampered([], 1, 1, "id", None), tampered("sideways", 1, 1, "id", None),
        base64.urlsafe_b64encode(b"[" * 100_000).decode(),
    ],
)  # fmt: skip
def test_a_cursor_of_someone_elses_is_refused(cursor: Any) -> None:
    with pytest.raises(InvalidInputError, match="cursor"):
        decode(cursor, "newest")


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="newest, oldest, key"):
        Browse(order="sideways")  # type: ignore[arg-type]


def test_a_record_is_written_out_field_by_field_as_its_annotations_say() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    origin = Origin(authors=Author.USER | Author.WEB, door="rest", derived_from=("a", "b"), lost=1)
    bare = Record(
        id="1",
        kind=Kind.NOTE,
        scope=Scope("t"),
        content="x",
        created_at=at,
        updated_at=at,
        origin=Origin(authors=Author.USER),
    )
    whole = replace(
        bare,
        scope=Scope("t", "u", "a", "s"),
        cue="c",
        key="k",
        metadata={"n": [1]},
        payload={"role": "user"},
        source="s",
        verified=True,
        rating=0.5,
        happened_at=at.astimezone(timezone(timedelta(hours=5))),
        expires_at=at,
        superseded_by="2",
        superseded_at=at,
        version=3,
        origin=origin,
    )
    for record in (bare, whole):
        assert record.to_dict() == Plain.to_dict(record)
        assert list(record.to_dict()) == list(Plain.to_dict(record))
        assert record.to_dict()["metadata"] is not record.metadata


def whole_record() -> Record:
    """Return a record with a value in every field."""
    return Record(
        id="r1", kind=Kind.FACT, scope=SCOPE, content="Oslo", cue="where?", key="city", metadata={"a": [1]},
        payload={"b": {"c": None}}, source="chat", verified=True, rating=0.5, created_at=NOON, updated_at=NOON,
        happened_at=NOON - timedelta(days=1), expires_at=NOON + timedelta(days=9), superseded_by="r2",
        superseded_at=NOON, version=3, origin=Origin(authors=Author.USER, door="python", derived_from=("r0",), lost=1),
    )  # fmt: skip


def test_a_record_reads_of_its_row_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a thousand records of which only texts are wanted reads no JSON and makes no times."""
    read = list[str]()
    loads = json.loads

    def reading(text: str) -> Any:
        read.append(text)
        return loads(text)

    monkeypatch.setattr(json, "loads", reading)
    wall = SCOPE.wall
    kept = whole_record()
    record = rows.record_of(rows.values_of(kept), wall)
    assert (record.id, record.content, record.kind, record.key, record.scope) == (
        kept.id, kept.content, kept.kind, kept.key, kept.scope,
    )  # fmt: skip
    assert read == []
    assert record.payload == kept.payload
    assert record.payload is record.payload
    assert len(read) == 1


def test_a_record_of_a_row_is_as_any_other() -> None:
    kept = whole_record()
    made = [rows.record_of(rows.values_of(kept), SCOPE.wall) for _ in range(6)]
    assert made[0] == kept
    assert kept == made[1]
    assert repr(made[2]) == repr(kept)
    assert made[3].to_dict() == kept.to_dict()
    assert replace(made[4], content="new") == replace(kept, content="new")
    assert pickle.loads(pickle.dumps(made[5])) == kept
    assert copy.deepcopy(rows.record_of(rows.values_of(kept), SCOPE.wall)) == kept
    with pytest.raises(FrozenInstanceError):
        made[0].content = "new"  # type: ignore[misc]
    for wrong in ("contents", "_later", "__html__"):
        assert not hasattr(kept, wrong)
