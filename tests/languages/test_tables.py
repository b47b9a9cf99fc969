"""The tables of languages: each is complete, and reads the examples of its language."""

from typing import get_args

import pytest

from memorist.errors import InvalidInputError
from memorist.languages import CODES, Phrases, language, plain, said


@pytest.mark.parametrize("code", CODES)
def test_a_table_is_complete(code: str) -> None:
    table = language(code)
    assert table.name and table.stop
    for what in {*get_args(Phrases)} - {"question_end"}:  # most languages write a mark instead
        assert table.pattern(what).pattern != r"(?!)", what


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("first_person", "We moved to Oslo"),
        ("when", "Which day was it?"),
        ("standing", "From now on, keep it short"),
        ("conditional", "Always name your sources when I ask about history"),
        ("manners", "Good morning!"),
        ("no_longer", "I don't smoke anymore"),
    ],
)
def test_a_text_says_it(what: Phrases, text: str) -> None:
    assert said(what, plain(text))


def test_a_language_without_a_table_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match="there are en"):
        language("tlh")
