""" "In seven years" looks ahead or back: the first time in seven years, and a meeting in seven years."""

from datetime import UTC, datetime, timedelta

import pytest

from memorist.context.dates import dated
from memorist.languages.phrases import phrases

SAID = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "It was the first time in seven years.", "I have not seen her in three months.", "Not seen her in three months",
        "I hadn’t slept in two days!", "nobody had called him in five days", "We met three times in two weeks.",
        "the coldest day in ten years", "She has never been late in two years, not once.",
        "zum ersten Mal in sieben Jahren", "Ich habe sie in drei Monaten nicht gesehen.", "zweimal in drei Wochen",
        "la primera vez en siete años.", "No la he visto en tres meses.", "dos veces en tres semanas.",
        "a primeira vez em sete anos.", "Não a vejo em três meses.", "вперше за сім років",
        "Не бачив її за три місяці.",
        "yedi yıl içinde ilk kez", "pertama kali dalam tujuh tahun", "belum pernah sakit dalam dua tahun",
        "सात साल में पहली बार", "lần đầu tiên sau bảy năm", "أول مرة خلال سبع سنوات",
    ],
)  # fmt: skip
def test_a_stretch_that_ends_today_is_told_without_a_date_and_lies_behind(text: str) -> None:
    assert dated(text, SAID) == text
    [phrase] = phrases(text, SAID)
    assert phrase.lasting
    assert phrase.span.start < SAID.timestamp() < phrase.span.end <= (SAID + timedelta(days=1)).timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "We leave in two weeks.", "The first lesson is in two weeks.",
        "I haven't decided whether we leave in two weeks.",
        "She never eats meat. We meet in two weeks.", "I'll be back in two weeks, I have not packed.",
        "We have not left yet, we leave in two weeks.", "Only in two weeks.",
        "We leave in two weeks, for the last time.",
        "Der erste Termin ist in zwei Wochen.", "Wir fahren in zwei Wochen.", "Nos vamos en dos semanas.",
        "La primera clase es en dos semanas.", "Volto em duas semanas.", "Приїду за два тижні.",
        "iki hafta içinde geliyorum", "dia datang dalam dua minggu",
    ],
)  # fmt: skip
def test_what_lies_ahead_is_dated(text: str) -> None:
    [phrase] = phrases(text, SAID)
    assert not phrase.lasting
    assert phrase.span.middle.date() == datetime(2026, 12, 12, tzinfo=UTC).date()
    assert "2026" in dated(text, SAID)


@pytest.mark.parametrize("text", ["We met often in the past three months.", "In the past month I was ill."])
def test_a_stretch_up_to_today_is_no_month_in_its_middle(text: str) -> None:
    assert dated(text, SAID) == text
