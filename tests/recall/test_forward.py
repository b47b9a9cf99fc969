"""The forward index says of each row what its text says, and reads the text once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memorist.recall.forward import Forward
from memorist.recall.index import WallIndex
from memorist.recall.postings import Postings
from memorist.records.record import Kind
from memorist.stores.base import Entries, Entry

TEXTS = st.lists(
    st.lists(st.sampled_from(["tea", "milk", "7", "sugar", "tea-pot"]), max_size=6).map(" ".join), min_size=1
)
ASKED = {"tea", "7", "never seen"}


@given(TEXTS, st.integers(1, 3))
def test_rows_hold_the_terms_of_their_texts(texts: list[str], most: int) -> None:
    forward, rows = Forward(), np.arange(len(texts))[::-1]
    held = forward.held(rows, texts.__getitem__)
    split = [texts[row].split() for row in rows]
    assert held.lengths.tolist() == [len(each) for each in split]
    assert held.distinct.tolist() == [len(set(each)) for each in split]
    assert held.of(forward.numbers_of(ASKED)).tolist() == [len(ASKED & set(each)) for each in split]
    first = held.first(most)
    terms, columns = first.columns()
    expected = list(dict.fromkeys(term for each in split for term in each[:most]))
    assert terms.tolist() == forward.numbers_of(expected).tolist()
    assert terms[columns].tolist() == first.numbers.tolist()
    assert forward.begin_with_digits(terms).tolist() == [term[0].isdigit() for term in expected]


@given(st.lists(TEXTS, min_size=1, max_size=4), st.booleans())
def test_the_holders_of_a_term_are_those_of_the_postings(batches: list[list[str]], many: bool) -> None:
    forward, postings, texts = Forward(), Postings(), list[str]()
    for batch in batches:
        texts += batch * (300 if many else 1)
        postings.extend(texts[postings.rows :])
        forward.held(np.arange(len(texts) - 1), texts.__getitem__)
        known = [term for term in ("tea", "milk", "7") if len(forward.numbers_of([term]))]
        counted = forward.holders(forward.numbers_of(known), postings, texts.__getitem__)
        assert counted.tolist() == [postings.holders(term) for term in known]


def test_a_text_is_read_once_however_often_its_row_is_asked_for() -> None:
    read: list[int] = []

    def text_of(row: int) -> str:
        read.append(row)
        return f"tea {row}"

    forward = Forward()
    for rows in ([0, 1, 2], [2, 1], [3, 2, 0]):
        forward.held(np.array(rows), text_of)
    assert read == [0, 1, 2, 3]


def test_a_record_whose_words_change_is_read_anew() -> None:
    index = WallIndex(4)
    for epoch, terms in enumerate(("tea", "milk sugar"), 1):
        entry = Entry(7, "n7", Kind.NOTE, None, None, None, 0, None, None, None, terms, None, frozenset())
        index.update(Entries("g", epoch, [entry], []))
        rows = index.rows_of([7])
        assert index.held_terms(rows).lengths.tolist() == [len(terms.split())]
        assert index.held_terms(rows).of(index.numbers_of(["milk", "tea"])).tolist() == [1]
