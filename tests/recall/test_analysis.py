"""Texts into index terms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.recall.analysis import terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("She painted sunrises", "painting a sunrise"),
        ("cities", "city"),
        ("Café Zürich", "cafe zurich"),
        ("getUserName", "get user name"),
        ("math.hypot", "math hypot"),
        ("snake_case_name", "snake case name"),
        ("the dog's bowl", "dog bowl"),
        ("1,000 dollars", "1000 dollars"),
        ("ＦＵＬＬ width", "full width"),
        ("Straße", "strasse"),
    ],
)
def test_forms_of_the_same_words_meet(one: str, other: str) -> None:
    assert terms(one) == terms(other)


def test_words_that_only_hold_sentences_together_are_left_out() -> None:
    assert terms("What is the name of the dog?") == terms("name dog")


def test_a_text_of_such_words_alone_keeps_them() -> None:
    assert terms("to be or not to be")


def test_chinese_and_japanese_are_found_by_any_part_of_two_characters() -> None:
    stored = set(terms("我喜欢住民宿"))
    assert stored & set(terms("民宿"))
    assert set(terms("東京タワーに行った")) & set(terms("東京"))


@given(st.text(max_size=200))
def test_terms_hold_no_white_space_and_stay_the_same_when_analysed_again(text: str) -> None:
    found = terms(text)
    assert all(term and not any(letter.isspace() for letter in term) for term in found)
    assert terms(text) == found
