"""What changed, when, and from what: what a program superseded, and what the texts say."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from memorist import Draft, Kind, Record
from memorist.errors import InvalidInputError
from memorist.operations.answers import ReplacementPage
from memorist.recall import changes as changing
from memorist.recall import replaced
from memorist.sync import Memory

LIFE = [
    ("2025-01-05", "I live in a small flat in Headingley"),
    ("2025-01-08", "I play the violin in the city orchestra"),
    ("2025-02-01", "I take 40 mg of propranolol for my migraines"),
    ("2025-06-02", "I moved out of Headingley, I live in Horsforth now"),
    ("2025-07-01", "I also play the cello in a quartet"),
    ("2025-08-01", "The doctor doubled my propranolol, I take 80 mg now"),
    ("2025-09-01", "The doctor doubled my propranolol again, I take 160 mg now"),
]
FLAT, VIOLIN, FORTY, MOVED, CELLO, EIGHTY, DOUBLED = (text for _, text in LIFE)


@pytest.fixture
def alice() -> Iterator[Memory]:
    with Memory.open(":memory:") as memory:
        scoped = memory.scoped(user="alice")
        scoped.remember([Draft(content=text, happened_at=day) for day, text in LIFE])
        memory.scoped(user="bob").remember("I take 20 mg of propranolol for my migraines", happened_at="2025-05-05")
        yield scoped


def pairs(page: ReplacementPage) -> list[tuple[str, str]]:
    return [(each.record.content, each.former.content) for each in page.changes]


def test_each_change_is_told_with_the_state_before_it_the_newest_first(alice: Memory) -> None:
    page = alice.changes()
    assert pairs(page) == [(DOUBLED, EIGHTY), (EIGHTY, FORTY), (MOVED, FLAT)] and page.next is None
    assert all(0.5 <= each.score < 1 for each in page.changes)
    assert "moved" in page.changes[2].signs and {"80", "now"} <= set(page.changes[1].signs)


def test_a_day_bounds_when_it_changed_not_what_was_before(alice: Memory) -> None:
    assert pairs(alice.changes(since="2025-07-15", until="2025-08-15")) == [(EIGHTY, FORTY)]
    assert pairs(alice.changes(until="2025-06-01")) == []


def test_pages_follow_one_another_without_gap_or_repetition(alice: Memory) -> None:
    whole, found, cursor = alice.changes(), [], None
    while True:
        page = alice.changes(limit=1, cursor=cursor)
        found += pairs(page)
        if (cursor := page.next) is None:
            break
    assert found == pairs(whole)


def test_where_many_records_tell_nothing_a_page_ends_early_and_the_next_goes_on(
    alice: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changing, "_AT_ONCE", 2)
    monkeypatch.setattr(changing, "_MOST_READ", 2)
    first = alice.changes()
    assert pairs(first) == [(DOUBLED, EIGHTY), (EIGHTY, FORTY)] and first.next is not None
    assert pairs(alice.changes(cursor=first.next)) == [(MOVED, FLAT)]


def test_a_page_compares_so_many_pairs_however_many_records_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = [0]

    def counted(*given: Any, **more: Any) -> Any:
        compared[0] += 1
        return replaced.replacements(*given, **more)

    monkeypatch.setattr(changing, "replacements", counted)
    monkeypatch.setattr(changing, "_FIRST", 4)
    weighed = [Draft(content=f"I weigh {60 + n} kg now", happened_at=f"2025-03-{n + 1:02}") for n in range(30)]
    with Memory.open(":memory:") as memory:
        memory.remember(weighed)
        whole = memory.changes(limit=100)
        assert len(whole.changes) > 3 and compared == [29]
        monkeypatch.setattr(changing, "_MOST_COMPARED", 120)
        found, cursor = list[tuple[str, str]](), None
        while True:
            compared[0] = 0
            page = memory.changes(limit=100, cursor=cursor)
            assert compared[0] <= 4
            found += pairs(page)
            if (cursor := page.next) is None:
                break
        assert found == pairs(whole)


@pytest.mark.parametrize("rows", [1, 8, 129, 1024, 1025, 3000])
def test_the_largest_of_many_numbers_are_those_that_sorting_finds(rows: int) -> None:
    chance = np.random.default_rng(rows)
    near = chance.permutation(rows).astype(np.float32)
    near[chance.random(rows) < 0.3] = -np.inf
    expected = [row for row in np.argsort(-near).tolist() if near[row] > -np.inf][:8]
    assert changing._best(near).tolist() == expected


def test_what_a_program_superseded_is_certain_whatever_the_texts_say(alice: Memory) -> None:
    tea = alice.remember("Likes tea", kind="fact", happened_at="2025-03-01")
    coffee = alice.remember("Prefers a macchiato", kind="fact", happened_at="2025-04-01", supersedes=tea.id)
    [change] = alice.changes(min_score=1).changes
    assert (change.record.id, change.former.id, change.score, change.signs) == (coffee.id, tea.id, 1.0, ())
    assert change.former.superseded_by == coffee.id


def test_who_forgets_a_state_forgets_that_it_changed(alice: Memory) -> None:
    alice.forget(next(each.id for each in alice.recent(20) if each.content == FORTY))
    assert pairs(alice.changes()) == [(DOUBLED, EIGHTY), (MOVED, FLAT)]


def test_neither_what_an_assistant_says_nor_a_question_changes_anything() -> None:
    def said(speaker: str, session: str, text: str, day: str) -> Draft:
        return Draft(content=text, kind=Kind.MESSAGE, session=session, payload={"speaker": speaker}, happened_at=day)

    with Memory.open(":memory:") as memory:
        memory.remember(
            [
                said("user", "s1", "I live in a small flat in Headingley", "2025-01-01"),
                said("assistant", "s2", "You moved out of Headingley and live in Horsforth now?", "2025-02-01"),
                said("user", "s3", "Do I live in Horsforth now, or still in the flat in Headingley?", "2025-03-01"),
            ]
        )
        assert memory.changes().changes == []


def test_labels_bound_both_states(alice: Memory) -> None:
    here: list[Record] = alice.scoped(agent="nurse").remember(
        [
            Draft(content="Takes 5 mg of ramipril at breakfast", happened_at="2025-10-01"),
            Draft(content="Takes 10 mg of ramipril at breakfast now", happened_at="2025-11-01"),
        ]
    )
    [change] = alice.scoped(agent="nurse").changes().changes
    assert [change.record.id, change.former.id] == [here[1].id, here[0].id]
    assert alice.changes(agent="nobody").changes == []


def test_wrong_arguments_and_foreign_cursors_are_refused(alice: Memory) -> None:
    cursor = alice.browse(limit=1).next
    for wrong in ({"limit": True}, {"min_score": "much"}, {"cursor": "x"}, {"cursor": cursor}, {"kind": "nots"}):
        with pytest.raises(InvalidInputError):
            alice.changes(**wrong)
    with pytest.raises(InvalidInputError):
        alice.browse(cursor=alice.changes(limit=1).next)


def test_as_of_a_day_before_a_change_the_state_before_it_carries_no_mark(alice: Memory) -> None:
    question, day = "How much propranolol do I take at the moment?", "2025-07-31"
    kinds_of_asking: tuple[dict[str, Any], ...] = ({}, {"as_of": day, "now": day})
    now, then = (
        next(hit for hit in alice.recall(question, limit=8, **asked) if hit.record.content == FORTY)
        for asked in kinds_of_asking
    )
    assert now.replaced is not None and then.replaced is None
    told = alice.context(question, as_of=day, now=day)
    assert told.items[0].text == FORTY and told.items[0].replaced is None
    assert pairs(alice.changes(until=day)) == [(MOVED, FLAT)]


def test_an_empty_scope_has_no_changes(alice: Memory) -> None:
    assert alice.scoped(agent="a").changes(limit=0).changes == []
    with Memory.open(":memory:") as empty:
        assert empty.changes().changes == []
