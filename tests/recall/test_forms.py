"""Words of a question that a memory holds in another form."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Draft, Kind
from memorist.languages import language
from memorist.recall.analysis import asked_terms, former_terms, terms
from memorist.recall.forms import Vocabulary, forms_of
from memorist.sync import Memory
from memorist.testing import HashEmbedder


def forms(code: str, asked: str, held: str) -> set[str]:
    vocabulary = Vocabulary()
    vocabulary.add(terms(held))
    found = forms_of(terms(asked), vocabulary, [language(code)])
    return {form for each in found.values() for form in each}


@pytest.mark.parametrize(
    ("code", "asked", "held"),
    [
        ("de", "Wohnung", "Wohnungen"),
        ("de", "Termin", "Zahnarzttermin"),
        ("de", "Bücher", "Buch"),
        ("es", "amigo", "amigas"),
        ("ru", "квартира", "квартиру"),
        ("uk", "книга", "книгу"),
        ("pl", "lekarza", "lekarzem"),
        ("tr", "kitap", "kitaplar"),
        ("ar", "البيت", "بيت"),
        ("ar", "بيت", "والبيت"),
        ("fa", "کتاب", "کتابهای"),
        ("hi", "लड़का", "लड़के"),
        ("zh", "狗", "小狗"),
    ],
)
def test_another_form_of_a_word_is_found(code: str, asked: str, held: str) -> None:
    assert forms(code, asked, held) == set(terms(held))


def test_a_compound_is_found_by_the_parts_that_the_memory_holds() -> None:
    assert forms("de", "Geburtstagskuchen", "Geburtstag Kuchen Torte") == {"geburtstag", "kuchen"}
    assert forms("de", "Geburtstagskuchen", "Torte Geburt") == set()


def test_other_words_and_english_ones_stand_for_themselves() -> None:
    assert forms("de", "Haus", "Maus Hau") == set()
    assert forms("en", "house", "houseboat") == set()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("أحمد في الإسكندرية", "احمد في الاسكندريه"),
        ("مُحَمَّد", "محمد"),
        ("جمـــيل", "جميل"),
        ("کتاب علی", "كتاب علي"),
        ("ёлка", "елка"),
        ("İstanbul ISPARTA", "istanbul ısparta"),
        ("१४ अगस्त", "14 अगस्त"),
        ("سنة ٢٠٢٣", "سنة 2023"),
        ("ＦＵＬＬ　１２", "full 12"),
        ("cafe\u0301", "café"),
        ("上週五", "上周五"),
    ],
)
def test_letters_that_stand_for_one_another_are_one(one: str, other: str) -> None:
    assert terms(one) == terms(other)


def test_words_of_india_stay_whole_and_thai_and_khmer_are_cut() -> None:
    assert len(terms("हिन्दी")) == 1
    assert set(terms("ฉันชอบกินข้าวผัด")) & set(terms("ข้าวผัด"))
    assert set(terms("ខ្ញុំចូលចិត្តបាយ")) & set(terms("បាយ"))


def test_stop_words_of_the_questions_language_are_not_asked_for() -> None:
    assert asked_terms("Wo ist der Hund von meiner Schwester?") == terms("Hund Schwester")


def test_what_was_stored_before_letters_had_one_form_is_still_asked_for() -> None:
    assert set(terms("العربية")) != set(former_terms("العربية"))
    assert former_terms("plain words") == []


@given(
    st.text(max_size=40), st.lists(st.text(max_size=12), max_size=8), st.sampled_from(["de", "ar", "zh", "hi", "th"])
)
def test_no_word_is_too_odd(asked: str, held: list[str], code: str) -> None:
    vocabulary = Vocabulary()
    vocabulary.add(term for text in held for term in terms(text))
    for term, found in forms_of(terms(asked), vocabulary, [language(code)]).items():
        assert term not in found and all(form in vocabulary for form in found)


def test_a_memory_of_several_languages_is_found_in_each() -> None:
    said = {
        "de": "Wir haben gestern zwei Wohnungen besichtigt",
        "ru": "Вчера мы смотрели квартиру у моря",
        "ar": "اشترينا البيت الجديد امبارح",
        "zh": "昨天我们去看了房子",
        "en": "The build of the website failed twice",
    }
    asked = {
        "de": "Wohnung besichtigen?",
        "ru": "Какая квартира?",
        "ar": "فين بيت جديد؟",
        "zh": "房子",
        "en": "website builds",
    }
    with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        for code, text in said.items():
            memory.remember(
                Draft(content=text, id=code, kind=Kind.MESSAGE, happened_at=datetime(2025, 1, 1, tzinfo=UTC))
            )
        for code, question in asked.items():
            assert memory.recall(question, mode="lexical", limit=1)[0].record.id == code
